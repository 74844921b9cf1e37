"""Places in a text: offsets, lines and columns, line ends, and errors that name a place.

YAML 1.1 readers, the cluster's among them, take a lone CR, NEL, LS and PS for line breaks too, so
the editor does as well. Editors and compilers do not, so the line numbers that people see go by
LF alone.
"""

from __future__ import annotations

import re

BOM = "\ufeff"
BREAKS = "\r\n\x85\u2028\u2029"

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_LINE = re.compile("[^\r\n\x85\u2028\u2029]*")
_BLANKS_AND_COMMENT = re.compile("[ \t]*(?:#[^\r\n\x85\u2028\u2029]*)?")


class TextError(ValueError):
    """Something is wrong at *offset*, in code points from the start of the text."""

    def __init__(self, message: str, offset: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class InvalidYAMLError(TextError):
    """The text is not valid YAML."""


class UnsupportedEditError(TextError):
    """The change exists, but it cannot be made without touching other bytes."""


def line_start(text: str, offset: int) -> int:
    """Return where the line of *offset* begins, after a BOM."""
    start = max(text.rfind(char, 0, offset) for char in BREAKS) + 1
    return start + 1 if start == 0 and text.startswith(BOM) else start


def line_end(text: str, offset: int) -> int:
    """Return where the line of *offset* ends, before its line break."""
    match = _LINE.match(text, offset)
    assert match is not None
    return match.end()


def comment_end(text: str, offset: int) -> int:
    """Return the end of the blanks and the comment that follow *offset* on its line."""
    match = _BLANKS_AND_COMMENT.match(text, offset)
    assert match is not None
    return match.end()


def break_at(text: str, offset: int) -> str:
    """Return the line break that stands at *offset*, or nothing."""
    match = _BREAK.match(text, offset)
    return match[0] if match else ""


def break_before(text: str, offset: int) -> int:
    """Return the width of the line break that ends at *offset*; 0 if there is none."""
    if text[max(offset - 2, 0) : offset] == "\r\n":
        return 2
    return int(offset > 0 and text[offset - 1] in BREAKS)


def line_break(text: str, offset: int) -> str:
    """Return the text's own line break: the next one, else the one before, else LF."""
    following = _BREAK.search(text, offset)
    if following:
        return following[0]
    start = line_start(text, offset)
    return text[start - break_before(text, start) : start] or "\n"


def column(text: str, offset: int) -> int:
    """Return how many code points stand before *offset* on its line."""
    return offset - line_start(text, offset)
