"""The KRM function, fed with bytes: only the override and the results differ from what came in.

The lists are written as orchestrators write them; the real programs run in ``test_examples.py``.
"""

from __future__ import annotations

import json
from textwrap import indent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm_function.function import process
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.manifests import Options, annotate
from kubectl_lbipmode.yamledit.documents import Document
from tests.resource_lists import (
    BROKEN,
    ENDING,
    HEAD,
    KEY,
    MIXED,
    OVERRIDE,
    PREFIX,
    REFUSED,
    RESULT,
    RESULTS,
    WEB,
    WEB_EDITED,
    annotated,
    as_json,
    run,
    without_results,
)

EDITS = [
    # name, what comes in, what goes out before the results
    ("compact", f"items:\n{WEB}", f"items:\n{WEB_EDITED}"),
    (
        "wide",
        "items:\n" + indent(WEB, "  "),
        "items:\n" + indent(WEB_EDITED, "  "),
    ),
    (
        "a comment on the dash's line stays there",
        "items:\n" + WEB.replace("- api", "- # the front door\n  api"),
        "items:\n" + WEB_EDITED.replace("- api", "- # the front door\n  api"),
    ),
    (
        "kustomize: its block scalar is the last annotation",
        "items:\n"
        + annotated(
            "      kustomize.config.k8s.io/id: |\n        kind: Service\n        name: web\n"
        ),
        "items:\n"
        + annotated(
            "      kustomize.config.k8s.io/id: |\n        kind: Service\n        name: web\n"
            + OVERRIDE
        ),
    ),
    (
        "kustomize: its bookkeeping",
        "items:\n"
        + annotated(
            "      config.k8s.io/id: '1'\n      config.kubernetes.io/index: '0'\n"
            "      internal.config.kubernetes.io/previousNames: a,b\n"
        ),
        "items:\n"
        + annotated(
            "      config.k8s.io/id: '1'\n      config.kubernetes.io/index: '0'\n"
            "      internal.config.kubernetes.io/previousNames: a,b\n" + OVERRIDE
        ),
    ),
    (
        "Helm 4: its file name",
        "items:\n" + annotated("      postrenderer.helm.sh/postrender-filename: 'web/t.yaml'\n"),
        "items:\n"
        + annotated("      postrenderer.helm.sh/postrender-filename: 'web/t.yaml'\n" + OVERRIDE),
    ),
    (
        "not for the tools alone",
        "items:\n" + annotated("      config.kubernetes.io/local-config: 'false'\n"),
        "items:\n" + annotated("      config.kubernetes.io/local-config: 'false'\n" + OVERRIDE),
    ),
    (
        "a List as an item",
        "items:\n- apiVersion: v1\n  kind: List\n  metadata: {name: all}\n  items:\n"
        + indent(WEB, "  "),
        "items:\n- apiVersion: v1\n  kind: List\n  metadata: {name: all}\n  items:\n"
        + indent(WEB_EDITED, "  "),
    ),
    (
        "an anchor of another item",
        "items:\n- {apiVersion: v1, kind: A, metadata: {name: a}, data: &a {x: y}}\n"
        + annotated("", "  x-data: *a\n"),
        "items:\n- {apiVersion: v1, kind: A, metadata: {name: a}, data: &a {x: y}}\n"
        + annotated(OVERRIDE, "  x-data: *a\n"),
    ),
    (
        "the functionConfig is an item too",
        f"items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n{WEB}",
        f"items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: c}}\n{WEB_EDITED}",
    ),
    ("the annotations end the list", f"items:\n{ENDING}", f"items:\n{ENDING}{OVERRIDE}"),
]


@pytest.mark.parametrize(("before", "after"), [pytest.param(*row[1:], id=row[0]) for row in EDITS])
def test_the_override_is_put_in(before: str, after: str) -> None:
    assert run(HEAD + before) == HEAD + after + RESULTS


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_any_version_of_the_list_is_echoed(version: str) -> None:
    head = HEAD.replace("/v1", f"/{version}")
    assert run(f"{head}items:\n{WEB}") == f"{head}items:\n{WEB_EDITED}{RESULTS}"


def test_crlf_stays() -> None:
    text = f"{HEAD}items:\n{WEB}"
    after = f"{HEAD}items:\n{WEB_EDITED}{RESULTS}"
    assert run(text.replace("\n", "\r\n")) == after.replace("\n", "\r\n")


def test_a_missing_last_line_break_stays_missing() -> None:
    assert run(f"{HEAD}items:\n{WEB}"[:-1]) == f"{HEAD}items:\n{WEB_EDITED}{RESULTS}"[:-1]


def test_json_stays_json() -> None:
    (service,) = yaml.safe_load(WEB)
    before = as_json([service])
    entry = f'"{PREFIX}default-proxy-protocol": "v2"'
    after = before.replace(entry, f'{entry}, "{KEY}": "Proxy"')
    assert run(before) == f'{after[:-1]}, "results": [{json.dumps(RESULT)}]}}'


NOTHING = [
    ("no items", ""),
    ("items is null", "items: null\n"),
    ("items is left empty", "items:\n"),
    ("an empty list", "items: []\n"),
    ("no functionConfig to speak of", "items: []\nfunctionConfig: {}\n"),
    (
        "kpt's own functionConfig",
        "items: []\nfunctionConfig: {metadata: {name: function-input}, data: {}, "
        "kind: ConfigMap, apiVersion: v1}\n",
    ),
    ("a ClusterIP", "items:\n" + WEB.replace("LoadBalancer", "ClusterIP").replace(PREFIX, "x/")),
    (
        "Knative's Service",
        "items:\n" + WEB.replace("v1", "serving.knative.dev/v1", 1).replace(PREFIX, ""),
    ),
    (
        "a class of its own",
        "items:\n" + WEB.replace("{type", "{loadBalancerClass: x/y, type").replace(PREFIX, ""),
    ),
    ("an item without kind", "items:\n- resources: [web.yaml]\n"),
    ("items that are no objects", "items: [1, a, [], null]\n"),
    ("a ports' mode that is the default anyway", "items:\n" + WEB.replace("v2", "none")),
    ("annotated already", f"items:\n{WEB_EDITED}"),
    (
        "for the tools alone",
        "items:\n" + annotated("      config.kubernetes.io/local-config: 'true'\n"),
    ),
    (
        "for the tools alone, and in error",
        "items:\n"
        + annotated("      config.kubernetes.io/local-config: 'true'\n").replace("v2", "v3"),
    ),
]


@pytest.mark.parametrize("rest", [pytest.param(row[1], id=row[0]) for row in NOTHING])
def test_nothing_to_do_is_the_same_bytes(rest: str) -> None:
    assert run(HEAD + rest) == HEAD + rest


@pytest.mark.parametrize(
    ("config", "value"),
    [
        pytest.param("apiVersion: v1\n  kind: ConfigMap\n  data: {mode: VIP}\n", "VIP", id="kpt"),
        pytest.param(
            "apiVersion: kubectl-lbipmode.github.io/v1alpha1\n  kind: LoadBalancerIPMode\n"
            "  metadata: {name: x, annotations: {config.kubernetes.io/local-config: 'true'}}\n"
            "  spec:\n    mode: VIP\n",
            "VIP",
            id="kustomize",
        ),
        pytest.param("apiVersion: v1\n  kind: ConfigMap\n  data: {}\n", "Proxy", id="empty"),
    ],
)
def test_the_function_config_is_read(config: str, value: str) -> None:
    text = f"{HEAD}items:\n{WEB}functionConfig:\n  {config}"
    (item,) = yaml.safe_load(run(text))["items"]
    assert item["metadata"]["annotations"][KEY] == value


ERRORS = [
    (
        "an error in one item stops all",
        f"items:\n{WEB}{BROKEN}",
        ["broken: annotation"],
    ),
    (
        "all are told",
        f"items:\n{BROKEN}{BROKEN.replace('broken', 'other')}",
        ["broken: annotation", "other: annotation"],
    ),
    (
        "an unknown option",
        f"items:\n{WEB}functionConfig: {{apiVersion: v1, kind: ConfigMap, data: {{a: b}}}}\n",
        ["`functionConfig.data.a` is not known"],
    ),
    (
        "another kind of options",
        f"items:\n{WEB}functionConfig: {{kind: Secret}}\n",
        ["must be a v1 ConfigMap"],
    ),
    (
        "options that are no object",
        f"items:\n{WEB}functionConfig: text\n",
        ["must be an object"],
    ),
    (
        "what cannot be edited",
        "items:\n" + WEB.replace("annotations:", "annotations: &a") + "- {x: *a}\n",
        ["`annotations` has an anchor (&a)"],
    ),
]


@pytest.mark.parametrize(
    ("rest", "messages"), [pytest.param(*row[1:], id=row[0]) for row in ERRORS]
)
def test_on_an_error_the_list_stays_and_says_why(rest: str, messages: list[str]) -> None:
    processed = process((HEAD + rest).encode())
    assert processed.failed
    output = processed.output.decode()
    assert output.startswith(f"{HEAD}{rest}results:\n")
    results = yaml.safe_load(output)["results"]
    assert [result["severity"] for result in results] == ["error"] * len(messages)
    for result, message in zip(results, messages, strict=True):
        assert message in result["message"]


@pytest.mark.parametrize(
    ("data", "message"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_what_is_no_list_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        process(data)


def test_the_function_edits_as_annotate_does() -> None:
    text = f"{HEAD}items:\n{WEB}{MIXED}"
    edited, _ = annotate(Document(text.encode()), Options(), "list.yaml")
    assert run(text).startswith(edited.decode())


ITEMS = [
    WEB,
    WEB.replace("web", "other").replace("- api", "- # head\n  api"),
    annotated("      config.kubernetes.io/index: '0' # kept\n\n      # below\n"),
    annotated("      kustomize.config.k8s.io/id: |+\n        name: web\n\n"),
    WEB.replace("v2", "none"),
    f"- {{apiVersion: v1, kind: Service, metadata: {{annotations: {{{PREFIX}throttle: '0',"
    f" {PREFIX}default-proxy-protocol: v1}}}},\n"
    "  spec: {type: LoadBalancer, ports: [{port: 1}]}}\n",
    "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data:\n    a: |\n      ---\n",
    "# between\n- name: nothing\n",
    "- &a {x: y}\n- *a\n",
]
BROKEN_ITEMS = [BROKEN, WEB.replace(f":\n      {PREFIX}default-proxy-protocol: v2", ": []")]
OTHER_KEYS = [
    "",
    "# a comment\n",
    "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  data: {}\n",
]


@st.composite
def lists(draw: st.DrawFn) -> str:
    """Draw a list in block style, as orchestrators write them, with or without results."""
    pool = ITEMS + (BROKEN_ITEMS if draw(st.integers(0, 3)) == 3 else [])
    items = "".join(draw(st.lists(st.sampled_from(pool), min_size=1, unique=True)))
    keys = [HEAD, f"items:\n{items}", draw(st.sampled_from(OTHER_KEYS))]
    return "".join(draw(st.permutations(keys)))


def taken_out(text: str) -> str:
    """Take results and overrides out of *text*, by its lines: the editor has no part in it."""
    kept = [line for line in without_results(text).split("\n") if f" {KEY}: Proxy" not in line]
    return "\n".join(kept).replace(f', "{KEY}": "Proxy"', "")


@given(lists(), st.sampled_from(["\n", "\r\n"]))
def test_only_results_and_overrides_come_in(text: str, newline: str) -> None:
    processed = process(text.replace("\n", newline).encode())
    output = processed.output.decode().replace(newline, "\n")
    assert "\r" not in output
    assert taken_out(output) == text
    read = yaml.load(output, Loader=yaml.BaseLoader)  # noqa: S506 - its only types are text's
    assert read.get("results", []) == yaml.load(
        json.dumps(processed.results),
        Loader=yaml.BaseLoader,  # noqa: S506
    )
    if processed.failed:
        assert KEY not in output.partition("results:")[0]


@given(lists())
def test_a_second_run_changes_nothing(text: str) -> None:
    first = process(text.encode())
    again = without_results(first.output.decode())
    second = process(again.encode())
    assert without_results(second.output.decode()) == again
    if not first.failed:
        assert "info" not in {result["severity"] for result in second.results}
