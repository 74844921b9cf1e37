"""A real control plane for the time of a `with` block: etcd and kube-apiserver on loopback.

What is not there is as much a part of it. No controller manager runs, so ServiceAccounts are made
by hand (`accounts.py`), and a deleted namespace is never emptied (`namespaces.py`). No node runs;
a Node is an object like any other. Nobody but the test writes a Service's status, unless it starts
a cloud controller (`cloud_controller.py`).
"""

import base64
import os
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster import commands
from tests.cluster.certificates import Credentials
from tests.cluster.client import Client
from tests.cluster.kubeconfig import by_certificate, by_token, write_kubeconfig
from tests.cluster.ports import ReservedPort
from tests.cluster.processes import Process
from tests.cluster.waiting import wait_for
from tests.tools.install import locate

BOOT_SECONDS = 60.0  # it takes three; more only where other work crowds the machine
KUBECTL_SECONDS = 60.0


class ControlPlane:
    """etcd and an API server, with an administrator to talk to them.

    `apiserver` is a name in the table of `tests/tools/programs.py`, `flags` are for the server,
    such as `--feature-gates=...`. Logs stay in the folder.
    """

    def __init__(
        self, folder: Path, *, apiserver: str = "kube-apiserver", flags: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self._program = apiserver
        self._flags = flags
        self._credentials = Credentials(folder)
        self._etcd_port = ReservedPort()
        self._port = ReservedPort()
        self.kubeconfig = self.write_kubeconfig(folder / "administrator.kubeconfig")
        administrator = self._credentials.trust(self._credentials.administrator)
        self.client = Client(self._port.number, administrator)
        self._etcd_client = Client(self._etcd_port.number, administrator)

        self._cleanup = ExitStack()
        for held in (self._port, self._etcd_port, self.client, self._etcd_client):
            self._cleanup.callback(held.close)

    def __enter__(self) -> Self:
        with self._cleanup as at_failure:
            self._start_etcd()
            self.start_apiserver()
            self._cleanup = at_failure.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._cleanup.close()

    def start_apiserver(self) -> None:
        """Start the API server on its port, and wait until it is ready."""
        command = commands.apiserver(
            self._program, self._port.number, self._etcd_port.number, self._credentials
        )
        self._apiserver = Process([*command, *self._flags], self.folder / "kube-apiserver.log")
        self._cleanup.callback(self._apiserver.kill)
        _wait_until_ready(self._apiserver, self.client, "/readyz")

    def stop_apiserver(self) -> None:
        """End the API server in an orderly way. Then its port refuses connections."""
        self._apiserver.stop()

    def compact_etcd(self) -> None:
        """Make etcd forget every version but the newest.

        The API server has a memory of its own, the watch cache, until it is started again.
        """
        key = base64.b64encode(b"/registry").decode()
        revision = self._etcd_client.post("/v3/kv/range", {"key": key})["header"]["revision"]
        self._etcd_client.post("/v3/kv/compaction", {"revision": revision, "physical": True})

    def connect(self, token: str | None = None) -> Client:
        """Return another client: for another thread, or with a token in place of all rights.

        It is closed with the control plane, at the latest.
        """
        identity = None if token else self._credentials.administrator
        client = Client(self._port.number, self._credentials.trust(identity), token)
        self._cleanup.callback(client.close)
        return client

    def write_kubeconfig(
        self, path: Path, *, token: str | None = None, namespace: str = "default"
    ) -> Path:
        """Write a kubeconfig for the bearer of the token, or for the administrator."""
        user = by_token(token) if token else by_certificate(self._credentials.administrator)
        server = f"https://127.0.0.1:{self._port.number}"
        return write_kubeconfig(path, server, self._credentials.authority, user, namespace)

    def kubectl(
        self,
        *arguments: str | Path,
        kubeconfig: Path | None = None,
        stdin: str = "",
        program: str = "kubectl",
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl, and return how it ended."""
        environment = {
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "HOME": str(self.folder),  # it keeps there what it learnt of a server
            "PATH": os.environ["PATH"],
        }
        return subprocess.run(
            [locate(program), *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            check=False,
        )

    def _start_etcd(self) -> None:
        data = self.folder / "etcd"
        command = commands.etcd(data, self._etcd_port.number, self._credentials)
        etcd = Process(command, self.folder / "etcd.log")
        # Sixty megabytes, the most of it set aside for writes that do not come.
        self._cleanup.callback(shutil.rmtree, data, ignore_errors=True)
        self._cleanup.callback(etcd.kill)
        _wait_until_ready(etcd, self._etcd_client, "/health")


def _wait_until_ready(process: Process, client: Client, path: str) -> None:
    def is_ready() -> bool:
        process.check()
        try:
            return client.request("GET", path).code == 200
        except (OSError, HTTPException):
            return False

    try:
        wait_for(is_ready, path, seconds=BOOT_SECONDS)
    except TimeoutError as error:
        raise TimeoutError(f"{error}\n{process.last_words()}") from error
