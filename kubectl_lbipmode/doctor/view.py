"""What the checks look at: a cluster's objects, each kind read once, and only if it is asked for.

Objects are plain JSON. A Service becomes a `Service`, what runs pods becomes a `Workload`; of
everything else, little is read, and whatever is missing there reads as empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kubectl_lbipmode.errors import ForbiddenError, NotFoundError
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.plan import Plan, make_plan
from kubectl_lbipmode.policy.proof import Cluster
from kubectl_lbipmode.rules import Wish

JSONObject = dict[str, Any]

_PAGE = "500"


@dataclass(frozen=True, slots=True)
class Workload:
    """Something that runs pods, or a pod, with what its containers are called with.

    *words* are commands and arguments, *environment* holds only the plain values, *config_maps*
    are the names of those that it mounts. *available* counts the pods of a Deployment that are.
    """

    namespace: str
    name: str
    app: str
    images: tuple[str, ...]
    words: tuple[str, ...]
    environment: Mapping[str, str]
    config_maps: tuple[str, ...]
    available: int

    @classmethod
    def from_object(cls, item: JSONObject) -> Workload:
        """Read a DaemonSet, a Deployment or a Pod."""
        metadata = item["metadata"]
        labels = metadata.get("labels", {})
        spec = item["spec"].get("template", item)["spec"]
        containers = spec["containers"]
        volumes = (volume.get("configMap", {}) for volume in spec.get("volumes", []))
        return cls(
            namespace=metadata["namespace"],
            name=metadata["name"],
            app=next((labels[key] for key in _APP_LABELS if key in labels), ""),
            images=tuple(container.get("image", "") for container in containers),
            words=tuple(
                word
                for container in containers
                for word in (*container.get("command", []), *container.get("args", []))
            ),
            environment={
                entry["name"]: entry.get("value", "")
                for container in containers
                for entry in container.get("env", [])
            },
            config_maps=tuple(volume["name"] for volume in volumes if "name" in volume),
            available=item.get("status", {}).get("availableReplicas", 0),
        )

    @property
    def full_name(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    def find_flag(self, name: str) -> str | None:
        """Return the value of ``--name=value``, the last of them; a bare flag is ``true``."""
        flag = f"--{name}"
        found = None
        for text in self.words:
            # A command may be one line for a shell.
            for word in text.split():
                key, equals, value = word.partition("=")
                if key == flag:
                    found = value if equals else "true"
        return found


# What says which program it is, in the order of trust.
_APP_LABELS = ("k8s-app", "app.kubernetes.io/name", "app", "component")


def is_hostname_only(service: Service) -> bool:
    """Whether the Service has addresses, and none of them an ip: no mode is anything to it."""
    return bool(service.addresses) and not any(address.ip for address in service.addresses)


def _is_idle(daemon_set: JSONObject) -> bool:
    status = daemon_set["status"]
    # Before its controller has seen it, the number is zero, too.
    return "observedGeneration" in status and status["desiredNumberScheduled"] == 0


class View:
    """The objects of a cluster; Services of one namespace alone, if it is given.

    Each property raises a `ClusterError` where the server refuses, or does not answer.
    """

    def __init__(self, cluster: Cluster, namespace: str | None = None) -> None:
        self.cluster = cluster
        self.namespace = namespace

    @cached_property
    def version(self) -> str:
        """The server's version, as it writes it."""
        return str(self.cluster.request("GET", "/version").get("gitVersion", ""))

    @cached_property
    def nodes(self) -> list[JSONObject]:
        """The Nodes."""
        return list(self.list_objects("/api/v1/nodes"))

    @cached_property
    def daemon_sets(self) -> list[Workload]:
        """The DaemonSets, but for those that run nowhere.

        A node selector that no Node has is a usual way to switch kube-proxy off.
        """
        items = self.list_objects("/apis/apps/v1/daemonsets")
        return [Workload.from_object(item) for item in items if not _is_idle(item)]

    @cached_property
    def deployments(self) -> list[Workload]:
        """The Deployments."""
        items = self.list_objects("/apis/apps/v1/deployments")
        return [Workload.from_object(item) for item in items]

    @cached_property
    def plans(self) -> list[Plan]:
        """The Services of type LoadBalancer, each compared with what is decided about it."""
        return [
            make_plan(Service.from_mapping(item), Wish())
            for page in self.cluster.list_services(self.namespace)
            for item in page.items
        ]

    def list_pods(self, selector: str) -> list[Workload]:
        """Return the pods with these labels."""
        items = self.list_objects("/api/v1/pods", selector)
        return [Workload.from_object(item) for item in items]

    def read_config(self, namespace: str, name: str) -> Mapping[str, str]:
        """Return the data of a ConfigMap; none where it is missing.

        Raises:
            ForbiddenError: it may not be read.
            ClusterError: the server does not answer.
        """
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        try:
            data: dict[str, str] = self.cluster.request("GET", path).get("data") or {}
        except NotFoundError:
            return {}
        return data

    def peek_config(self, namespace: str, name: str) -> tuple[Mapping[str, str], str]:
        """Return the data of a ConfigMap; where it may not be read, none, and why."""
        try:
            return self.read_config(namespace, name), ""
        except ForbiddenError as error:
            return {}, str(error)

    def list_objects(self, path: str, selector: str = "") -> Iterator[JSONObject]:
        """Yield the objects at *path* with these labels.

        Raises:
            NotFoundError: the server has no such kind.
            ClusterError: it refuses, or does not answer.
        """
        query = {"labelSelector": selector, "limit": _PAGE}
        while True:
            reply = self.cluster.request("GET", path, query)
            yield from reply["items"]
            query["continue"] = reply["metadata"].get("continue", "")
            if not query["continue"]:
                return
