"""The policy as it is printed. What it does is shown on real servers, in ``tests/cluster``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st

from kubectl_lbipmode.cli import main
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.linode import (
    DEFAULT_PROTOCOL,
    DEFAULT_PROXY_PROTOCOL,
    DEPRECATED_PROXY_PROTOCOL,
    IP_MODE,
)
from kubectl_lbipmode.policy import admission, cel, kyverno
from kubectl_lbipmode.policy.admission import Terms
from kubectl_lbipmode.policy.selectors import to_label_selector
from kubectl_lbipmode.portjson import read_port_json
from kubectl_lbipmode.selection import parse_selector

TERMS = [Terms(), Terms("keep", "env in (prod)", "a=b", fail_closed=True, override_only=True)]
Printer = Callable[[Terms], list[dict[str, Any]]]
PRINTERS = [
    pytest.param(admission.keep_mode, [], id="policy"),
    pytest.param(admission.refuse_bad_override, ["--validate"], id="validate"),
    pytest.param(kyverno.keep_mode, ["--kyverno"], id="kyverno"),
]


def run(*arguments: str) -> Result:
    """Print a policy where no cluster is at hand."""
    return CliRunner().invoke(
        main, ["policy", *arguments], env={"KUBECONFIG": "/does/not/exist"}, catch_exceptions=False
    )


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize(("make", "_"), PRINTERS)
def test_a_policy_is_what_its_terms_say(make: Printer, _: list[str], terms: Terms) -> None:
    policy, *bindings = make(terms)
    constraints = policy["spec"]["matchConstraints"]
    assert policy["metadata"]["name"] == terms.name
    assert policy["spec"]["failurePolicy"] == ("Fail" if terms.fail_closed else "Ignore")
    assert ("namespaceSelector" in constraints) == bool(terms.namespaces)
    assert ("objectSelector" in constraints) == bool(terms.services)
    for binding in bindings:
        assert binding["kind"] == f"{policy['kind']}Binding"
        assert binding["spec"]["policyName"] == terms.name


def test_it_is_about_writes_of_the_status_alone() -> None:
    for policy in (admission.keep_mode(Terms())[0], *kyverno.keep_mode(Terms())):
        (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
        assert (rule["operations"], rule["resources"]) == (["UPDATE"], ["services/status"])


def test_kyverno_gets_the_same_expressions() -> None:
    ours, theirs = admission.keep_mode(TERMS[1])[0]["spec"], kyverno.keep_mode(TERMS[1])[0]["spec"]
    del ours["reinvocationPolicy"], theirs["webhookConfiguration"]
    assert ours == theirs


@pytest.mark.parametrize("override_only", [False, True])
def test_a_variable_uses_those_before_it_and_conditions_use_none(override_only: bool) -> None:
    known: set[str] = set()
    for name, expression in cel.variables(override_only=override_only).items():
        assert set(re.findall(r"variables\.(\w+)", expression)) <= known
        known.add(name)
    assert set(re.findall(r"variables\.(\w+)", cel.mutation())) <= known
    assert "variables." not in "".join(cel.conditions(override_only=override_only).values())


def test_it_reads_the_annotations_that_the_core_reads() -> None:
    text = "".join(cel.variables(override_only=False).values())
    for name in (IP_MODE, DEFAULT_PROXY_PROTOCOL, DEPRECATED_PROXY_PROTOCOL, DEFAULT_PROTOCOL):
        assert f"'{name}'" in text
    assert DEFAULT_PROTOCOL not in "".join(cel.variables(override_only=True).values())


@given(st.text('{}[]":, \\\t\n\f\x01nulvp2-', max_size=30))
@example('{"proxy-protocol": "v2"}')
@example("null\n")
def test_what_it_can_read_is_json_to_the_core(text: str) -> None:
    if cel.can_read([text], 1):
        read_port_json(text)


@pytest.mark.parametrize(("make", "arguments"), PRINTERS)
def test_what_is_printed_reads_back(make: Printer, arguments: list[str]) -> None:
    manifests = make(Terms())
    documents, listed = run(*arguments), run(*arguments, "-o", "json")
    assert (documents.stderr, listed.stderr) == ("", "")
    assert list(yaml.safe_load_all(documents.stdout)) == manifests
    assert json.loads(listed.stdout) == {"apiVersion": "v1", "kind": "List", "items": manifests}


def test_to_remove_it_names_the_binding_first() -> None:
    removed = list(yaml.safe_load_all(run("--name=keep", "--remove").stdout))
    assert [manifest["kind"] for manifest in removed] == [
        "MutatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
    ]
    assert all(set(manifest) == {"apiVersion", "kind", "metadata"} for manifest in removed)
    assert all(manifest["metadata"] == {"name": "keep"} for manifest in removed)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--validate", "--kyverno"],
        ["--validate", "--override-only"],
        ["--validate", "--check"],
        ["--check", "--remove"],
        ["-l", "a,,b"],
        ["-l", "a>1"],
        ["--namespace-selector", "a in b"],
        ["web"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")


def test_check_needs_a_cluster() -> None:
    result = run("--check")
    assert result.exit_code == 3
    assert "there is no kubeconfig" in result.stderr


SELECTORS = [
    "",
    "app=web",
    "app==web, tier = front",
    "app=web,app=api",
    "tier!=test",
    "env in (prod, stage),!draft",
    "env notin (prod),team",
    "app=",
    "example.com/app=web",
]


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a ``LabelSelector`` takes these labels, as the API documents it."""
    tests: dict[str, Callable[[str, list[str]], bool]] = {
        "In": lambda key, values: labels.get(key) in values,
        "NotIn": lambda key, values: labels.get(key) not in values,
        "Exists": lambda key, _: key in labels,
        "DoesNotExist": lambda key, _: key not in labels,
    }
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        tests[expression["operator"]](expression["key"], expression.get("values", []))
        for expression in selector.get("matchExpressions", [])
    )


@given(
    st.sampled_from(SELECTORS),
    st.dictionaries(
        st.sampled_from(["app", "tier", "env", "draft", "team", "example.com/app"]),
        st.sampled_from(["web", "api", "front", "test", "prod", "stage", ""]),
    ),
)
def test_a_selector_takes_what_kubectl_takes(text: str, labels: dict[str, str]) -> None:
    taken = all(requirement(labels) for requirement in parse_selector(text))
    assert matches(to_label_selector(text), labels) == taken


def test_a_selector_that_compares_is_refused() -> None:
    with pytest.raises(InputError, match="compares"):
        to_label_selector("app=web,rank > 3")
