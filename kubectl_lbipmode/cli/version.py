"""``kubectl lbipmode version``."""

from __future__ import annotations

import click

from kubectl_lbipmode import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"kubectl-lbipmode {__version__}")
