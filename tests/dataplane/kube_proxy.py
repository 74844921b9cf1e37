"""kube-proxy, run where it belongs, and its rules as the kernel has them.

kube-proxy turns Services into packet filter rules of the network namespace that it is in: the
node's. The API server is on the loopback address of another. What crosses the border is a socket
in the file system: a relay on either side, and the server's address is the same on both.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_for
from tests.dataplane.netns import NetworkNamespace
from tests.dataplane.network import POD_RANGES
from tests.tools.install import locate

MODES = ("nftables", "iptables")
NODE = "node"
HEALTH_PORT = 10256


class KubeProxy:
    """A running kube-proxy of one mode."""

    def __init__(self, mode: str, netns: NetworkNamespace) -> None:
        self.mode = mode
        self._netns = netns

    def rules_for(self, address: str) -> list[str]:
        """Return the rules that take requests to this address, rather than let them pass."""
        family = "ip6" if ":" in address else "ip"
        if self.mode == "nftables":
            listed = self._netns.run("nft", "list", "map", family, "kube-proxy", "service-ips")
            return [entry for entry in _entries(listed) if entry.startswith(f"{address} . ")]
        saved = self._netns.run(f"{family}tables-save", "-t", "nat")
        length = 128 if family == "ip6" else 32
        rule = f"-A KUBE-SERVICES -d {address}/{length} "
        return [line for line in saved.splitlines() if line.startswith(rule)]

    def rules(self) -> set[str]:
        """Return all rules of both families, without counters."""
        if self.mode == "nftables":
            listed = self._netns.run("nft", "--stateless", "list", "ruleset")
            # A chain that nothing needs any more is emptied now, and removed some time later.
            return {entry for entry in _entries(listed) if not entry.endswith("{")}
        saved = self._netns.run("iptables-save") + self._netns.run("ip6tables-save")
        return {line for line in saved.splitlines() if line.startswith("-A ")}


@contextmanager
def running_kube_proxy(
    control_plane: ControlPlane, netns: NetworkNamespace, mode: str, folder: Path
) -> Iterator[KubeProxy]:
    """Run kube-proxy in a namespace, healthy when the block begins."""
    config = folder / "kube-proxy.json"
    config.write_text(json.dumps(_configure(control_plane, mode)))
    with _relayed(control_plane, netns, folder):
        process = netns.start(
            [locate("kube-proxy"), f"--config={config}"], folder / "kube-proxy.log"
        )
        try:
            wait_for(lambda: netns.call(_is_healthy, process), "kube-proxy", seconds=30)
            yield KubeProxy(mode, netns)
        finally:
            process.kill()


def _configure(control_plane: ControlPlane, mode: str) -> dict[str, object]:
    period = {"minSyncPeriod": "20ms", "syncPeriod": "1h"}
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(control_plane.kubeconfig)},
        "hostnameOverride": NODE,
        "mode": mode,
        "clusterCIDR": ",".join(POD_RANGES),
        # These belong to the machine, not to the namespace.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        "healthzBindAddress": f"127.0.0.1:{HEALTH_PORT}",
        # As soon as it can, and otherwise only when something changed.
        "iptables": period,
        "nftables": period,
    }


@contextmanager
def _relayed(control_plane: ControlPlane, netns: NetworkNamespace, folder: Path) -> Iterator[None]:
    """Let the namespace reach the API server at the address that the kubeconfig says."""
    clusters = json.loads(control_plane.kubeconfig.read_text())["clusters"]
    address = clusters[0]["cluster"]["server"].removeprefix("https://")
    host, port = address.split(":")
    door = folder / "api.sock"
    outside = Process(
        ["socat", f"UNIX-LISTEN:{door},fork", f"TCP:{address}"], folder / "relay-outside.log"
    )
    try:
        inside = netns.start(
            ["socat", f"TCP-LISTEN:{port},bind={host},fork", f"UNIX-CONNECT:{door}"],
            folder / "relay-inside.log",
        )
        try:
            yield
        finally:
            inside.kill()
    finally:
        outside.kill()


def _entries(listed: str) -> Iterator[str]:
    """Yield the lines of nft, and the elements of its sets and maps as lines of their own."""
    for line in listed.splitlines():
        yield line.strip().removeprefix("elements = { ").removesuffix(" }").removesuffix(",")


def _is_healthy(process: Process) -> bool:
    process.check()
    connection = HTTPConnection("127.0.0.1", HEALTH_PORT, timeout=2)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
