"""A unified diff of a text that was edited part by part.

Parts that stayed as they were are taken for equal without a look, so the diff of a large stream
with a few changes costs little; difflib compares what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

_CONTEXT = 3

Opcode = tuple[str, int, int, int, int]


def unified_diff(name: str, parts: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """Yield the lines of the diff between the old and the new *parts*; none if they are equal."""
    old: list[bytes] = []
    new: list[bytes] = []
    opcodes: list[Opcode] = []
    for before, after in parts:
        old_lines = _lines(before)
        new_lines = old_lines if after == before else _lines(after)
        opcodes += _compare(old_lines, new_lines, len(old), len(new))
        old += old_lines
        new += new_lines
    if all(tag == "equal" for tag, *_ in opcodes):
        return
    # Without a tab, patch takes a name to end at its first blank.
    end = "\t" if " " in name else ""
    yield f"--- {name}{end}\n+++ {name}{end}\n".encode(errors="surrogateescape")
    for hunk in _group(opcodes):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = hunk[0], hunk[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n".encode()
        for tag, i1, i2, j1, j2 in hunk:
            if tag == "equal":
                yield from _marked(b" ", old[i1:i2])
            else:
                yield from _marked(b"-", old[i1:i2])
                yield from _marked(b"+", new[j1:j2])


def _lines(text: bytes) -> list[bytes]:
    """Cut after each LF and nowhere else: a CR belongs to its line."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _compare(old: list[bytes], new: list[bytes], i: int, j: int) -> list[Opcode]:
    if old is new:
        return [("equal", i, i + len(old), j, j + len(new))]
    matcher = SequenceMatcher(None, old, new)
    return [(tag, i + a, i + b, j + c, j + d) for tag, a, b, c, d in matcher.get_opcodes()]


def _group(opcodes: list[Opcode]) -> Iterable[list[Opcode]]:
    """Let difflib cut the changes into hunks, with their context."""
    matcher: SequenceMatcher[bytes] = SequenceMatcher(None, [], [])
    joined: list[Opcode] = []
    for opcode in opcodes:
        if joined and joined[-1][0] == opcode[0] == "equal":
            tag, i1, _, j1, _ = joined.pop()
            joined.append((tag, i1, opcode[2], j1, opcode[4]))
        else:
            joined.append(opcode)
    matcher.opcodes = joined  # type: ignore[attr-defined] # what get_opcodes() would work out
    return matcher.get_grouped_opcodes(_CONTEXT)


def _range(start: int, end: int) -> str:
    """Write a range of lines as ``diff -u`` does."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"
