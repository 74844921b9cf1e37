"""A client for the tests: JSON in, JSON out, and nothing in between that could be wrong.

The plugin's own client must not judge itself, and the models of client libraries drop fields that
they do not know. What is sent and received here is what the test says and what the server said.
"""

import json
import select
import ssl
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse, HTTPSConnection
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

Object: TypeAlias = dict[str, Any]
Query: TypeAlias = Mapping[str, str | int]
Patch: TypeAlias = Literal["merge", "json", "strategic", "apply"]

TIMEOUT = 60.0  # seconds; the server gives up on a request after as many
CONTENT_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # of which JSON is a part
}


@dataclass(frozen=True)
class Reply:
    """What the server answered, good or bad."""

    code: int
    headers: Message
    content: bytes

    @property
    def body(self) -> Object:
        """The object in it."""
        decoded: Object = json.loads(self.content)
        return decoded

    @property
    def warnings(self) -> list[str]:
        """What kubectl would print beside the result."""
        return self.headers.get_all("Warning", [])


class ApiError(Exception):
    """The server refused. `body` is its Status object."""

    def __init__(self, reply: Reply) -> None:
        self.code = reply.code
        self.body = reply.body
        self.reason: str = self.body["reason"]
        self.message: str = self.body["message"]
        super().__init__(f"{self.code} {self.reason}: {self.message}")


class Client:
    """One connection, kept open, for one thread at a time.

    The query of a request is given in keywords: `client.get(path, fieldSelector="...")`.
    """

    def __init__(self, port: int, tls: ssl.SSLContext, token: str | None = None) -> None:
        self._port = port
        self._tls = tls
        self._headers = {"User-Agent": "tests"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection = self._connect(TIMEOUT)

    def get(self, path: str, **query: str | int) -> Object:
        """Read an object or a list."""
        return _accepted(self.request("GET", path, query=query))

    def post(self, path: str, body: Object, **query: str | int) -> Object:
        """Create an object."""
        return _accepted(self.request("POST", path, body, query=query))

    def put(self, path: str, body: Object, **query: str | int) -> Object:
        """Replace an object."""
        return _accepted(self.request("PUT", path, body, query=query))

    def patch(
        self, path: str, body: Object | list[Object], kind: Patch = "merge", **query: str | int
    ) -> Object:
        """Change an object."""
        content_type = CONTENT_TYPES[kind]
        return _accepted(self.request("PATCH", path, body, content_type=content_type, query=query))

    def delete(self, path: str, **query: str | int) -> Object:
        """Delete an object or a collection."""
        return _accepted(self.request("DELETE", path, query=query))

    def request(
        self,
        method: str,
        path: str,
        body: Object | list[Object] | None = None,
        *,
        content_type: str = "application/json",
        query: Query | None = None,
    ) -> Reply:
        """Return whatever the server answers, errors too."""
        content = None if body is None else json.dumps(body)
        headers = {**self._headers, "Content-Type": content_type}
        if _is_stale(self._connection):
            self._connection.close()
        try:
            self._connection.request(method, _target(path, query or {}), content, headers)
            with self._connection.getresponse() as response:
                return _reply(response)
        except BaseException:
            # In the midst of an exchange there is no going on. The next request connects anew.
            self._connection.close()
            raise

    def watch(
        self, path: str, resource_version: str, *, silence: float = TIMEOUT, **query: str | int
    ) -> Generator[Object, None, None]:
        """Yield every event after that version, as it comes, until the server ends the watch.

        It has a connection to itself. An event of type ERROR is an event like any other. After so
        many seconds of silence, it raises TimeoutError.
        """
        words: Query = {**query, "watch": 1, "resourceVersion": resource_version}
        with closing(self._connect(silence)) as connection:
            connection.request("GET", _target(path, words), headers=self._headers)
            with connection.getresponse() as response:
                if response.status != 200:
                    raise ApiError(_reply(response))
                yield from map(json.loads, response)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _connect(self, timeout: float) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self._port, context=self._tls, timeout=timeout)


def _is_stale(connection: HTTPSConnection) -> bool:
    """Say whether the server, having ended perhaps, has closed it since the last reply."""
    if connection.sock is None:
        return False
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))  # nothing else is there to be read between two requests


def _target(path: str, query: Query) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _reply(response: HTTPResponse) -> Reply:
    return Reply(response.status, response.headers, response.read())


def _accepted(reply: Reply) -> Object:
    if reply.code >= 400:
        raise ApiError(reply)
    return reply.body
