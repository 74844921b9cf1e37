"""What a mapping holds when merge keys have their say, and where readers would differ."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.mappings import (
    find,
    find_duplicate,
    find_late_merge,
    find_override,
    flatten,
    merges,
)
from kubectl_lbipmode.yamledit.nodes import Mapping, Scalar, compose


def mapping(text: str) -> Mapping:
    """Take the value of the last key, below the anchors that the others give."""
    (root,) = compose(
        f"a: &a {{x: a, y: a}}\nb: &b {{x: b, z: b}}\nc: &c {{<<: *a, z: c}}\nm: {text}"
    )
    assert isinstance(root.node, Mapping)
    node = root.node.entries[-1][1]
    assert isinstance(node, Mapping)
    return node


VALUES = [
    pytest.param("{x: own}", {"x": "own"}, id="own"),
    pytest.param("{x: one, x: two}", {"x": "two"}, id="last-of-two"),
    pytest.param("{<<: *a}", {"x": "a", "y": "a"}, id="merged"),
    pytest.param("{<<: *a, x: own}", {"x": "own", "y": "a"}, id="own-wins"),
    pytest.param("{x: own, <<: *a}", {"x": "own", "y": "a"}, id="own-wins-from-above"),
    pytest.param("{<<: [*a, *b]}", {"x": "a", "y": "a", "z": "b"}, id="first-source-wins"),
    pytest.param("{<<: *c}", {"x": "a", "y": "a", "z": "c"}, id="merge-of-a-merge"),
    pytest.param("{<<: {w: inline}}", {"w": "inline"}, id="source-is-no-alias"),
    pytest.param("{!!merge <<: *a}", {"x": "a", "y": "a"}, id="tagged"),
    pytest.param("{'<<': *a, w: 1}", {"<<": None, "w": "1"}, id="quoted-is-no-merge"),
    pytest.param("{<<: word}", {}, id="nothing-to-merge"),
    pytest.param("&m {<<: *m, x: own}", {"x": "own"}, id="merges-itself"),
]


@pytest.mark.parametrize(("text", "values"), VALUES)
def test_values(text: str, values: dict[str, str | None]) -> None:
    node = mapping(text)
    found = {name: value for name, (_, value) in flatten(node).items()}

    texts = {name: node.value if isinstance(node, Scalar) else None for name, node in found.items()}
    assert texts == values
    assert all(find(node, name) is value for name, value in found.items())
    assert find(node, "absent") is None


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("{x: 1, y: 2}", None),
        ("{x: 1, y: 2, 'x': 3}", 2),
        ("{<<: *a, x: 1}", None),
        ("{? x, x}", 1),
    ],
)
def test_find_duplicate(text: str, second: int | None) -> None:
    node = mapping(text)

    expected = None if second is None else node.entries[second][0]
    assert find_duplicate(node) is expected


LATE = [
    pytest.param("{<<: *a, x: own}", None, id="merge-comes-first"),
    pytest.param("{x: own, <<: *a}", (1, "x"), id="merge-comes-later"),
    pytest.param("{w: own, <<: *a}", None, id="other-keys"),
    pytest.param("{<<: *a, <<: *b}", (1, "x"), id="second-merge"),
    pytest.param("{<<: {v: 1}, <<: {w: 1}}", None, id="second-merge-with-other-keys"),
    pytest.param("{z: own, <<: [*a, *b]}", (1, "z"), id="in-a-list"),
    pytest.param("{<<: [*a, *b]}", None, id="a-list-has-an-order"),
    pytest.param("{y: own, <<: *c}", (1, "y"), id="deep-inside"),
]


@pytest.mark.parametrize(("text", "late"), LATE)
def test_find_late_merge(text: str, late: tuple[int, str] | None) -> None:
    node = mapping(text)

    expected = None if late is None else (node.entries[late[0]][0], late[1])
    assert find_late_merge(node) == expected


def test_find_override() -> None:
    node = mapping("{x: own, w: own, <<: *a, y: own}")

    assert find_override(node, 0) is node.entries[2][0]
    assert find_override(node, 1) is None
    assert find_override(node, 3) is None


def test_merges() -> None:
    node = mapping("{<<: *a, x: own, w: own}")

    assert [merges(node, name) for name in "xyw"] == [True, True, False]
