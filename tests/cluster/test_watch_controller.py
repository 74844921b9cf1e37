"""`sync --watch` beside a real service controller, which resets what was set."""

from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.client import Client, Object
from tests.cluster.cloud_controller import CloudController
from tests.cluster.control_plane import ControlPlane
from tests.cluster.recording import Recording, recorded
from tests.cluster.streaming_proxy import streaming_proxy
from tests.cluster.test_sync import PROXIED
from tests.cluster.waiting import wait_for
from tests.cluster.watching import watching

BOTH = {**PROXIED, "enable_ipv6_ingress": "true"}
PROXY_ON_BOTH = ["Proxy", "Proxy"]


def is_proxy(client: Client, namespace: str, name: str) -> bool:
    return services.modes(client.get(services.path(namespace, name))) == PROXY_ON_BOTH


def resets(recording: Recording, name: str) -> int:
    """Count how often all modes came to be VIP."""
    modes = [services.modes(service) for service in recording.of(name) if services.modes(service)]
    return sum(
        now == ["VIP", "VIP"] != before for before, now in zip([None, *modes], modes, strict=False)
    )


def check_addresses(recording: Recording, name: str) -> None:
    """Make sure that in no version an address is missing, or stands elsewhere."""
    lists = [
        [(entry["ip"], entry["hostname"]) for entry in services.ingress(service)]
        for service in recording.of(name)
    ]
    first = next(addresses for addresses in lists if addresses)
    assert all(addresses == first for addresses in lists[lists.index(first) :])


def edit(client: Client, namespace: str, name: str, patch: Object) -> None:
    client.patch(services.path(namespace, name), patch)


def test_whatever_the_controller_resets_is_set_again(
    control_plane: ControlPlane,
    namespace: str,
    cloud_controller: CloudController,
    tmp_path: Path,
) -> None:
    client = control_plane.client
    with (
        recorded(client, namespace) as recording,
        watching(tmp_path, control_plane.kubeconfig, "-n", namespace) as watch,
    ):
        client.post(services.path(namespace), services.load_balancer("web", **BOTH))
        wait_for(lambda: is_proxy(client, namespace, "web"), "the first repair")

        def provoke(patch: Object) -> None:
            before = resets(recording, "web")
            edit(client, namespace, "web", patch)
            wait_for(lambda: resets(recording, "web") > before, "a reset")
            wait_for(lambda: is_proxy(client, namespace, "web"), "its repair")

        for number in range(5):
            provoke({"metadata": {"annotations": {"example.com/note": f"edit {number}"}}})
        for port in (8080, 8081, 8082):
            provoke({"spec": {"ports": [{"port": port}]}})
        provoke({"spec": {"externalTrafficPolicy": "Local"}})
        for _ in range(2):
            before = resets(recording, "web")
            cloud_controller.restart()
            wait_for(lambda: resets(recording, "web") > before, "a reset", seconds=30)  # noqa: B023
            wait_for(lambda: is_proxy(client, namespace, "web"), "its repair")
        assert watch.end() == 0

    check_addresses(recording, "web")
    # The first one, and one for each time that it was provoked: two lines for two addresses.
    assert resets(recording, "web") == 12
    assert len(watch.repairs()) == 24


@pytest.mark.usefixtures("cloud_controller")
def test_one_reset_costs_one_patch(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    kubeconfig = tmp_path / "kubeconfig"
    with (
        streaming_proxy(control_plane, kubeconfig) as record,
        recorded(client, namespace) as recording,
        watching(tmp_path, kubeconfig, "-n", namespace, "--no-events") as watch,
    ):
        client.post(services.path(namespace), services.load_balancer("web", **BOTH))
        wait_for(lambda: is_proxy(client, namespace, "web"), "the first repair")
        for number in range(3):
            before = resets(recording, "web")
            edit(client, namespace, "web", {"metadata": {"annotations": {"x": str(number)}}})
            wait_for(lambda: resets(recording, "web") > before, "a reset")  # noqa: B023
            wait_for(lambda: is_proxy(client, namespace, "web"), "its repair")
        # A label resets nothing, and is nothing to repair.
        edit(client, namespace, "web", {"metadata": {"labels": {"x": "y"}}})
        assert watch.end() == 0

    # Its own writes come back to it as events, and lead to nothing.
    patches = record.of("PATCH")
    assert len(patches) == resets(recording, "web") == 4
    for patch in patches:
        assert [(step["op"], step["path"].rpartition("/")[2]) for step in patch.body] == [
            ("test", "uid"),
            ("test", "ip"),
            ("add", "ipMode"),
            ("test", "ip"),
            ("add", "ipMode"),
        ]
    # A list and a watch, and nothing else.
    assert [request.watch for request in record.of("GET")] == [False, True]


@pytest.mark.usefixtures("cloud_controller")
def test_many_services_and_a_decision_that_changes(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    names = [f"web-{number}" for number in range(20)]
    with (
        recorded(client, namespace) as recording,
        watching(tmp_path, control_plane.kubeconfig, "-n", namespace) as watch,
    ):
        for name in names:
            client.post(services.path(namespace), services.load_balancer(name, **BOTH))
        for name in names:
            wait_for(lambda: is_proxy(client, namespace, name), name)  # noqa: B023
        # The newest decision counts.
        off = {"service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol": "none"}
        on = dict.fromkeys(off, "v2")
        for annotations in (off, on, off, on):
            for name in names:
                edit(client, namespace, name, {"metadata": {"annotations": annotations}})
        for name in names:
            wait_for(lambda: is_proxy(client, namespace, name), name)  # noqa: B023
        client.delete(services.path(namespace, names[0]))
        assert watch.end() == 0

    for name in names:
        check_addresses(recording, name)
    assert watch.said().count("\n") == 1, "nothing but that it watches"
