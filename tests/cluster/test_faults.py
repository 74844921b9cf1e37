"""What passes by itself is waited for; what does not is said at once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_lbipmode.cluster import server, transport
from tests.cluster import services
from tests.cluster.control_plane import ControlPlane
from tests.cluster.faulty_proxy import Fault, FaultyProxy, faulty_proxy
from tests.cluster.plugin import api_server, run
from tests.cluster.test_sync import IP, PROXIED, create


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    """Give a proxy that does no wrong yet."""
    with faulty_proxy(control_plane) as running:
        yield running


@pytest.fixture
def kubeconfig(proxy: FaultyProxy, control_plane: ControlPlane, namespace: str) -> Path:
    """Give a kubeconfig that leads to the proxy, and make a Service that drifts."""
    web = services.load_balancer("web", **PROXIED)
    create(control_plane.client, namespace, web, {"ip": IP})
    return proxy.write_kubeconfig(control_plane.folder / f"{namespace}.kubeconfig")


@pytest.mark.parametrize(
    "fault",
    [("reset", 0), ("status", 500), ("status", 502), ("status", 503), ("busy", 1), ("delay", 1)],
    ids=lambda fault: "-".join(map(str, fault)),
)
@pytest.mark.parametrize("patched", [False, True], ids=["list", "patch"])
def test_what_passes_is_waited_for(
    control_plane: ControlPlane,
    proxy: FaultyProxy,
    namespace: str,
    kubeconfig: Path,
    fault: Fault,
    patched: bool,
) -> None:
    if patched:
        proxy.faults.append(("", 0))
    proxy.faults.append(fault)

    result = run(kubeconfig, "sync", "-n", namespace)

    assert (result.exit_code, proxy.faults) == (0, type(proxy.faults)())
    web = control_plane.client.get(services.path(namespace, "web"))
    assert services.modes(web) == ["Proxy"]


def test_the_server_says_how_long_to_wait(
    proxy: FaultyProxy, namespace: str, kubeconfig: Path
) -> None:
    proxy.faults.append(("busy", 2))
    run(kubeconfig, "status", "-n", namespace)
    (first, *_), (second, *_) = proxy.requests[:2]
    assert 2 <= second - first < 4


def test_what_does_not_pass_ends_with_a_line_and_a_hint(
    monkeypatch: pytest.MonkeyPatch, proxy: FaultyProxy, namespace: str, kubeconfig: Path
) -> None:
    monkeypatch.setattr(transport, "_ATTEMPTS", 3)
    proxy.faults.extend([("status", 503)] * 3)
    result = run(kubeconfig, "status", "-n", namespace)
    error, hint = result.stderr.splitlines()
    assert error == "error: the API server answered 503"
    assert hint.startswith("hint: ")
    assert (result.exit_code, len(proxy.requests)) == (3, 3)


def test_a_reply_that_is_none_of_an_api_server(
    proxy: FaultyProxy, namespace: str, kubeconfig: Path
) -> None:
    proxy.faults.append(("status", 200))
    result = run(kubeconfig, "status", "-n", namespace)
    assert "does not answer as an API server does" in result.stderr
    assert "<html>" not in result.output
    assert result.exit_code == 3


def test_a_request_that_takes_too_long_is_given_up(
    proxy: FaultyProxy, namespace: str, kubeconfig: Path
) -> None:
    proxy.faults.append(("delay", 3))
    before = time.monotonic()
    result = run(kubeconfig, "status", "-n", namespace, "--request-timeout=500ms")
    assert time.monotonic() - before < 2
    assert "does not answer in time" in result.stderr
    assert result.exit_code == 3


def test_a_page_that_expired_is_followed_by_the_rest_as_it_is_now(
    monkeypatch: pytest.MonkeyPatch, control_plane: ControlPlane, namespace: str
) -> None:
    monkeypatch.setattr(server, "_PAGE", 2)
    for name in "abcdef":
        control_plane.client.post(services.path(namespace), services.load_balancer(name))
    pages = api_server(control_plane.kubeconfig).list_services(namespace)
    seen = [service["metadata"]["name"] for service in next(pages).items]

    control_plane.client.delete(services.path(namespace, "e"))
    control_plane.compact_etcd()
    # Only etcd has forgotten; the server's memory has to go, too.
    control_plane.stop_apiserver()
    control_plane.start_apiserver()

    seen += [service["metadata"]["name"] for page in pages for service in page.items]
    assert seen == list("abcdf")
