"""The functionConfig: what the reader takes is what the JSON Schema takes, and typos are named."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import krm_function
from krm_function.config import API_VERSION, KIND, read_config
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.manifests import Options
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.rules import Wish

FOLDER = Path(str(krm_function.__file__)).parent
SCHEMA = json.loads((FOLDER / "schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

NAMES = st.sampled_from(["mode", "overwrite", "writeVIP", "remove", "Mode", "writeVip", ""])
VALUES: st.SearchStrategy[object] = st.sampled_from(
    ["auto", "Proxy", "VIP", "vip", "true", "false", "True", "", True, False, None, 0, 1, {}, []]
)
SECTIONS: st.SearchStrategy[object] = st.one_of(
    st.dictionaries(NAMES, VALUES, max_size=4),
    # Mostly right ones, so that what goes together is tried too.
    st.fixed_dictionaries(
        {},
        optional={
            "mode": st.sampled_from(["auto", "Proxy", None]),
            "overwrite": st.sampled_from([True, False, "true", "false", None]),
            "writeVIP": st.sampled_from([True, False, "true", "false"]),
            "remove": st.sampled_from([True, False, "true", "false"]),
        },
    ),
    st.sampled_from([None, [], "", "mode", True]),
)
HEADS = st.sampled_from([(API_VERSION, KIND), ("v1", "ConfigMap")]) | st.tuples(
    st.sampled_from([API_VERSION, "v1", f"{API_VERSION}2", None]),
    st.sampled_from([KIND, "ConfigMap", "Secret", None]),
)


@st.composite
def configs(draw: st.DrawFn) -> dict[str, object]:
    """Draw a functionConfig that is right, or nearly."""
    api_version, kind = draw(HEADS)
    config: dict[str, object] = {"apiVersion": api_version, "kind": kind}
    if draw(st.booleans()):
        config["metadata"] = draw(st.sampled_from([{"name": "x", "annotations": {}}, None]))
    for section in draw(st.sampled_from([("spec",), ("data",), ("spec", "data"), ("specs",), ()])):
        config[section] = draw(SECTIONS)
    if draw(st.integers(0, 9)) == 9:
        del config[draw(st.sampled_from(sorted(config)))]
    return config


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@given(configs())
def test_the_reader_and_the_schema_take_the_same(config: dict[str, object]) -> None:
    try:
        read_config(config)
        taken = True
    except InputError:
        taken = False
    # An empty config asks for nothing; it is no use to an editor that checks files.
    assert config == {} or VALIDATOR.is_valid(config) is taken


def custom(**spec: object) -> dict[str, object]:
    return {"apiVersion": API_VERSION, "kind": KIND, "spec": spec}


def config_map(**data: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


@pytest.mark.parametrize(
    ("config", "options"),
    [
        pytest.param(None, Options(), id="none"),
        pytest.param({}, Options(), id="empty"),
        pytest.param(custom(), Options(), id="custom kind, empty spec"),
        pytest.param({"apiVersion": API_VERSION, "kind": KIND}, Options(), id="no spec"),
        pytest.param(config_map(), Options(), id="as kpt sends it without a config"),
        pytest.param(custom(mode="auto"), Options(), id="auto"),
        pytest.param(custom(mode="VIP"), Options(Wish(IPMode.VIP)), id="a mode"),
        pytest.param(custom(overwrite=True), Options(Wish(None, overwrite=True)), id="overwrite"),
        pytest.param(custom(writeVIP=True), Options(write_vip=True), id="writeVIP"),
        pytest.param(custom(remove=True), Options(remove=True), id="remove"),
        pytest.param(
            config_map(mode="Proxy", overwrite="true", writeVIP="false"),
            Options(Wish(IPMode.PROXY, overwrite=True)),
            id="strings of a ConfigMap",
        ),
        pytest.param(
            config_map(remove=True), Options(remove=True), id="as kustomize fn run sends it"
        ),
    ],
)
def test_what_is_asked_for(config: object, options: Options) -> None:
    assert read_config(config) == options


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        pytest.param([], "must be an object", None, id="a list"),
        pytest.param("", "must be an object", None, id="a word"),
        pytest.param(
            {"apiVersion": "v1", "kind": "Secret"}, 'not "v1 Secret"', "docs/krm.md", id="a kind"
        ),
        pytest.param(
            custom(overwrit=True), "`functionConfig.spec.overwrit`", "`overwrite`", id="k"
        ),
        pytest.param(
            {**custom(), "data": {}}, "`functionConfig.data`", "is `metadata`", id="a section"
        ),
        pytest.param(custom(mode="vip"), '"VIP", not "vip"', None, id="a mode in lower case"),
        pytest.param(custom(remove="true"), "without quotes", None, id="a string for a boolean"),
        pytest.param(config_map(remove="yes"), '"true" or "false"', None, id="another string"),
        pytest.param({**custom(), "spec": []}, "must be a mapping", None, id="a list as spec"),
        pytest.param(custom(remove=True, mode="VIP"), "excludes", None, id="remove and a mode"),
    ],
)
def test_what_is_refused(config: object, message: str, hint: str | None) -> None:
    with pytest.raises(InputError) as refused:
        read_config(config)
    assert message in refused.value.message
    assert hint is None or hint in str(refused.value.hint)


def test_the_configs_of_the_readme_are_right_and_ask_for_the_same() -> None:
    fences = re.findall(r"^```yaml\n(.*?)^```$", (FOLDER / "README.md").read_text(), re.M | re.S)
    one, other = map(yaml.safe_load, fences)
    assert VALIDATOR.is_valid(one)
    assert VALIDATOR.is_valid(other)
    assert read_config(one) == read_config(other) == Options(Wish(IPMode.PROXY, overwrite=True))


def test_the_image_takes_the_parser_that_the_package_asks_for() -> None:
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    asked = {requirement.partition(";")[0] for requirement in project["dependencies"]}
    taken = re.findall(r'"(ruamel[^"]*)"', (FOLDER / "Dockerfile").read_text())
    assert len(taken) == 2
    assert asked.issuperset(taken)
