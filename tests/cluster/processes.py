"""Programs that run beside the tests, and never longer than they.

Each runs under a supervisor (see `supervisor.py`) in a session of its own. So Ctrl-C reaches
pytest alone, which then ends its programs in order; and if pytest itself is killed, they end too.
"""

import fcntl
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SUPERVISOR = Path(__file__).with_name("supervisor.py")
TAIL = 4000  # characters of a log that say why a program ended


class EndedError(RuntimeError):
    """A program that should be running is not."""


class Process:
    """One run of a program; whatever it prints goes to the end of its log."""

    def __init__(self, command: Sequence[str | Path], log: Path) -> None:
        self._name = Path(command[0]).name
        self._log = log
        with log.open("ab") as output:
            # Inherited with the file, the lock lasts until the program and its supervisor are
            # gone, whatever became of who started them: `is_running` asks for it.
            fcntl.flock(output, fcntl.LOCK_EX)
            self._supervisor = subprocess.Popen(
                # -I -S: neither the environment nor installed packages have a say in it.
                [sys.executable, "-I", "-S", SUPERVISOR, *command],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        assert self._supervisor.stdin is not None
        self._wanted = self._supervisor.stdin

    def check(self) -> None:
        """Raise, with the end of the log, if the program has ended."""
        status = self._supervisor.poll()
        if status is not None:
            raise EndedError(f"{self._name} ended with status {status}:\n{self.last_words()}")

    def last_words(self) -> str:
        """Return the end of the log."""
        return f"{self._log}:\n{self._log.read_text(errors='replace')[-TAIL:]}"

    def stop(self) -> None:
        """Let the program end in its own way, and wait until it has."""
        with suppress(BrokenPipeError):  # it has ended already
            self._wanted.write(b".")
        self._supervisor.wait()
        self._wanted.close()

    def kill(self) -> None:
        """End the program at once, if it still runs."""
        self._wanted.close()
        self._supervisor.wait()


def is_running(log: Path) -> bool:
    """Say whether a program that logs there, or its supervisor, is alive."""
    with log.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
