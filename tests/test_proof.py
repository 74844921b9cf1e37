"""What counts as the same tree, and an edit that does more than it should."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.nodes import Mapping, compose
from kubectl_lbipmode.yamledit.proof import prove, same, scalar, with_entry, with_value, without
from kubectl_lbipmode.yamledit.text import UnsupportedEditError

PAIRS = [
    pytest.param("a: b", '{"a": "b"}', True, id="style-is-nothing"),
    pytest.param("a: # c\n  - 1\n", "a: [1]", True, id="comments-are-nothing"),
    pytest.param("a: b", "a: c", False, id="value"),
    pytest.param("a: b", "c: b", False, id="key"),
    pytest.param("a: 1", "a: '1'", False, id="string-or-number"),
    pytest.param("a: ''", "a:", False, id="string-or-null"),
    pytest.param("{a: 1, b: 2}", "{b: 2, a: 1}", False, id="order"),
    pytest.param("{a: 1}", "{a: 1, b: 2}", False, id="more-entries"),
    pytest.param("[1]", "[1, 2]", False, id="more-items"),
    pytest.param("[1]", "[2]", False, id="item"),
    pytest.param("a: b", "a: !x b", False, id="tag"),
    pytest.param("a: b", "a: &x b", False, id="anchor"),
    pytest.param("[&x 1, *x]", "[&x 1, 1]", False, id="alias"),
    pytest.param("[&x 1, &y 2, *x]", "[&x 1, &y 2, *y]", False, id="another-alias"),
    pytest.param("a", "[a]", False, id="kind"),
]


@pytest.mark.parametrize(("one", "other", "equal"), PAIRS)
def test_same(one: str, other: str, equal: bool) -> None:
    (left,), (right,) = compose(one), compose(other)

    assert same(left.node, right.node) == equal


TEXT = "m:\n  a: 1\n  b: 2\n"


@pytest.fixture
def inner() -> Mapping:
    (root,) = compose(TEXT)
    assert isinstance(root.node, Mapping)
    node = root.node.entries[0][1]
    assert isinstance(node, Mapping)
    return node


def test_an_edit_that_does_what_it_should(inner: Mapping) -> None:
    prove(TEXT, inner, "", Edit(8, 9, "x"), with_value(inner, 0, scalar("x")))
    prove(TEXT, inner, "", Edit(5, 12, ""), without(inner, 0))
    new = (scalar("c"), scalar("x"))
    prove(TEXT, inner, "", Edit(16, 16, "\n  c: x"), with_entry(inner, new, last=True))
    prove(TEXT, inner, "", Edit(12, 12, "c: x\n  "), with_entry(inner, new, last=False))


@pytest.mark.parametrize(
    ("new", "claim"),
    [
        pytest.param("x", "y", id="another-value"),
        pytest.param("x\n  c: 3", "x", id="one-entry-more"),
        pytest.param("[", "x", id="no-yaml"),
        pytest.param("true", "true", id="no-string"),
        pytest.param("x\n--- y", "x", id="another-document"),
    ],
)
def test_an_edit_that_does_not(inner: Mapping, new: str, claim: str) -> None:
    with pytest.raises(UnsupportedEditError) as caught:
        prove(TEXT, inner, "", Edit(8, 9, new), with_value(inner, 0, scalar(claim)))

    assert caught.value.offset == 8
