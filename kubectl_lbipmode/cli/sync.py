"""``kubectl lbipmode sync``: give live Services the modes that were decided."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from kubectl_lbipmode.cli.cluster_options import (
    Scope,
    access_options,
    find_services,
    say_nothing_found,
    scope_options,
)
from kubectl_lbipmode.cli.outcomes import print_data, print_diff, report
from kubectl_lbipmode.cli.watching import watch_options
from kubectl_lbipmode.livereport import describe_outcome
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.rules import Wish
from kubectl_lbipmode.sync import DryRun, Outcome, Syncer

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access, APIServer
    from kubectl_lbipmode.controller.settings import Settings

# A progress bar is worth its place from here on.
_MANY = 50
_SUFFIXES = {DryRun.NONE: "", DryRun.CLIENT: " (dry run)", DryRun.SERVER: " (server dry run)"}


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
@click.option("-w", "--watch", is_flag=True, help="Go on, and set again whatever is reset.")
@watch_options
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
    watch: bool,
    settings: Settings,
) -> int:
    """Set the mode of each address of live Services that differs from the one decided.

    Nothing else is touched. The decision is that of `explain`: the override, then --mode, then
    the ports.

    \b
    Examples:
      # What would be done?
      kubectl lbipmode sync -A --dry-run=client
      kubectl lbipmode sync web -n shop
      # Keep it so, until ^C
      kubectl lbipmode sync -A --watch
    """
    from kubectl_lbipmode.cluster import connect

    if diff and output:
        raise click.UsageError("--diff and -o exclude each other")
    if watch and (names or diff or output or dry_run != DryRun.NONE):
        raise click.UsageError("--watch sets all Services: without names, --dry-run, --diff or -o")
    how = DryRun.CLIENT if diff and dry_run == DryRun.NONE else DryRun(dry_run)
    server = connect(access, field_manager=field_manager)
    wish = Wish(None if mode == "auto" else IPMode(mode), overwrite)
    syncer = Syncer(server, wish, force, how)
    if watch:
        from kubectl_lbipmode.controller.running import run

        namespace = scope.choose_namespace(server)
        return run(server, access, syncer, namespace, scope.selector, settings, workers=concurrency)
    services = list(find_services(server, scope, names))
    outcomes = []
    with _progress(services) as ticks:
        for outcome in syncer.sync_all(ticks, concurrency=concurrency):
            outcomes.append(outcome)
            if not (output or diff):
                for line in describe_outcome(outcome, _SUFFIXES[how]):
                    click.echo(line)
    if output:
        print_data(outcomes, output)
    elif diff:
        print_diff(outcomes)
    if not services:
        say_nothing_found(server, scope)
    return report(outcomes, diff=diff, dry_run=how, kept=_is_kept(server, outcomes, how))


def _is_kept(server: APIServer, outcomes: list[Outcome], dry_run: DryRun) -> bool:
    """Whether an admission policy keeps what was changed."""
    from kubectl_lbipmode.policy.proof import keeps

    changed = [outcome.plan.service for outcome in outcomes if outcome.changes]
    return dry_run is DryRun.NONE and keeps(server, changed)


@contextmanager
def _progress(services: list[Service]) -> Iterator[Iterable[Service]]:
    """Show a bar on a terminal where the work is long, and nothing in a pipe."""
    if len(services) < _MANY or not sys.stderr.isatty():
        yield services
        return
    with click.progressbar(services, label="Syncing", file=sys.stderr) as bar:
        yield bar
