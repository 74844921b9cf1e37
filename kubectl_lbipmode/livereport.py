"""Live Services as tables for people and as data for programs.

The keys of the data are a promise: add, never rename.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from kubectl_lbipmode.findings import Finding
from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.plan import AddressPlan, AddressReason, Plan
from kubectl_lbipmode.report import (
    REASONS,
    count,
    describe_finding,
    explain_decision,
    finding_data,
    indent,
    port_data,
)
from kubectl_lbipmode.rules import Reason
from kubectl_lbipmode.sync import Outcome

HEADERS = ("NAMESPACE", "NAME", "ADDRESS", "MODE", "WANTED", "REASON")
WIDE_HEADERS = (*HEADERS, "DECISION", "PORTS", "POLICY", "CLASS", "WRITER", "AGE")

ADDRESS_REASONS: dict[AddressReason | Reason, str] = {
    AddressReason.DROPPED_BY_SERVER: "the API server does not store modes",
    AddressReason.DRIFT: "it differs from the decision",
    AddressReason.ANNOUNCED_BY_NODES: "nodes announce it, so Proxy would cut off outside traffic",
    AddressReason.FOREIGN_PROXY: "another controller seems to have chosen Proxy",
    AddressReason.UNKNOWN_MODE: "a newer Kubernetes wrote a mode that is not known here",
    AddressReason.PENDING: "there is no address yet",
    AddressReason.NOT_APPLICABLE: "only an ip can have a mode",
    AddressReason.IN_SYNC: "it is as decided",
    AddressReason.GONE: "the Service is gone",
}
_NONE, _PENDING = "<none>", "<pending>"
# Reasons that ask for somebody's attention come first, the addresses' own before the decisions'.
_URGENCY: tuple[AddressReason | Reason, ...] = (
    AddressReason.DROPPED_BY_SERVER,
    AddressReason.DRIFT,
    AddressReason.ANNOUNCED_BY_NODES,
    Reason.INVALID_OVERRIDE,
    Reason.INVALID_PORTS,
    AddressReason.FOREIGN_PROXY,
    AddressReason.UNKNOWN_MODE,
    AddressReason.PENDING,
)

Paint = Callable[[str, AddressReason | Reason], str]
Row = tuple[str, ...]


def sort_plans(plans: Iterable[Plan]) -> list[Plan]:
    """Put what drifts first, then what else is worth a look; by name among equals."""

    def rank(plan: Plan) -> tuple[int, str, str]:
        reason = plan.reason
        urgency = _URGENCY.index(reason) if reason in _URGENCY else len(_URGENCY)
        return urgency, plan.service.namespace, plan.service.name

    return sorted(plans, key=rank)


def tabulate_plans(plans: Iterable[Plan], *, wide: bool, paint: Paint, now: datetime) -> str:
    """Return a table with a row for each address; a Service without any has one, too."""
    from tabulate import tabulate

    rows = [row for plan in plans for row in _rows(plan, wide=wide, paint=paint, now=now)]
    headers = WIDE_HEADERS if wide else HEADERS
    return tabulate(rows, headers, tablefmt="plain", disable_numparse=True)


def plan_data(plan: Plan, findings: Iterable[Finding] = ()) -> dict[str, Any]:
    """Return one live Service as plain data, with further *findings* beside the decision's."""
    service, decision = plan.service, plan.decision
    override = service.annotations.get(IP_MODE)
    return {
        "namespace": service.namespace,
        "name": service.name,
        "uid": service.uid,
        "mode": decision.mode.value if decision.mode else None,
        "reason": decision.reason.value,
        "state": plan.reason.value,
        "override": override.text if override else None,
        "ports": [port_data(port) for port in decision.ports],
        "addresses": [
            {
                "ip": compared.address.ip or None,
                "hostname": compared.address.hostname or None,
                "mode": compared.mode or None,
                "reason": compared.reason.value,
            }
            for compared in plan.addresses
        ],
        "findings": [finding_data(finding) for finding in (*decision.findings, *findings)],
    }


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """Return what became of one Service as plain data."""
    return {
        **plan_data(outcome.plan),
        "changes": [
            {"ip": change.ip, "from": change.before, "to": change.after.value}
            for change in outcome.changes
        ],
        "error": outcome.problem.message if outcome.problem else None,
    }


def describe_outcome(outcome: Outcome, suffix: str) -> Iterator[str]:
    """Yield a line for each address that was set, or would be."""
    name, reason = outcome.plan.service.full_name, REASONS[outcome.plan.decision.reason]
    for change in outcome.changes:
        yield f"{name}: {change.ip}: {change.before} -> {change.after} ({reason}){suffix}"


def explain_plan(plan: Plan) -> Iterator[str]:
    """Yield the lines that say where a decision came from, and what the addresses make of it."""
    from tabulate import tabulate

    name = plan.service.full_name
    override = plan.service.annotations.get(IP_MODE)
    yield f"{name} (live)"
    yield from explain_decision(plan.decision, override.text if override else None)
    if plan.addresses:
        rows = [
            (
                _show_address(compared),
                compared.mode or _NONE,
                f"{_explain_reason(compared.reason)} ({compared.reason})",
            )
            for compared in plan.addresses
        ]
        table = tabulate(rows, ("ADDRESS", "MODE", "REASON"), tablefmt="plain")
        yield from indent(table)
    elif plan.decision.in_scope:
        yield f"  address: {ADDRESS_REASONS[AddressReason.PENDING]}"
    for finding in plan.decision.findings:
        yield from describe_finding(name, finding)


def summarize_plans(plans: Iterable[Plan]) -> str:
    """Count the Services by what is the case with them, in one line."""
    reasons = Counter(plan.reason for plan in plans)
    parts = [f"{number} {reason}" for reason, number in reasons.most_common()]
    services = count(reasons.total(), "service")
    return f"{services}: {', '.join(parts)}" if parts else services


def _rows(plan: Plan, *, wide: bool, paint: Paint, now: datetime) -> Iterator[Row]:
    service = plan.service
    wanted = plan.decision.mode or _NONE
    extra = _wide_cells(plan, now) if wide else ()
    if not plan.addresses:
        reason = paint(plan.reason, plan.reason)
        address = _PENDING if plan.reason is AddressReason.PENDING else _NONE
        yield (service.namespace, service.name, address, _NONE, wanted, reason, *extra)
    for compared in plan.addresses:
        yield (
            service.namespace,
            service.name,
            _show_address(compared),
            compared.mode or _NONE,
            wanted,
            paint(compared.reason, compared.reason),
            *extra,
        )


def _show_address(compared: AddressPlan) -> str:
    return compared.address.ip or compared.address.hostname or _NONE


def _explain_reason(reason: AddressReason | Reason) -> str:
    return REASONS[reason] if isinstance(reason, Reason) else ADDRESS_REASONS[reason]


def _wide_cells(plan: Plan, now: datetime) -> Row:
    service = plan.service
    return (
        plan.decision.reason,
        ",".join(f"{port.number}/{port.protocol}" for port in service.ports) or _NONE,
        service.external_traffic_policy or _NONE,
        service.load_balancer_class or _NONE,
        service.status_writer or _NONE,
        _show_age(service.created, now),
    )


def _show_age(created: str, now: datetime) -> str:
    """Write an age as kubectl does, with the largest unit alone."""
    try:
        then = datetime.fromisoformat(created)
    except ValueError:
        return _NONE
    seconds = max(0, int((now - then.astimezone(UTC)).total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
