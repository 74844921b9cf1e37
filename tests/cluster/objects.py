"""Objects of a cluster that the test control plane lacks, and that are real objects there.

No node runs, so nothing comes of a DaemonSet; but who only reads it sees what it would see in a
cluster. All of them are of the whole cluster or in `kube-system`, so each lives only for the time
of a `with` block.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from tests.cluster.client import ApiError, Client, Object
from tests.cluster.waiting import wait_for

SYSTEM = "kube-system"


@contextmanager
def created(client: Client, *objects: Object) -> Iterator[None]:
    """Create these objects in their order, and take them away in the other."""
    with ExitStack() as cleanup:
        for item in objects:
            path = collection(item)
            wait_for(partial(_is_served, client, path), path)
            client.post(path, item)
            cleanup.callback(_delete, client, f"{path}/{item['metadata']['name']}")
        yield


def collection(item: Object) -> str:
    """Return where the API has the objects of that kind, and of that namespace."""
    version, kind = item["apiVersion"], item["kind"].lower()
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if namespace := item["metadata"].get("namespace"):
        base += f"/namespaces/{namespace}"
    return f"{base}/{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{base}/{kind}s"


def node(name: str, provider_id: str, label: str = "") -> Object:
    """Return a Node of that cloud, with that label if it is given."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {label: "1"} if label else {}},
        "spec": {"providerID": provider_id},
    }


def daemon_set(
    name: str,
    image: str,
    *words: str,
    config_map: str = "",
    environment: dict[str, str] | None = None,
    label: str = "",
) -> Object:
    """Return a DaemonSet of one container, which mounts that ConfigMap."""
    return _workload("DaemonSet", name, _pod(image, words, config_map, environment or {}), label)


def deployment(name: str, image: str, *words: str) -> Object:
    """Return a Deployment of one container."""
    return _workload("Deployment", name, _pod(image, words, "", {}), "")


def pod(name: str, image: str, *words: str, **labels: str) -> Object:
    """Return a pod, as a static one is shown by its mirror."""
    metadata = {"name": name, "namespace": SYSTEM, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _pod(image, words, "", {}),
    }


def config_map(name: str, **data: str) -> Object:
    """Return a ConfigMap; an underscore in a key stands for a dot."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": SYSTEM},
        "data": {key.replace("_", "."): text for key, text in data.items()},
    }


def service_account(name: str = "default") -> Object:
    """Return a ServiceAccount: no pod can be created without one."""
    metadata = {"name": name, "namespace": SYSTEM}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def custom_kind(group: str, version: str, kind: str, plural: str) -> Object:
    """Return the definition of a kind of the whole cluster, which may hold anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{**served, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _workload(kind: str, name: str, spec: Object, label: str) -> Object:
    labels = {"k8s-app": label or name}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": SYSTEM, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _pod(
    image: str, words: tuple[str, ...], config_map: str, environment: dict[str, str]
) -> Object:
    container = {
        "name": "main",
        "image": image,
        "command": list(words),
        "env": [{"name": key, "value": value} for key, value in environment.items()],
    }
    spec: Object = {"containers": [container]}
    if config_map:
        spec["volumes"] = [{"name": "config", "configMap": {"name": config_map}}]
    return spec


def _is_served(client: Client, path: str) -> bool:
    return client.request("GET", path).code == 200


def _delete(client: Client, path: str) -> None:
    client.delete(path, gracePeriodSeconds=0)

    def is_gone() -> bool:
        try:
            client.get(path)
        except ApiError as error:
            return error.code == 404
        return False

    wait_for(is_gone, f"{path} to go")
