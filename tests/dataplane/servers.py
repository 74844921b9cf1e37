"""The two ends of the PROXY protocol: a load balancer that speaks it, a gateway that demands it.

Both are the real programs, as they stand before and behind many a node port. Each runs as one
process in the foreground, so that ending it ends all of it.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.processes import Process
from tests.cluster.waiting import wait_for
from tests.dataplane.netns import NetworkNamespace
from tests.dataplane.network import Network

GATEWAY_PORT = 8080
BALANCER_PORT = 80

# The gateway answers with what the PROXY header says: who asks, and at which address.
_NGINX = """\
daemon off;
master_process off;
pid nginx.pid;
error_log stderr info;
events {{}}
http {{
  access_log off;
  client_body_temp_path temporary;
  proxy_temp_path temporary;
  fastcgi_temp_path temporary;
  uwsgi_temp_path temporary;
  scgi_temp_path temporary;
  server {{
    listen {port} proxy_protocol;
    listen [::]:{port} proxy_protocol;
    default_type application/json;
    return 200 '{{"client": "$proxy_protocol_addr", "balancer": "$proxy_protocol_server_addr"}}';
  }}
}}
"""

_HAPROXY = """\
defaults
  mode tcp
  retries 0
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen ipv4
  bind 0.0.0.0:{port}
  server node {ipv4}:{node_port} {option}
listen ipv6
  bind [::]:{port} v6only
  server node [{ipv6}]:{node_port} {option}
"""

# The words of HAProxy for the versions of the protocol.
OPTIONS = {"v1": "send-proxy", "v2": "send-proxy-v2"}


class Gateway:
    """nginx, which hangs up on everyone who does not begin with a PROXY header."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def broken_headers(self) -> int:
        """Return how often it hung up so far."""
        return self._log.read_text().count("broken header")


@contextmanager
def running_gateway(network: Network, folder: Path) -> Iterator[Gateway]:
    """Run nginx in the gateway's pod."""
    config = folder / "nginx.conf"
    config.write_text(_NGINX.format(port=GATEWAY_PORT))
    log = folder / "nginx.log"
    command: list[str | Path] = ["nginx", "-p", folder, "-c", config, "-e", "stderr"]
    with _running(network.gateway.netns, command, log, GATEWAY_PORT):
        yield Gateway(log)


@contextmanager
def running_balancer(
    network: Network, folder: Path, *, node_port: int, version: str
) -> Iterator[None]:
    """Run HAProxy at the balancer, on all addresses there, before that port of the node."""
    node = network.node
    text = _HAPROXY.format(
        port=BALANCER_PORT,
        ipv4=node.ipv4,
        ipv6=node.ipv6,
        node_port=node_port,
        option=OPTIONS[version],
    )
    config = folder / "haproxy.cfg"
    config.write_text(text)
    command: list[str | Path] = ["haproxy", "-db", "-f", config]
    with _running(network.balancer.netns, command, folder / "haproxy.log", BALANCER_PORT):
        yield


@contextmanager
def _running(
    netns: NetworkNamespace, command: list[str | Path], log: Path, port: int
) -> Iterator[Process]:
    process = netns.start(command, log)
    try:
        wait_for(lambda: _listens(netns, port, process), f"{command[0]} to listen")
        yield process
    finally:
        process.kill()


def _listens(netns: NetworkNamespace, port: int, process: Process) -> bool:
    process.check()
    try:
        netns.call(socket.create_connection, ("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True
