"""The smallest network in which a request can go the long way or the short way.

    client pod ──┐
                 ├── node ── balancer ── outside
    gateway pod ─┘

Each is a network namespace. The node forwards between its pods and the world, which begins at the
load balancer: there the addresses live that a cloud gives to Services, all of them. Every link has
IPv4 and IPv6.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.dataplane.netns import NetworkNamespace


@dataclass(frozen=True)
class Host:
    """A network stack, and the addresses by which others know it."""

    netns: NetworkNamespace
    ipv4: str
    ipv6: str

    def address(self, like: str) -> str:
        """Return its address of the same family."""
        return self.ipv6 if ":" in like else self.ipv4


@dataclass(frozen=True)
class Network:
    """The five hosts."""

    node: Host
    client: Host
    gateway: Host
    balancer: Host
    outside: Host

    @contextmanager
    def masquerading(self) -> Iterator[None]:
        """Let the node put its own address in place of a pod's on the way out of the cluster.

        Most CNI plugins do so, since nobody out there has a route to a pod.
        """
        run = self.node.netns.run
        run("nft", "-f", "-", stdin=_MASQUERADE)
        try:
            yield
        finally:
            run("nft", "delete", "table", "inet", "cni")


POD_RANGES = ("10.244.0.0/16", "fd00:10:244::/56")
# What the cloud controller of the tests gives out.
BALANCER_RANGES = ("198.18.0.0/15", "2001:db8::/32")

_MASQUERADE = f"""
table inet cni {{
  chain postrouting {{
    type nat hook postrouting priority srcnat
    ip saddr {POD_RANGES[0]} ip daddr != {POD_RANGES[0]} masquerade
    ip6 saddr {POD_RANGES[1]} ip6 daddr != {POD_RANGES[1]} masquerade
  }}
}}
"""


@contextmanager
def made_network() -> Iterator[Network]:
    """Make the network, for the time of the block."""
    with ExitStack() as stack:

        def host(ipv4: str, ipv6: str) -> Host:
            return Host(stack.enter_context(NetworkNamespace()), ipv4, ipv6)

        made = Network(
            node=host("10.99.0.2", "fd00:10:99::2"),
            client=host("10.244.1.11", "fd00:10:244:1::11"),
            gateway=host("10.244.0.10", "fd00:10:244::10"),
            balancer=host("10.99.0.1", "fd00:10:99::1"),
            outside=host("203.0.113.7", "3fff::7"),
        )
        _connect(made)
        yield made


def _connect(made: Network) -> None:
    for router in (made.node, made.balancer):
        router.netns.set(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1)

    _link(made.client, made.node, "client", ("10.244.1.1", "fd00:10:244:1::1"))
    _link(made.gateway, made.node, "gateway", ("10.244.0.1", "fd00:10:244::1"))
    _link(made.node, made.balancer, "node", (made.balancer.ipv4, made.balancer.ipv6))
    _link(made.outside, made.balancer, "outside", ("203.0.113.1", "3fff::1"))

    run = made.balancer.netns.run
    for addresses in BALANCER_RANGES:
        run("ip", "route", "add", "local", addresses, "dev", "lo")
    for pods in POD_RANGES:
        run("ip", "route", "add", pods, "via", made.node.address(pods))


def _link(host: Host, router: Host, name: str, gateways: tuple[str, str]) -> None:
    """Lay a cable from a host to a router, which has these addresses and is the way to all."""
    host.netns.run(
        *("ip", "link", "add", "uplink", "type", "veth"),
        *("peer", "name", name, "netns", router.netns.path),
    )
    for end, device, addresses in (
        (router, name, gateways),
        (host, "uplink", (host.ipv4, host.ipv6)),
    ):
        for address, length in zip(addresses, (24, 64), strict=True):
            # Without nodad, an IPv6 address is of no use for the first two seconds.
            nodad = ["nodad"] if ":" in address else []
            end.netns.run("ip", "address", "add", f"{address}/{length}", "dev", device, *nodad)
        end.netns.run("ip", "link", "set", device, "up")
    for gateway in gateways:
        host.netns.run("ip", "route", "add", "default", "via", gateway)
