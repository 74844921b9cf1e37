"""Whether it works, for whoever asks: ``/healthz``, ``/readyz`` and, where wanted, ``/metrics``.

Healthy is a main loop that turns: a restart would mend one that does not. Ready is a process that
hears from the API server; bookmarks come about once a minute, so silence is a sign by itself. A
restart would not mend that, so it is no matter of health.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.settings import Address
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.feed import SILENCE

Page = Callable[[], tuple[HTTPStatus, str, bytes]]
"""Returns the status, the content type and the content of a page."""

# Seconds.
_STUCK = 30.0
_DEAF = 2 * SILENCE
# How long it may take to end.
_POLL = 0.05
_TEXT = "text/plain; charset=utf-8"


class Probes(Observer):
    """Remembers when the loop last turned, and when the API server was last heard of."""

    def __init__(self) -> None:
        self._turned = time.monotonic()
        self._heard: float | None = None

    def turned(self) -> None:
        """Take note that the main loop turns."""
        self._turned = time.monotonic()

    def heard(self) -> None:
        """Take note of a sign of life."""
        self._heard = time.monotonic()

    def pages(self) -> dict[str, Page]:
        """Return the pages by their paths."""
        return {"/healthz": self._show_health, "/readyz": self._show_readiness}

    def _show_health(self) -> tuple[HTTPStatus, str, bytes]:
        if time.monotonic() < self._turned + _STUCK:
            return HTTPStatus.OK, _TEXT, b"ok\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"the main loop is stuck\n"

    def _show_readiness(self) -> tuple[HTTPStatus, str, bytes]:
        if self._heard is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"nothing heard of the API server yet\n"
        if time.monotonic() < self._heard + _DEAF:
            return HTTPStatus.OK, _TEXT, b"ok\n"
        message = f"nothing heard of the API server for {time.monotonic() - self._heard:.0f} s\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, message.encode()


class _Server(ThreadingHTTPServer):
    """Takes IPv4 and IPv6 alike where no host is named, as Go's ``net.Listen`` does."""

    def __init__(self, address: Address, handler: type[BaseHTTPRequestHandler]) -> None:
        host = address[0]
        if ":" in host or (not host and socket.has_dualstack_ipv6()):
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind the socket."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


@contextmanager
def serving(address: Address, pages: Mapping[str, Page]) -> Iterator[int]:
    """Serve *pages* on a host and port for the time of the block; give the port.

    Raises:
        InputError: the address cannot be had.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            status, kind, content = page() if page else (HTTPStatus.NOT_FOUND, _TEXT, b"")
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments: Any) -> None:  # noqa: ANN401 - the base class's own
            """Say nothing: a probe comes every few seconds."""

    try:
        server = _Server(address, Handler)
    except OSError as error:
        message = f'the address "{address[0]}:{address[1]}" cannot be had: {error.strerror}'
        raise InputError(message) from error
    with server:
        threading.Thread(target=server.serve_forever, args=(_POLL,), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
