"""Counts and times for Prometheus.

The names of metrics and of their labels are a promise: add, never rename.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    LBIPModeError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)
from kubectl_lbipmode.plan import AddressReason, Plan
from kubectl_lbipmode.sync import DroppedByServerError, Outcome, OverruledError

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_RESULTS: dict[type[ClusterError], str] = {
    ConflictError: "conflict",
    DroppedByServerError: "dropped",
    OverruledError: "overruled",
    ForbiddenError: "forbidden",
    UnauthorizedError: "unauthorized",
    UnavailableError: "unavailable",
    UnreachableError: "unreachable",
}
_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)  # seconds


class MissingExtraError(LBIPModeError):
    """The library for metrics is not installed."""


class Metrics(Observer):
    """Counts what it sees.

    Raises:
        MissingExtraError: ``prometheus_client`` is not installed.
    """

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError as error:
            raise MissingExtraError(
                "metrics need the Python package `prometheus-client`",
                hint="pip install 'kubectl-lbipmode[controller]'",
            ) from error
        self._registry: CollectorRegistry = CollectorRegistry()
        self._services = Gauge(
            "lbipmode_services", "Services of the last full list.", registry=self._registry
        )
        self._drift = Counter(
            "lbipmode_drift_found_total",
            "Services found with an address whose mode differs from the decision.",
            registry=self._registry,
        )
        self._patches = Counter(
            "lbipmode_patches_total",
            "Repairs by how they ended.",
            ["result"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "lbipmode_repair_seconds",
            "From the moment that a drift was seen to its repair.",
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._restarts = Counter(
            "lbipmode_watch_restarts_total",
            "Watches, lists and lease requests that failed and were tried again.",
            registry=self._registry,
        )

    def listed(self, number: int) -> None:
        """Set the gauge."""
        self._services.set(number)

    def troubled(self, error: ClusterError) -> None:
        """Count it, whatever it was."""
        del error
        self._restarts.inc()

    def drifted(self, plan: Plan) -> None:
        """Count it."""
        del plan
        self._drift.inc()

    def finished(self, outcome: Outcome, seconds: float) -> None:
        """Count it by how it ended, and the time if it ended well."""
        if outcome.problem is not None:
            self._patches.labels(_RESULTS.get(type(outcome.problem), "refused")).inc()
        elif outcome.plan.reason is AddressReason.GONE:
            self._patches.labels("gone").inc()
        elif outcome.changes:
            self._patches.labels("set").inc()
            self._seconds.observe(seconds)

    def show(self) -> tuple[HTTPStatus, str, bytes]:
        """Return the page ``/metrics``."""
        from prometheus_client import generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(self._registry)
