"""Compare a live Service with its decision: what drifts, the patch that mends it, or why not.

Pure. The patch is a JSON Patch for ``/status`` that touches nothing but ``ipMode``. The list of
addresses is atomic to the API server (every other kind of patch replaces it whole), and a cloud
controller may re-order it at any time, so each change is led by a ``test`` that the address still
stands where it was read: it holds under concurrent writes, or the server refuses the patch.

Nothing to do has a reason too. An `AddressReason` tells how an address compares with the decision;
where there is no mode to compare with, the decision's own `Reason` passes through.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubectl_lbipmode.announcers import find_announcer
from kubectl_lbipmode.findings import Code, Finding, warning
from kubectl_lbipmode.linode import is_linode
from kubectl_lbipmode.model import Address, IPMode, Service
from kubectl_lbipmode.rules import Decision, Reason, Wish, decide

Patch = list[dict[str, str]]


class AddressReason(StrEnum):
    """How an address compares with the decision, the most urgent first.

    Part of the JSON output: add, never rename.
    """

    DROPPED_BY_SERVER = "DroppedByServer"
    DRIFT = "Drift"
    ANNOUNCED_BY_NODES = "AnnouncedByNodes"
    FOREIGN_PROXY = "ForeignProxy"
    UNKNOWN_MODE = "UnknownMode"
    PENDING = "Pending"
    NOT_APPLICABLE = "NotApplicable"
    IN_SYNC = "InSync"
    GONE = "Gone"


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """One address, by its *index* in the list as read, and how it compares with the decision."""

    index: int
    address: Address
    reason: AddressReason | Reason

    @property
    def mode(self) -> str:
        """The live mode; empty where the address has no ip and so can have none.

        An address without a mode acts as VIP (``IsVIPMode`` in kube-proxy).
        """
        return (self.address.ip_mode or IPMode.VIP) if self.address.ip else ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A live Service, the decision about it, and what follows for each of its addresses."""

    service: Service
    decision: Decision
    addresses: tuple[AddressPlan, ...]

    @property
    def drifting(self) -> tuple[AddressPlan, ...]:
        """The addresses that the patch changes."""
        return tuple(plan for plan in self.addresses if plan.reason is AddressReason.DRIFT)

    @property
    def reason(self) -> AddressReason | Reason:
        """The reason of the Service as a whole: that of its most urgent address."""
        if self.decision.mode is None:
            return self.decision.reason
        reasons = {plan.reason for plan in self.addresses}
        return next(
            (reason for reason in AddressReason if reason in reasons), AddressReason.PENDING
        )

    @property
    def patch(self) -> Patch:
        """The JSON Patch for ``/status``; empty where nothing drifts."""
        assert not self.drifting or self.decision.mode is not None
        patch: Patch = []
        for plan in self.drifting:
            entry = f"/status/loadBalancer/ingress/{plan.index}"
            patch += [
                # The address as read: the server compares text, however an ip may be written.
                {"op": "test", "path": f"{entry}/ip", "value": plan.address.ip},
                # "add" sets the mode whether or not there is one.
                {"op": "add", "path": f"{entry}/ipMode", "value": str(self.decision.mode)},
            ]
        # A Service that was deleted and made anew is another one, whatever its addresses are.
        uid = {"op": "test", "path": "/metadata/uid", "value": self.service.uid}
        return [uid, *patch] if patch else []


def make_plan(service: Service, wish: Wish, *, force: bool = False) -> Plan:
    """Decide about *service* and compare; never raises.

    *force* sets the mode also where another controller seems to have chosen ``Proxy``, and where
    nodes announce the address.
    """
    decision = decide(service, wish)
    return Plan(
        service,
        decision,
        tuple(
            AddressPlan(index, address, _compare(service, decision, address, force=force))
            for index, address in enumerate(service.addresses)
        ),
    )


def is_same_ip(left: str, right: str) -> bool:
    """Whether two texts are one address: an ip is stored as it was sent (``2001:DB8::1``)."""
    return left == right or _parse_ip(left) == _parse_ip(right)


def find_shared(plans: Iterable[Plan]) -> Iterator[tuple[Plan, Finding]]:
    """Yield a warning for each Service whose Proxy is undone by another one with its address.

    kube-proxy binds an address for every Service that has it at VIP (measured with kube-proxy
    1.36), so one of them captures the traffic of all.
    """
    by_ip: defaultdict[object, list[tuple[Plan, Address]]] = defaultdict(list)
    for plan in plans:
        for address in plan.service.addresses:
            if address.ip:
                by_ip[_parse_ip(address.ip)].append((plan, address))
    for sharers in by_ip.values():
        for plan, address in sharers:
            others = [
                other.service.full_name
                for other, _ in sharers
                if other is not plan and other.decision.mode is not IPMode.PROXY
            ]
            if plan.decision.mode is IPMode.PROXY and others:
                message = (
                    f"the address {address.ip} is shared with {', '.join(others)}, which should "
                    "not have mode Proxy and so captures the traffic from inside the cluster"
                )
                hint = "set the mode on every Service that has the address"
                field = "status.loadBalancer.ingress"
                yield plan, warning(Code.SHARED_ADDRESS, message, hint, field=field)


def _compare(
    service: Service, decision: Decision, address: Address, *, force: bool
) -> AddressReason | Reason:
    if decision.mode is None:
        return decision.reason
    # The API server refuses a mode where there is no ip.
    if not address.ip:
        return AddressReason.NOT_APPLICABLE
    mode = address.ip_mode or IPMode.VIP
    # Written by something that knows a newer Kubernetes: not ours to undo.
    if mode not in set(IPMode):
        return AddressReason.UNKNOWN_MODE
    if mode == decision.mode:
        return AddressReason.IN_SYNC
    return AddressReason.DRIFT if force else _leave_alone(service, decision)


def _leave_alone(service: Service, decision: Decision) -> AddressReason:
    """Return why the mode of a drifting address is better left as it is; else `DRIFT`."""
    if decision.mode is IPMode.PROXY and find_announcer(service):
        return AddressReason.ANNOUNCED_BY_NODES
    # VIP is what ports say that know nothing of this cloud; some other controller chose Proxy.
    by_ports = decision.reason not in (Reason.OVERRIDE, Reason.FLAG)
    if decision.mode is IPMode.VIP and by_ports and not is_linode(service):
        return AddressReason.FOREIGN_PROXY
    return AddressReason.DRIFT


def _parse_ip(text: str) -> Any:  # noqa: ANN401 - an address of either family, or the text
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return text
