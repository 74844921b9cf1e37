"""The results of the KRM function: what they name, and how they come into the list."""

from __future__ import annotations

import json

import pytest

from tests.resource_lists import (
    FIELD,
    HEAD,
    MIXED,
    RESULTS,
    WEB,
    WEB_EDITED,
    annotated,
    as_json,
    results_of,
    run,
)

OLD = '- message: "old"\n  severity: info\n  field: {path: x}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            f"results:\n{OLD}{HEAD}items: []\n", f"results: []\n{HEAD}items: []\n", id="first"
        ),
        pytest.param(
            f"{HEAD}results:\n{OLD}items:\n{WEB}",
            f"{HEAD}{RESULTS}items:\n{WEB_EDITED}",
            id="middle",
        ),
        pytest.param(
            f"{HEAD}items:\n{WEB}results:\n{OLD}", f"{HEAD}items:\n{WEB_EDITED}{RESULTS}", id="last"
        ),
        pytest.param(
            f"{HEAD}items: []\nresults: {{name: x, items: [{{message: old}}]}}\n",
            f"{HEAD}items: []\nresults: []\n",
            id="of the first functions",
        ),
        pytest.param(
            as_json([], results=[{"message": "old"}]), as_json([], results=[]), id="in JSON"
        ),
        pytest.param(
            f"{HEAD}results:\n{OLD}# c\nitems: []\n",
            f"{HEAD}results: []\n# c\nitems: []\n",
            id="comment",
        ),
    ],
)
def test_results_that_came_in_are_replaced(before: str, after: str) -> None:
    assert run(before) == after


FILES = [
    ("no path, no file", "config.kubernetes.io/index: '3'", None),
    ("kpt", "internal.config.kubernetes.io/path: 'a/b.yaml'", {"path": "a/b.yaml", "index": 0}),
    ("an older kpt", "config.kubernetes.io/path: b.yaml", {"path": "b.yaml", "index": 0}),
    (
        "where both speak, what is not to be touched",
        "config.kubernetes.io/path: b.yaml\n      internal.config.kubernetes.io/path: a.yaml",
        {"path": "a.yaml", "index": 0},
    ),
    (
        "an index in quotes",
        "config.kubernetes.io/path: b.yaml\n      config.kubernetes.io/index: '12'",
        {"path": "b.yaml", "index": 12},
    ),
    (
        "a bare index",
        "config.kubernetes.io/path: b.yaml\n      internal.config.kubernetes.io/index: 12",
        {"path": "b.yaml", "index": 12},
    ),
    (
        "no number",
        "config.kubernetes.io/path: b.yaml\n      config.kubernetes.io/index: '\u00b2'",
        {"path": "b.yaml", "index": 0},
    ),
]


@pytest.mark.parametrize(("lines", "file"), [pytest.param(*row[1:], id=row[0]) for row in FILES])
def test_a_result_names_the_file(lines: str, file: dict[str, object] | None) -> None:
    result, *_ = results_of("items:\n" + annotated(f"      {lines}\n"))
    assert result.get("file") == file


def test_a_result_names_the_object() -> None:
    (result,) = results_of("items:\n" + WEB.replace("name: web", "name: web\n    namespace: prod"))
    assert result["resourceRef"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "name": "web",
        "namespace": "prod",
    }
    assert result["message"].startswith("prod/web: ")


def test_without_a_name_there_is_nothing_to_refer_to() -> None:
    (result,) = results_of("items:\n" + WEB.replace("    name: web\n", ""))
    assert sorted(result) == ["message", "severity"]


def test_a_replaced_value_is_told() -> None:
    config = (
        "functionConfig: {apiVersion: v1, kind: ConfigMap, data: {mode: VIP, overwrite: 'true'}}\n"
    )
    change, *_ = results_of(f"items:\n{WEB_EDITED}{config}")
    assert change["field"] == {"path": FIELD, "currentValue": "Proxy", "proposedValue": "VIP"}
    assert "`mode` of the functionConfig says so" in change["message"]


def test_a_removed_value_is_told() -> None:
    config = "functionConfig: {apiVersion: v1, kind: ConfigMap, data: {remove: 'true'}}\n"
    (change,) = results_of(f"items:\n{WEB_EDITED}{config}")
    assert change["field"] == {"path": FIELD, "currentValue": "Proxy"}


def test_results_are_in_the_order_of_the_items() -> None:
    results = results_of(f"items:\n{MIXED}{WEB}")
    assert [(r["severity"], r["resourceRef"]["name"]) for r in results] == [
        ("warning", "mixed"),
        ("info", "web"),
    ]
    assert results[0]["field"] == {"path": "spec.ports"}


def test_a_value_that_yaml_cannot_hold_raw_is_escaped() -> None:
    name = "\x7f\x85\u2028\ufeff\ufffe"
    (result,) = results_of(f"items:\n{WEB.replace('web', json.dumps(name))}")
    assert result["resourceRef"]["name"] == name
