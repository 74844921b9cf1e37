r"""Cut a stream into documents and back, byte for byte.

A line that starts with ``---`` or ``...`` (then a blank or the end of the line) is a document
marker wherever it stands, inside a block scalar too (YAML 1.2, 9.1.2). So a stream can be cut
without being parsed, and what nobody needs to look at is never parsed at all. A cut is made before
each ``---`` and after each ``...``: joining the parts gives the stream back. Comments and
directives that stand before the first ``---`` travel with the document that follows.

YAML 1.1 begins a line after a lone CR, a NEL, LS or PS as well; there is no cut there, and such a
part may hold more than one document, which is the parser's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"

_MARKER = re.compile(rb"(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
# The same below a line break: to begin with a plain character makes the search ten times faster.
_LATER_MARKER = re.compile(rb"\n(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_DIRECTIVE = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*%")
# What ends a line in YAML 1.1 besides LF and CRLF.
_OTHER_BREAK = re.compile(rb"\r(?!\n)|\xc2\x85|\xe2\x80[\xa8\xa9]")
# All that may stand outside of content: blank lines, comments, directives and markers.
_NO_CONTENT = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:(?:---|\.\.\.)?[ \t]*(?:#[^\r\n]*)?[\r\n]|%[^\r\n]*[\r\n])*+"
    rb"(?:(?:---|\.\.\.)?[ \t]*(?:#[^\r\n]*)?|%[^\r\n]*)"
)


@dataclass(frozen=True, slots=True)
class Document:
    """A part of a stream, as bytes: one document with its markers.

    *index* counts the documents before it in the stream, *line* the lines before it.
    """

    raw: bytes
    index: int = 0
    line: int = 0
    is_first: bool = True

    @property
    def is_blank(self) -> bool:
        """Whether it holds nothing but blank lines, comments, directives and markers."""
        return _has_no_content(self.raw)

    @property
    def is_explicit(self) -> bool:
        """Whether it begins with its own ``---``, comments and directives aside."""
        marker = _find_marker(self.raw.removeprefix(BOM), 0, at_end=True)
        if marker is None:
            return False
        start, _, ends_document = marker
        return not ends_document and _has_no_content(self.raw.removeprefix(BOM)[:start])

    @property
    def has_directives(self) -> bool:
        """Whether ``%YAML`` or ``%TAG`` stand before it."""
        return self.is_explicit and _DIRECTIVE.match(self.raw.removeprefix(BOM)) is not None


def cut(chunks: Iterable[bytes]) -> Iterator[Document]:
    """Cut a stream that comes in chunks of any size; memory holds one document at a time."""
    index = line = 0
    is_first = True
    for raw in _cut_raw(chunks):
        document = Document(raw, index, line, is_first)
        yield document
        is_first = False
        line += raw.count(b"\n")
        # A `---` alone makes an empty document; comments and `...` alone make none.
        index += document.is_explicit or not document.is_blank


def _has_no_content(raw: bytes | bytearray) -> bool:
    return _NO_CONTENT.fullmatch(raw) is not None


def _cut_raw(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts; each is cut off the buffer as soon as its end is certain."""
    buffer = bytearray()
    scanned = 0
    # Whether the part has its `---`: before that, comments and directives belong to it.
    explicit = False
    pending = iter(chunks)
    at_end = False
    while not at_end:
        chunk = next(pending, None)
        at_end = chunk is None
        buffer += chunk or b""
        while (marker := _find_marker(buffer, scanned, at_end=at_end)) is not None:
            start, end, ends_document = marker
            if ends_document:
                yield bytes(buffer[:end])
                del buffer[:end]
                scanned, explicit = 0, False
            elif start == 0 or not (explicit or not _has_no_content(buffer[:start])):
                scanned, explicit = end, True
            else:
                yield bytes(buffer[:start])
                del buffer[:start]
                scanned, explicit = end - start, True
        scanned = max(scanned, buffer.rfind(b"\n") + 1)
    if buffer:
        yield bytes(buffer)


def _find_marker(
    buffer: bytes | bytearray, scanned: int, *, at_end: bool
) -> tuple[int, int, bool] | None:
    """Return start, end and kind (True: ``...``) of the next marker that is whole."""
    while match := _search(buffer, scanned):
        end = match.end()
        start = end - len(b"---")
        # A marker at the end of the buffer may be the beginning of a longer word.
        if end == len(buffer) and not at_end:
            return None
        if buffer[start : start + 1] == b"-":
            return start, end, False
        line_end = buffer.find(b"\n", end)
        if line_end < 0:
            return (start, len(buffer), True) if at_end else None
        if not _OTHER_BREAK.search(buffer, end, line_end + 1):
            return start, line_end + 1, True
        scanned = end
    return None


def _search(buffer: bytes | bytearray, scanned: int) -> re.Match[bytes] | None:
    first = None if scanned else _MARKER.match(buffer)
    return first or _LATER_MARKER.search(buffer, max(scanned - 1, 0))
