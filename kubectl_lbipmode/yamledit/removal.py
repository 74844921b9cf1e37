"""Take an entry out of a mapping, as one splice: the inverse of an insertion.

An entry goes with its line, its comma and the comment on its own line; comments of other lines
stay. Where an entry cannot go without a comment of another one, it is refused.
"""

from __future__ import annotations

import re

from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.nodes import Mapping, Node
from kubectl_lbipmode.yamledit.places import (
    entry_end,
    entry_line_end,
    entry_start,
    skip_space,
)
from kubectl_lbipmode.yamledit.text import (
    BREAKS,
    UnsupportedEditError,
    break_at,
    break_before,
    comment_end,
    line_end,
    line_start,
)

_COMMENT_LINE = re.compile("[ \t]*#")


def remove_entry(text: str, mapping: Mapping, index: int) -> Edit:
    """Take out the entry at *index*.

    Raises:
        UnsupportedEditError: a comment that belongs to another entry stands in the way.
    """
    if mapping.flow:
        return _remove_flow(text, mapping, index)
    key, value = mapping.entries[index]
    start, end = entry_start(text, key), entry_line_end(text, key, value)
    begin = line_start(text, start)
    if not text[begin:start].strip(" "):
        return _whole_lines(text, begin, end)
    # The first entry shares its line with what it belongs to: `- key: …`, `: key: …`.
    if index + 1 == len(mapping.entries):
        return Edit(start, entry_end(text, key, value), "")
    following = entry_start(text, mapping.entries[index + 1][0])
    edit = _remove_first(text, key, following, end)
    return Edit(start, edit.end, "")


def holds_comment(text: str, key: Node, mapping: Mapping) -> bool:
    """Whether a comment stands between *key* and its block *mapping*, or on a line inside of it."""
    first, last = mapping.entries[0], mapping.entries[-1]
    if "#" in text[key.end : entry_start(text, first[0])]:
        return True
    # Comment lines below belong to the mapping where they are indented deeper than its key.
    depth = key.start - line_start(text, key.start)
    offset = entry_line_end(text, *last)
    while width := len(break_at(text, offset)):
        line = text[offset + width : line_end(text, offset + width)]
        if line.strip(" \t"):
            match = _COMMENT_LINE.match(line)
            return match is not None and match.end() - 1 > depth
        offset += width + len(line)
    return False


def _whole_lines(text: str, begin: int, end: int) -> Edit:
    if width := len(break_at(text, end)):
        return Edit(begin, end + width, "")
    # The last line of a text has no line break of its own: the one before goes with it.
    return Edit(begin - break_before(text, begin), end, "")


def _remove_first(text: str, key: Node, following: int, own_end: int) -> Edit:
    """Take out an entry that shares its line, up to the next one."""
    if "#" in text[own_end:following]:
        message = "the entry cannot be taken out without a comment that stands below it"
        raise UnsupportedEditError(message, key.start, "take it out by hand")
    return Edit(key.start, following, "")


def _remove_flow(text: str, mapping: Mapping, index: int) -> Edit:
    key, value = mapping.entries[index]
    end = entry_end(text, key, value)
    comma = skip_space(text, end)
    if text[comma] != ",":
        return Edit(key.start, end, "") if index == 0 else _remove_last(text, mapping, index)
    own_line_end = comment_end(text, comma + 1)
    begin = line_start(text, key.start)
    if not text[begin : key.start].strip(" \t") and break_at(text, own_line_end):
        return _whole_lines(text, begin, own_line_end)
    if index + 1 < len(mapping.entries):
        return _remove_first(text, key, mapping.entries[index + 1][0].start, comma + 1)
    if index == 0:
        return Edit(key.start, comma + 1, "")
    previous_comma = skip_space(text, entry_end(text, *mapping.entries[index - 1]))
    gap = text[previous_comma + 1 : key.start]
    return Edit(previous_comma + 1, comma + 1, gap.rstrip(f" \t{BREAKS}"))


def _remove_last(text: str, mapping: Mapping, index: int) -> Edit:
    """Take out the last entry, which has no comma, with the comma of the one before."""
    key, value = mapping.entries[index]
    previous = entry_end(text, *mapping.entries[index - 1])
    comma = skip_space(text, previous)
    gap = text[previous:comma] + text[comma + 1 : key.start]
    return Edit(previous, entry_end(text, key, value), gap.rstrip(f" \t{BREAKS}"))
