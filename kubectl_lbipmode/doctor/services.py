"""What is special about the live Services: their addresses, and who writes their modes."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_lbipmode.announcers import find_announcer
from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.keeping import find_policies
from kubectl_lbipmode.doctor.view import View, is_hostname_only
from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.plan import Plan, find_shared

# A line names so many Services at most.
_MOST_NAMES = 5
# The field managers of this plugin and of kubectl itself: a person wrote it, not a controller.
_OURS = "kubectl"


def check_announced(view: View) -> Check:
    """Say whose addresses nodes announce: with Proxy, they would be lost to the outside."""
    announced = [(plan, find_announcer(plan.service)) for plan in view.plans]
    found = {announcer for _, announcer in announced if announcer}
    names = _name_services(plan for plan, announcer in announced if announcer)
    if not found:
        message = "no Service shows that nodes announce its address"
        return Check("announced", Status.OK, message)
    message = f"nodes announce the addresses of {names} ({', '.join(sorted(found))})"
    if any(plan.decision.mode is IPMode.PROXY for plan, announcer in announced if announcer):
        hint = (
            "their ports ask for Proxy, which would cut off traffic from outside, so `sync` leaves "
            f"them: take the PROXY protocol off, or set `{IP_MODE}: VIP`"
        )
        return Check("announced", Status.WARN, message, hint)
    return Check("announced", Status.OK, f"{message}, and VIP is right for them")


def check_shared(view: View) -> Check:
    """Say whose Proxy is undone by another Service with the same address."""
    found = list(find_shared(view.plans))
    if not found:
        message = "no Service that should be Proxy shares its address with one that should not"
        return Check("shared", Status.OK, message)
    plan, finding = found[0]
    more = f" (and {len(found) - 1} more: see `status`)" if len(found) > 1 else ""
    message = f"{plan.service.full_name}: {finding.message}{more}"
    return Check("shared", Status.WARN, message, finding.hint)


def check_hostname_only(view: View) -> Check:
    """Say whose addresses have no ip: modes are nothing to them."""
    found = [plan for plan in view.plans if is_hostname_only(plan.service)]
    if not found:
        message = "no Service is known by a hostname alone"
        return Check("hostname-only", Status.OK, message)
    message = (
        f"{_name_services(found)}: a hostname and no ip, so there is nothing to do: traffic from "
        "inside leaves for the load balancer already"
    )
    return Check("hostname-only", Status.OK, message)


def check_controller(view: View) -> Check:
    """Say whether the cloud's controller sets modes itself by now: then we are not needed."""
    written = [
        plan
        for plan in view.plans
        if plan.decision.in_scope
        and plan.service.status_writer
        and not plan.service.status_writer.startswith(_OURS)
        and any(address.ip_mode == IPMode.PROXY for address in plan.service.addresses)
    ]
    if not written:
        message = "no controller was seen to set a mode by itself"
        return Check("controller", Status.OK, message)
    writers = ", ".join(sorted({f'"{plan.service.status_writer}"' for plan in written}))
    if find_policies(view):
        message = (
            f"{writers} wrote Proxy to {_name_services(written)}, which may be the policy's doing: "
            "whether the controller sets modes by itself cannot be told"
        )
        return Check("controller", Status.UNKNOWN, message)
    message = f"{writers} wrote Proxy to {_name_services(written)}: a controller sets modes itself"
    hint = "this tool has nothing left to do there: stop `sync --watch`, and let the controller do"
    return Check("controller", Status.WARN, message, hint)


def _name_services(plans: Iterable[Plan]) -> str:
    """Name some Services, and count the others."""
    names = [plan.service.full_name for plan in plans]
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"
