"""The feed: nothing that happens is missed, whatever becomes of the connection."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

from kubectl_lbipmode import feed
from kubectl_lbipmode.cluster.server import Page
from kubectl_lbipmode.errors import ClusterError, ExpiredError, ForbiddenError, UnavailableError
from kubectl_lbipmode.feed import Changed, Event, Feed, Listed, Removed, Source
from tests.cluster import services
from tests.cluster.accounts import create_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.plugin import api_server
from tests.cluster.test_sync import IP, PROXIED, create

Seen = Queue[Event]
Troubles = list[ClusterError]


@contextmanager
def followed(
    source: Source, namespace: str, *, relist: float = 300, silence: float = 90
) -> Iterator[tuple[Seen, Troubles]]:
    """Follow the Services of a namespace in the background, for the time of the block."""
    seen: Seen = Queue()
    troubles: Troubles = []
    stop = threading.Event()
    following = Feed(
        source, namespace, "", troubles.append, stop=stop, relist=relist, silence=silence
    )

    def follow() -> None:
        for event in following.events():
            seen.put(event)

    # It may be reading when the block ends, and then ends with the next event or bookmark.
    threading.Thread(target=follow, daemon=True).start()
    try:
        yield seen, troubles
    finally:
        stop.set()


def take(seen: Seen) -> tuple[type[Event], list[str]]:
    event = seen.get(timeout=20)
    found = event.services if isinstance(event, Listed) else [event.service]
    return type(event), [service.name for service in found]


def test_a_list_then_what_happens(control_plane: ControlPlane, namespace: str) -> None:
    client = control_plane.client
    client.post(services.path(namespace), services.load_balancer("old"))
    with followed(api_server(control_plane.kubeconfig), namespace) as (seen, troubles):
        assert take(seen) == (Listed, ["old"])
        create(client, namespace, services.load_balancer("new", **PROXIED), {"ip": IP})
        assert [take(seen), take(seen)] == [(Changed, ["new"])] * 2
        # For us, one that is no longer of type LoadBalancer is gone.
        client.patch(services.path(namespace, "new"), {"spec": {"type": "ClusterIP"}})
        assert take(seen) == (Removed, ["new"])
        client.delete(services.path(namespace, "old"))
        assert take(seen) == (Removed, ["old"])
    assert troubles == []


def test_a_list_every_now_and_then(control_plane: ControlPlane, namespace: str) -> None:
    source = api_server(control_plane.kubeconfig)
    with followed(source, namespace, relist=1) as (seen, troubles):
        assert [take(seen), take(seen), take(seen)] == [(Listed, [])] * 3
    assert troubles == []


def test_the_server_may_be_away_for_a_while(control_plane: ControlPlane, namespace: str) -> None:
    client = control_plane.client
    with followed(api_server(control_plane.kubeconfig), namespace) as (seen, troubles):
        assert take(seen) == (Listed, [])
        control_plane.stop_apiserver()
        control_plane.start_apiserver()
        client.post(services.path(namespace), services.load_balancer("web"))
        # The server's memory starts anew, so the watch may have to begin with a list.
        while take(seen)[1] != ["web"]:
            pass
    assert 1 <= len(troubles) < 12


def test_a_version_that_is_no_longer_kept_leads_to_a_list(
    control_plane: ControlPlane, namespace: str
) -> None:
    client = control_plane.client
    source = api_server(control_plane.kubeconfig)
    stale = next(source.list_services(namespace)).resource_version
    client.post(services.path(namespace), services.load_balancer("web"))
    control_plane.compact_etcd()
    # Only etcd has forgotten; the server's memory has to go, too.
    control_plane.stop_apiserver()
    control_plane.start_apiserver()

    with followed(_StaleAtFirst(source, stale), namespace) as (seen, troubles):
        assert [take(seen), take(seen)] == [(Listed, []), (Listed, ["web"])]
        client.delete(services.path(namespace, "web"))
        assert take(seen) == (Removed, ["web"])
    assert [type(trouble) for trouble in troubles] == [ExpiredError]


class _StaleAtFirst:
    """Lists nothing at a version of the past, the first time, as a list that took long would."""

    def __init__(self, source: Source, version: str) -> None:
        self._source = source
        self._stale: Page | None = Page([], version)
        self.watch_services = source.watch_services

    def list_services(self, namespace: str | None, selector: str = "") -> Iterator[feed.Page]:
        if self._stale is not None:
            yield self._stale
            self._stale = None
        else:
            yield from self._source.list_services(namespace, selector)


def test_a_silent_connection_is_broken_off(control_plane: ControlPlane, namespace: str) -> None:
    with followed(api_server(control_plane.kubeconfig), namespace, silence=1) as (seen, troubles):
        assert take(seen) == (Listed, [])
        while not troubles:
            threading.Event().wait(0.05)
        control_plane.client.post(services.path(namespace), services.load_balancer("web"))
        assert take(seen) == (Changed, ["web"])
    assert all(isinstance(trouble, UnavailableError) for trouble in troubles)
    assert "no word from the API server for 1 s" in str(troubles[0])


def test_a_right_that_is_missing_is_no_reason_to_hurry(
    control_plane: ControlPlane, namespace: str
) -> None:
    account = create_account(control_plane, namespace, [])
    with followed(api_server(Path(account.kubeconfig)), namespace) as (_, troubles):
        threading.Event().wait(3)
        assert {type(trouble) for trouble in troubles} == {ForbiddenError}
        # Half a second, one, two: jittered, at most doubled.
        assert 2 <= len(troubles) <= 5
