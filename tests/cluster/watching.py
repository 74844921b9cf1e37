"""`sync --watch` as users run it: a program with two streams, signals and an end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.processes import SUPERVISOR
from tests.cluster.waiting import wait_for
from tests.programs import SCRIPTS

PROGRAM = SCRIPTS / "kubectl-lbipmode"
SECONDS = 30.0


@dataclass
class Watch:
    """A run. What it writes is kept in files, so that it is never held up."""

    out: Path
    err: Path
    _supervisor: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The program's own process, which is the supervisor's only child."""
        supervisor = self._supervisor.pid
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children")
        return int(wait_for(children.read_text, "the program").split()[0])

    def repairs(self) -> list[str]:
        """Return the lines of stdout: one for each repair of an address."""
        return self.out.read_text().splitlines()

    def said(self) -> str:
        """Return what it told on stderr."""
        return self.err.read_text()

    def expect(self, text: str, *, seconds: float = SECONDS) -> None:
        """Wait until that was said, and fail if it ends before."""
        try:
            wait_for(lambda: text in self.said() or not self.is_running(), text, seconds=seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; said:\n{self.said()}") from None
        assert text in self.said(), self.said()

    def is_running(self) -> bool:
        """Say whether it runs."""
        return self._supervisor.poll() is None

    def memory(self) -> float:
        """Return the resident memory in MiB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def processor_seconds(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def interrupt(self) -> None:
        """Send it what ^C sends."""
        os.kill(self.pid, signal.SIGINT)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal, and return the exit status once it has ended."""
        os.kill(self.pid, number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end, and return the exit status."""
        return self._supervisor.wait(SECONDS)


@contextmanager
def watching(
    folder: Path, kubeconfig: Path, *arguments: str, name: str = "watch", started: bool = True
) -> Iterator[Watch]:
    """Run `sync --watch` for the time of the block; unless told otherwise, wait for its list."""
    out, err = folder / f"{name}.out", folder / f"{name}.err"
    command: list[str | Path] = [
        PROGRAM,
        "sync",
        "--watch",
        f"--kubeconfig={kubeconfig}",
        *arguments,
    ]
    with out.open("wb") as stdout, err.open("wb") as stderr:
        supervisor = subprocess.Popen(
            # See `processes.py`: it ends with us, whatever becomes of us.
            [sys.executable, "-I", "-S", SUPERVISOR, *command],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
    assert supervisor.stdin is not None
    watch = Watch(out, err, supervisor)
    try:
        if started:
            watch.expect("watching ")
        yield watch
    finally:
        supervisor.stdin.close()
        supervisor.wait()
