"""Outcomes as text for people and as data for programs.

The keys of the data are a promise: add, never rename.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubectl_lbipmode.findings import Finding, Severity
from kubectl_lbipmode.linode import EffectivePort
from kubectl_lbipmode.manifests import Outcome
from kubectl_lbipmode.rules import Decision, Reason

REASONS = {
    Reason.OVERRIDE: "the override says so",
    Reason.FLAG: "--mode says so",
    Reason.ALL_PORTS_PROXY_PROTOCOL: "all ports use the PROXY protocol",
    Reason.SOME_PORTS_PROXY_PROTOCOL: "only some ports use the PROXY protocol",
    Reason.NO_PORTS_PROXY_PROTOCOL: "no port uses the PROXY protocol",
    Reason.NO_PORTS: "it has no ports",
    Reason.INVALID_OVERRIDE: "the override is invalid",
    Reason.INVALID_PORTS: "its ports are in error",
    Reason.NOT_LOAD_BALANCER: "it is not of type LoadBalancer",
    Reason.OTHER_LOAD_BALANCER_CLASS: "its loadBalancerClass is another controller's",
    Reason.NOT_A_SERVICE: "it is not a Service",
    Reason.NO_METADATA: "it has no metadata",
}


def describe(source: str, outcome: Outcome, *, removing: bool) -> Iterator[str]:
    """Yield the lines of one Service: what it is, what was decided, what is worth saying."""
    name = outcome.service.full_name or "(no name)"
    if outcome.path:
        name += f" ({outcome.path})"
    yield f"{source}: {name}: {_verdict(outcome, removing=removing)}"
    for finding in outcome.findings:
        yield from describe_finding(source, finding)


def describe_finding(source: str, finding: Finding) -> Iterator[str]:
    """Yield a finding as two lines at most."""
    at = f"{source}:{finding.line}:{finding.column}: " if finding.line else ""
    yield f"  {finding.severity}: {at}{finding.message}"
    if finding.hint:
        yield f"  hint: {finding.hint}"


def summarize(outcomes: list[Outcome], *, removing: bool, applied: bool) -> str:
    """Count what happened, or would happen if *applied*, in one line."""
    reported = [outcome for outcome in outcomes if is_reported(outcome, removing=removing)]
    services = len(reported)
    changed = sum(outcome.changed for outcome in reported)
    failed = sum(outcome.failed for outcome in reported)
    warnings = sum(
        finding.severity is Severity.WARNING for outcome in outcomes for finding in outcome.findings
    )
    done = {"removed": "to remove", "annotated": "to annotate"}
    what = "removed" if removing else "annotated"
    parts = [
        f"{changed} {what if applied else done[what]}",
        f"{services - changed - failed} unchanged",
    ]
    if failed:
        parts.append(f"{failed} in error")
    if warnings:
        parts.append(count(warnings, "warning"))
    return f"{count(services, 'service')}: {', '.join(parts)}"


def is_reported(outcome: Outcome, *, removing: bool) -> bool:
    """Whether the report has a line for it: Services in scope, and whatever changed."""
    if removing:
        return outcome.changed or outcome.failed
    return outcome.decision.in_scope


def to_data(source: str, outcome: Outcome) -> dict[str, Any]:
    """Return one outcome as plain data."""
    service, decision = outcome.service, outcome.decision
    return {
        "source": source,
        "index": outcome.index,
        "path": outcome.path,
        "line": outcome.line,
        "namespace": service.namespace,
        "name": service.name,
        "mode": decision.mode.value if decision.mode else None,
        "reason": decision.reason.value,
        "changed": outcome.changed,
        "override": outcome.before,
        "ports": [port_data(port) for port in decision.ports],
        "findings": [finding_data(finding) for finding in outcome.findings],
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain data."""
    return {
        "severity": finding.severity.value,
        "code": finding.code.value,
        "message": finding.message,
        "hint": finding.hint,
        "field": finding.field,
        "line": finding.line,
        "column": finding.column,
    }


def port_data(port: EffectivePort) -> dict[str, Any]:
    """Return a port, and where its PROXY protocol comes from, as plain data."""
    return {
        "port": port.number,
        "protocol": port.transport,
        "proxyProtocol": port.proxy_protocol,
        "from": port.source,
    }


def dump(data: object, output: str) -> str:
    """Write *data* as ``json`` or ``yaml``."""
    if output == "json":
        return json.dumps(data, indent=4, ensure_ascii=False) + "\n"
    from kubectl_lbipmode.yamledit.emit import emit

    return emit(data)


def explain(source: str, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that say where a decision about a manifest came from."""
    item = f" {outcome.path}" if outcome.path else ""
    yield f"{outcome.service.full_name or '(no name)'} ({source}:{outcome.line}{item})"
    yield from explain_decision(outcome.decision, outcome.before)
    for finding in outcome.findings:
        yield from describe_finding(source, finding)


def explain_decision(decision: Decision, override: str | None) -> Iterator[str]:
    """Yield the lines that say what was decided, why, and what each port has to do with it."""
    from tabulate import tabulate

    shown = "none" if override is None else json.dumps(override, ensure_ascii=False)
    rows = [
        ("mode:", decision.mode or "none"),
        ("reason:", f"{REASONS[decision.reason]} ({decision.reason})"),
        ("override:", shown),
    ]
    yield from indent(tabulate(rows, tablefmt="plain"))
    if decision.ports:
        table = [
            (port.label, port.protocol, port.proxy_protocol or "invalid", port.source)
            for port in decision.ports
        ]
        headers = ("PORT", "PROTOCOL", "PROXY PROTOCOL", "FROM")
        yield from indent(tabulate(table, headers, tablefmt="plain", disable_numparse=True))


def indent(table: str) -> Iterator[str]:
    """Yield the lines of a table, set in below a heading."""
    yield from (f"  {line}".rstrip() for line in table.splitlines())


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _verdict(outcome: Outcome, *, removing: bool) -> str:
    if removing:
        return "override not removed" if outcome.failed else "override removed"
    decision = outcome.decision
    return f"{decision.mode or 'no mode'} ({REASONS[decision.reason]})"
