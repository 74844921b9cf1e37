"""Where installed programs lie, and how one gets there whole.

Builds take minutes, so they are kept outside the tree and shared by all checkouts. A program's
folder is named by all that decides what is in it (version, sources, platform): a change of any of
these is another folder, and what is in a folder never changes. So "is it there?" is the only
question a later run has to ask.
"""

# ruff: noqa: T201 -- it reports to whoever runs make

import fcntl
import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.tools.programs import GoProgram, Program

_GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


def root() -> Path:
    if chosen := os.environ.get("LBIPMODE_CACHE"):
        return Path(chosen).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "kubectl-lbipmode")


def target() -> tuple[str, str]:
    """This machine, in the words of GOOS and GOARCH.

    Not asked of Go itself: finding an installed program must work without Go, and must not
    follow a GOOS that someone has set to cross-compile something else.
    """
    machine = platform.machine()
    return platform.system().lower(), _GO_NAMES.get(machine, machine)


def place(program: Program) -> Path:
    """The folder that holds the program, or will."""
    digest = hashlib.sha256()
    if isinstance(program, GoProgram):
        digest.update(f"{program.package}\n{program.ldflags}\n".encode())
    for pin in program.pins():
        digest.update(f"{pin.name}\n".encode())
        digest.update(hashlib.sha256(pin.read_bytes()).digest())
    name = "-".join((program.version, *target(), digest.hexdigest()[:12]))
    return root() / program.name / name


def fill(folder: Path, make: Callable[[Path], None]) -> None:
    """Let `make` fill the folder, wholly or not at all.

    It works in a folder aside that is renamed once all went well. Of two runs, the second waits
    and finds the work done.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Named by process: what a killed run started may still be writing into its own.
    partial = folder.with_name(f"{folder.name}.partial-{os.getpid()}")
    with _lock(folder.with_name(f"{folder.name}.lock")):
        if folder.exists():
            return
        for left in folder.parent.glob(f"{folder.name}.partial-*"):
            shutil.rmtree(left, ignore_errors=True)
        partial.mkdir()
        try:
            make(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock that goes when its holder does, however it ends (a mere file would stay)."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{path.parent.name}: waiting for another run that installs it", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
