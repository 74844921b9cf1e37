"""The loop: the feed fills the queue, workers empty it, and the main thread watches over both.

The threads are daemons on purpose. Where the process must stop writing at once (its lease is lost),
it ends, and they with it; a thread that waits for a silent server cannot hold it up. An orderly end
waits for what is in flight. An error that nobody foresaw ends the process with its traceback:
better to be restarted than to look alive and do nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.workqueue import Rest, Task, WorkQueue
from kubectl_lbipmode.errors import (
    ClusterError,
    ExpiredError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)
from kubectl_lbipmode.feed import Changed, Feed, Listed, Removed, Source
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.sync import DroppedByServerError, Outcome, Syncer

Name = tuple[str, str]
"""A Service's namespace and name."""

# Seconds. A Service that was repaired rests, so that a fight with something else that writes the
# status costs the API server ever less. A cloud controller writes once for each edit, so that many
# repairs in a row are nothing unusual while somebody edits.
_AFTER_REPAIR = Rest(first=0.1, longest=30, even=20)
_AFTER_FAILURE = Rest(first=1, longest=60)
# One failure that all Services have is asked about as rarely.
_HOLD = Rest(first=1, longest=30)
_FOR_ALL = (DroppedByServerError, UnauthorizedError, UnreachableError)
_CONTESTED = 25  # repairs in a row
# A pod is killed after 30 s; what is in flight then has had its time.
_GRACE = 20.0
_TICK = 0.25


@dataclass
class Keeper:
    """Keeps the modes of the Services that *source* shows.

    *checks* are made four times a second and end it all by raising: that is where a lost Lease is
    noticed. *stop* ends it in an orderly way.
    """

    source: Source
    syncer: Syncer
    observers: Sequence[Observer]
    checks: Sequence[Callable[[], None]]
    stop: threading.Event
    namespace: str | None
    selector: str
    workers: int
    _queue: WorkQueue[Name, Service] = field(default_factory=WorkQueue, init=False)
    _listed: bool = field(default=False, init=False)
    _known: set[Name] = field(default_factory=set, init=False)
    _crash: BaseException | None = field(default=None, init=False)

    def run(self) -> None:
        """Work until *stop* is set.

        Raises:
            ClusterError: the first list was refused: then it never worked, and waiting would only
                hide it. Later refusals are waited out.
        """
        feed_stop = threading.Event()
        feed = Feed(
            self.source,
            self.namespace,
            self.selector,
            on_trouble=self._on_trouble,
            on_contact=self._on_contact,
            stop=feed_stop,
        )
        workers = [self._start(self._work) for _ in range(self.workers)]
        self._start(lambda: self._follow(feed))
        try:
            while not self.stop.wait(_TICK) and self._crash is None:
                self._check()
        finally:
            feed_stop.set()
            self._queue.close()
        deadline = time.monotonic() + _GRACE
        for worker in workers:
            while worker.is_alive() and time.monotonic() < deadline:
                worker.join(_TICK)
                self._check()
        if self._crash is not None:
            raise self._crash

    def _check(self) -> None:
        for check in self.checks:
            check()

    def _start(self, target: Callable[[], None]) -> threading.Thread:
        """Run *target* in the background; what it raises, the main thread raises again."""

        def run() -> None:
            try:
                target()
            except BaseException as error:
                self._crash = error

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _follow(self, feed: Feed) -> None:
        for event in feed.events():
            match event:
                case Listed(services):
                    self._listed = True
                    for observer in self.observers:
                        observer.listed(len(services))
                    present = {_name(service): service for service in services}
                    for gone in self._known - present.keys():
                        self._queue.forget(gone)
                    self._known = set(present)
                    for name, service in present.items():
                        self._queue.put(name, service)
                case Changed(service):
                    self._known.add(_name(service))
                    self._queue.put(_name(service), service)
                case Removed(service):
                    self._known.discard(_name(service))
                    self._queue.forget(_name(service))

    def _on_trouble(self, error: ClusterError) -> None:
        if not self._listed and not isinstance(error, (ExpiredError, UnavailableError)):
            raise error
        for observer in self.observers:
            observer.troubled(error)

    def _on_contact(self) -> None:
        for observer in self.observers:
            observer.heard()

    def _work(self) -> None:
        while (task := self._queue.take()) is not None:
            self._handle(task)

    def _handle(self, task: Task[Name, Service]) -> None:
        plan = self.syncer.plan(task.state)
        for observer in self.observers if plan.drifting else ():
            observer.drifted(plan)
            if task.row == _CONTESTED:
                observer.contested(plan)
        outcome = self.syncer.sync(task.state)
        seconds = time.monotonic() - task.since
        for observer in self.observers:
            observer.finished(outcome, seconds)
        self._finish(task, outcome)

    def _finish(self, task: Task[Name, Service], outcome: Outcome) -> None:
        if outcome.problem is not None:
            if isinstance(outcome.problem, _FOR_ALL):
                self._queue.hold(_HOLD)
            self._queue.finish(task, _AFTER_FAILURE, again=True)
            return
        self._queue.finish(task, _AFTER_REPAIR if outcome.changes else None)
        if outcome.after is not None:
            self._queue.end_holds()


def _name(service: Service) -> Name:
    return service.namespace, service.name
