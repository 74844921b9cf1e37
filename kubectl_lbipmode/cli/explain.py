"""``kubectl lbipmode explain``: why a Service has the mode that it has."""

from __future__ import annotations

import click

from kubectl_lbipmode.cli import print_error
from kubectl_lbipmode.cli.inputs import input_options, open_inputs, read_selection
from kubectl_lbipmode.manifests import Options
from kubectl_lbipmode.report import dump, explain, to_data
from kubectl_lbipmode.transform import transform

_FAILED = 2


@click.command("explain", short_help="Say which mode each Service should have, and why.")
@click.argument("names_of_live_services", nargs=-1, metavar="")
@input_options
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the data.")
def command(
    names_of_live_services: tuple[str, ...],
    filenames: tuple[str, ...],
    recursive: bool,
    kustomize: str | None,
    exclude: tuple[str, ...],
    namespace: str | None,
    selector: str | None,
    names: tuple[str, ...],
    output: str | None,
) -> int:
    r"""Say for each Service and port which value was found, where, and what follows.

    Reads manifests and changes nothing. Services out of scope are listed too, with the reason.

    \b
    Examples:
      kubectl lbipmode explain -f web.yaml
      helm template web ./chart | kubectl lbipmode explain
      kubectl lbipmode explain -f deploy/ -R -o json
    """
    if names_of_live_services:
        raise click.UsageError(
            f'"{names_of_live_services[0]}": manifests are given with -f FILE '
            "(live Services cannot be explained yet)"
        )
    options = Options(everything=True, selection=read_selection(namespace, selector, names))
    sources = open_inputs((), filenames, kustomize, recursive=recursive, exclude=exclude)
    results = [
        transform(source, options, keep_parts=False, advance=lambda _: None) for source in sources
    ]
    found = [(result.source.name, outcome) for result in results for outcome in result.outcomes]
    if output:
        click.echo(dump([to_data(*entry) for entry in found], output), nl=False)
    else:
        click.echo("\n\n".join("\n".join(explain(*entry)) for entry in found))
    problems = [result.problem for result in results if result.problem is not None]
    for problem in problems:
        print_error(str(problem), problem.hint)
    if not found and not problems:
        click.echo("no Services found", err=True)
    return _FAILED if problems else 0
