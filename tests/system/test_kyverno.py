"""The policy for Kyverno, under the real Kyverno, on an old API server and on a new one.

It decides as the policy of Kubernetes' own does; and what its page says of Kyverno holds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster import policies, services
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.plugin import run
from tests.cluster.test_policy_rules import ALONE, HOST, IP, IPV6, ROWS, Server, make
from tests.cluster.waiting import wait_for
from tests.system.kyverno import Kyverno

pytestmark = pytest.mark.system

SILENCE = 2.0  # seconds, as the policy has it


@dataclass(frozen=True)
class Kept:
    """A namespace whose modes the policy keeps."""

    control_plane: ControlPlane
    namespace: str
    kyverno: Kyverno

    def create(self, name: str, namespace: str = "") -> None:
        """Create a Service that declares Proxy."""
        path = services.path(namespace or self.namespace)
        self.control_plane.client.post(path, services.load_balancer(name, ip_mode="Proxy"))

    def write(self, name: str, namespace: str = "") -> list[str | None]:
        """Write its status as a cloud controller does, and return the modes that came of it."""
        path = services.path(namespace or self.namespace, name, "status")
        body = services.with_addresses({"ip": IP, "hostname": HOST}, {"ip": IPV6})
        return services.modes(self.control_plane.client.patch(path, body, "strategic"))

    def check(self) -> tuple[int, list[str]]:
        """Return how `policy --check` ends, and how each of its lines begins."""
        arguments = [*policies.options(self.namespace), "--kyverno", "--check"]
        result = run(self.control_plane.kubeconfig, "policy", *arguments)
        return result.exit_code, [line.partition(":")[0] for line in result.stdout.splitlines()]


@pytest.fixture(scope="module", params=["kube-apiserver", "kube-apiserver-1.31"])
def kept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kept]:
    """Give a namespace under the policy, on a server with Kyverno."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    with (
        ControlPlane(folder, apiserver=request.param) as control_plane,
        Kyverno(control_plane) as kyverno,
        temporary_namespace(control_plane.client) as namespace,
        policies.installed(control_plane, namespace, "--kyverno"),
    ):
        yield Kept(control_plane, namespace, kyverno)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_rules(kept: Kept, name: str) -> None:
    annotations, ports, spec, what = ROWS[name]
    server = Server(kept.control_plane, kept.namespace)
    server.compare(
        make("row", annotations, ports, spec),
        [{"ip": IP, "hostname": HOST}, {"hostname": HOST}, {"ip": IPV6, "ipMode": "Proxy"}],
        [{"ip": IP, "ipMode": "VIP"}],
    )
    assert bool(server.left_alone) == (what == ALONE)


def test_check(kept: Kept) -> None:
    kept.create("checked")
    kept.write("checked")
    assert kept.check() == (0, ["ok", "ok"])


def test_put_whatever_it_says_of_the_spec(kept: Kept) -> None:
    kept.create("put")
    path = services.path(kept.namespace, "put", "status")
    service = kept.control_plane.client.get(path)
    metadata = {"name": "put", "annotations": service["metadata"]["annotations"]}
    for spec in ({}, {**service["spec"], "type": "ClusterIP"}):
        status = services.with_addresses({"ip": IP})["status"]
        body = {"metadata": metadata, "spec": spec, "status": status}
        assert services.modes(kept.control_plane.client.put(path, body)) == ["Proxy"]


def test_it_does_not_act_where_the_chart_leaves_kyverno_out(kept: Kept) -> None:
    control_plane = kept.control_plane
    left_out = ["kube-system", "kube-public", "kube-node-lease", "kyverno"]
    with temporary_namespace(control_plane.client) as witness:
        selector = f"kubernetes.io/metadata.name in ({', '.join([*left_out, witness])})"
        arguments = ["--name=left-out", f"--namespace-selector={selector}", "--kyverno"]
        printed = run(control_plane.kubeconfig, "policy", *arguments).stdout
        assert control_plane.kubectl("apply", "-f", "-", stdin=printed).returncode == 0
        try:
            policies.wait_until_active(control_plane.client, witness)
            for namespace in left_out:
                kept.create("left-out", namespace)
                assert kept.write("left-out", namespace) == ["VIP", "VIP"]
        finally:
            control_plane.kubectl("delete", "-f", "-", stdin=printed)


def test_while_it_is_away_writes_pass_as_they_are(kept: Kept) -> None:
    kept.create("away")
    assert kept.write("away") == ["Proxy", "Proxy"]

    kept.kyverno.kill()
    assert kept.write("away") == ["VIP", "VIP"]
    assert kept.check() == (1, ["ok", "failed"])

    kept.kyverno.fall_silent()
    start = time.monotonic()
    assert kept.write("away") == ["VIP", "VIP"]
    assert SILENCE - 0.5 < time.monotonic() - start < SILENCE + 3

    kept.kyverno.start()
    wait_for(lambda: kept.write("away") == ["Proxy", "Proxy"], "Kyverno to act", seconds=60)
