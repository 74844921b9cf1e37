"""Sync against faults that a real API server cannot be made to show at will.

What a real one does show is tested on one: see ``tests/cluster``.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest

from kubectl_lbipmode import sync
from kubectl_lbipmode.errors import ClusterError, ConflictError, UnreachableError
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.plan import AddressReason, Patch
from kubectl_lbipmode.sync import Change, Syncer

PROXY_PROTOCOL = "service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol"
IP = "203.0.113.10"


@dataclass
class FaultyCluster:
    """Applies no patch, but answers with *replies* in turn: an ingress list, or an error."""

    replies: list[list[dict[str, str]] | ClusterError]
    patches: list[Patch] = field(default_factory=list)
    reads: int = 0

    def read_service(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a Service as it was at first."""
        self.reads += 1
        return make_object(namespace, name, [{"ip": IP}])

    def patch_status(
        self, namespace: str, name: str, patch: Patch, *, dry_run: bool
    ) -> dict[str, Any]:
        """Answer with the next reply; the last one for ever."""
        del dry_run
        self.patches.append(copy.deepcopy(patch))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, ClusterError):
            raise reply
        return make_object(namespace, name, reply)


def make_object(namespace: str, name: str, ingress: list[dict[str, str]]) -> dict[str, Any]:
    annotations = {PROXY_PROTOCOL: "v2"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name, "uid": name, "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 443}]},
        "status": {"loadBalancer": {"ingress": ingress}},
    }


def make_service(name: str = "web") -> Service:
    return Service.from_mapping(make_object("shop", name, [{"ip": IP}]))


def test_an_address_that_moved_while_it_was_patched_is_decided_about_again() -> None:
    # An admission webhook may re-order the list after the patch was applied.
    moved = [{"ip": "203.0.113.99"}, {"ip": IP, "ipMode": "Proxy"}]
    cluster = FaultyCluster([moved, [{"ip": IP, "ipMode": "Proxy"}]])

    outcome = Syncer(cluster).sync(make_service())

    assert outcome.changes == (Change(IP, "VIP", IPMode.PROXY),)
    assert (cluster.reads, len(cluster.patches)) == (1, 2)


def test_conflicts_without_end_become_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "_ATTEMPTS", 3)
    cluster = FaultyCluster([ConflictError("changed")])

    outcome = Syncer(cluster).sync(make_service())

    assert isinstance(outcome.problem, ConflictError)
    assert not outcome.changes
    assert (cluster.reads, len(cluster.patches)) == (2, 3)


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_server_that_is_gone_is_asked_once_and_not_for_each_service(concurrency: int) -> None:
    cluster = FaultyCluster([UnreachableError("no answer")])
    services = [make_service(f"web-{number}") for number in range(40)]

    outcomes = list(Syncer(cluster).sync_all(services, concurrency=concurrency))

    assert [outcome.plan.service.name for outcome in outcomes] == [s.name for s in services]
    assert all(isinstance(outcome.problem, UnreachableError) for outcome in outcomes)
    assert len(cluster.patches) <= concurrency


def test_a_reply_without_the_mode_was_dropped_by_the_server_for_all() -> None:
    cluster = FaultyCluster([[{"ip": IP}]])

    outcomes = list(Syncer(cluster).sync_all([make_service("a"), make_service("b")], concurrency=1))

    assert {outcome.plan.reason for outcome in outcomes} == {AddressReason.DROPPED_BY_SERVER}
    assert len(cluster.patches) == 1
