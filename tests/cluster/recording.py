"""Every version of a namespace's Services, in order, while something happens.

To look before and after is not enough where two write to one object: a wrong state that lasts for
ten milliseconds is a wrong state. A watch shows each version once.
"""

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cluster import services
from tests.cluster.client import Client, Object


@dataclass(frozen=True)
class Version:
    """A Service as it was for a while."""

    at: float  # time.monotonic() when the watch showed it
    service: Object


@dataclass
class Recording:
    """What was seen so far; after the block, all that there was to see."""

    versions: list[Version] = field(default_factory=list)

    def of(self, name: str) -> list[Object]:
        """Return the versions of one Service."""
        every = (version.service for version in self.versions)
        return [service for service in every if service["metadata"]["name"] == name]


@contextmanager
def recorded(client: Client, namespace: str) -> Iterator[Recording]:
    """Record in the background whatever the block writes, and others meanwhile."""
    path = services.path(namespace)
    start = client.get(path)["metadata"]["resourceVersion"]
    last = f"last-{secrets.token_hex(4)}"
    recording = Recording()

    def record() -> None:
        for event in client.watch(path, start):
            if event["type"] == "ERROR":
                raise RuntimeError(f"the watch failed: {event['object']}")
            if event["object"]["metadata"]["name"] == last:
                return
            recording.versions.append(Version(time.monotonic(), event["object"]))
        raise RuntimeError("the server ended the watch: start a new recording after a restart")

    with ThreadPoolExecutor(1) as background:
        done = background.submit(record)
        try:
            yield recording
        finally:
            # The watch shows it after all that was written before it.
            spec = {"clusterIP": "None"}
            client.post(path, {"metadata": {"name": last}, "spec": spec})
        done.result()
    client.delete(services.path(namespace, last))
