"""``kubectl lbipmode annotate``: manifests in, manifests out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import click

from kubectl_lbipmode.cli import print_error
from kubectl_lbipmode.cli.inputs import input_options, open_inputs, read_selection
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.files import Replacements, Source
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.manifests import Options
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.report import describe, dump, is_reported, summarize, to_data
from kubectl_lbipmode.rules import Wish
from kubectl_lbipmode.transform import Advance, Result, join, transform

_FOUND, _FAILED = 1, 2
# A progress bar is worth its place from here on.
_MANY_FILES, _MANY_BYTES = 50, 5_000_000


@click.command("annotate", short_help="Set the ip-mode override in manifests.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@input_options
@click.option(
    "--mode",
    type=click.Choice(["auto", "Proxy", "VIP"]),
    default="auto",
    show_default=True,
    help="The mode to write; auto reads it from the ports.",
)
@click.option("--overwrite", is_flag=True, help="Replace an override that is there.")
@click.option("--write-vip", is_flag=True, help="Write VIP too, which is the default anyway.")
@click.option("--remove", is_flag=True, help="Take the override away instead.")
@click.option("-i", "--in-place", is_flag=True, help="Replace the files instead of printing.")
@click.option("--diff", is_flag=True, help="Print what would change; exit 1 if anything would.")
@click.option(
    "--check", is_flag=True, help="Name the files that would change; exit 1 if any would."
)
@click.option("--strict", is_flag=True, help="With --check: a warning counts as well.")
@click.option("--keep-going", is_flag=True, help="Write the files without an error all the same.")
@click.option(
    "-o", "--output", type=click.Choice(["json", "yaml"]), help="With --check: print the data."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    files: tuple[str, ...],
    filenames: tuple[str, ...],
    recursive: bool,
    kustomize: str | None,
    exclude: tuple[str, ...],
    namespace: str | None,
    selector: str | None,
    names: tuple[str, ...],
    mode: str,
    overwrite: bool,
    write_vip: bool,
    remove: bool,
    in_place: bool,
    diff: bool,
    check: bool,
    strict: bool,
    keep_going: bool,
    output: str | None,
    quiet: bool,
) -> int:
    """Set the ip-mode override on LoadBalancer Services, changing not one other byte.

    Reads files, folders, a kustomization or stdin and prints the result on stdout; what was
    decided, and why, goes to stderr. A Service whose ports all use the PROXY protocol gets Proxy;
    VIP is what Kubernetes does anyway and is written only when asked for. An override that is
    there is kept.

    \b
    Examples:
      # Which files would change, and why
      kubectl lbipmode annotate --check -f deploy/
      # Edit them
      kubectl lbipmode annotate --in-place -f deploy/
      # Between a renderer and the cluster
      kubectl kustomize overlays/prod | kubectl lbipmode annotate -f - | kubectl apply -f -
    """
    _check_usage(in_place=in_place, diff=diff, check=check, strict=strict, output=output)
    _check_wish(mode, overwrite=overwrite, write_vip=write_vip, remove=remove)
    options = Options(
        wish=Wish(None if mode == "auto" else IPMode(mode), overwrite),
        write_vip=write_vip,
        remove=remove,
        everything=output is not None,
        selection=read_selection(namespace, selector, names),
    )
    sources = open_inputs(files, filenames, kustomize, recursive=recursive, exclude=exclude)
    if in_place and any(source.path is None for source in sources):
        raise InputError("--in-place needs files", hint="leave it out to print the result")

    with _progress(sources) as advance:
        results = [
            transform(source, options, keep_parts=diff, advance=advance) for source in sources
        ]
    for result in results:
        click.get_current_context().call_on_close(result.spool.close)
    failed = any(result.failed for result in results)
    good = [result for result in results if not result.failed] if keep_going else results
    writes = not failed or (keep_going and len(good) > 0)

    if check:
        _print_check(results, output)
    elif diff and writes:
        _print_diff(good)
    elif in_place and writes:
        _replace(good)
    elif writes:
        _print_manifests(good)
    if not quiet:
        _report(results, removing=remove, applied=writes and not (check or diff))
    _report_problems(results, outcomes_too=quiet)
    if failed and not (check or diff or keep_going):
        click.echo("nothing was written", err=True)
    if failed:
        return _FAILED
    found = any(result.changed or (strict and result.warned) for result in results)
    return _FOUND if found and (check or diff) else 0


def _check_usage(
    *, in_place: bool, diff: bool, check: bool, strict: bool, output: str | None
) -> None:
    if in_place + diff + check > 1:
        raise click.UsageError("--in-place, --diff and --check exclude each other")
    if strict and not check:
        raise click.UsageError("--strict goes with --check")
    if output and not check:
        raise click.UsageError("-o goes with --check; else stdout carries the manifests")


def _check_wish(mode: str, *, overwrite: bool, write_vip: bool, remove: bool) -> None:
    if remove and (mode != "auto" or overwrite or write_vip):
        raise click.UsageError("--remove excludes --mode, --overwrite and --write-vip")


@contextmanager
def _progress(sources: list[Source]) -> Iterator[Advance]:
    """Show a bar on a terminal where the work is long, and nothing in a pipe."""
    size = sum(source.size for source in sources)
    is_long = len(sources) >= _MANY_FILES or size >= _MANY_BYTES
    if not (is_long and sys.stderr.isatty()):
        yield lambda _: None
        return
    with click.progressbar(length=size, label="Reading", file=sys.stderr) as bar:
        yield bar.update


def _print_check(results: list[Result], output: str | None) -> None:
    if output:
        data = [to_data(r.source.name, outcome) for r in results for outcome in r.outcomes]
        click.echo(dump(data, output), nl=False)
        return
    for result in results:
        if result.changed and not result.failed:
            click.echo(result.source.name)


def _print_diff(results: list[Result]) -> None:
    from kubectl_lbipmode.diff import unified_diff

    stdout = sys.stdout.buffer
    colors = {b"+": "green", b"-": "red", b"@": "cyan"} if stdout.isatty() else {}
    for result in results:
        for line in unified_diff(result.source.name, result.parts):
            color = colors.get(line[:1])
            stdout.write(click.style(line.decode(), fg=color).encode() if color else line)


def _replace(results: list[Result]) -> None:
    with Replacements() as replacements:
        for result in results:
            if result.changed and result.source.path is not None:
                replacements.stage(result.source.path, result.spool)
        replacements.commit()


def _print_manifests(results: list[Result]) -> None:
    if all(result.blank for result in results):
        names = ", ".join(result.source.name for result in results) or "the input"
        hint = "an empty render is refused, since deploying it could delete what is deployed"
        raise InputError(f"there is no document in {names}", hint=hint)
    with join(results) as joined:
        sys.stdout.buffer.writelines(iter(partial(joined.read, 1 << 20), b""))


def _report(results: list[Result], *, removing: bool, applied: bool) -> None:
    """Say on stderr what was decided: a line a Service, its findings below, a closing count."""
    for result in results:
        for outcome in result.outcomes:
            if outcome.findings or is_reported(outcome, removing=removing):
                for line in describe(result.source.name, outcome, removing=removing):
                    click.echo(line, err=True)
    # A Service in a file that is left out stays as it is, whatever was decided about it.
    outcomes = [
        replace(outcome, changed=False) if applied and result.failed else outcome
        for result in results
        for outcome in result.outcomes
    ]
    if not outcomes and any(result.problem for result in results):
        return  # A count of nothing tells nothing.
    click.echo(summarize(outcomes, removing=removing, applied=applied), err=True)


def _report_problems(results: list[Result], *, outcomes_too: bool) -> None:
    """Say what stands in the way, with *outcomes_too* the error findings as well."""
    for result in results:
        for outcome in result.outcomes if outcomes_too else ():
            for finding in outcome.findings:
                if finding.severity is Severity.ERROR:
                    at = f"{result.source.name}:{finding.line}:{finding.column}"
                    print_error(f"{at}: {finding.message}", finding.hint)
        if result.problem is not None:
            print_error(str(result.problem), result.problem.hint)
