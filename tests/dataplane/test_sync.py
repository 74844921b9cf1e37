"""`sync` sends a pod's request the long way: through the load balancer that adds the header."""

import pytest

from tests.dataplane.asking import HUNG_UP, ask, ask_all, told_all
from tests.dataplane.published import BOTH
from tests.dataplane.scene import Scene
from tests.dataplane.servers import OPTIONS

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("cloud_controller")]


@pytest.mark.parametrize("families", [("IPv4",), ("IPv6",), BOTH], ids="-".join)
@pytest.mark.parametrize("version", OPTIONS)
def test_whoever_is_inside_is_refused_until_sync(
    scene: Scene, families: tuple[str, ...], version: str
) -> None:
    network = scene.network
    service, addresses = scene.begin(families=families, version=version)
    assert len(addresses) == len(families)

    assert ask_all(network.outside, addresses) == told_all(network.outside, addresses)
    for inside in (network.client, network.node):
        for address in addresses:
            broken = scene.gateway.broken_headers()
            assert ask(inside, address) == HUNG_UP
            assert scene.gateway.broken_headers() == broken + 1

    rules = scene.kube_proxy.rules()
    taking = {rule for address in addresses for rule in scene.kube_proxy.rules_for(address)}
    scene.sync(service)
    scene.wait_until_left(addresses)

    for anyone in (network.outside, network.client, network.node):
        assert ask_all(anyone, addresses) == told_all(anyone, addresses)
    # One rule for each address, and nothing else: all other ways are what they were.
    assert len(taking) == len(addresses)
    assert scene.kube_proxy.rules() == rules - taking


def test_where_pods_are_masqueraded_the_client_is_the_node(scene: Scene) -> None:
    network = scene.network
    service, addresses = scene.begin()
    with network.masquerading():
        assert ask_all(network.client, addresses) == [HUNG_UP, HUNG_UP]
        scene.sync(service)
        scene.wait_until_left(addresses)
        assert ask_all(network.client, addresses) == told_all(network.node, addresses)
    assert ask_all(network.client, addresses) == told_all(network.client, addresses)


def test_the_next_write_of_the_cloud_controller_undoes_it(scene: Scene) -> None:
    client = scene.network.client
    service, addresses = scene.begin()
    scene.sync(service)
    scene.wait_until_left(addresses)
    assert ask_all(client, addresses) == told_all(client, addresses)

    service.annotate(note="edited")
    scene.wait_until_taken(addresses)
    assert ask_all(client, addresses) == [HUNG_UP, HUNG_UP]
