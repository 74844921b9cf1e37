"""What keeps the way through the load balancer open while the cloud controller goes on writing."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.client import Object
from tests.cluster.cloud_controller import CloudController
from tests.cluster.control_plane import ControlPlane
from tests.cluster.recording import recorded
from tests.cluster.waiting import wait_for
from tests.dataplane.asking import ask_all, told_all
from tests.dataplane.monitor import monitored
from tests.dataplane.scene import Scene

pytestmark = pytest.mark.system


def test_watch_repairs_what_the_cloud_controller_writes(
    scene: Scene, cloud_controller: CloudController
) -> None:
    client = scene.network.client
    with scene.plugin.running("sync", "--watch", "-n", scene.namespace) as watch:
        service = scene.publish()
        addresses = service.wait_for_addresses()
        scene.balance(service)

        def is_proxy() -> bool:
            watch.check()
            return services.modes(service.read()) == ["Proxy", "Proxy"]

        wait_for(is_proxy, "the first repair")
        scene.catch_up()
        assert ask_all(client, addresses) == told_all(client, addresses)

        for rewrite in (partial(service.annotate, note="edited"), cloud_controller.restart):
            with recorded(scene.api, scene.namespace) as recording:
                rewrite()
                wait_for(lambda: _was_repaired(recording.of(service.name)), "the repair")
            scene.catch_up()
            assert ask_all(client, addresses) == told_all(client, addresses)


def _was_repaired(versions: list[Object]) -> bool:
    seen = [services.modes(version) for version in versions]
    return ["VIP", "VIP"] in seen and seen[-1] == ["Proxy", "Proxy"]


@contextmanager
def policy_in_place(control_plane: ControlPlane, scene: Scene, manifests: str) -> Iterator[None]:
    """Apply the policy, and take it away after the block; the API server goes by it in time."""
    probe = scene.publish("probe", has_endpoints=False)

    def kubectl(verb: str, mode: str) -> None:
        done = control_plane.kubectl(verb, "-f", "-", stdin=manifests)
        assert done.returncode == 0, done.stderr
        wait_for(
            lambda: services.modes(probe.set_addresses("192.0.2.1", dry_run=True)) == [mode],
            f"what comes of kubectl {verb}",
            seconds=30,
        )

    kubectl("apply", "Proxy")
    try:
        yield
    finally:
        kubectl("delete", "VIP")


def _has_more(cloud_controller: CloudController, call: str, before: int) -> bool:
    return cloud_controller.calls().count(call) > before


def test_under_the_policy_the_address_is_never_taken(
    scene: Scene, control_plane: ControlPlane, cloud_controller: CloudController, tmp_path: Path
) -> None:
    client = scene.network.client
    with monitored(scene.network.node.netns, tmp_path / "nft.log") as monitor:
        with (
            policy_in_place(control_plane, scene, scene.plugin.run("policy")),
            recorded(scene.api, scene.namespace) as recording,
        ):
            service = scene.publish()
            addresses = service.wait_for_addresses()
            scene.wait_until_served(service)
            scene.balance(service)
            assert ask_all(client, addresses) == told_all(client, addresses)
            # That the cloud controller ensures a load balancer again says that it has written what
            # came of the last time. The write itself leaves no trace: it changes nothing.
            ensured = f"ensure {scene.namespace}/{service.name}"
            for edit in range(5):
                before = cloud_controller.calls().count(ensured)
                service.annotate(note=f"edit {edit}")
                wait_for(partial(_has_more, cloud_controller, ensured, before), ensured)
                assert ask_all(client, addresses) == told_all(client, addresses)
            scene.catch_up()
            assert not any(map(monitor.additions, addresses))
        modes = {mode for version in recording.of(service.name) for mode in services.modes(version)}
        assert modes == {"Proxy"}

        # Without the policy the same edit has its old effect, and the monitor would have seen it.
        service.annotate(note="edited without the policy")
        scene.wait_until_taken(addresses)
        assert all(map(monitor.additions, addresses))
