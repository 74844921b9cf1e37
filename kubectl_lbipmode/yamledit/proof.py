"""Prove an edit before it is used: parse what it gives and compare with what it was meant to give.

The expected tree is the old one plus the one change. The part that is parsed again is the mapping
that the edit stands in, alone, in its own column and under the document's directives: of a list of
thousands of items, or of a long spec, nothing else needs a proof.
"""

from __future__ import annotations

from kubectl_lbipmode.yamledit.edits import Edit, apply_edits
from kubectl_lbipmode.yamledit.nodes import (
    Alias,
    Collection,
    Mapping,
    Node,
    Scalar,
    Sequence,
    compose,
)
from kubectl_lbipmode.yamledit.scalars import is_null, is_string, tag_may_stay
from kubectl_lbipmode.yamledit.text import InvalidYAMLError, UnsupportedEditError, column


def prove(text: str, node: Node, header: str, edit: Edit, expected: Node) -> None:
    """Check that *edit*, which stands inside of *node*, turns it into *expected*.

    Raises:
        UnsupportedEditError: it does not.
    """
    padding = header + " " * column(text, node.start)
    old = padding + text[node.start : node.end]
    new = apply_edits(old, [edit.shifted(len(padding) - node.start)])
    try:
        roots = compose(new, fragment=True)
    except InvalidYAMLError:
        roots = []
    if len(roots) != 1 or not same(roots[0].node, expected):
        raise UnsupportedEditError(
            "the text is written in a way that cannot be edited without changing more",
            edit.start,
            "write the annotation by hand",
        )


def same(left: Node, right: Node) -> bool:
    """Whether two trees hold the same values, tags, anchors and aliases, in the same order."""
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other) or (one.anchor, one.tag) != (other.anchor, other.tag):
            return False
        if isinstance(one, Collection):
            mine, theirs = _children(one), _children(other)
            if len(mine) != len(theirs):
                return False
            pairs += zip(mine, theirs, strict=True)
        elif not _same_leaf(one, other):
            return False
    return True


def scalar(value: str, old: Node | None = None) -> Scalar:
    """Make the string *value*, with the anchor and the tag of *old* where they fit a string."""
    kept = old if isinstance(old, Scalar) and tag_may_stay(old) else None
    anchor, tag = (kept.anchor, kept.tag) if kept is not None else (None, None)
    return Scalar(0, 0, anchor, tag, value, '"')


def null(old: Node) -> Scalar:
    """Make a null with the anchor and the tag of *old*."""
    return Scalar(0, 0, old.anchor, old.tag, "", "")


def mapping(*entries: tuple[Node, Node], old: Node | None = None) -> Mapping:
    """Make a mapping of *entries*, with the anchor and the tag of *old*."""
    anchor, tag = (old.anchor, old.tag) if old is not None else (None, None)
    flow = isinstance(old, Collection) and old.flow
    made = Mapping(0, 0, anchor, tag, 0, flow=flow)
    made.entries = list(entries)
    made.places = None
    return made


def with_value(old: Mapping, index: int, value: Node) -> Mapping:
    """Return *old* with another value at *index*."""
    key = old.entries[index][0]
    return mapping(*old.entries[:index], (key, value), *old.entries[index + 1 :], old=old)


def with_entry(old: Mapping, entry: tuple[Node, Node], *, last: bool) -> Mapping:
    """Return *old* with one more entry, as the last or as the last but one."""
    before = old.entries if last else old.entries[:-1]
    return mapping(*before, entry, *old.entries[len(before) :], old=old)


def without(old: Mapping, index: int) -> Mapping:
    """Return *old* without the entry at *index*."""
    return mapping(*old.entries[:index], *old.entries[index + 1 :], old=old)


def _children(node: Node) -> list[Node]:
    match node:
        case Mapping():
            return [child for entry in node.entries for child in entry]
        case Sequence():
            return node.items
        case _:
            return []


def _same_leaf(one: Node, other: Node) -> bool:
    match one, other:
        case Scalar(), Scalar():
            # Written alike, they mean alike; else a string must stay one.
            return one.value == other.value and (
                one.style == other.style or _meaning(one) == _meaning(other)
            )
        case Alias(), Alias():
            return one.name == other.name
        case _:
            return False


def _meaning(node: Scalar) -> tuple[bool, bool]:
    return is_string(node), is_null(node)
