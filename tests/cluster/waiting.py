"""Wait for what another process does in its own time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

INTERVAL = 0.02


def wait_for(probe: Callable[[], T], what: str, *, seconds: float = 10.0) -> T:
    """Return the first true answer of `probe`; fail if there is none in time."""
    end = time.monotonic() + seconds
    while not (answer := probe()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s for {what}; last seen: {answer!r}")
        time.sleep(INTERVAL)
    return answer
