"""One splice of a text, and how splices are applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace ``text[start:end]`` by *new*; everything outside of it stays as it is."""

    start: int
    end: int
    new: str

    def shifted(self, offset: int) -> Edit:
        """Return the same edit for a text that begins *offset* code points earlier."""
        return Edit(self.start + offset, self.end + offset, self.new)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Cut and join *text*.

    Raises:
        ValueError: two edits overlap, which is a bug of the caller.
    """
    parts: list[str] = []
    position = 0
    for edit in sorted(edits):
        if edit.start < position:
            raise ValueError(f"edits overlap at {edit.start}")
        parts += (text[position : edit.start], edit.new)
        position = edit.end
    parts.append(text[position:])
    return "".join(parts)
