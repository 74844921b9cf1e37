"""Where things end, and where the next one may begin, row by row.

The text of a row is a mapping; its first value is asked about.
"""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.nodes import Mapping, Node, Scalar, compose
from kubectl_lbipmode.yamledit.places import (
    after_colon,
    block_comment,
    comments_below,
    entry_line_end,
    entry_start,
    swallows_line_break,
    value_end,
)


def first_entry(text: str) -> tuple[Node, Node]:
    (root,) = compose(text)
    assert isinstance(root.node, Mapping)
    return root.node.entries[0]


VALUES = [
    pytest.param("a: b # c\n", "b", id="plain"),
    pytest.param("a: b\n  c\nd: e\n", "b\n  c", id="plain-in-two-lines"),
    pytest.param("a: &x !!str 'b' # c\n", "&x !!str 'b'", id="anchor-and-tag"),
    pytest.param("a: {b: c} # d\n", "{b: c}", id="flow"),
    pytest.param("a:\n  b: c # d\n\ne: f\n", "b: c", id="block-mapping"),
    pytest.param("a:\n  b:\n  ? c\nd: e\n", "b:\n  ? c", id="key-alone-at-the-end"),
    pytest.param("a:\n  b: # c\nd: e\n", "b:", id="null-at-the-end"),
    pytest.param("a:\n- b\n- # c\nd: e\n", "- b\n-", id="empty-item-at-the-end"),
    pytest.param("a:\n- - b\n  -\nd: e\n", "- - b\n  -", id="empty-item-of-an-inner-list"),
    pytest.param("a: |\n  b\n\n# c\nd: e\n", "|\n  b", id="literal"),
    pytest.param("a: |+\n  b\n\n# c\nd: e\n", "|+\n  b\n", id="literal-that-keeps"),
    pytest.param("a: |-\n  b\n\n\nd: e\n", "|-\n  b", id="literal-that-strips"),
    pytest.param("a: >\n  b\n\n  c\nd: e\n", ">\n  b\n\n  c", id="folded"),
    pytest.param("a: |\n  b\n   \nd: e\n", "|\n  b\n   ", id="blank-line-deeper-than-the-text"),
    pytest.param("a: |\n  b\n  \nd: e\n", "|\n  b", id="blank-line-as-deep-as-the-text"),
    pytest.param("a: |\nd: e\n", "|", id="literal-without-text"),
    pytest.param("a: | # c\n\n\nd: e\n", "| # c", id="blank-literal"),
    pytest.param("a: |+\n\n\nd: e\n", "|+\n\n", id="blank-literal-that-keeps"),
    pytest.param("a: |1\n   b\n", "|1\n   b", id="indent-is-told"),
    pytest.param("a: &x !y |\n  b\n", "&x !y |\n  b", id="literal-with-anchor-and-tag"),
    pytest.param("a: |\r\n  b\r\n\r\nd: e\r\n", "|\r\n  b", id="crlf"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value_end(text: str, value: str) -> None:
    _, node = first_entry(text)

    assert text[node.start : value_end(text, node)] == value


ENTRIES = [
    pytest.param("a: b # c\nd: e\n", "a: b # c", id="comment-goes-along"),
    pytest.param("a: b  \nd: e\n", "a: b  ", id="so-do-blanks"),
    pytest.param("a: # c\nd: e\n", "a: # c", id="null"),
    pytest.param("? a # c\nd: e\n", "? a # c", id="key-alone"),
    pytest.param("? a # c\n: b # d\ne: f\n", "? a # c\n: b # d", id="question-mark"),
    pytest.param("a: |\n  # b\nd: e\n", "a: |\n  # b", id="no-comment-in-a-literal"),
    pytest.param("a:\n- |\n  b\nd: e\n", "a:\n- |\n  b", id="literal-in-a-list"),
    pytest.param("a: b#c\nd: e\n", "a: b#c", id="no-comment-without-a-blank"),
]


@pytest.mark.parametrize(("text", "entry"), ENTRIES)
def test_entry(text: str, entry: str) -> None:
    key, value = first_entry(text)

    assert text[entry_start(text, key) : entry_line_end(text, key, value)] == entry


COLONS = [
    pytest.param("a: b\n", 2, id="at-once"),
    pytest.param("a  : b\n", 4, id="after-blanks"),
    pytest.param("'a': b\n", 4, id="after-quotes"),
    pytest.param("? a # :\n: b\n", 9, id="on-the-next-line"),
    pytest.param("? a\n", None, id="nowhere"),
    pytest.param("{a, b: c}\n", None, id="nowhere-in-flow"),
]


@pytest.mark.parametrize(("text", "place"), COLONS)
def test_after_colon(text: str, place: int | None) -> None:
    key, _ = first_entry(text)

    assert after_colon(text, key) == place


SWALLOWS = [
    pytest.param("a: |\n  b", True, id="literal-at-the-end"),
    pytest.param("a: |+\n  b", True, id="one-that-keeps"),
    pytest.param("a: >2\n  b", True, id="folded"),
    pytest.param("a:\n- b: |\n    c", True, id="deep-inside"),
    pytest.param("a: |", True, id="without-text"),
    pytest.param("a: |-\n  b", False, id="one-that-strips"),
    pytest.param("a: |\n  b\n", False, id="its-line-break-is-there"),
    pytest.param("a: b", False, id="plain"),
]


@pytest.mark.parametrize(("text", "swallows"), SWALLOWS)
def test_swallows_line_break(text: str, swallows: bool) -> None:
    _, node = first_entry(text)

    assert swallows_line_break(text, node) == swallows


@pytest.mark.parametrize(
    ("text", "comment"),
    [("a: | # c\n  b\n", " # c"), ("a: >+2\t# c, }\n   b\n", "\t# c, }"), ("a: |\n  # b\n", "")],
)
def test_block_comment(text: str, comment: str) -> None:
    _, node = first_entry(text)
    assert isinstance(node, Scalar)

    assert block_comment(text, node) == comment


BELOW = [
    pytest.param("x\n  # a\n", "\n  # a", id="deeper"),
    pytest.param("x\n # a\n", "", id="as-deep"),
    pytest.param("x\n  # a\n    # b\n # c\n", "\n  # a\n    # b", id="several"),
    pytest.param("x\n\n \n  # a\n\n", "\n\n \n  # a", id="below-blank-lines"),
    pytest.param("x\n\n\n", "", id="blank-lines-alone"),
    pytest.param("x\n  y # a\n", "", id="on-a-line-of-something"),
    pytest.param("x\r\n\t\t# a\r\n", "\r\n\t\t# a", id="tabs"),
    pytest.param("x\n  # a", "\n  # a", id="at-the-end"),
    pytest.param("x", "", id="nothing"),
]


@pytest.mark.parametrize(("text", "comments"), BELOW)
def test_comments_below(text: str, comments: str) -> None:
    assert text[1 : comments_below(text, 1, 1)] == comments
