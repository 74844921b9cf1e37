"""``kubectl lbipmode doctor``: is this cluster able?"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import click

from kubectl_lbipmode.cli.cluster_options import access_options
from kubectl_lbipmode.doctor import Check, Status, View, check_data, diagnose
from kubectl_lbipmode.report import count, dump

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access

_FAILED = 1
_COLORS = {
    Status.FAIL: "red",
    Status.WARN: "yellow",
    Status.UNKNOWN: "cyan",
    Status.OK: "green",
}
_WIDTH = max(map(len, Status))


@click.command("doctor", short_help="See whether the cluster can do it.")
@click.option(
    "-n", "--namespace", metavar="NS", help="Look at the Services, and rights, of one namespace."
)
@access_options
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the data.")
def command(namespace: str | None, access: Access, output: str | None) -> int:
    """See whether modes work in this cluster: server, network, cloud, rights, Services.

    What needs attention comes first. Changes nothing: where a write is the only proof, it is sent
    as a dry run. Exits with 1 if a check fails.

    \b
    Examples:
      kubectl lbipmode doctor
      # As the ServiceAccount that is to run it
      kubectl lbipmode doctor --as=system:serviceaccount:kube-system:lbipmode
    """
    from kubectl_lbipmode.cluster import connect

    checks = diagnose(View(connect(access), namespace))
    if output:
        click.echo(dump([check_data(check) for check in checks], output), nl=False)
    else:
        _print(checks)
    return _FAILED if any(check.status is Status.FAIL for check in checks) else 0


def _print(checks: list[Check]) -> None:
    """Print a line for each check, what to do below it, and the sum on stderr."""
    is_terminal = sys.stdout.isatty()
    for check in checks:
        status = f"{check.status:<{_WIDTH}}"
        if is_terminal:
            status = click.style(status, fg=_COLORS[check.status])
        click.echo(f"{status}  {check.name}: {check.message}")
        if check.hint:
            click.echo(f"{'':{_WIDTH}}  hint: {check.hint}")
    numbers = Counter(check.status for check in checks)
    parts = [f"{numbers[status]} {status}" for status in Status if numbers[status]]
    click.echo(f"{count(len(checks), 'check')}: {', '.join(parts)}", err=True)
