"""How etcd and kube-apiserver are called."""

from pathlib import Path

from tests.cluster.certificates import Credentials
from tests.tools.install import locate

# The cloud controller of the tests makes a load balancer's address of the last 17 bits of the
# cluster IP. They differ between any two Services: each range has 16 of them to itself, and the
# next bit up is 0 in the one, 1 in the other.
SERVICE_RANGES = "10.96.0.0/16,fd00:10:96::1:0/112"


def etcd(data: Path, port: int, credentials: Credentials) -> list[str | Path]:
    """Return the command of an etcd without peers."""
    url = f"https://127.0.0.1:{port}"
    return [
        locate("etcd"),
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--socket-reuse-port",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--client-cert-auth",
        f"--trusted-ca-file={credentials.authority}",
        f"--cert-file={credentials.server.certificate}",
        f"--key-file={credentials.server.key}",
        # For speed alone: a crash may lose what it likes, and who has no peers need not wait a
        # second for one before electing itself.
        "--unsafe-no-fsync",
        "--heartbeat-interval=20",
        "--election-timeout=100",
    ]


def apiserver(
    program: str, port: int, etcd_port: int, credentials: Credentials
) -> list[str | Path]:
    """Return the command of an API server with RBAC, on that etcd."""
    return [
        locate(program),
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        "--permit-port-sharing",
        # It is not to publish its own address. Being a loopback address, that would be refused,
        # and the refusal logged every ten seconds.
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=https://127.0.0.1:{etcd_port}",
        f"--etcd-cafile={credentials.authority}",
        f"--etcd-certfile={credentials.server.certificate}",
        f"--etcd-keyfile={credentials.server.key}",
        f"--tls-cert-file={credentials.server.certificate}",
        f"--tls-private-key-file={credentials.server.key}",
        f"--client-ca-file={credentials.authority}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={credentials.token_signer.certificate}",
        f"--service-account-signing-key-file={credentials.token_signer.key}",
        f"--service-cluster-ip-range={SERVICE_RANGES}",
        "--authorization-mode=RBAC",
        # Told to end, it ends the watches too. As it is by default, it would wait a minute for
        # their clients to do so.
        "--shutdown-watch-termination-grace-period=1s",
    ]
