"""Network namespaces that nobody has to remove.

A network namespace is a network stack of its own: links, addresses, routes, packet filter. It
belongs to the threads that are in it, and goes with the last of them. So a thread of this process
makes one and stays in it, and whatever is to happen there happens on that thread: a socket that it
opens and a program that it starts are in its namespace.

`ip netns add` would put a name to the namespace instead, for others to find, to collide with and,
after a test was killed, to remove. Here there is no name, so there is no other namespace that a
test could touch, and nothing to be left: the kernel ends the namespace, with all links and rules
in it, when this process and the programs that it started have ended.
"""

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from tests.cluster.processes import Process

CLONE_NEWNET = 0x40000000
SECONDS = 20.0  # for a command; none of them has to wait for anything

P = ParamSpec("P")
T = TypeVar("T")


class CommandError(RuntimeError):
    """A command in a namespace failed."""


class NetworkNamespace:
    """A new network stack, with its loopback interface up."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        try:
            self.path = self.call(_leave_for_a_new_one)
            self.run("ip", "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave it. Programs that still run there keep it."""
        self._thread.shutdown()

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function there, and return what it returns."""
        return self._thread.submit(function, *args, **kwargs).result()

    def run(self, *command: str, stdin: str = "") -> str:
        """Run a command there to its end, and return what it prints."""
        return self.call(_run, command, stdin)

    def start(self, command: Sequence[str | Path], log: Path) -> Process:
        """Start a program there."""
        return self.call(Process, command, log)

    def set(self, **settings: int) -> None:
        """Change settings of the kernel; `ipv4__ip_forward` is `net.ipv4.ip_forward`."""
        for name, value in settings.items():
            path = Path("/proc/sys/net", *name.split("__"))
            self.call(path.write_text, str(value))


def _leave_for_a_new_one() -> str:
    """Put the calling thread into a new namespace, and return a path by which others find it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no new network namespace: {os.strerror(number)}")
    return f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"


def _run(command: Sequence[str], stdin: str) -> str:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode != 0:
        raise CommandError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
