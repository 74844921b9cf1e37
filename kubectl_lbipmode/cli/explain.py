"""``kubectl lbipmode explain``: why a Service has the mode that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubectl_lbipmode.cli import print_error
from kubectl_lbipmode.cli.cluster_options import (
    Scope,
    access_options,
    find_services,
    make_scope,
    say_nothing_found,
)
from kubectl_lbipmode.cli.inputs import input_options, open_inputs, read_selection
from kubectl_lbipmode.manifests import Options
from kubectl_lbipmode.report import dump, explain, to_data
from kubectl_lbipmode.transform import transform

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access

_FAILED = 2


@click.command("explain", short_help="Say which mode each Service should have, and why.")
@click.argument("live_names", nargs=-1, metavar="[NAME]...")
@input_options
@click.option("-A", "--all-namespaces", is_flag=True, help="All live Services.")
@access_options
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the data.")
def command(
    live_names: tuple[str, ...],
    filenames: tuple[str, ...],
    recursive: bool,
    kustomize: str | None,
    exclude: tuple[str, ...],
    namespace: str | None,
    selector: str | None,
    names: tuple[str, ...],
    all_namespaces: bool,
    access: Access,
    output: str | None,
) -> int:
    """Say for each Service and port which value was found, where, and what follows.

    Reads manifests, or live Services where one is named, and changes nothing. Services out of
    scope are listed too, with the reason.

    \b
    Examples:
      kubectl lbipmode explain -f web.yaml
      helm template web ./chart | kubectl lbipmode explain
      kubectl lbipmode explain -f deploy/ -R -o json
      # A live Service, and what its addresses make of it
      kubectl lbipmode explain web -n shop
    """
    if live_names or all_namespaces:
        if filenames or kustomize is not None or names:
            raise click.UsageError("live Services are explained without -f, -k and --name")
        scope = make_scope(live_names, namespace, selector, all_namespaces=all_namespaces)
        return _explain_live(access, scope, live_names, output)
    options = Options(everything=True, selection=read_selection(namespace, selector, names))
    sources = open_inputs((), filenames, kustomize, recursive=recursive, exclude=exclude)
    results = [
        transform(source, options, keep_parts=False, advance=lambda _: None) for source in sources
    ]
    for result in results:
        result.spool.close()
    found = [(result.source.name, outcome) for result in results for outcome in result.outcomes]
    if output:
        click.echo(dump([to_data(*entry) for entry in found], output), nl=False)
    elif found:
        click.echo("\n\n".join("\n".join(explain(*entry)) for entry in found))
    problems = [result.problem for result in results if result.problem is not None]
    for problem in problems:
        print_error(str(problem), problem.hint)
    if not found and not problems:
        click.echo("no Services found", err=True)
    return _FAILED if problems else 0


def _explain_live(access: Access, scope: Scope, names: tuple[str, ...], output: str | None) -> int:
    from kubectl_lbipmode.cluster import connect
    from kubectl_lbipmode.livereport import explain_plan, plan_data
    from kubectl_lbipmode.plan import make_plan
    from kubectl_lbipmode.rules import Wish

    server = connect(access)
    plans = [make_plan(service, Wish()) for service in find_services(server, scope, names)]
    if output:
        click.echo(dump([plan_data(plan) for plan in plans], output), nl=False)
    elif plans:
        click.echo("\n\n".join("\n".join(explain_plan(plan)) for plan in plans))
    else:
        say_nothing_found(server, scope)
    return 0
