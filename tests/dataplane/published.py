"""A Service before the gateway, in a cluster of one node.

No controller manager and no kubelet run, so the Node and the Service's endpoints are written here,
as those would. The addresses come from the cloud controller, or from the test.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.cluster import services
from tests.cluster.client import Client, Object
from tests.cluster.cloud_controller import make_ready_node
from tests.cluster.waiting import wait_for
from tests.dataplane.kube_proxy import NODE
from tests.dataplane.network import Host
from tests.dataplane.servers import GATEWAY_PORT

BOTH = ("IPv4", "IPv6")


def make_node(client: Client, node: Host) -> None:
    """Make the Node that kube-proxy and the cloud controller look for."""
    make_ready_node(client, NODE)
    addresses = [{"type": "InternalIP", "address": address} for address in (node.ipv4, node.ipv6)]
    client.patch(f"/api/v1/nodes/{NODE}/status", {"status": {"addresses": addresses}})


@dataclass(frozen=True)
class Published:
    """A Service of type LoadBalancer: where it is, and what others do to it."""

    api: Client
    namespace: str
    name: str

    def read(self) -> Object:
        """Return it as it is now."""
        return self.api.get(services.path(self.namespace, self.name))

    def annotate(self, **annotations: str) -> None:
        """Set annotations; whichever they are, the cloud controller then writes the status."""
        body = {"metadata": {"annotations": annotations}}
        self.api.patch(services.path(self.namespace, self.name), body)

    def set_addresses(self, *addresses: str, dry_run: bool = False) -> Object:
        """Write the status, as a cloud controller does: without modes. Return what comes of it."""
        body = services.with_addresses(*({"ip": address} for address in addresses))
        path = services.path(self.namespace, self.name, "status")
        query = {"dryRun": "All"} if dry_run else {}
        return self.api.patch(path, body, "merge", **query)

    @property
    def node_port(self) -> int:
        """The port of every node that leads to it."""
        port: int = self.read()["spec"]["ports"][0]["nodePort"]
        return port

    def wait_for_addresses(self) -> list[str]:
        """Return what addresses of its own families are published, once something is."""
        wait_for(lambda: services.ingress(self.read()), "the status")
        service = self.read()
        families = service["spec"]["ipFamilies"]
        addresses = (entry["ip"] for entry in services.ingress(service) if "ip" in entry)
        return [ip for ip in addresses if ("IPv6" if ":" in ip else "IPv4") in families]


def publish(
    service: Published,
    backend: Host | None,
    *,
    families: tuple[str, ...],
    spec: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> None:
    """Create it, with that host behind it or with none; annotations are those of Linode."""
    if backend:
        slices = f"/apis/discovery.k8s.io/v1/namespaces/{service.namespace}/endpointslices"
        for family in families:
            service.api.post(slices, _endpoints(service.name, family, backend))
    body = services.load_balancer(service.name, enable_ipv6_ingress="true", **annotations)
    body["spec"] |= {
        "ipFamilies": list(families),
        "ipFamilyPolicy": "SingleStack" if len(families) == 1 else "RequireDualStack",
        **spec,
    }
    service.api.post(services.path(service.namespace), body)


def _endpoints(service: str, family: str, backend: Host) -> Object:
    address = backend.ipv6 if family == "IPv6" else backend.ipv4
    return {
        "metadata": {
            "name": f"{service}-{family.lower()}",
            "labels": {"kubernetes.io/service-name": service},
        },
        "addressType": family,
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}, "nodeName": NODE}],
        "ports": [{"name": "", "port": GATEWAY_PORT}],
    }
