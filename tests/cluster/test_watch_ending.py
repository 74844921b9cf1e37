"""How `sync --watch` ends: told to, interrupted, or because it could not begin."""

import signal
import threading
from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.accounts import create_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.plugin import run
from tests.cluster.streaming_proxy import Fault, Request, streaming_proxy
from tests.cluster.test_sync import IP, LIST, PROXIED, create
from tests.cluster.waiting import wait_for
from tests.cluster.watching import watching


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 0), (signal.SIGINT, 130)],
    ids=["SIGTERM", "SIGINT"],
)
def test_a_signal_ends_it_after_the_patch_in_flight(
    control_plane: ControlPlane,
    namespace: str,
    tmp_path: Path,
    number: signal.Signals,
    status: int,
) -> None:
    client = control_plane.client
    for name in ("first", "second"):
        create(client, namespace, services.load_balancer(name, **PROXIED), {"ip": IP})
    kubeconfig = tmp_path / "kubeconfig"
    with streaming_proxy(control_plane, kubeconfig) as record:
        record.choose = lambda request: Fault(delay=2) if request.method == "PATCH" else None
        arguments = ("-n", namespace, "--no-events", "--concurrency=1")
        with watching(tmp_path, kubeconfig, *arguments) as watch:
            wait_for(lambda: record.of("PATCH"), "a patch")
            assert watch.end(number) == status
    # The first was under way; the second was not begun.
    assert len(record.of("PATCH")) == 1
    assert len(watch.repairs()) == 1
    modes = [
        services.modes(client.get(services.path(namespace, name))) for name in ("first", "second")
    ]
    assert sorted(modes) == [["Proxy"], ["VIP"]]
    assert "Traceback" not in watch.said()


def test_a_second_signal_ends_it_at_once(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    create(control_plane.client, namespace, services.load_balancer("web", **PROXIED), {"ip": IP})
    kubeconfig = tmp_path / "kubeconfig"
    with streaming_proxy(control_plane, kubeconfig) as record:
        record.choose = lambda request: Fault(delay=60) if request.method == "PATCH" else None
        with watching(tmp_path, kubeconfig, "-n", namespace) as watch:
            wait_for(lambda: record.of("PATCH"), "a patch")
            signaller = threading.Timer(0.5, watch.interrupt)
            signaller.start()
            assert watch.end(signal.SIGINT) == 130
            signaller.join()


def test_it_ends_where_it_could_never_begin(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    nobody = create_account(control_plane, namespace, [])
    with watching(tmp_path, nobody.kubeconfig, started=False) as watch:
        assert watch.wait() == 3
    assert f'must allow "list" on `services` in namespace "{namespace}"' in watch.said()

    stale = tmp_path / "stale"
    control_plane.write_kubeconfig(stale, token="no.such.token")  # noqa: S106 - that is the point
    with watching(tmp_path, stale, started=False) as watch:
        assert watch.wait() == 3
    assert "does not accept the credentials (401)" in watch.said()


def test_the_first_list_may_have_to_wait(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with streaming_proxy(control_plane, kubeconfig) as record:

        def choose(_: Request) -> Fault | None:
            return Fault(status=503) if len(record.requests) < 8 else None

        record.choose = choose
        with watching(tmp_path, kubeconfig, "-n", namespace) as watch:
            assert "the API server answered 503; trying again" in watch.said()
            assert "the API server answers again" in watch.said()


@pytest.mark.parametrize(
    "arguments", [["web"], ["--dry-run=client"], ["--diff"], ["-o", "json"]], ids=" ".join
)
def test_what_does_not_go_with_it(control_plane: ControlPlane, arguments: list[str]) -> None:
    result = run(control_plane.kubeconfig, "sync", "--watch", *arguments)
    assert result.exit_code == 2
    assert "--watch sets all Services" in result.stderr


def test_an_address_that_is_taken(control_plane: ControlPlane, tmp_path: Path) -> None:
    address = "--health-address=192.0.2.1:8080"
    with watching(tmp_path, control_plane.kubeconfig, address, started=False) as watch:
        assert watch.wait() == 2
    assert 'error: the address "192.0.2.1:8080" cannot be had' in watch.said()


def test_it_needs_no_more_than_rights_to_look_where_nothing_drifts(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    looker = create_account(control_plane, namespace, [{**LIST, "verbs": ["list", "watch"]}])
    web = services.load_balancer("web", **PROXIED)
    create(control_plane.client, namespace, web, {"ip": IP, "ipMode": "Proxy"})
    with watching(tmp_path, looker.kubeconfig) as watch:
        assert watch.end() == 0
    assert watch.said() == "watching 1 Service of type LoadBalancer\n"
