"""Prove that the policy acts: ask in a dry run for the wrong mode, and see the right one come back.

It takes a live Service in scope, of which the policy is sure to know the mode: a declared one, or
ports that it can read. A server takes up to a few seconds until a new policy acts, so a wrong
answer is asked for again before it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from kubectl_lbipmode.errors import ClusterError, ConflictError, ForbiddenError, NotFoundError
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.plan import Patch
from kubectl_lbipmode.policy import cel
from kubectl_lbipmode.policy.admission import Terms
from kubectl_lbipmode.rules import Reason, decide

_ATTEMPTS, _SECONDS_BETWEEN = 10, 0.5


class Page(Protocol):
    """A part of a list."""

    @property
    def items(self) -> list[dict[str, Any]]:
        """The objects."""


class Cluster(Protocol):
    """What is asked of a cluster; `APIServer` says what is raised."""

    def request(
        self, method: str, path: str, query: dict[str, str] | None = None, body: object = None
    ) -> dict[str, Any]:
        """Send a request and return the reply."""

    def list_services(self, namespace: str | None, selector: str = "") -> Iterator[Page]:
        """Yield the Services of type LoadBalancer by pages."""

    def patch_status(
        self, namespace: str, name: str, patch: Patch, *, dry_run: bool
    ) -> dict[str, Any]:
        """Send a JSON Patch of a Service's status and return the Service as it is then."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a dry run *asked* for, which was wrong, and *got*, by the name of the Service."""

    service: str
    asked: IPMode
    got: str


def prove(cluster: Cluster, terms: Terms) -> Proof | str:
    """Return what a dry run came to, or why there was nothing to try it on.

    Raises:
        ClusterError: the server refuses, or does not answer.
    """
    try:
        for service, wanted in _find_candidates(cluster, terms):
            try:
                return _try(cluster, service, wanted)
            except (ConflictError, NotFoundError):
                continue  # It changed, or went, since it was listed: the next one will do.
    except ForbiddenError as error:
        return f"it could not be tried: {error}"
    return "there is no Service to try it on: one in scope, with an ip, and a mode by the rules"


def keeps(cluster: Cluster, services: Iterable[Service]) -> bool:
    """Whether a policy acts on the first of *services* that it can be tried on; False if on none.

    Asked once: what has just been synced is under a policy since long, or not at all.
    """
    for service in services:
        mode = _know_mode(service, override_only=False)
        if mode is not None and _find_address(service) is not None:
            try:
                return _try(cluster, service, mode, attempts=1).got == mode
            except ClusterError:
                return False
    return False


def _find_candidates(cluster: Cluster, terms: Terms) -> Iterator[tuple[Service, IPMode]]:
    """Yield the Services of which the policy knows the mode, and the mode."""
    namespaces = None
    if terms.namespaces:
        query = {"labelSelector": terms.namespaces}
        items = cluster.request("GET", "/api/v1/namespaces", query)["items"]
        namespaces = {item["metadata"]["name"] for item in items}
    for page in cluster.list_services(None, terms.services):
        for item in page.items:
            service = Service.from_mapping(item)
            if namespaces is not None and service.namespace not in namespaces:
                continue
            mode = _know_mode(service, override_only=terms.override_only)
            if mode is not None and _find_address(service) is not None:
                yield service, mode


def _know_mode(service: Service, *, override_only: bool) -> IPMode | None:
    """Return the mode that the policy is sure to set; None where it leaves the Service alone."""
    decision = decide(service)
    if decision.reason is Reason.OVERRIDE:
        return decision.mode
    if override_only or decision.reason is not Reason.ALL_PORTS_PROXY_PROTOCOL:
        return None
    names = {port.annotation for port in decision.ports}
    own = [annotation.text for name, annotation in service.annotations.items() if name in names]
    return decision.mode if cel.can_read(own, len(decision.ports)) else None


def _find_address(service: Service) -> int | None:
    """Return the index of an address that may have a mode, and has none that we do not know."""
    for index, address in enumerate(service.addresses):
        if address.ip and address.ip_mode in ("", *IPMode):
            return index
    return None


def _try(cluster: Cluster, service: Service, wanted: IPMode, *, attempts: int = _ATTEMPTS) -> Proof:
    """Ask for the other mode than *wanted*, in a dry run, until it is not given or time is up.

    Raises:
        ConflictError: the Service changed since it was read.
        NotFoundError: it is gone.
        ClusterError: any other refusal.
    """
    from tenacity import Retrying, retry_if_result, stop_after_attempt, wait_fixed

    index = _find_address(service)
    assert index is not None
    wrong = next(mode for mode in IPMode if mode is not wanted)
    entry = f"/status/loadBalancer/ingress/{index}"
    patch = [
        {"op": "test", "path": f"{entry}/ip", "value": service.addresses[index].ip},
        {"op": "add", "path": f"{entry}/ipMode", "value": str(wrong)},
    ]

    def ask() -> str:
        reply = cluster.patch_status(service.namespace, service.name, patch, dry_run=True)
        return Service.from_mapping(reply).addresses[index].ip_mode

    retrying = Retrying(
        retry=retry_if_result(lambda got: got == wrong),
        wait=wait_fixed(_SECONDS_BETWEEN),
        stop=stop_after_attempt(attempts),
        retry_error_callback=lambda _: wrong,
    )
    return Proof(service.full_name, wrong, retrying(ask))
