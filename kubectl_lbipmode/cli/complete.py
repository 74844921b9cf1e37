"""``kubectl_complete-lbipmode``: what kubectl runs to complete ``kubectl lbipmode …``.

kubectl (1.26 and newer) hands over the words after the plugin's name, the last one possibly empty,
and reads one candidate a line, with a description after a tab, and at the end a cobra directive:
``:0`` lets the shell complete file names too, ``:4`` does not. It does not filter by prefix.
"""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete

from kubectl_lbipmode.cli import PROGRAM
from kubectl_lbipmode.cli import main as program

_DEFAULT, _NO_FILES = 0, 4


def main() -> None:
    """Print the candidates for the words of the command line."""
    *words, incomplete = sys.argv[1:] or [""]
    completer = ShellComplete(program, {}, PROGRAM, "")
    items = completer.get_completions(words, incomplete)
    for item in items:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    # A file option, or an argument that may be a file, completes to nothing of ours.
    files = not items or any(item.type != "plain" for item in items)
    click.echo(f":{_DEFAULT if files else _NO_FILES}")
