"""What ``sync`` says of its outcomes: as data, as a diff, and to people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from kubectl_lbipmode.cli import print_error
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.livereport import ADDRESS_REASONS, outcome_data, summarize_plans
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.plan import AddressReason
from kubectl_lbipmode.report import describe_finding, dump
from kubectl_lbipmode.sync import DryRun, Outcome

_FOUND, _FAILED = 1, 3
_KEPT = "the admission policy keeps it: every write of the status gets this mode"
_RESET = (
    "the cloud controller manager resets this when it next ensures the load balancer; "
    "use `sync --watch` or `policy` to keep it"
)
_LEFT_ALONE = (AddressReason.FOREIGN_PROXY, AddressReason.UNKNOWN_MODE)


def print_data(outcomes: list[Outcome], output: str) -> None:
    """Print *outcomes* in the format *output*: ``json``, ``yaml`` or ``name``."""
    if output == "name":
        for outcome in outcomes:
            if outcome.changes:
                click.echo(f"service/{outcome.plan.service.name}")
        return
    click.echo(dump([outcome_data(outcome) for outcome in outcomes], output), nl=False)


def print_diff(outcomes: list[Outcome]) -> None:
    """Print what was, or would be, changed as unified diffs."""
    from kubectl_lbipmode.diff import unified_diff

    for outcome in outcomes:
        if not outcome.changes:
            continue
        modes = {change.ip: change.after for change in outcome.changes}
        before, after = _ingress(outcome, {}), _ingress(outcome, modes)
        parts = [(dump(before, "yaml").encode(), dump(after, "yaml").encode())]
        for line in unified_diff(f"{outcome.plan.service.full_name}/status", parts):
            click.echo(line, nl=False)


def _ingress(outcome: Outcome, modes: dict[str, IPMode]) -> list[dict[str, Any]]:
    """Return the addresses as the API shows them, some with another mode."""
    return [
        {
            key: str(value)
            for key, value in (
                ("ip", compared.address.ip),
                ("hostname", compared.address.hostname),
                ("ipMode", modes.get(compared.address.ip) or compared.mode),
            )
            if value
        }
        for compared in outcome.plan.addresses
    ]


def report(outcomes: list[Outcome], *, diff: bool, dry_run: DryRun, kept: bool) -> int:
    """Say on stderr what is worth saying, and return the exit status.

    *kept* says that an admission policy keeps what was changed.
    """
    failed = 0
    said: set[str] = set()
    for outcome in outcomes:
        name = outcome.plan.service.full_name
        for finding in outcome.plan.decision.findings if outcome.changes else ():
            for line in describe_finding(name, finding):
                click.echo(f"{name}: {line.strip()}", err=True)
        reason = outcome.plan.reason
        if reason in _LEFT_ALONE:
            click.echo(f"{name}: left alone: {ADDRESS_REASONS[reason]} ({reason})", err=True)
        errors = list(_find_errors(outcome))
        failed += bool(errors)
        for message, hint in errors:
            # One that all Services have is said for the first of them.
            if message not in said:
                said.add(message)
                print_error(f"{name}: {message}", hint)
    if outcomes:
        click.echo(summarize_plans(outcome.plan for outcome in outcomes), err=True)
    changed = any(outcome.changes for outcome in outcomes)
    if changed and dry_run is DryRun.NONE:
        click.echo(_KEPT if kept else _RESET, err=True)
    if failed:
        click.echo(f"{failed} of {len(outcomes)} could not be done", err=True)
        return _FAILED
    return _FOUND if diff and changed else 0


def _find_errors(outcome: Outcome) -> Iterator[tuple[str, str | None]]:
    """Yield why a Service could not be given the mode that was asked for."""
    if outcome.problem is not None:
        yield outcome.problem.message, outcome.problem.hint
    for finding in outcome.plan.decision.findings:
        if finding.severity is Severity.ERROR:
            yield finding.message, finding.hint
    if outcome.plan.reason is AddressReason.ANNOUNCED_BY_NODES:
        reason = AddressReason.ANNOUNCED_BY_NODES
        yield f"{ADDRESS_REASONS[reason]} ({reason})", "use --force if that is what you want"
