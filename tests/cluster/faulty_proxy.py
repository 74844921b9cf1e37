"""A proxy in front of an API server that does wrong on purpose, one request at a time.

It speaks plain HTTP to the plugin and passes on what it gets as the administrator, so that the
replies which are not faults are a real server's.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cluster.control_plane import ControlPlane

Fault = tuple[str, float]
"""What to do, and a number of seconds, or an HTTP status."""


class FaultyProxy(ThreadingHTTPServer):
    """Takes the next of *faults* for each request; where there is none left, it behaves."""

    daemon_threads = True

    def __init__(self, control_plane: ControlPlane) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.control_plane = control_plane
        self.faults: deque[Fault] = deque()
        self.requests: list[tuple[float, str, str]] = []

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that leads here."""
        config = {
            "clusters": [
                {"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}
            ],
            "users": [],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}],
            "current-context": "c",
        }
        path.write_text(json.dumps(config))
        return path


@contextmanager
def faulty_proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    """Run a proxy for the time of the block."""
    with FaultyProxy(control_plane) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def do_GET(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def log_message(self, *arguments: Any) -> None:  # noqa: ANN401 - the base class's own
        """Say nothing."""

    def _handle(self) -> None:
        self.server.requests.append((time.monotonic(), self.command, self.path))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault, number = self.server.faults.popleft() if self.server.faults else ("", 0)
        match fault:
            case "reset":
                self.close_connection = True
            case "status":
                # What load balancers answer: no Status object.
                self._answer(int(number), b"<html>no</html>", [])
            case "busy":
                self._answer(429, b"", [("Retry-After", f"{number:g}")])
            case _:
                time.sleep(number)
                self._pass_on(body)

    def _pass_on(self, body: bytes) -> None:
        with closing(self.server.control_plane.connect()) as client:
            reply = client.request(
                self.command,
                self.path,
                json.loads(body) if body else None,
                content_type=self.headers.get("Content-Type", "application/json"),
            )
        self._answer(reply.code, reply.content, [("Content-Type", "application/json")])

    def _answer(self, code: int, content: bytes, headers: list[tuple[str, str]]) -> None:
        self.send_response(code)
        for name, value in [*headers, ("Content-Length", str(len(content)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
