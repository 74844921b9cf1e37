"""Take an entry out of a mapping, as one splice: the inverse of an insertion.

An entry goes with its line, its comma and the comment on its own line; comments of other lines
stay.
"""

from __future__ import annotations

from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.nodes import Mapping, Node
from kubectl_lbipmode.yamledit.places import (
    comments_below,
    entry_end,
    entry_line_end,
    entry_start,
    skip_space,
)
from kubectl_lbipmode.yamledit.text import (
    BREAKS,
    break_at,
    break_before,
    column,
    comment_end,
    line_start,
)


def remove_entry(text: str, mapping: Mapping, index: int) -> Edit:
    """Take out the entry at *index*."""
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
    return _remove_first(text, mapping, index, Edit(start, end, ""))


def holds_comment(text: str, key: Node, mapping: Mapping) -> bool:
    """Whether a comment stands between *key* and its block *mapping*, or on a line inside of it."""
    first, last = mapping.entries[0], mapping.entries[-1]
    if "#" in text[key.end : entry_start(text, first[0])]:
        return True
    # Comment lines below belong to the mapping where they are indented deeper than its key.
    end = entry_line_end(text, *last)
    return comments_below(text, end, column(text, key.start)) > end


def _whole_lines(text: str, begin: int, end: int) -> Edit:
    if width := len(break_at(text, end)):
        return Edit(begin, end + width, "")
    # The last line of a text has no line break of its own: the one before goes with it.
    return Edit(begin - break_before(text, begin), end, "")


def _remove_first(text: str, mapping: Mapping, index: int, own: Edit) -> Edit:
    """Let the next entry move up on the line of the one that goes, unless a comment is between."""
    following = entry_start(text, mapping.entries[index + 1][0])
    return own if "#" in text[own.end : following] else Edit(own.start, following, "")


def _remove_flow(text: str, mapping: Mapping, index: int) -> Edit:
    key, value = mapping.entries[index]
    start, end = entry_start(text, key), entry_end(text, key, value)
    comma = skip_space(text, end)
    has_comma = text[comma] == ","
    if has_comma:
        end = comma + 1
    line_end = comment_end(text, end)
    begin = line_start(text, start)
    if has_comma and not text[begin:start].strip(" \t") and break_at(text, line_end):
        return _whole_lines(text, begin, line_end)
    if len(mapping.entries) == 1:
        return Edit(start, end, "")  # A comment in empty braces may have been there before.
    if "#" in text[end:line_end]:
        end = line_end
    if index + 1 < len(mapping.entries):
        return _remove_first(text, mapping, index, Edit(start, end, ""))
    # The last entry goes with the comma that it has, or else with the one before it.
    previous = entry_end(text, *mapping.entries[index - 1])
    comma = skip_space(text, previous)
    gap = text[comma + 1 : start] if has_comma else text[previous:comma] + text[comma + 1 : start]
    return Edit(comma + 1 if has_comma else previous, end, _comments_of(gap, text, end))


def _comments_of(gap: str, text: str, end: int) -> str:
    """Return what stays of the *gap* before an entry that ends at *end*."""
    kept = gap.rstrip(f" \t{BREAKS}")
    if "#" in kept[line_start(kept, len(kept)) :] and not break_at(text, end):
        # What follows must not become part of the comment.
        kept += break_at(gap, len(kept))
    return kept
