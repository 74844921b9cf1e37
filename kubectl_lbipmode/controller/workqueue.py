"""Work by key: the newest state of each key, one worker at a time for each, many keys at once.

What comes for a key that waits takes the place of what waited. What comes for a key that is being
worked on waits until that is done. So two workers never write to one Service, and a hundred changes
in a row cost no more than a few.

A key that was worked on may have to rest. Whatever comes meanwhile waits for the end of the rest;
if something did, the next rest may be longer. A rest in which nothing came ends the row. This one
rule serves both for what failed (it is tried again ever more slowly) and for what is undone again
and again by somebody else (who is fought ever more slowly).
"""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
State = TypeVar("State")

# The longest rest is reached long before; a float does not go on for ever.
_MOST_DOUBLINGS = 32


@dataclass(frozen=True, slots=True)
class Rest:
    """How long a key rests: *first* seconds *even* times in a row, then twice as long each time."""

    first: float
    longest: float
    even: int = 1

    def seconds(self, row: int) -> float:
        """Return the length of the rest number *row*, which counts from 0.

        Up to a fifth is taken off at random: what failed at one moment shall not come back at one.
        """
        doublings = min(_MOST_DOUBLINGS, max(0, row + 1 - self.even))
        full = min(self.longest, self.first * 2.0**doublings)
        return full * random.uniform(0.8, 1)  # noqa: S311 - no secret


@dataclass(frozen=True, slots=True)
class Task(Generic[Key, State]):
    """What to work on: the newest *state* of *key*, and since when (monotonic) it waited.

    *row* is the number of rests that it has had in a row.
    """

    key: Key
    state: State
    since: float
    row: int


@dataclass(slots=True)
class _Entry(Generic[State]):
    """A key that *waits* for a worker, is *running* in one, or rests; it may wait meanwhile."""

    state: State
    since: float
    waits: bool = True
    running: bool = False
    resting: bool = False
    row: int = 0


class WorkQueue(Generic[Key, State]):
    """The queue. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: dict[Key, _Entry[State]] = {}
        # In the order of arrival; the values mean nothing.
        self._ready: dict[Key, None] = {}
        self._rests: list[tuple[float, int, Key]] = []
        self._number = 0
        self._held_until = 0.0
        self._holds = 0
        self._closed = False

    def __len__(self) -> int:
        """Return the number of keys that are known here: waiting, running or resting."""
        with self._changed:
            return len(self._entries)

    def put(self, key: Key, state: State) -> None:
        """Set the newest *state* of *key*."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is None:
                self._entries[key] = _Entry(state, time.monotonic())
                self._make_ready(key)
                return
            entry.state = state
            if not entry.waits:
                entry.waits, entry.since = True, time.monotonic()

    def forget(self, key: Key) -> None:
        """Drop what waits for *key*: there is nothing left to work on."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is None:
                return
            entry.waits = False
            self._ready.pop(key, None)
            if not entry.running and not entry.resting:
                del self._entries[key]

    def take(self) -> Task[Key, State] | None:
        """Wait for a key that may be worked on; None once the queue is closed.

        `finish` must follow.
        """
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                self._end_rests(now)
                if self._ready and now >= self._held_until:
                    key = next(iter(self._ready))
                    del self._ready[key]
                    entry = self._entries[key]
                    entry.waits, entry.running = False, True
                    return Task(key, entry.state, entry.since, entry.row)
                self._changed.wait(self._find_wait(now))
        return None

    def finish(
        self, task: Task[Key, State], rest: Rest | None = None, *, again: bool = False
    ) -> None:
        """Say that a task is done.

        Args:
            task: what `take` returned.
            rest: how long the key rests; None: not at all.
            again: it is not done, really: its state, or a newer one, comes back after the rest.
        """
        with self._changed:
            entry = self._entries[task.key]
            entry.running = False
            if again:
                entry.waits, entry.since = True, task.since
            if rest is not None:
                entry.resting = True
                self._number += 1
                until = time.monotonic() + rest.seconds(entry.row)
                heapq.heappush(self._rests, (until, self._number, task.key))
                self._changed.notify()
                return
            entry.row = 0
            if entry.waits:
                self._make_ready(task.key)
            else:
                del self._entries[task.key]

    def hold(self, rest: Rest) -> None:
        """Let all keys rest: what is wrong is wrong for every one of them.

        What fails while they rest was under way before, and does not make the rest longer.
        """
        with self._changed:
            now = time.monotonic()
            if now >= self._held_until:
                self._held_until = now + rest.seconds(self._holds)
                self._holds += 1

    def end_holds(self) -> None:
        """Begin the row of common rests anew: something went well."""
        with self._changed:
            self._holds = 0

    def close(self) -> None:
        """Give nothing out any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _make_ready(self, key: Key) -> None:
        self._ready[key] = None
        self._changed.notify()

    def _end_rests(self, now: float) -> None:
        while self._rests and self._rests[0][0] <= now:
            key = heapq.heappop(self._rests)[2]
            entry = self._entries[key]
            entry.resting = False
            if entry.waits:
                entry.row += 1
                self._make_ready(key)
            else:
                del self._entries[key]

    def _find_wait(self, now: float) -> float | None:
        """Return the seconds until something may have changed by itself; None: nothing will."""
        moments = []
        if self._rests:
            moments.append(self._rests[0][0])
        if self._ready:
            moments.append(self._held_until)
        return max(0.0, min(moments) - now) if moments else None
