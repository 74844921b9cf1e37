"""Work sources through the editor: document by document, into spool files, so nothing is lost.

A source becomes a `Result`: what to write, what became of its Services, and what is wrong with it.
Nothing is written here; the caller looks at all results first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import IO

from kubectl_lbipmode.errors import InputError, Location
from kubectl_lbipmode.files import Source
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.manifests import Options, Outcome, annotate
from kubectl_lbipmode.yamledit.documents import BOM, Document, cut

_CHUNK = 1 << 20
_SPOOL = 8 << 20  # Bytes kept in memory; more goes to the disk.

Advance = Callable[[int], None]


@dataclass
class Result:
    """What came of one source. *parts* are kept for a diff only."""

    source: Source
    spool: IO[bytes]
    outcomes: list[Outcome] = field(default_factory=list)
    parts: list[tuple[bytes, bytes]] = field(default_factory=list)
    changed: bool = False
    blank: bool = True
    problem: InputError | None = None

    @property
    def failed(self) -> bool:
        """Whether it must not be written: it cannot be read, or a Service is in error."""
        return self.problem is not None or any(outcome.failed for outcome in self.outcomes)

    @property
    def warned(self) -> bool:
        """Whether there is a warning."""
        return any(
            finding.severity is Severity.WARNING
            for outcome in self.outcomes
            for finding in outcome.findings
        )


def transform(source: Source, options: Options, *, keep_parts: bool, advance: Advance) -> Result:
    """Annotate *source*; a problem with it is part of the result."""
    result = Result(source, _open_spool(source.size))
    try:
        for document in cut(_counted(source, advance)):
            after, outcomes = annotate(document, options, source.name)
            result.outcomes += outcomes
            result.changed |= after != document.raw
            result.blank &= document.is_blank
            result.spool.write(after)
            if keep_parts:
                result.parts.append((document.raw, after))
    except InputError as problem:
        result.problem = problem
    else:
        if result.blank and source.path is None:
            result.problem = _nothing_in(source)
    result.spool.seek(0)
    return result


def join(results: list[Result]) -> IO[bytes]:
    """Join what the sources became into one stream.

    A missing last line break and a missing ``---`` are added between two, and a BOM but the first
    is dropped; else every byte stays.
    """
    if len(results) == 1:
        return results[0].spool
    joined = _open_spool()
    last = b""
    for result in results:
        for document in cut(iter(partial(result.spool.read, _CHUNK), b"")):
            raw = document.raw
            if last and document.is_first:
                raw = raw.removeprefix(BOM)
                joined.write(_boundary(last, document))
            joined.write(raw)
            last = raw or last
    joined.seek(0)
    return joined


def _boundary(last: bytes, following: Document) -> bytes:
    """Return what must stand between the end of one source and the first document of the next."""
    newline = b"\r\n" if last.endswith(b"\r\n") or b"\r\n" in following.raw else b"\n"
    boundary = b"" if last.endswith(b"\n") else newline
    if following.has_directives:
        return boundary + b"..." + newline  # Only there may directives stand.
    if following.is_explicit or following.is_blank:
        return boundary
    return boundary + b"---" + newline


def _counted(source: Source, advance: Advance) -> Iterator[bytes]:
    for chunk in source.read():
        advance(len(chunk))
        yield chunk


def _nothing_in(source: Source) -> InputError:
    message = "there is nothing in it but blank lines or comments"
    hint = "an empty render is refused, since deploying it could delete what is deployed"
    return InputError(message, at=Location(source.name), hint=hint)


def _open_spool(size: int = 0) -> IO[bytes]:
    """Open a spool for about *size* bytes, 0 if that is not known."""
    if 0 < size <= _SPOOL:
        return BytesIO()
    from tempfile import SpooledTemporaryFile

    return SpooledTemporaryFile(max_size=_SPOOL)
