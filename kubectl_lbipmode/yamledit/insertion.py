"""Put an entry into a mapping, or a value in the place of another, as one splice.

A new entry goes directly after the last one and its own trailing comment, in the column of its
siblings, with the text's own line break. In flow style it is quoted, so that JSON stays JSON, and
takes its comma from its neighbours. After the last entry is also after every merge key: kubectl's
YAML reader lets a later ``<<`` override an earlier key.
"""

from __future__ import annotations

import json

from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.nodes import Alias, Mapping, Node, Scalar
from kubectl_lbipmode.yamledit.places import (
    after_colon,
    block_comment,
    comments_below,
    entry_end,
    entry_line_end,
    entry_start,
    is_missing,
    skip_space,
    swallows_line_break,
    value_end,
)
from kubectl_lbipmode.yamledit.scalars import is_null, tag_may_stay
from kubectl_lbipmode.yamledit.text import (
    BREAKS,
    UnsupportedEditError,
    column,
    comment_end,
    line_break,
    line_start,
)

_DEFAULT_STEP = 2


def insert_entry(text: str, mapping: Mapping, lines: list[str], flow: str) -> Edit:
    """Add an entry to *mapping*: *lines* in block style (indented among themselves), or *flow*."""
    if mapping.flow:
        return _insert_flow(text, mapping, flow)
    key, value = mapping.entries[-1]
    indent = " " * column(text, mapping.inner)
    end = entry_line_end(text, key, value)
    if len(lines) > 1:
        # Comments that are indented deeper would become comments of what is put in.
        end = comments_below(text, end, len(indent))
    newline = line_break(text, end)
    block = f"{newline}{indent}".join(lines)
    if swallows_line_break(text, value):
        start = entry_start(text, key)
        return Edit(start, start, f"{block}{newline}{indent}")
    return Edit(end, end, f"{newline}{indent}{block}")


def replace_entry(text: str, mapping: Mapping, index: int, lines: list[str], flow: str) -> Edit:
    """Put another entry in the place of the one at *index*; its comments go with it."""
    key, value = mapping.entries[index]
    if mapping.flow:
        return Edit(key.start, entry_end(text, key, value), flow)
    start = entry_start(text, key)
    indent = " " * column(text, mapping.inner)
    newline = line_break(text, entry_end(text, key, value))
    return Edit(start, entry_line_end(text, key, value), f"{newline}{indent}".join(lines))


def insert_mapping(
    text: str, grandparent: Mapping, parent: Mapping, index: int, entry: tuple[str, str]
) -> Edit:
    """Put a mapping with one *entry* in the place of the null at *index*.

    Raises:
        UnsupportedEditError: the key has no value, in flow style or behind a question mark.
    """
    key, value = parent.entries[index]
    assert isinstance(value, Scalar)
    start = _start(text, value)
    if start < value.end:
        return Edit(start, value.end, f"{{{flow_entry(*entry)}}}")
    if parent.flow or after_colon(text, key) is None:
        raise _no_value(text, key)
    end = entry_line_end(text, key, value)
    newline = line_break(text, end)
    indent = " " * (column(text, parent.inner) + indent_step(text, parent, grandparent))
    return Edit(end, end, f"{newline}{indent}{entry[0]}: {entry[1]}")


def alias_with_entry(text: str, alias: Alias, entry: tuple[str, str]) -> str:
    """Write a mapping that merges what *alias* points to and adds one *entry*."""
    name, value = entry
    return f"{{<<: {text[alias.start : alias.end]}, {json.dumps(name)}: {value}}}"


def indent_step(text: str, mapping: Mapping, parent: Mapping) -> int:
    """Return by how much *mapping* is indented in *parent*: what to indent its children by."""
    step = column(text, mapping.inner) - column(text, parent.inner)
    return step if step > 0 else _DEFAULT_STEP


def flow_entry(key: str, value: str) -> str:
    """Write an entry for flow style and JSON."""
    return f"{json.dumps(key)}: {json.dumps(value)}"


def flow_mapping(key: str, entry: tuple[str, str]) -> str:
    """Write an entry that holds a mapping with one *entry*.

    The blanks inside of the braces tell it from a mapping that was there, empty, and was filled:
    so what is added can be taken away again, and no more.
    """
    return f"{json.dumps(key)}: {{ {flow_entry(*entry)} }}"


def replace_value(text: str, mapping: Mapping, index: int, new: str) -> Edit:
    """Put the plain word *new* in the place of a scalar, in its quotes; comments stay.

    Raises:
        UnsupportedEditError: the value is no scalar, is used elsewhere through its anchor, or
            is missing where there is no place for it.
    """
    key, value = mapping.entries[index]
    match value:
        case Alias():
            return Edit(value.start, value.end, new)
        case Scalar(shared=True):
            raise UnsupportedEditError(
                f"the value of `{_name(text, key)}` has an anchor (&{value.anchor}) "
                "that is used elsewhere",
                value.start,
                "write the value out at both places",
            )
        case Scalar():
            return _replace_scalar(text, mapping, key, value, new)
        case _:
            raise UnsupportedEditError(
                f"the value of `{_name(text, key)}` must be a plain or quoted scalar",
                value.start,
                "write the value as one word",
            )


def _replace_scalar(text: str, mapping: Mapping, key: Node, value: Scalar, new: str) -> Edit:
    start = _start(text, value)
    if start == value.end:
        if mapping.flow or after_colon(text, key) is None:
            raise _no_value(text, key)
        end = entry_end(text, key, value)
        return Edit(end, end, f" {new}")
    if value.style in ("|", ">"):
        # The header's comment stays on the line; blank lines below stay where they are.
        comment = block_comment(text, value)
        end = start + len(text[start : value_end(text, value)].rstrip(f" \t{BREAKS}"))
        return Edit(start, end, f"{new}{comment}")
    quote = value.style or ('"' if mapping.flow and is_null(value) else "")
    return Edit(start, value.end, f"{quote}{new}{quote}")


def _start(text: str, value: Scalar) -> int:
    """Return where the part of *value* begins that gives way.

    Anchor and tag stay, unless the tag says that the value is no string (``!!null``, ``!!bool``).
    """
    return value.content(text) if tag_may_stay(value) else value.start


def _insert_flow(text: str, mapping: Mapping, flow: str) -> Edit:
    if not mapping.entries:
        return Edit(mapping.inner, mapping.inner, flow)
    key, value = mapping.entries[-1]
    end = entry_end(text, key, value)
    comma = skip_space(text, end)
    if text[comma] == ",":
        place = comment_end(text, comma + 1) if _has_comment(text, comma + 1) else comma + 1
        return Edit(place, place, f"{_separator(text, key, comma + 1)}{flow},")
    # A comment on the last entry's line stays there: the comma goes before it, the entry after.
    comment = text[end : comment_end(text, end)] if _has_comment(text, end) else ""
    gap = " " if is_missing(value) and text[end - 1] == ":" else ""
    return Edit(end, end + len(comment), f"{gap},{comment}{_separator(text, key, end)}{flow}")


def _separator(text: str, key: Node, offset: int) -> str:
    """Return what to write between the entry at *key* and the next: a blank, or a line break."""
    start = line_start(text, key.start)
    before = text[start : key.start]
    if not before.strip(" \t"):
        return f"{line_break(text, offset)}{before}"
    if _has_comment(text, offset):
        return f"{line_break(text, offset)}{' ' * len(before)}"
    return " "


def _has_comment(text: str, offset: int) -> bool:
    return "#" in text[offset : comment_end(text, offset)]


def _name(text: str, key: Node) -> str:
    return key.value if isinstance(key, Scalar) else text[key.start : key.end]


def _no_value(text: str, key: Node) -> UnsupportedEditError:
    name = _name(text, key)
    message = f"`{name}` stands without a value, where none can be put in"
    return UnsupportedEditError(
        message, key.start, f"write a value after it, `{name}: null`, or take it out"
    )
