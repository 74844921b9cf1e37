"""Where things end: the places between which an entry can be put in or taken out.

A parser's marks say where a value begins and ends, but not which comment, comma or line belongs to
it. Here is the rest: the colon after a key, the last line of a block scalar, the comma in a flow
collection.
"""

from __future__ import annotations

import re

from kubectl_lbipmode.yamledit.nodes import Mapping, Node, Scalar, Sequence
from kubectl_lbipmode.yamledit.text import (
    break_at,
    break_before,
    comment_end,
    line_end,
    line_start,
)

_SPACE_AND_COMMENTS = re.compile("(?:[ \t\r\n\x85\u2028\u2029]|#[^\r\n\x85\u2028\u2029]*)*")
_HEADER = re.compile("[|>]([0-9+-]*)([ \t]+#[^\r\n\x85\u2028\u2029]*)?")


def skip_space(text: str, offset: int) -> int:
    """Return the first place from *offset* on that holds no blank, line break or comment."""
    match = _SPACE_AND_COMMENTS.match(text, offset)
    assert match is not None
    return match.end()


def after_colon(text: str, key: Node) -> int | None:
    """Return the place after the colon of *key*; None where it has none (``? key``, ``{key}``)."""
    colon = skip_space(text, value_end(text, key))
    return colon + 1 if text[colon : colon + 1] == ":" else None


def is_missing(value: Node) -> bool:
    """Whether nothing is written for *value*: no text, no anchor, no tag."""
    return isinstance(value, Scalar) and value.start == value.end


def value_end(text: str, node: Node) -> int:
    """Return where the text of *node* ends, without the line break or comment that follows.

    For a block scalar this is the end of its last line, before the line break.
    """
    while True:
        match node:
            case Mapping(flow=False):
                key, value = node.entries[-1]
                if is_missing(value):
                    colon = after_colon(text, key)
                    if colon is not None:
                        return colon
                    value = key
                node = value
            case Sequence(flow=False):
                node = node.items[-1]
                if is_missing(node):
                    return _last_dash(text, node)
            case Scalar(style="|" | ">"):
                return _block_scalar_end(text, node)
            case _:
                return node.end


def entry_end(text: str, key: Node, value: Node) -> int:
    """Return where an entry ends, its value missing or not."""
    if is_missing(value):
        colon = after_colon(text, key)
        return value_end(text, key) if colon is None else colon
    return value_end(text, value)


def entry_line_end(text: str, key: Node, value: Node) -> int:
    """Return the end of an entry's last line, its trailing comment included."""
    end = entry_end(text, key, value)
    if ends_in_block_scalar(value):
        return end
    return comment_end(text, end)


def comments_below(text: str, offset: int, depth: int) -> int:
    """Return the end of the comment lines below *offset* that are indented deeper than *depth*.

    So indented, they belong to what stands above them, blank lines between or not.
    """
    end = offset
    while width := len(break_at(text, offset)):
        begin = offset + width
        offset = line_end(text, begin)
        line = text[begin:offset].lstrip(" \t")
        if line and not (line.startswith("#") and offset - len(line) - begin > depth):
            break
        if line:
            end = offset
    return end


def entry_start(text: str, key: Node) -> int:
    """Return where an entry begins: at its question mark, if it has one."""
    start = line_start(text, key.start)
    before = text[start : key.start].rstrip(" \t")
    return start + len(before) - 1 if before.endswith("?") else key.start


def ends_in_block_scalar(node: Node) -> Scalar | None:
    """Return the block scalar that the text of *node* ends in."""
    while True:
        match node:
            case Mapping(flow=False):
                node = node.entries[-1][1]
            case Sequence(flow=False):
                node = node.items[-1]
            case Scalar(style="|" | ">"):
                return node
            case _:
                return None


def swallows_line_break(text: str, node: Node) -> bool:
    """Whether a line break after *node* would become part of its value.

    So it is where a block scalar that keeps its last line break has none to keep: at the very end
    of a text.
    """
    scalar = ends_in_block_scalar(node)
    if scalar is None or break_at(text, _block_scalar_end(text, scalar)):
        return False
    header = _HEADER.match(text, scalar.content(text))
    return header is not None and "-" not in header[1]


def block_comment(text: str, scalar: Scalar) -> str:
    """Return the comment in the header of a block scalar, with the blanks before it."""
    header = _HEADER.match(text, scalar.content(text))
    return (header[2] or "") if header else ""


def _last_dash(text: str, item: Node) -> int:
    """Return the place after the dash of an empty last item, which ends at *item* at the latest."""
    return text.rfind("-", 0, item.start) + 1


def _block_scalar_end(text: str, scalar: Scalar) -> int:
    """Return the end of the last line that belongs to the value.

    The parser's mark lies behind all blank lines that follow. They are part of the value only
    where the header says ``+``.
    """
    start = scalar.content(text)
    header = _HEADER.match(text, start)
    assert header is not None
    first = line_end(text, start)
    if "+" in header[1]:
        end = scalar.end
        return end - break_before(text, end) if end > first else first
    lines = []
    offset = first
    while offset < scalar.end:
        begin = offset + len(break_at(text, offset))
        offset = min(line_end(text, begin), scalar.end)
        lines.append((begin, offset))
    written = [text[begin:end] for begin, end in lines if text[begin:end].strip(" ")]
    indent = min((len(line) - len(line.lstrip(" ")) for line in written), default=0)
    last = first
    for begin, end in lines:
        if text[begin:end].strip(" ") or (written and end - begin > indent):
            last = end
    return last
