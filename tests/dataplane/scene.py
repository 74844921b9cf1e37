"""A cluster with its network, and what users, clouds and kube-proxy do there."""

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.client import Client
from tests.cluster.waiting import wait_for
from tests.dataplane.kube_proxy import KubeProxy
from tests.dataplane.network import Network
from tests.dataplane.plugin import Plugin
from tests.dataplane.published import BOTH, Published, publish
from tests.dataplane.servers import Gateway, running_balancer


@dataclass(frozen=True)
class Scene:
    """What all tests begin with: everything but a Service."""

    api: Client
    namespace: str
    network: Network
    gateway: Gateway
    kube_proxy: KubeProxy
    plugin: Plugin
    folder: Path
    cleanup: ExitStack

    def publish(
        self,
        name: str = "gateway",
        *,
        families: tuple[str, ...] = BOTH,
        spec: dict[str, Any] | None = None,
        has_endpoints: bool = True,
        **annotations: str,
    ) -> Published:
        """Create a Service that uses the PROXY protocol on all ports."""
        backend = self.network.gateway if has_endpoints else None
        annotations = {"default_proxy_protocol": "v2", **annotations}
        service = Published(self.api, self.namespace, name)
        publish(service, backend, families=families, spec=spec or {}, annotations=annotations)
        return service

    def balance(self, service: Published, version: str = "v2") -> None:
        """Put the load balancer in front of a Service, until the test ends."""
        port = service.node_port
        balancer = running_balancer(self.network, self.folder, node_port=port, version=version)
        self.cleanup.enter_context(balancer)

    def begin(
        self,
        *,
        families: tuple[str, ...] = BOTH,
        spec: dict[str, Any] | None = None,
        version: str = "v2",
    ) -> tuple[Published, list[str]]:
        """Publish and balance a Service, as it is before anybody cares for its mode.

        Return it with the addresses that the cloud controller gave it, and that kube-proxy takes.
        """
        service = self.publish(families=families, spec=spec, default_proxy_protocol=version)
        addresses = service.wait_for_addresses()
        self.wait_until_taken(addresses)
        self.balance(service, version)
        return service, addresses

    def sync(self, service: Published) -> None:
        """Do what the user does."""
        self.plugin.run("sync", "-n", service.namespace, service.name)

    def catch_up(self) -> None:
        """Return once kube-proxy goes by all that was written to Services before."""
        # It learns of changes in their order, and this is the last of them.
        self.wait_until_served(self.publish(f"last-{secrets.token_hex(4)}"))

    def wait_until_served(self, service: Published) -> None:
        """Return once kube-proxy has rules for the Service, whatever its mode."""
        self.wait_until_taken(service.read()["spec"]["clusterIPs"])

    def wait_until_taken(self, addresses: list[str]) -> None:
        """Return once kube-proxy takes requests to all of the addresses."""
        rules_for = self.kube_proxy.rules_for
        wait_for(lambda: all(map(rules_for, addresses)), "kube-proxy to take requests")

    def wait_until_left(self, addresses: list[str]) -> None:
        """Return once kube-proxy leaves requests to all of the addresses alone."""
        rules_for = self.kube_proxy.rules_for
        wait_for(lambda: not any(map(rules_for, addresses)), "kube-proxy to leave requests alone")
