"""``kubectl lbipmode status``: the modes that live Services have, and those they should have."""

from __future__ import annotations

import sys
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from kubectl_lbipmode.cli.cluster_options import (
    Scope,
    access_options,
    find_services,
    say_nothing_found,
    scope_options,
)
from kubectl_lbipmode.errors import ClusterError, ExpiredError, UnavailableError, UnreachableError
from kubectl_lbipmode.livereport import plan_data, sort_plans, summarize_plans, tabulate_plans
from kubectl_lbipmode.plan import AddressReason, Plan, find_shared, make_plan
from kubectl_lbipmode.report import describe_finding, dump
from kubectl_lbipmode.rules import Reason, Wish

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access, APIServer

_DRIFT_FOUND = 1
_COLORS: dict[AddressReason | Reason, str] = {
    AddressReason.IN_SYNC: "green",
    AddressReason.DRIFT: "red",
    AddressReason.DROPPED_BY_SERVER: "red",
    Reason.INVALID_OVERRIDE: "red",
    Reason.INVALID_PORTS: "red",
}


@click.command("status", short_help="Show where live modes differ from those decided.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@scope_options
@access_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["wide", "json", "yaml", "name"]),
    help="More columns, the data, or the names alone.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything drifts.")
@click.option("-w", "--watch", is_flag=True, help="Go on, with a row for each change.")
def command(
    names: tuple[str, ...],
    scope: Scope,
    access: Access,
    output: str | None,
    exit_code: bool,
    watch: bool,
) -> int:
    """Show the mode of each address of live Services beside the one that was decided.

    What drifts comes first. Changes nothing.

    \b
    Examples:
      kubectl lbipmode status -A
      kubectl lbipmode status web -n shop -o wide
      # For a script: 1 if anything drifts
      kubectl lbipmode status -A --exit-code
    """
    from kubectl_lbipmode.cluster import connect

    if watch and (names or exit_code or output not in (None, "wide")):
        raise click.UsageError("--watch goes with a table of all Services")
    server = connect(access)
    if watch:
        _watch(server, scope, wide=output == "wide")
        return 0
    plans = sort_plans(
        make_plan(service, Wish()) for service in find_services(server, scope, names)
    )
    shared = defaultdict(list)
    for plan, finding in find_shared(plans):
        shared[plan.service.uid].append(finding)
    if output in ("json", "yaml"):
        data = [plan_data(plan, shared[plan.service.uid]) for plan in plans]
        click.echo(dump(data, output), nl=False)
    elif output == "name":
        for plan in plans:
            click.echo(f"service/{plan.service.name}")
    elif plans:
        click.echo(_tabulate(plans, wide=output == "wide"))
        click.echo(summarize_plans(plans), err=True)
        _say_what_keeps(server)
        for plan in plans:
            for finding in shared[plan.service.uid]:
                for line in describe_finding(plan.service.full_name, finding):
                    click.echo(line.strip(), err=True)
    else:
        say_nothing_found(server, scope)
    return _DRIFT_FOUND if exit_code and any(plan.drifting for plan in plans) else 0


def _say_what_keeps(server: APIServer) -> None:
    """Name the admission policies that set modes; whoever may not look is told nothing."""
    from kubectl_lbipmode.doctor.keeping import find_policies
    from kubectl_lbipmode.doctor.view import View

    with suppress(ClusterError):
        for policy in find_policies(View(server)):
            click.echo(f"{policy} sets the mode in every write of a status", err=True)


def _watch(server: APIServer, scope: Scope, *, wide: bool) -> None:
    """Print the table, then a row for each address of a Service that changes, until interrupted."""
    from kubectl_lbipmode.feed import Changed, Feed, Listed

    shown: dict[str, Plan] = {}
    namespace = scope.choose_namespace(server)
    for event in Feed(server, namespace, scope.selector, on_trouble=_on_trouble).events():
        match event:
            case Listed(services):
                plans = sort_plans(make_plan(service, Wish()) for service in services)
            case Changed(service):
                plans = [make_plan(service, Wish())]
            case _:
                continue
        fresh = [plan for plan in plans if _is_news(shown.get(plan.service.uid), plan)]
        if not fresh:
            continue
        header = 0 if shown else 1
        for plan in fresh:
            # Taken out first, so that what is fresh comes last.
            shown.pop(plan.service.uid, None)
            shown[plan.service.uid] = plan
        # All of the table decides how wide its columns are, so that new rows stand below the old.
        lines = _tabulate(list(shown.values()), wide=wide).splitlines()
        rows = sum(max(1, len(plan.addresses)) for plan in fresh)
        click.echo("\n".join(lines[-rows - header :]))


def _is_news(before: Plan | None, after: Plan) -> bool:
    if before is None:
        return True
    return (before.addresses, before.decision.mode, before.reason) != (
        after.addresses,
        after.decision.mode,
        after.reason,
    )


def _on_trouble(error: ClusterError) -> None:
    """Let what passes pass; whatever else is wrong would be so the next time."""
    if not isinstance(error, (ExpiredError, UnavailableError, UnreachableError)):
        raise error
    click.echo(f"{error}; trying again", err=True)


def _tabulate(plans: list[Plan], *, wide: bool) -> str:
    is_terminal = sys.stdout.isatty()

    def paint(text: str, reason: AddressReason | Reason) -> str:
        color = _COLORS.get(reason)
        return click.style(text, fg=color) if is_terminal and color else text

    return tabulate_plans(plans, wide=wide, paint=paint, now=datetime.now(UTC))
