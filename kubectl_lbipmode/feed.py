"""Services as they are and as they change: one list, then a watch, for as long as it is wanted.

The watch starts at the version that the list shows, so nothing is missed in between. A watch that
ends, breaks or goes silent is taken up where it was; a version that is too old (410) leads to
another list, and so does the passing of time: a list every few minutes is the net under the watch.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from kubectl_lbipmode.errors import ClusterError, ExpiredError, UnavailableError
from kubectl_lbipmode.model import Service

# Seconds.
RELIST = 300.0
# The API server sends a bookmark about once a minute where nothing happens.
SILENCE = 90.0
_SHORTEST_WAIT, _LONGEST_WAIT = 0.5, 30.0
# As many lead from the one to the other.
_DOUBLINGS = 6


class Page(Protocol):
    """A part of a list, and the version of the cluster's state that it shows."""

    @property
    def items(self) -> list[dict[str, Any]]:
        """The objects."""

    @property
    def resource_version(self) -> str:
        """The version."""


class Source(Protocol):
    """What is asked of a cluster; `APIServer` says what is raised."""

    def list_services(self, namespace: str | None, selector: str = "") -> Iterator[Page]:
        """Yield the Services of type LoadBalancer by pages."""

    def watch_services(
        self,
        namespace: str | None,
        selector: str,
        resource_version: str,
        *,
        seconds: int,
        silence: float,
    ) -> Iterator[dict[str, Any]]:
        """Yield watch events until the server ends the watch."""


@dataclass(frozen=True, slots=True)
class Listed:
    """All Services as they are: those that were known before and are missing here are gone."""

    services: list[Service]


@dataclass(frozen=True, slots=True)
class Changed:
    """A Service that is new or has changed."""

    service: Service


@dataclass(frozen=True, slots=True)
class Removed:
    """A Service that is gone, or is no longer of type LoadBalancer."""

    service: Service


Event = Listed | Changed | Removed


@dataclass
class Feed:
    """Where the Services come from, and what to do when they do not come.

    *on_trouble* is told each error, and may end it all by raising one; *on_contact* is called for
    each list, event and bookmark. *stop* ends it between two events, and at once where it waits to
    try again. *relist* and *silence* are in seconds.
    """

    source: Source
    namespace: str | None
    selector: str
    on_trouble: Callable[[ClusterError], None]
    on_contact: Callable[[], None] = lambda: None
    stop: threading.Event = field(default_factory=threading.Event)
    relist: float = RELIST
    silence: float = SILENCE
    _failures: int = field(default=0, init=False)

    def events(self) -> Iterator[Event]:
        """Yield a `Listed` first, then what happens."""
        while not self.stop.is_set():
            try:
                listed, version = self._list()
            except ClusterError as error:
                self._wait_after(error)
                continue
            self._failures = 0
            self.on_contact()
            yield listed
            yield from self._watch(version)

    def _list(self) -> tuple[Listed, str]:
        services: list[Service] = []
        version = ""
        for page in self.source.list_services(self.namespace, self.selector):
            version = version or page.resource_version
            services += map(Service.from_mapping, page.items)
        return Listed(services), version

    def _watch(self, version: str) -> Iterator[Event]:
        """Yield what happens after *version*, until it is time for another list."""
        deadline = time.monotonic() + self.relist
        while not self.stop.is_set() and (left := deadline - time.monotonic()) > 0:
            try:
                for event in self.source.watch_services(
                    self.namespace,
                    self.selector,
                    version,
                    seconds=max(1, round(left)),
                    silence=self.silence,
                ):
                    self._failures = 0
                    self.on_contact()
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] in ("ADDED", "MODIFIED"):
                        yield Changed(Service.from_mapping(event["object"]))
                    elif event["type"] == "DELETED":
                        yield Removed(Service.from_mapping(event["object"]))
                    if self.stop.is_set():
                        return
            except ExpiredError as error:
                # Even a server that calls its newest version too old is not asked at full speed.
                self._wait_after(error)
                return
            except ClusterError as error:
                self._wait_after(error)

    def _wait_after(self, error: ClusterError) -> None:
        self.on_trouble(error)
        longest = min(_LONGEST_WAIT, _SHORTEST_WAIT * 2 ** min(self._failures, _DOUBLINGS))
        self._failures += 1
        # Many that lost the same server must not come back to it at the same moment.
        wait = random.uniform(longest / 2, longest)  # noqa: S311 - no secret
        if isinstance(error, UnavailableError) and error.retry_after is not None:
            wait = max(wait, min(error.retry_after, _LONGEST_WAIT))
        self.stop.wait(wait)
