"""What happens, line by line: for people, or as JSON for whatever collects the logs of a pod.

Repairs go to stdout as ``sync`` prints them, everything else to stderr. What stays as it is, is not
said again and again.
"""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.settings import LogFormat
from kubectl_lbipmode.errors import ClusterError, ExpiredError
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.livereport import ADDRESS_REASONS, describe_outcome
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.plan import AddressReason, Plan
from kubectl_lbipmode.report import count
from kubectl_lbipmode.sync import Outcome

_PROBLEM_AGAIN = 600.0  # seconds
_MOST_REMEMBERED = 10_000
_LEFT_ALONE = (
    AddressReason.ANNOUNCED_BY_NODES,
    AddressReason.FOREIGN_PROXY,
    AddressReason.UNKNOWN_MODE,
)


class Level(StrEnum):
    """How much a line matters. Part of the JSON output: add, never rename."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Journal(Observer):
    """Writes lines. May be used by several threads at once."""

    def __init__(self, log_format: LogFormat, out: TextIO, err: TextIO) -> None:
        self._format = log_format
        self._out, self._err = out, err
        self._lock = threading.Lock()
        # What has been said about Services, and when (monotonic); and about the connection.
        self._said: dict[str, float] = {}
        self._troubles: set[str] = set()

    def say(
        self, level: Level, message: str, hint: str | None = None, **fields: str | float | None
    ) -> None:
        """Write a line to stderr; *fields* go into the JSON alone."""
        self._write(self._err, level, message, hint, fields)

    def listed(self, number: int) -> None:
        """Say, the first time, that it works at all."""
        if self._is_news("listed"):
            self.say(Level.INFO, f"watching {count(number, 'Service')} of type LoadBalancer")

    def heard(self) -> None:
        """Say that what was wrong is over."""
        if self._troubles:
            self._troubles.clear()
            self.say(Level.INFO, "the API server answers again")

    def troubled(self, error: ClusterError) -> None:
        """Say what is wrong, each thing once until all is well again."""
        # A version that is no longer kept is nothing wrong: a list follows.
        if isinstance(error, ExpiredError) or error.message in self._troubles:
            return
        self._troubles.add(error.message)
        self.say(Level.ERROR, f"{error}; trying again", error.hint)

    def finished(self, outcome: Outcome, seconds: float) -> None:
        """Write what was set and, where it is news, what is wrong or left alone."""
        decision = outcome.plan.decision
        about = _describe(outcome.plan.service)
        lines = describe_outcome(outcome, "")
        for change, line in zip(outcome.changes, lines, strict=True):
            set_to = {"ip": change.ip, "from": change.before, "to": change.after.value}
            fields = {**about, **set_to, "reason": decision.reason.value}
            self._write(self._out, Level.INFO, line, None, {**fields, "seconds": round(seconds, 3)})
        problem = outcome.problem
        # One that many Services have is said for the first of them.
        if problem is not None and self._is_news(problem.message, _PROBLEM_AGAIN):
            message = f"{outcome.plan.service.full_name}: {problem}; trying again"
            self.say(Level.ERROR, message, problem.hint, **about)
        for finding in decision.findings:
            # A warning is about what a mode changes; an error is why there is none.
            if outcome.changes or finding.severity is Severity.ERROR:
                self._remark(outcome.plan, Level(finding.severity), finding.message, finding.hint)
        reason = outcome.plan.reason
        if reason in _LEFT_ALONE:
            text = f"left alone: {ADDRESS_REASONS[reason]} ({reason})"
            self._remark(outcome.plan, Level.WARNING, text, None)

    def refused_event(self, error: ClusterError) -> None:
        """Say why there are no Events: once, since it does no harm."""
        if self._is_news(f"event: {error}"):
            hint = f"{error.hint}; or do without: --no-events" if error.hint else None
            self.say(Level.WARNING, f"an Event was refused: {error}", hint)

    def contested(self, plan: Plan) -> None:
        """Say who else writes the status, as far as it shows."""
        writer = plan.service.status_writer
        who = f'"{writer}"' if writer else "something else"
        text = f"{who} resets the mode each time that it is set"
        hint = "two programs want different things; this one now tries ever more slowly"
        self._remark(plan, Level.WARNING, text, hint)

    def _remark(self, plan: Plan, level: Level, text: str, hint: str | None) -> None:
        """Say something about a Service, once."""
        message = f"{plan.service.full_name}: {text}"
        if self._is_news(message):
            self.say(level, message, hint, **_describe(plan.service))

    def _is_news(self, message: str, again_after: float | None = None) -> bool:
        """Say whether *message* is new, or was last said so many seconds ago; and remember it."""
        now = time.monotonic()
        with self._lock:
            before = self._said.get(message)
            if before is not None and (again_after is None or now < before + again_after):
                return False
            if len(self._said) >= _MOST_REMEMBERED:
                self._said.clear()
            self._said[message] = now
            return True

    def _write(
        self,
        stream: TextIO,
        level: Level,
        message: str,
        hint: str | None,
        fields: dict[str, str | float | None],
    ) -> None:
        if self._format is LogFormat.JSON:
            moment = datetime.now(UTC).isoformat(timespec="milliseconds")
            hinted = {"hint": hint} if hint else {}
            record = {"time": moment, "level": level, "message": message, **hinted, **fields}
            text = json.dumps(record, ensure_ascii=False)
        else:
            prefix = "" if level is Level.INFO else f"{level}: "
            text = f"{prefix}{message}" + (f"\nhint: {hint}" if hint else "")
        with self._lock:
            stream.write(f"{text}\n")
            stream.flush()


def _describe(service: Service) -> dict[str, str | float | None]:
    return {"namespace": service.namespace, "name": service.name}
