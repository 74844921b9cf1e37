"""A proxy that keeps a record of every request, passes watches on, and does wrong when asked to.

As `faulty_proxy.py`, it speaks plain HTTP to the plugin. It passes on what it gets as the bearer of
the token that comes with it, or else as the administrator. A fault is chosen by the request, so
that it meets the one that a test is about.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.cluster.client import ApiError, Client
from tests.cluster.control_plane import ControlPlane

SILENCE = 600.0


@dataclass(frozen=True)
class Request:
    """What came, when (monotonic)."""

    at: float
    method: str
    path: str
    watch: bool
    body: Any


@dataclass(frozen=True)
class Fault:
    """What to do instead of passing on: wait so long, then answer so, or break the connection."""

    delay: float = 0
    status: int = 0
    retry_after: int | None = None
    reset: bool = False
    cut_after: float | None = None  # seconds, after which a watch breaks


@dataclass
class Record:
    """The requests so far, and what is done to the next."""

    requests: list[Request] = field(default_factory=list)
    choose: Callable[[Request], Fault | None] = lambda _: None

    def of(self, method: str) -> list[Request]:
        """Return the requests of that method."""
        return [request for request in self.requests if request.method == method]


@contextmanager
def streaming_proxy(
    control_plane: ControlPlane, kubeconfig: Path, *, token: str = ""
) -> Iterator[Record]:
    """Run a proxy for the time of the block, and write a kubeconfig that leads to it."""
    record = Record()
    handler = type("Handler", (_Handler,), {"record": record, "control_plane": control_plane})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as proxy:
        proxy.daemon_threads = True
        # Its threads may be in the midst of a watch, which ends with the control plane.
        proxy.block_on_close = False
        _write_kubeconfig(kubeconfig, proxy.server_port, token)
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield record
        finally:
            proxy.shutdown()
            thread.join()


def _write_kubeconfig(path: Path, port: int, token: str) -> None:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": token}}] if token else [],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u" if token else ""}}],
        "current-context": "c",
    }
    path.write_text(json.dumps(config))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    record: Record
    control_plane: ControlPlane

    def do_GET(self) -> None:
        self._handle()

    def do_PATCH(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def do_PUT(self) -> None:
        self._handle()

    def log_message(self, *arguments: Any) -> None:  # noqa: ANN401 - the base class's own
        """Say nothing."""

    def _handle(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        body = json.loads(content) if content else None
        request = Request(time.monotonic(), self.command, url.path, "watch" in query, body)
        self.record.requests.append(request)
        try:
            self._answer_or_fail(request, url.path, query, body)
        except (OSError, HTTPException):
            # Either side may be gone, on purpose.
            self.close_connection = True

    def _answer_or_fail(
        self,
        request: Request,
        path: str,
        query: dict[str, str],
        body: Any,  # noqa: ANN401 - any JSON
    ) -> None:
        fault = self.record.choose(request) or Fault()
        time.sleep(fault.delay)
        if fault.reset:
            self.close_connection = True
        elif fault.status:
            extra = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            # What load balancers answer: no Status object.
            self._answer(fault.status, b"<html>no</html>", extra)
        elif request.watch:
            self._pass_on_watch(path, query, fault.cut_after)
            self.close_connection = True
        else:
            self._pass_on(body)

    def _pass_on(self, body: Any) -> None:  # noqa: ANN401 - any JSON
        with closing(self._connect()) as client:
            kind = self.headers.get("Content-Type", "application/json")
            reply = client.request(self.command, self.path, body, content_type=kind)
        self._answer(reply.code, reply.content, {"Content-Type": "application/json"})

    def _pass_on_watch(self, path: str, query: dict[str, str], cut_after: float | None) -> None:
        with closing(self._connect()) as client:
            version = query.pop("resourceVersion", "")
            query.pop("watch")
            events = client.watch(path, version, silence=cut_after or SILENCE, **query)
            started = False
            # Where it is to be cut: in silence, so that no event is lost by the proxy itself.
            with closing(events), suppress(TimeoutError):
                try:
                    for event in events:
                        self._start(started)
                        started = True
                        line = json.dumps(event).encode() + b"\n"
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                except ApiError as error:
                    self._answer(error.code, json.dumps(error.body).encode(), {})
                    return
            self._start(started)
            if cut_after is None:
                self.wfile.write(b"0\r\n\r\n")

    def _connect(self) -> Client:
        _, _, token = self.headers.get("Authorization", "").partition("Bearer ")
        return self.control_plane.connect(token or None)

    def _start(self, started: bool) -> None:
        if not started:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()

    def _answer(self, code: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
