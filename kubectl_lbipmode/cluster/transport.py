"""Requests to an API server and their replies, as plain JSON.

They go through the client library's connection pool, which carries its TLS and proxies, and not
through its ``request``: that changed between releases (some raise on an error status, some return
it) and takes no repeated header, which ``--as-group`` needs. Whatever passes by itself (429, 5xx, a
broken connection) is tried again, after as long as the server asks for: all that is sent here may
safely arrive twice.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from kubectl_lbipmode import __version__
from kubectl_lbipmode.cluster.kubeconfig import Access
from kubectl_lbipmode.cluster.refusals import read_refusal
from kubectl_lbipmode.errors import (
    ClusterError,
    KubeconfigError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)

if TYPE_CHECKING:
    from kubernetes.client import Configuration
    from tenacity import RetryCallState
    from urllib3 import BaseHTTPResponse

JSON, JSON_PATCH = "application/json", "application/json-patch+json"

# Seconds. kubectl waits 30 to connect, and for ever to read: but a dead connection must end.
_CONNECT_TIMEOUT, _READ_TIMEOUT = 30.0, 60.0
_ATTEMPTS = 5
_LONGEST_WAIT = 30.0
_OK = range(200, 300)

Query = Mapping[str, str]


class Transport:
    """A way to one API server, as one user. May be used by several threads at once."""

    def __init__(self, configuration: Configuration, access: Access) -> None:
        from kubernetes.client.rest import RESTClientObject
        from urllib3 import HTTPHeaderDict

        self._configuration = configuration
        self._timeout = access.timeout
        self._headers = HTTPHeaderDict(
            {"Accept": JSON, "User-Agent": f"kubectl-lbipmode/{__version__}"}
        )
        if access.as_user is not None:
            self._headers["Impersonate-User"] = access.as_user
        for group in access.as_groups:
            self._headers.add("Impersonate-Group", group)
        try:
            self._pool = RESTClientObject(configuration).pool_manager
        except OSError as error:
            raise KubeconfigError("the certificates of the kubeconfig cannot be read") from error

    def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        *,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        """Send a request, again where that may help, and return the reply.

        Raises:
            ClusterError: the server refuses, or does not answer.
        """
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        retrying = Retrying(
            retry=retry_if_exception_type(UnavailableError),
            wait=_wait,
            stop=stop_after_attempt(_ATTEMPTS),
            reraise=True,
        )
        reply: dict[str, Any] = retrying(
            self._request_once, method, path, query or {}, body, content_type
        )
        return reply

    def stream(self, path: str, query: Query, *, silence: float) -> Iterator[bytes]:
        """Yield the lines of a reply as they arrive; after *silence* seconds without any, give up.

        Raises:
            UnavailableError: the connection broke, or went silent.
            ClusterError: any other refusal.
        """
        from urllib3.exceptions import ReadTimeoutError

        with self._translated():
            response = self._send("GET", path, query, None, JSON, read_timeout=silence)
            try:
                if response.status not in _OK:
                    retry_after = response.headers.get("Retry-After")
                    raise read_refusal(response.status, response.data, retry_after)
                yield from _lines(response)
            except ReadTimeoutError as error:
                raise UnavailableError(f"no word from the API server for {silence:g} s") from error
            finally:
                # What is left unread makes the connection unfit for another request.
                response.close()

    def _request_once(
        self, method: str, path: str, query: Query, body: object, content_type: str
    ) -> dict[str, Any]:
        timeout = _READ_TIMEOUT if self._timeout is None else self._timeout
        with self._translated():
            response = self._send(
                method, path, query, body, content_type, read_timeout=timeout or None
            )
            data = response.data
        if response.status not in _OK:
            raise read_refusal(response.status, data, response.headers.get("Retry-After"))
        try:
            reply: dict[str, Any] = json.loads(data)
        except ValueError as error:
            message = f'"{self._configuration.host}" does not answer as an API server does'
            raise ClusterError(message, hint="is it the right server?") from error
        return reply

    def _send(
        self,
        method: str,
        path: str,
        query: Query,
        body: object,
        content_type: str,
        *,
        read_timeout: float | None,
    ) -> BaseHTTPResponse:
        from urllib3 import Timeout

        headers = self._headers.copy()
        headers.update(self._authenticate())
        if body is not None:
            headers["Content-Type"] = content_type
        connect_timeout = _CONNECT_TIMEOUT if self._timeout is None else self._timeout or None
        parameters = urlencode({key: value for key, value in query.items() if value})
        return self._pool.request(
            method,
            f"{self._configuration.host}{path}" + (f"?{parameters}" if parameters else ""),
            body=None if body is None else json.dumps(body),
            headers=headers,
            timeout=Timeout(connect=connect_timeout, read=read_timeout),
            retries=False,
            preload_content=False,
        )

    def _authenticate(self) -> dict[str, str]:
        """Return the header with the credentials, which the library renews when they expire."""
        from kubernetes.config import ConfigException

        try:
            settings = self._configuration.auth_settings()
        except (ConfigException, OSError) as error:
            raise UnauthorizedError("the credentials cannot be renewed") from error
        token: Any = settings.get("BearerToken")
        return {token["key"]: token["value"]} if token else {}

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the errors of the connection into ours."""
        from urllib3 import exceptions

        server = f'the API server "{self._configuration.host}"'
        hint = "is it running, and is this the right context?"
        try:
            yield
        except exceptions.ReadTimeoutError as error:
            raise UnreachableError(
                f"{server} does not answer in time", hint="see --request-timeout"
            ) from error
        except exceptions.SSLError as error:
            if isinstance(error.args[0] if error.args else None, ssl.SSLCertVerificationError):
                raise UnreachableError(
                    f"the certificate of {server} is not trusted",
                    hint="see `certificate-authority-data` in the kubeconfig",
                ) from error
            raise UnavailableError(f"the connection to {server} broke", hint=hint) from error
        except exceptions.ProtocolError as error:
            raise UnavailableError(f"the connection to {server} broke", hint=hint) from error
        except exceptions.HTTPError as error:
            raise UnreachableError(f"{server} cannot be reached", hint=hint) from error


def _wait(state: RetryCallState) -> float:
    """Return the seconds to wait: what the server asks for, within reason, or a backoff."""
    from tenacity import wait_random_exponential

    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, UnavailableError) and error.retry_after is not None:
        return min(error.retry_after, _LONGEST_WAIT)
    return wait_random_exponential(multiplier=0.2, max=5)(state)


def _lines(response: BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
