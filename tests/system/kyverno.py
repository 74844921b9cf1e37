"""Kyverno's admission controller, as itself, beside an API server rather than in a cluster.

It needs what its chart would install: the kinds of objects that it knows, its namespace, and two
ConfigMaps with the exclusions that the chart has by default. The API server calls it on a loopback
address, for which it makes its own certificate.
"""

import json
import secrets
import socket
import ssl
import subprocess
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_for
from tests.tools.build import find_go
from tests.tools.install import locate
from tests.tools.programs import FOLDER

MODULE = "github.com/kyverno/kyverno"
NAMESPACE = "kyverno"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SECONDS = 120.0

# As `helm template` of Kyverno's chart has them, without what is about its own pods.
EXCLUSIONS = {
    "excludeGroups": "system:nodes",
    "resourceFilters": (
        "[*/*,kyverno,*] [*/*,kube-system,*] [*/*,kube-public,*] [*/*,kube-node-lease,*]"
    ),
    "webhooks": json.dumps(
        {
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": "kubernetes.io/metadata.name",
                        "operator": "NotIn",
                        "values": ["kube-system", "kyverno"],
                    }
                ]
            }
        }
    ),
}


class Kyverno:
    """The controller, which can be killed and started, and its port, which can be left silent."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self._process: Process | None = None
        self._silent: socket.socket | None = None
        # Go's servers set SO_REUSEADDR. So this side keeps the port, and never listens.
        self._reserved = _bind(0)
        self._port: int = self._reserved.getsockname()[1]

    def __enter__(self) -> Self:
        try:
            _install(self._control_plane)
            self.start()
        except BaseException:
            self.kill()
            self._reserved.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._reserved.close()

    def start(self) -> None:
        """Start it, and wait until it answers and has registered its webhooks."""
        self.kill()
        # Each run is another pod to it: one that takes over as the leader.
        process = Process(self._command(f"pod-{secrets.token_hex(4)}"), self._log)
        self._process = process

        def is_ready() -> bool:
            process.check()
            reply = self._control_plane.client.request(
                "GET", f"{WEBHOOKS}/kyverno-policy-validating-webhook-cfg"
            )
            return reply.code == 200 and self._answers()

        wait_for(is_ready, "Kyverno", seconds=SECONDS)

    def kill(self) -> None:
        """End it at once, and give the port a voice again if it was silent."""
        if self._silent:
            self._silent.close()
            self._silent = None
        if self._process:
            self._process.kill()
            self._process = None

    def fall_silent(self) -> None:
        """End it, and have its port take connections that nobody answers."""
        self.kill()
        self._silent = _bind(self._port)
        self._silent.listen()

    @property
    def _log(self) -> Path:
        return self._control_plane.folder / "kyverno.log"

    def _answers(self) -> bool:
        connection = HTTPSConnection(
            "127.0.0.1",
            self._port,
            timeout=1,
            context=ssl._create_unverified_context(),  # noqa: S323 - it is its own authority
        )
        try:
            connection.request("GET", "/health/readiness")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def _command(self, pod: str) -> list[str | Path]:
        service = f"kyverno-svc.{NAMESPACE}.svc"
        environment = {
            "INIT_CONFIG": "kyverno",
            "KYVERNO_DEPLOYMENT": "kyverno-admission-controller",
            "KYVERNO_NAMESPACE": NAMESPACE,
            "KYVERNO_POD_NAME": pod,
            "KYVERNO_ROLE_NAME": "kyverno:admission-controller",
            "KYVERNO_SERVICEACCOUNT_NAME": "kyverno-admission-controller",
            "KYVERNO_SVC": "kyverno-svc",
            "METRICS_CONFIG": "kyverno-metrics",
        }
        return [
            "/usr/bin/env",
            *(f"{name}={value}" for name, value in environment.items()),
            locate("kyverno"),
            f"--kubeconfig={self._control_plane.kubeconfig}",
            f"--serverIP=127.0.0.1:{self._port}",
            "--webhookServerHost=127.0.0.1",
            f"--webhookServerPort={self._port}",
            f"--caSecretName={service}.kyverno-tls-ca",
            f"--tlsSecretName={service}.kyverno-tls-pair",
            "--disableMetrics=true",
            "--controllerRuntimeMetricsAddress=0",
            "--disableLogColor",
        ]


def _bind(port: int) -> socket.socket:
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


def _install(control_plane: ControlPlane) -> None:
    """Create what the controller expects to find."""
    applied = control_plane.kubectl("apply", "--server-side", "-R", "-f", _find_crds())
    assert applied.returncode == 0, applied.stderr
    client = control_plane.client
    client.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for name, data in (("kyverno", EXCLUSIONS), ("kyverno-metrics", {})):
        config_map: Object = {"metadata": {"name": name}, "data": data}
        client.post(f"/api/v1/namespaces/{NAMESPACE}/configmaps", config_map)


def _find_crds() -> Path:
    """Return the folder of the kinds of objects, in the sources that the controller is made of."""
    command = [str(find_go(None)), "mod", "download", "-json", MODULE]
    found = subprocess.run(
        command, cwd=FOLDER / "kyverno", capture_output=True, text=True, check=True
    )
    return Path(json.loads(found.stdout)["Dir"]) / "config/crds"
