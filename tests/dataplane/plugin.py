"""The plugin as users run it: a program."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.processes import Process
from tests.programs import SCRIPTS

PROGRAM = SCRIPTS / "kubectl-lbipmode"
SECONDS = 60.0


class Plugin:
    """kubectl-lbipmode, for the cluster of the environment's KUBECONFIG."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def run(self, *arguments: str) -> str:
        """Run a command that has to succeed, and return what it prints."""
        done = subprocess.run(
            [PROGRAM, *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def running(self, *arguments: str) -> Iterator[Process]:
        """Run a command that goes on, for the time of the block; it must not end before."""
        process = Process([PROGRAM, *arguments], self._log)
        try:
            yield process
            process.check()
        finally:
            process.stop()
