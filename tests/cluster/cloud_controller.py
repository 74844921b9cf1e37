"""The cloud controller of the tests: Kubernetes' own service controller with a stand-in cloud.

It is what makes ipMode fall back to VIP: each time it ensures a load balancer, it writes the whole
status anew, as the cloud told it. See `tests/tools/cloud-controller`.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.client import ApiError, Client
from tests.cluster.processes import Process
from tests.tools.install import locate


class CloudController:
    """A cloud controller that can be stopped and started; its log goes on."""

    def __init__(self, kubeconfig: Path, log: Path, flags: Sequence[str] = ()) -> None:
        self._command: list[str | Path] = [
            locate("cloud-controller"),
            f"--kubeconfig={kubeconfig}",
            *flags,
        ]
        self._log = log
        self._process: Process | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it. As a new one, it ensures the load balancer of every Service."""
        self._process = Process(self._command, self._log)

    def stop(self) -> None:
        """End it, if it runs, as it would be ended in a cluster."""
        if self._process:
            self._process.stop()
            self._process = None

    def restart(self) -> None:
        """Stop it and start another."""
        self.stop()
        self.start()

    def calls(self) -> list[str]:
        """Return the calls that reached the cloud so far, such as `ensure NAMESPACE/NAME`."""
        verbs = ("ensure ", "update ", "delete ")
        return [line for line in self._log.read_text().splitlines() if line.startswith(verbs)]


def make_ready_node(client: Client, name: str = "node-1") -> None:
    """Make the Node without which a service controller serves nothing, unless it is there."""
    try:
        client.post("/api/v1/nodes", {"metadata": {"name": name}})
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    client.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [ready]}})
