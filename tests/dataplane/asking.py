"""What a client of a Service sees: a real request over a real connection, from where it stands."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http.client import HTTPConnection, RemoteDisconnected

from tests.dataplane.network import Host

# Seconds. Where an answer comes at all, it comes in milliseconds; to see that none does, one has
# to wait for as long as this.
PATIENCE = 2.0


class Outcome(StrEnum):
    """How a request ended."""

    ANSWERED = "answered"
    HUNG_UP = "connection closed without an answer"
    REFUSED = "connection refused"
    SILENCE = "no answer in time"


@dataclass(frozen=True)
class Reply:
    """What came back, and, with an answer, what the PROXY header had told the gateway."""

    outcome: Outcome
    client: str = ""  # who asked
    balancer: str = ""  # at which address


HUNG_UP = Reply(Outcome.HUNG_UP)
REFUSED = Reply(Outcome.REFUSED)
SILENCE = Reply(Outcome.SILENCE)


def told(client: str, balancer: str) -> Reply:
    """Return the reply to a client that came through the load balancer."""
    return Reply(Outcome.ANSWERED, client, balancer)


class Conversation:
    """A connection that stays open between requests."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    def ask(self) -> Reply:
        """Send a request, and return what comes of it."""
        try:
            self._connection.request("GET", "/")
            answer = json.loads(self._connection.getresponse().read())
        except TimeoutError:
            return SILENCE
        except (RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            return HUNG_UP
        return told(answer["client"], answer["balancer"])


@contextmanager
def conversation(host: Host, address: str, port: int = 80) -> Iterator[Conversation]:
    """Open a connection from a host, and close it after the block."""
    connection = HTTPConnection(address, port, timeout=PATIENCE)
    # It would connect anew, from wherever this thread is, after the other side has closed.
    connection.auto_open = 0
    try:
        host.netns.call(connection.connect)
        yield Conversation(connection)
    finally:
        connection.close()


def ask(host: Host, address: str) -> Reply:
    """Send one request from a host."""
    try:
        with conversation(host, address) as opened:
            return opened.ask()
    except TimeoutError:
        return SILENCE
    except ConnectionRefusedError:
        return REFUSED


def ask_all(host: Host, addresses: Sequence[str]) -> list[Reply]:
    """Send one request from a host to each address."""
    return [ask(host, address) for address in addresses]


def told_all(host: Host, addresses: Sequence[str]) -> list[Reply]:
    """Return the replies to a host whose requests to these addresses came through the balancer."""
    return [told(host.address(address), address) for address in addresses]
