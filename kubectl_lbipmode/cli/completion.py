"""``kubectl lbipmode completion``: a completion script for the plugin's own name."""

from __future__ import annotations

import click


@click.command("completion", short_help="Print a completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes `kubectl-lbipmode` in SHELL.

    For `kubectl lbipmode` nothing needs to be sourced: kubectl asks the program
    `kubectl_complete-lbipmode`, which is installed beside the plugin.

    \b
    Example:
      source <(kubectl lbipmode completion bash)
    """
    from click.shell_completion import get_completion_class

    from kubectl_lbipmode.cli import main

    found = get_completion_class(shell)
    assert found is not None
    completion = found(main, {}, "kubectl-lbipmode", "_KUBECTL_LBIPMODE_COMPLETE")
    click.echo(completion.source())
