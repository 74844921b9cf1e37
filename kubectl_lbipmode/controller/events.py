"""An Event on the Service for each repair, so that ``kubectl describe service`` tells of it.

As kubectl shows them: a reason in one word, a message in one line, and a count where the same thing
happens again. For one Service ten may be written in a row and one a minute after that; what is not
written is counted and goes with the next. The API server forgets an Event after an hour (its
``--event-ttl``), so each hour begins a new one.

A repair never waits for its Event: a thread of its own writes them, and drops what it cannot keep
up with. An Event that is refused is not tried again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from queue import Full, Queue
from urllib.parse import quote

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.requests import MERGE_PATCH, Request
from kubectl_lbipmode.errors import ClusterError, NotFoundError
from kubectl_lbipmode.report import REASONS
from kubectl_lbipmode.sync import Outcome

REASON = "IPModeSet"
_COMPONENT = "kubectl-lbipmode"
_MOST_WAITING = 1000
# Seconds.
_IN_A_ROW, _APART = 10, 60.0
_KEPT = 3600.0
_FLUSH = 5.0


@dataclass(slots=True)
class _Series:
    """The Event of one Service: its name in the API, how often it happened, since when (monotonic).

    *allowed* is how many may be written by *allowed_at*; it grows with time.
    """

    name: str
    begun: float
    allowed_at: float
    count: int = 1
    allowed: float = _IN_A_ROW - 1

    def may_write(self, now: float) -> bool:
        """Say whether one more may be written, and count it if so."""
        grown = self.allowed + (now - self.allowed_at) / _APART
        self.allowed, self.allowed_at = min(_IN_A_ROW, grown), now
        if self.allowed < 1:
            return False
        self.allowed -= 1
        return True


class EventRecorder(Observer):
    """Writes Events. *instance* names this process; *on_problem* is told what is refused."""

    def __init__(
        self, request: Request, instance: str, on_problem: Callable[[ClusterError], None]
    ) -> None:
        self._request = request
        self._instance = instance
        self._on_problem = on_problem
        self._waiting: Queue[Outcome | None] = Queue(_MOST_WAITING)
        self._series: dict[str, _Series] = {}
        self._writer = threading.Thread(target=self._write_all, daemon=True)
        self._writer.start()

    def finished(self, outcome: Outcome, seconds: float) -> None:
        """Put an Event in line if something was set."""
        del seconds
        if outcome.changes and outcome.problem is None:
            # Losing one is better than holding up a repair.
            with suppress(Full):
                self._waiting.put_nowait(outcome)

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        try:
            self._waiting.put_nowait(None)
        except Full:
            return
        self._writer.join(_FLUSH)

    def _write_all(self) -> None:
        while (outcome := self._waiting.get()) is not None:
            try:
                self._write(outcome)
            except ClusterError as error:
                self._on_problem(error)

    def _write(self, outcome: Outcome) -> None:
        service, now = outcome.plan.service, time.monotonic()
        series = self._series.get(service.uid)
        if series is None or now > series.begun + _KEPT:
            self._create(outcome, now)
            return
        series.count += 1
        if not series.may_write(now):
            return
        changes = {"count": series.count, "lastTimestamp": _now(), "message": _tell(outcome)}
        path = f"{_path(service.namespace)}/{series.name}"
        try:
            self._request("PATCH", path, None, changes, content_type=MERGE_PATCH)
        except NotFoundError:
            self._create(outcome, now)

    def _create(self, outcome: Outcome, now: float) -> None:
        service, moment = outcome.plan.service, _now()
        self._series = {
            uid: series for uid, series in self._series.items() if now < series.begun + _KEPT
        }
        name = f"{service.name}.{secrets.token_hex(8)}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": service.namespace},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Service",
                "namespace": service.namespace,
                "name": service.name,
                "uid": service.uid,
            },
            "type": "Normal",
            "reason": REASON,
            "message": _tell(outcome),
            "count": 1,
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "source": {"component": _COMPONENT},
            "reportingComponent": _COMPONENT,
            "reportingInstance": self._instance,
        }
        self._request("POST", _path(service.namespace), None, event)
        self._series[service.uid] = _Series(name, now, now)


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/events"


def _tell(outcome: Outcome) -> str:
    changes = ", ".join(
        f"{change.ip} from {change.before} to {change.after}" for change in outcome.changes
    )
    return f"Set ipMode of {changes}: {REASONS[outcome.plan.decision.reason]}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
