"""The command line: one module a command; it parses, calls, prints and exits.

Commands are imported when they are called, so that a run pays for nothing that it does not use.
stdout carries data alone; what is said to people goes to stderr.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from kubectl_lbipmode.errors import LBIPModeError

PROGRAM = "kubectl lbipmode"
_COMMANDS = {
    name: f"kubectl_lbipmode.cli.{name}"
    for name in (
        "annotate",
        "explain",
        "status",
        "sync",
        "policy",
        "doctor",
        "completion",
        "version",
    )
}
_INTERRUPTED = 130
_BROKEN_PIPE = 141  # As a program ends whose reader has gone: 128 + SIGPIPE.


class Program(click.Group):
    """The group of commands; turns every expected end into a message and an exit status."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of use."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name]).command
        return command

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ANN401 - click's own signature
        """Run, and exit: 0, 1, 2, 3 or 130; only a bug of ours shows a traceback."""
        kwargs.update(prog_name=PROGRAM, standalone_mode=False)
        try:
            status = super().main(*args, **kwargs)
        except LBIPModeError as error:
            print_error(str(error), error.hint)
            status = error.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            status = 0
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else PROGRAM
            print_error(error.format_message(), f"see '{path} --help' for usage")
            status = error.exit_code
        except click.ClickException as error:
            print_error(error.format_message(), None)
            status = 2
        except (click.Abort, KeyboardInterrupt):
            click.echo("interrupted", err=True)
            status = _INTERRUPTED
        sys.exit(status or 0)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's own signature
        """Run the command, and see that all of what it printed has gone out."""
        if sys.stdout is None:
            raise click.ClickException("stdout is closed")
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _give_up_stdout()
            return _BROKEN_PIPE
        except OSError as error:
            # Files and the network have errors of their own: this one is of stdout.
            _give_up_stdout()
            raise click.ClickException(f"stdout cannot be written: {error.strerror}") from error
        return status


def _give_up_stdout() -> None:
    """Keep Python from writing the rest at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(message: str, hint: str | None) -> None:
    """Say on stderr what is wrong and what to do."""
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Make in-cluster traffic to a LoadBalancer go through the load balancer.

    `annotate` declares in manifests which ipMode a Service should have; `explain` says why.
    `status` and `sync` do the same for live Services; `policy` lets the API server keep it set.
    """
