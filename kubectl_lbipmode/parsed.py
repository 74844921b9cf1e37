"""A document as text and as nodes, with the place of each in its source.

The text must be UTF-8, and a byte order mark may stand at the start of the stream only: what else
could be meant is refused, never guessed.
"""

from __future__ import annotations

from bisect import bisect_right

from kubectl_lbipmode.errors import InputError, Location
from kubectl_lbipmode.yamledit.documents import Document
from kubectl_lbipmode.yamledit.nodes import compose
from kubectl_lbipmode.yamledit.text import BOM, InvalidYAMLError

_RENDER = "this looks like a template: render it first, as with: helm template … | …"


class ParsedDocument:
    """A document of *source*: its *text*, and its *roots* (as a rule one)."""

    def __init__(self, document: Document, source: str) -> None:
        """Read and parse *document*.

        Raises:
            InputError: it is not UTF-8, or not valid YAML.
        """
        self.source = source
        self.document = document
        self._line_starts: list[int] = []
        self.text = self._decode()
        try:
            self.roots = compose(self.text)
        except InvalidYAMLError as problem:
            at = self.locate(problem.offset)
            hint = problem.hint or (_RENDER if "{{" in self.text else None)
            raise InputError(problem.message, at=at, hint=hint) from problem

    def locate(self, offset: int) -> Location:
        """Return the place of *offset*, in code points, in the source; lines go by LF alone."""
        if not self._line_starts:
            start = 1 if self.text.startswith(BOM) else 0
            self._line_starts.append(start)
            while (start := self.text.find("\n", start) + 1) > 0:
                self._line_starts.append(start)
        index = max(bisect_right(self._line_starts, offset) - 1, 0)
        column = max(offset - self._line_starts[index], 0) + 1
        return Location(self.source, self.document.line + index + 1, column)

    def _decode(self) -> str:
        raw = self.document.raw
        try:
            self.text = raw.decode()
        except UnicodeDecodeError as problem:
            self.text = raw[: problem.start].decode()
            raise InputError(
                f"not UTF-8: the byte 0x{raw[problem.start]:02X} cannot stand here",
                at=self.locate(len(self.text)),
                hint="save the file as UTF-8",
            ) from problem
        found = self.text.find(BOM, 1 if self.document.is_first else 0)
        if found >= 0:
            raise InputError(
                "a byte order mark (U+FEFF) must stand at the start of the stream only",
                at=self.locate(found),
                hint="remove it; files that were joined leave one behind",
            )
        return self.text


def refuse_utf16(document: Document, source: str) -> None:
    """Refuse a stream that does not begin in bytes of ASCII or UTF-8.

    Raises:
        InputError: it is UTF-16 or UTF-32, by its byte order mark or its zero bytes.
    """
    if document.is_first and (
        document.raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in document.raw[:2]
    ):
        at = Location(source)
        raise InputError("UTF-16 is not read", at=at, hint="save the file as UTF-8")
