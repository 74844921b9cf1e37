"""A namespace for each test.

A deleted namespace would stay here as it is: emptying it is the work of a controller that does not
run. What matters is that no Service is left, since one would show up in every later list over all
namespaces, and a cloud controller would go on to serve it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import services
from tests.cluster.client import Client


@contextmanager
def temporary_namespace(client: Client) -> Iterator[str]:
    """Make a namespace, give its name, and take it away with its Services."""
    metadata = {"generateName": "test-"}
    name: str = client.post("/api/v1/namespaces", {"metadata": metadata})["metadata"]["name"]
    try:
        yield name
    finally:
        _delete(client, name)


def _delete(client: Client, name: str) -> None:
    client.delete(services.path(name))
    for left in client.get(services.path(name))["items"]:
        # Its cloud controller has ended, and will not do what this finalizer waits for.
        release = {"metadata": {"finalizers": None}}
        client.patch(services.path(name, left["metadata"]["name"]), release)
    client.delete(f"/api/v1/namespaces/{name}")
    # The same: nobody will say that all is gone, but for us.
    namespace = client.get(f"/api/v1/namespaces/{name}")
    client.put(f"/api/v1/namespaces/{name}/finalize", {**namespace, "spec": {"finalizers": []}})
