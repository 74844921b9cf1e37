"""Under the policy, no version of a Service ever has the wrong mode, whatever a controller writes.

The controller is Kubernetes' own service controller; a watch records each version that is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

import pytest

from kubectl_lbipmode.linode import DEFAULT_PROXY_PROTOCOL, IP_MODE, PREFIX
from kubectl_lbipmode.yamledit.emit import emit
from tests.cluster import services
from tests.cluster.client import Object
from tests.cluster.cloud_controller import CloudController, make_ready_node
from tests.cluster.control_plane import ControlPlane
from tests.cluster.policies import installed
from tests.cluster.recording import Recording, recorded
from tests.cluster.waiting import wait_for

PORTS = [("http", 80), ("https", 443)]
SERVICES, REWRITES, WRITERS = 200, 5000, 4


@pytest.fixture
def policy(control_plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Install the policy for the test's namespace."""
    with installed(control_plane, namespace):
        yield


@pytest.fixture
def controller(policy: None, cloud_controller: CloudController) -> CloudController:
    """Give a running cloud controller that meets the policy from its first write on."""
    del policy
    return cloud_controller


class Web:
    """The Service of a test, from the side of its user."""

    def __init__(
        self, control_plane: ControlPlane, namespace: str, controller: CloudController
    ) -> None:
        self._control_plane = control_plane
        self._namespace = namespace
        self._controller = controller
        self._path = services.path(namespace, "web")

    def apply(self, **annotations: str) -> None:
        """Run `kubectl apply` on the Service with these annotations of Linode."""
        manifest = emit(services.load_balancer("web", **annotations))
        self.ensured(lambda: self._apply(manifest))

    def annotate(self, name: str, value: str | None) -> None:
        """Set or remove an annotation."""
        self.patch({"metadata": {"annotations": {name: value}}})

    def patch(self, patch: Object) -> None:
        """Edit the Service."""
        self.ensured(lambda: self._control_plane.client.patch(self._path, patch))

    def ensured(self, act: Callable[[], object]) -> None:
        """Act, and wait until the controller has ensured the load balancer and has done with it."""
        before = self._count()
        act()
        wait_for(lambda: self._count() > before and self.modes(), "the controller", seconds=30)
        # It writes the status right after that call.
        wait_for(self._is_quiet, "the controller to be done")

    def modes(self) -> list[str | None]:
        """Return the modes that are stored."""
        return services.modes(self._control_plane.client.get(self._path))

    def _apply(self, manifest: str) -> None:
        applied = self._control_plane.kubectl(
            "apply", "-n", self._namespace, "-f", "-", stdin=manifest
        )
        assert applied.returncode == 0, applied.stderr

    def _count(self) -> int:
        return self._controller.calls().count(f"ensure {self._namespace}/web")

    def _is_quiet(self) -> bool:
        """Say whether the last ensure was reported: that comes after the write of the status."""
        query = "involvedObject.name=web,reason=EnsuredLoadBalancer"
        path = f"/api/v1/namespaces/{self._namespace}/events"
        events = self._control_plane.client.get(path, fieldSelector=query)["items"]
        return sum(int(event.get("count", 1)) for event in events) >= self._count()


@pytest.fixture
def web(control_plane: ControlPlane, namespace: str, controller: CloudController) -> Web:
    """Give the Service of the test, not yet there."""
    return Web(control_plane, namespace, controller)


def phases(recording: Recording) -> list[list[str | None]]:
    """Return the modes that the Service had, one after the other, once it had addresses."""
    modes = [services.modes(service) for service in recording.of("web")]
    return [key for key, _ in groupby(modes) if key]


def test_kubectl_apply_of_an_annotated_service_is_all(
    control_plane: ControlPlane, namespace: str, web: Web
) -> None:
    with recorded(control_plane.client, namespace) as recording:
        web.apply(ip_mode="Proxy", enable_ipv6_ingress="true")
    assert phases(recording) == [["Proxy", "Proxy"]]


def test_the_annotation_of_the_proxy_protocol_alone_is_enough(
    control_plane: ControlPlane, namespace: str, web: Web
) -> None:
    with recorded(control_plane.client, namespace) as recording:
        web.apply(default_proxy_protocol="v2")
    assert phases(recording) == [["Proxy"]]


def test_the_mode_follows_the_annotations_by_itself(
    control_plane: ControlPlane, namespace: str, web: Web
) -> None:
    with recorded(control_plane.client, namespace) as recording:
        web.apply()
        web.annotate(IP_MODE, "Proxy")
        web.annotate(IP_MODE, "VIP")
        web.annotate(IP_MODE, "proxy")
        web.annotate(IP_MODE, None)
        web.annotate(f"{PREFIX}port-80", '{"proxy-protocol": "v2"}')
        web.annotate(f"{PREFIX}port-80", '{"proxy-protocol": "none"}')
        web.annotate(DEFAULT_PROXY_PROTOCOL, "v1")
        web.annotate(f"{PREFIX}port-80", None)
        web.annotate(DEFAULT_PROXY_PROTOCOL, None)
    assert phases(recording) == [["VIP"], ["Proxy"]] * 4 + [["VIP"]]


def test_what_made_it_fall_back_to_vip_does_not(
    control_plane: ControlPlane, namespace: str, web: Web, controller: CloudController
) -> None:
    with recorded(control_plane.client, namespace) as recording:
        web.apply(ip_mode="Proxy")
        web.annotate("example.com/note", "edited")
        web.patch({"spec": {"ports": [{"name": name, "port": port} for name, port in PORTS]}})
        web.patch({"spec": {"externalTrafficPolicy": "Local"}})
        web.patch({"spec": {"loadBalancerSourceRanges": ["198.51.100.0/24"]}})
        web.ensured(controller.restart)
    assert phases(recording) == [["Proxy"]]
    assert controller.calls().count(f"ensure {namespace}/web") == 6


@pytest.mark.parametrize(
    ("answered", "annotations", "wanted"),
    [
        ("VIP", {"ip_mode": "Proxy"}, "Proxy"),
        ("VIP", {"default_proxy_protocol": "v2"}, "Proxy"),
        ("VIP", {}, "VIP"),
        ("Proxy", {"ip_mode": "VIP"}, "VIP"),
        ("Proxy", {"ip_mode": "Proxy"}, "Proxy"),
        ("Proxy", {}, "Proxy"),
    ],
)
@pytest.mark.usefixtures("policy")
def test_with_a_controller_that_sets_modes_both_agree_or_the_override_wins(
    control_plane: ControlPlane,
    namespace: str,
    tmp_path: Path,
    answered: str,
    annotations: dict[str, str],
    wanted: str,
) -> None:
    make_ready_node(control_plane.client)
    log, flags = tmp_path / "cloud-controller.log", [f"--ip-mode={answered}"]
    with (
        CloudController(control_plane.kubeconfig, log, flags=flags) as controller,
        recorded(control_plane.client, namespace) as recording,
    ):
        web = Web(control_plane, namespace, controller)
        web.apply(**annotations)
        web.annotate("example.com/note", "edited")
    assert phases(recording) == [[wanted]]


@pytest.mark.usefixtures("policy")
def test_thousands_of_rewrites_and_not_one_wrong(
    control_plane: ControlPlane, namespace: str
) -> None:
    """Write as the controller does: the whole list, without a mode, many at a time."""
    declared = [{"ip_mode": "Proxy"}, {"default_proxy_protocol": "v2"}]
    names = [f"web-{number}" for number in range(SERVICES)]
    for number, name in enumerate(names):
        service = services.load_balancer(name, **declared[number % 2])
        service["spec"]["allocateLoadBalancerNodePorts"] = False
        control_plane.client.post(services.path(namespace), service)

    def rewrite(writer: int) -> int:
        client = control_plane.connect()
        wrong = 0
        for number in range(writer, REWRITES, WRITERS):
            name = names[number % SERVICES]
            # Another hostname each time, so that each write is stored.
            entry = {"ip": "203.0.113.10", "hostname": f"n{number}.example.com"}
            path = services.path(namespace, name, "status")
            reply = client.patch(path, services.with_addresses(entry), "strategic")
            wrong += services.modes(reply) != ["Proxy"]
        client.close()
        return wrong

    with (
        recorded(control_plane.client, namespace) as recording,
        ThreadPoolExecutor(WRITERS) as pool,
    ):
        assert sum(pool.map(rewrite, range(WRITERS))) == 0
    seen = [services.modes(version.service) for version in recording.versions]
    assert len(seen) == REWRITES
    assert all(modes == ["Proxy"] for modes in seen)
