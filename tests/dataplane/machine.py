"""What the machine must have, and its kernel allow, for these tests: found out by trying.

A kernel's version says little: containers and hardened machines take away what it could do. So the
first test is preceded by a network namespace with a link and the kinds of rules that kube-proxy
writes.
"""

import os
import shutil
from contextlib import ExitStack

from tests.dataplane.netns import CommandError, NetworkNamespace

PROGRAMS = ("conntrack", "haproxy", "ip", "iptables", "ip6tables", "nft", "nginx", "socat")

GO_ON = "LBIPMODE_WITHOUT_DATAPLANE"
"""The environment variable that lets a run go on without these tests."""

_NFTABLES = """
table {family} probe {{
  map ips {{ type {address} . inet_proto . inet_service : verdict; }}
  chain services {{
    type nat hook prerouting priority dstnat
    {family} daddr . meta l4proto . th dport vmap @ips
    numgen random mod 1 vmap {{ 0 : accept }}
    fib daddr type local accept
  }}
  chain pods {{ type nat hook postrouting priority srcnat; masquerade; }}
}}
"""


def find_obstacle() -> str | None:
    """Return why these tests cannot run here; None where they can."""
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    if missing:
        return f"missing: {', '.join(missing)} (sh tests/dataplane/packages.sh installs them)"
    try:
        with ExitStack() as stack:
            _try(*(stack.enter_context(NetworkNamespace()) for _ in range(2)))
    except PermissionError as error:
        hint = "" if os.geteuid() == 0 else " (only root may)"
        return f"{error.strerror}{hint}"
    except (OSError, CommandError) as error:
        return str(error)
    return None


def _try(one: NetworkNamespace, other: NetworkNamespace) -> None:
    one.run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", other.path)
    one.set(ipv4__ip_forward=1, ipv6__conf__all__forwarding=1)
    for family, address in (("ip", "ipv4_addr"), ("ip6", "ipv6_addr")):
        one.run("nft", "-f", "-", stdin=_NFTABLES.format(family=family, address=address))
    for program in ("iptables", "ip6tables"):
        one.run(program, "-t", "nat", "-A", "POSTROUTING", "-j", "MASQUERADE")
        one.run(
            *(program, "-t", "nat", "-A", "PREROUTING", "-m", "comment", "--comment", "probe"),
            *("-m", "statistic", "--mode", "random", "--probability", "0.5", "-j", "ACCEPT"),
        )
    one.run("conntrack", "-L")
