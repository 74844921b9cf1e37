"""The cloud controller of the tests does to a Service what Linode's does."""

from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.client import Object
from tests.cluster.cloud_controller import CloudController
from tests.cluster.control_plane import ControlPlane
from tests.cluster.recording import recorded
from tests.cluster.waiting import wait_for

PROXY = [{"op": "add", "path": "/status/loadBalancer/ingress/0/ipMode", "value": "Proxy"}]


def create(control_plane: ControlPlane, namespace: str, **annotations: str) -> Object:
    """Create a Service, and return it once it has an address."""
    admin = control_plane.client
    admin.post(services.path(namespace), services.load_balancer("web", **annotations))
    path = services.path(namespace, "web")
    wait_for(lambda: services.ingress(admin.get(path)), "an address")
    return admin.get(path)


@pytest.mark.usefixtures("cloud_controller")
def test_an_address_comes_with_a_hostname(control_plane: ControlPlane, namespace: str) -> None:
    service = create(control_plane, namespace)
    (entry,) = services.ingress(service)
    hostname = entry["ip"].replace(".", "-") + ".ip.linodeusercontent.com"
    assert entry == {"ip": entry["ip"], "hostname": hostname, "ipMode": "VIP"}
    assert "service.kubernetes.io/load-balancer-cleanup" in service["metadata"]["finalizers"]


@pytest.mark.usefixtures("cloud_controller")
def test_two_addresses_share_a_hostname(control_plane: ControlPlane, namespace: str) -> None:
    service = create(control_plane, namespace, enable_ipv6_ingress="true")
    four, six = services.ingress(service)
    assert "." in four["ip"]
    assert ":" in six["ip"]
    assert six == {**four, "ip": six["ip"]}


@pytest.mark.usefixtures("cloud_controller")
def test_a_hostname_alone_has_no_mode(control_plane: ControlPlane, namespace: str) -> None:
    service = create(control_plane, namespace, hostname_only_ingress="true")
    (entry,) = services.ingress(service)
    assert list(entry) == ["hostname"]


@pytest.mark.usefixtures("cloud_controller")
def test_any_annotation_undoes_a_patch(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.client
    create(control_plane, namespace)
    path = services.path(namespace, "web")
    with recorded(admin, namespace) as recording:
        admin.patch(services.path(namespace, "web", "status"), PROXY, "json")
        admin.patch(path, {"metadata": {"annotations": {"example.com/note": "edited"}}})
        wait_for(lambda: services.modes(admin.get(path)) == ["VIP"], "the controller's write")
    seen = [services.modes(service) for service in recording.of("web")]
    assert seen == [["Proxy"], ["Proxy"], ["VIP"]]


def test_a_restart_undoes_a_patch(
    control_plane: ControlPlane, namespace: str, cloud_controller: CloudController
) -> None:
    admin = control_plane.client
    create(control_plane, namespace)
    cloud_controller.stop()
    admin.patch(services.path(namespace, "web", "status"), PROXY, "json")
    cloud_controller.start()
    path = services.path(namespace, "web")
    wait_for(lambda: services.modes(admin.get(path)) == ["VIP"], "the controller's write")
    assert cloud_controller.calls().count(f"ensure {namespace}/web") == 2


def test_a_cloud_may_set_the_mode_itself(
    control_plane: ControlPlane, namespace: str, cloud_controller: CloudController, tmp_path: Path
) -> None:
    cloud_controller.stop()
    log = tmp_path / "of-another-cloud.log"
    with CloudController(control_plane.kubeconfig, log, flags=["--ip-mode=Proxy"]):
        assert services.modes(create(control_plane, namespace)) == ["Proxy"]
