"""What else changes with the mode, what does not, and where it makes no difference."""

import re

import pytest

from tests.cluster import services
from tests.dataplane.asking import (
    HUNG_UP,
    REFUSED,
    SILENCE,
    ask,
    ask_all,
    conversation,
    told,
    told_all,
)
from tests.dataplane.scene import Scene

pytestmark = pytest.mark.system

SHARED = ["198.18.255.1", "2001:db8::ff:1"]


@pytest.mark.usefixtures("cloud_controller")
def test_a_hostname_alone_leaves_nothing_to_take(scene: Scene) -> None:
    client = scene.network.client
    service = scene.publish(hostname_only_ingress="true")
    assert service.wait_for_addresses() == []
    scene.wait_until_served(service)
    scene.balance(service)

    (entry,) = services.ingress(service.read())
    address = entry["hostname"].partition(".")[0].replace("-", ".")
    assert not scene.kube_proxy.rules_for(address)
    assert ask(client, address) == told(client.ipv4, address)


@pytest.mark.usefixtures("cloud_controller")
def test_a_local_traffic_policy_makes_no_difference(scene: Scene) -> None:
    client = scene.network.client
    service, addresses = scene.begin(spec={"externalTrafficPolicy": "Local"})
    assert ask_all(client, addresses) == [HUNG_UP, HUNG_UP]

    scene.sync(service)
    scene.wait_until_left(addresses)
    assert ask_all(client, addresses) == told_all(client, addresses)


@pytest.mark.usefixtures("cloud_controller")
def test_source_ranges_are_no_longer_kept_by_the_node(scene: Scene) -> None:
    client = scene.network.client
    nobody = ["192.0.2.0/24", "2001:db8:ffff::/48"]
    service, addresses = scene.begin(spec={"loadBalancerSourceRanges": nobody})

    def firewalls() -> list[str]:
        words = ("firewall", "kube-fw")
        rules = [rule for rule in scene.kube_proxy.rules() if f"{scene.namespace}/" in rule]
        return [rule for rule in rules if any(word in rule.lower() for word in words)]

    assert ask_all(client, addresses) == [SILENCE, SILENCE]
    assert firewalls()

    scene.sync(service)
    scene.wait_until_left(addresses)
    assert ask_all(client, addresses) == told_all(client, addresses)
    assert not firewalls()


@pytest.mark.usefixtures("cloud_controller")
def test_without_endpoints_it_is_up_to_the_balancer(scene: Scene) -> None:
    client = scene.network.client
    scene.begin()
    service = scene.publish("idle", has_endpoints=False)
    addresses = service.wait_for_addresses()
    scene.catch_up()
    assert ask_all(client, addresses) == [REFUSED, REFUSED]

    scene.sync(service)
    scene.catch_up()
    # The balancer stands before the other Service here: that it is asked at all is the point.
    assert ask_all(client, addresses) == told_all(client, addresses)


def test_of_two_services_on_one_address_each_has_to_leave_it(scene: Scene) -> None:
    client = scene.network.client
    first, second = scene.publish("first"), scene.publish("second")
    for service in (first, second):
        service.set_addresses(*SHARED)
    scene.wait_until_taken(SHARED)
    scene.balance(first)

    scene.sync(first)
    scene.catch_up()
    for address in SHARED:
        assert ["second" in rule for rule in scene.kube_proxy.rules_for(address)] == [True]
    assert ask_all(client, SHARED) == [HUNG_UP, HUNG_UP]

    scene.sync(second)
    scene.wait_until_left(SHARED)
    assert ask_all(client, SHARED) == told_all(client, SHARED)


def ends(scene: Scene, address: str) -> list[str]:
    """Return where open connections to an address really go, as the node keeps track of them."""
    family = "ipv6" if ":" in address else "ipv4"
    listed = scene.network.node.netns.run("conntrack", "-L", "-f", family, "--orig-dst", address)
    established = (line for line in listed.splitlines() if "ESTABLISHED" in line)
    # Each line has the request's source and destination, then those of what answers it.
    return [re.findall(r"src=(\S+)", line)[1] for line in established]


@pytest.mark.usefixtures("cloud_controller")
def test_a_connection_stays_where_it_was_opened(scene: Scene) -> None:
    client = scene.network.client
    service, addresses = scene.begin()
    for address in addresses:
        gateway = scene.network.gateway.address(address)
        with conversation(client, address) as opened_under_vip:
            scene.sync(service)
            scene.wait_until_left(addresses)
            assert ends(scene, address) == [gateway]
            with conversation(client, address) as opened_under_proxy:
                assert opened_under_proxy.ask() == told(client.address(address), address)

                # The cloud controller has its say again.
                service.annotate(note=f"edited for {address}")
                scene.wait_until_taken(addresses)
                assert ask(client, address) == HUNG_UP
                assert sorted(ends(scene, address)) == sorted([gateway, address])
                assert opened_under_proxy.ask() == told(client.address(address), address)
            assert opened_under_vip.ask() == HUNG_UP
