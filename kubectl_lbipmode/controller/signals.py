"""End when told to: by SIGTERM, as a pod is ended, or by ^C."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Set *stop* at the first signal, for the time of the block; a second one ends it at once.

    A handler runs in the midst of whatever the main thread does, which may be to wait for that very
    event and to hold its lock. So a thread of its own sets it, woken through a socket.

    Raises:
        KeyboardInterrupt: after the block, if it was ended by ^C.
    """
    received: list[signal.Signals] = []

    def take(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(signal.Signals(number))
        signal.signal(number, before[received[-1]])

    def wait() -> None:
        reader.recv(1)
        stop.set()

    reader, writer = socket.socketpair()
    with closing(reader):
        writer.setblocking(False)
        waker = signal.set_wakeup_fd(writer.fileno())
        before = {number: signal.signal(number, take) for number in (signal.SIGTERM, signal.SIGINT)}
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(waker)
            writer.close()
            thread.join()
    if signal.SIGINT in received:
        raise KeyboardInterrupt
