"""Who wants to know what happens: a journal, metrics, probes, Events in the cluster."""

from __future__ import annotations

from kubectl_lbipmode.errors import ClusterError
from kubectl_lbipmode.plan import Plan
from kubectl_lbipmode.sync import Outcome


class Observer:
    """Looks away; a real one overrides what it wants to see.

    It must neither block nor raise: it is called by the threads that do the work, some of its
    methods by several at once.
    """

    def heard(self) -> None:
        """Take note of a sign of life from the API server."""

    def listed(self, number: int) -> None:
        """Take note of a full list, of that many Services."""

    def troubled(self, error: ClusterError) -> None:
        """Take note that the Services cannot be watched, or the Lease not be had, for now."""

    def drifted(self, plan: Plan) -> None:
        """Take note of a Service that is about to be repaired."""

    def finished(self, outcome: Outcome, seconds: float) -> None:
        """Take note of what became of a Service, so long after its state was seen."""

    def contested(self, plan: Plan) -> None:
        """Take note that a mode is reset again and again, right after it has been set."""
