"""The error family: what a user can do something about.

Every error that a user may see is an `LBIPModeError`: it says what happened, where (a `Location`
that editors and terminals can jump to) and, as a hint, what to do. Whatever else is raised is a
bug of ours and keeps its traceback. Each class carries the exit status that the command ends with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in an input. *line* and *column* count from 1; 0 means the input as a whole."""

    source: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Write it as compilers do: ``web.yaml:12:5``."""
        if not self.line:
            return self.source
        return f"{self.source}:{self.line}:{self.column}"


class LBIPModeError(Exception):
    """Base class: what happened, and optionally what to do about it."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(LBIPModeError):
    """A file, stream or option holds something that we cannot accept."""

    def __init__(
        self, message: str, *, at: Location | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.at = at

    def __str__(self) -> str:
        """Put the place before the message."""
        return f"{self.at}: {self.message}" if self.at else self.message
