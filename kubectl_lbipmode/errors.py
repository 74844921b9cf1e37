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


class ClusterError(LBIPModeError):
    """The API server refused, could not be reached, or is not known."""

    exit_code = 3


class KubeconfigError(ClusterError):
    """No way to a cluster is configured, or it cannot be read."""


class UnreachableError(ClusterError):
    """No API server answers: not found, refused, not trusted, or too slow."""


class UnavailableError(ClusterError):
    """The API server cannot answer now (429, 5xx), or the connection broke: worth trying again.

    *retry_after* is the number of seconds that the server asks for, None if it does not say.
    """

    def __init__(
        self, message: str, *, hint: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class UnauthorizedError(ClusterError):
    """The API server does not accept the credentials (401)."""


class ForbiddenError(ClusterError):
    """The caller's role lacks a rule (403), which the message names."""


class NotFoundError(ClusterError):
    """There is no such object (404)."""


class ConflictError(ClusterError):
    """The object changed since it was read (409, or a failed ``test`` of a JSON Patch)."""


class ExpiredError(ClusterError):
    """The version or page that was asked for is no longer kept (410).

    *continue_token* goes on with the list all the same, at the price of an inconsistent one.
    """

    def __init__(self, message: str, *, continue_token: str = "") -> None:
        super().__init__(message)
        self.continue_token = continue_token


class InvalidError(ClusterError):
    """The API server refuses what was sent (400, 422), or something in it does not apply."""
