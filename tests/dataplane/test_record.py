"""The picture in the docs shows what happens: its record, lived through again.

`pytest tests/dataplane/test_record.py --record` writes the record anew, and
`python tests/dataplane/picture.py` draws it.
"""

import json
from collections.abc import Iterator

import pytest

from tests.dataplane.asking import HUNG_UP, Outcome, ask
from tests.dataplane.picture import RECORD, Passage
from tests.dataplane.scene import Scene

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("cloud_controller")]

# The cloud controller makes 198.18.0.80 and 2001:db8::50 of them.
CLUSTER_IPS = ["10.96.0.80", "fd00:10:96::1:50"]


def passages(scene: Scene, mode: str, addresses: list[str]) -> Iterator[Passage]:
    """Send a request to each address from everywhere, and yield what became of it."""
    network = scene.network
    places = {"outside": network.outside, "pod": network.client, "node": network.node}
    for origin, host in places.items():
        for address in addresses:
            refused = scene.gateway.broken_headers()
            reply = ask(host, address)
            assert reply.outcome is Outcome.ANSWERED or reply == HUNG_UP
            yield Passage(
                mode=mode,
                origin=origin,
                client=host.address(address),
                address=address,
                # Only the balancer adds the header that the answer is made of.
                through_balancer=reply.balancer == address,
                refused_by_gateway=scene.gateway.broken_headers() > refused,
                told=reply.client,
            )


def test_what_the_picture_shows(scene: Scene, pytestconfig: pytest.Config) -> None:
    cluster_ips = {"clusterIP": CLUSTER_IPS[0], "clusterIPs": CLUSTER_IPS}
    service, addresses = scene.begin(spec=cluster_ips)
    seen = list(passages(scene, "VIP", addresses))
    scene.sync(service)
    scene.wait_until_left(addresses)
    seen += passages(scene, "Proxy", addresses)

    record = json.dumps([vars(passage) for passage in seen], indent=1) + "\n"
    if pytestconfig.getoption("--record", default=False):
        RECORD.write_text(record)
    assert RECORD.read_text() == record
