"""``kubectl lbipmode sync``: give live Services the modes that were decided."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from kubectl_lbipmode.cli import print_error
from kubectl_lbipmode.cli.cluster_options import (
    Scope,
    access_options,
    find_services,
    say_nothing_found,
    scope_options,
)
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.livereport import (
    ADDRESS_REASONS,
    describe_outcome,
    outcome_data,
    summarize_plans,
)
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.plan import AddressReason
from kubectl_lbipmode.report import describe_finding, dump
from kubectl_lbipmode.rules import Wish
from kubectl_lbipmode.sync import DryRun, Outcome, Syncer

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access

_FOUND, _FAILED = 1, 3
# A progress bar is worth its place from here on.
_MANY = 50
_SUFFIXES = {DryRun.NONE: "", DryRun.CLIENT: " (dry run)", DryRun.SERVER: " (server dry run)"}
_LEFT_ALONE = (AddressReason.FOREIGN_PROXY, AddressReason.UNKNOWN_MODE)


@click.command("sync", short_help="Set live modes that differ from those decided.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@scope_options
@access_options
@click.option(
    "--mode",
    type=click.Choice(["auto", "Proxy", "VIP"]),
    default="auto",
    show_default=True,
    help="The mode of Services without an override; auto reads it from the ports.",
)
@click.option("--overwrite", is_flag=True, help="Decide as if there were no override.")
@click.option(
    "--force", is_flag=True, help="Also where another controller, or a node, holds the address."
)
@click.option(
    "--dry-run",
    type=click.Choice([how.value for how in DryRun]),
    default=DryRun.NONE.value,
    show_default=True,
    help="Print the plan only (client), or have it checked by the server as well.",
)
@click.option("--diff", is_flag=True, help="Print what would change; exit 1 if anything would.")
@click.option("-o", "--output", type=click.Choice(["json", "yaml", "name"]), help="Print the data.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="How many Services to change at the same time.",
)
@click.option(
    "--field-manager", default="kubectl-lbipmode", show_default=True, help="Who owns the change."
)
def command(
    names: tuple[str, ...],
    scope: Scope,
    access: Access,
    mode: str,
    overwrite: bool,
    force: bool,
    dry_run: str,
    diff: bool,
    output: str | None,
    concurrency: int,
    field_manager: str,
) -> int:
    """Set the mode of each address of live Services that differs from the one decided.

    Nothing else is touched. The decision is that of `explain`: the override, then --mode, then
    the ports.

    \b
    Examples:
      # What would be done?
      kubectl lbipmode sync -A --dry-run=client
      kubectl lbipmode sync web -n shop
    """
    from kubectl_lbipmode.cluster import connect

    if diff and output:
        raise click.UsageError("--diff and -o exclude each other")
    how = DryRun.CLIENT if diff and dry_run == DryRun.NONE else DryRun(dry_run)
    server = connect(access, field_manager=field_manager)
    wish = Wish(None if mode == "auto" else IPMode(mode), overwrite)
    syncer = Syncer(server, wish, force, how)
    services = list(find_services(server, scope, names))
    outcomes = []
    with _progress(services) as ticks:
        for outcome in syncer.sync_all(ticks, concurrency=concurrency):
            outcomes.append(outcome)
            if not (output or diff):
                for line in describe_outcome(outcome, _SUFFIXES[how]):
                    click.echo(line)
    if output:
        _print_data(outcomes, output)
    elif diff:
        _print_diff(outcomes)
    if not services:
        say_nothing_found(server, scope)
    return _report(outcomes, diff=diff, dry_run=how)


@contextmanager
def _progress(services: list[Service]) -> Iterator[Iterable[Service]]:
    """Show a bar on a terminal where the work is long, and nothing in a pipe."""
    if len(services) < _MANY or not sys.stderr.isatty():
        yield services
        return
    with click.progressbar(services, label="Syncing", file=sys.stderr) as bar:
        yield bar


def _print_data(outcomes: list[Outcome], output: str) -> None:
    if output == "name":
        for outcome in outcomes:
            if outcome.changes:
                click.echo(f"service/{outcome.plan.service.name}")
        return
    click.echo(dump([outcome_data(outcome) for outcome in outcomes], output), nl=False)


def _print_diff(outcomes: list[Outcome]) -> None:
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


def _report(outcomes: list[Outcome], *, diff: bool, dry_run: DryRun) -> int:
    """Say on stderr what is worth saying, and return the exit status."""
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
        click.echo(
            "the cloud controller manager resets this when it next ensures the load balancer; "
            "use `sync --watch` or `policy` to keep it",
            err=True,
        )
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
