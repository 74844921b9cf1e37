"""`sync --watch` and a server that goes, refuses, forgets or fails: it says so, waits, goes on."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

from tests.cluster import services
from tests.cluster.accounts import RBAC, Account, create_account, rule
from tests.cluster.client import Client
from tests.cluster.control_plane import ControlPlane
from tests.cluster.recording import recorded
from tests.cluster.streaming_proxy import Fault, Record, Request, streaming_proxy
from tests.cluster.test_sync import IP, PROXIED, create
from tests.cluster.waiting import wait_for
from tests.cluster.watching import Watch, watching

ALL_RULES = [
    rule("", "services", "get", "list", "watch"),
    rule("", "services/status", "patch"),
    rule("", "events", "create", "patch"),
]


def make(client: Client, namespace: str, name: str = "web") -> None:
    create(client, namespace, services.load_balancer(name, **PROXIED), {"ip": IP})


def reset(client: Client, namespace: str, name: str = "web") -> None:
    """Write the status as a cloud controller does."""
    status = services.path(namespace, name, "status")
    client.patch(status, services.with_addresses({"ip": IP}), "strategic")


def wait_until_proxy(
    client: Client, namespace: str, name: str = "web", *, seconds: float = 30
) -> None:
    path = services.path(namespace, name)
    wait_for(lambda: services.modes(client.get(path)) == ["Proxy"], name, seconds=seconds)


def fastest(requests: list[Request]) -> float:
    """Return the shortest time between two requests, in seconds."""
    return min((after.at - before.at for before, after in pairwise(requests)), default=60.0)


def test_the_api_server_may_go_and_come_back(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with watching(tmp_path, control_plane.kubeconfig, "-n", namespace) as watch:
        wait_until_proxy(client, namespace)
        control_plane.stop_apiserver()
        watch.expect("cannot be reached; trying again")
        before = watch.processor_seconds()
        time.sleep(4)
        assert watch.processor_seconds() - before < 1
        control_plane.start_apiserver()
        reset(client, namespace)
        wait_until_proxy(client, namespace)
        watch.expect("the API server answers again")
        assert watch.said().count("cannot be reached") == 1
        assert watch.end() == 0


def test_versions_that_are_no_longer_kept_lead_to_a_list(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    kubeconfig = tmp_path / "kubeconfig"
    away = threading.Event()

    def choose(request: Request) -> Fault | None:
        if request.watch and away.is_set():
            return Fault(status=503)
        return Fault(cut_after=1) if request.watch and not away.is_set() else None

    with streaming_proxy(control_plane, kubeconfig) as record:
        record.choose = choose
        with watching(tmp_path, kubeconfig, "-n", namespace) as watch:
            wait_until_proxy(client, namespace)
            away.set()
            watch.expect("the API server answered 503; trying again")
            reset(client, namespace)
            control_plane.compact_etcd()
            # Only etcd has forgotten; the server's memory has to go, too.
            control_plane.stop_apiserver()
            control_plane.start_apiserver()
            lists = sum(not request.watch for request in record.of("GET"))
            away.clear()
            wait_until_proxy(client, namespace)
            assert sum(not request.watch for request in record.of("GET")) == lists + 1
            assert watch.end() == 0


@contextmanager
def refused_later(
    control_plane: ControlPlane, namespace: str, folder: Path
) -> Iterator[tuple[Account, Record, Watch]]:
    """Give a watch that works, as somebody whose rights can be taken away."""
    account = create_account(control_plane, namespace, ALL_RULES)
    client, kubeconfig = control_plane.client, folder / "kubeconfig"
    for number in range(5):
        make(client, namespace, f"web-{number}")
    with streaming_proxy(control_plane, kubeconfig, token=account.token) as record:
        record.choose = lambda request: Fault(cut_after=2) if request.watch else None
        with watching(folder, kubeconfig, "-n", namespace) as watch:
            for number in range(5):
                wait_until_proxy(client, namespace, f"web-{number}")
            yield account, record, watch


def test_a_token_that_is_revoked(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    with refused_later(control_plane, namespace, tmp_path) as (account, record, watch):
        client.delete(f"/api/v1/namespaces/{namespace}/serviceaccounts/{account.name}")
        # The server has it in its memory for ten seconds.
        watch.expect("does not accept the credentials (401); trying again")
        for number in range(5):
            reset(client, namespace, f"web-{number}")
        begun, used = len(record.requests), watch.processor_seconds()
        time.sleep(10)
        # Half a second, one, two, four, eight; and the like for the patches, if any.
        assert 1 <= len(record.requests) - begun <= 20
        assert watch.processor_seconds() - used < 1
        assert watch.said().count("(401)") == 1
        assert "hint: log in again" in watch.said()
        assert watch.end() == 0


def test_a_role_that_is_removed_and_comes_back(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    with refused_later(control_plane, namespace, tmp_path) as (account, record, watch):
        bindings = f"{RBAC}/namespaces/{namespace}/rolebindings"
        name = f"{namespace}-{account.name}"
        binding = client.get(f"{bindings}/{name}")
        client.delete(f"{bindings}/{name}")
        watch.expect(f'must allow "watch" on `services` in namespace "{namespace}"; trying again')
        begun = len(record.requests)
        time.sleep(6)
        assert 1 <= len(record.requests) - begun <= 8
        for number in range(5):
            reset(client, namespace, f"web-{number}")
        del binding["metadata"]["resourceVersion"], binding["metadata"]["uid"]
        client.post(bindings, binding)
        for number in range(5):
            wait_until_proxy(client, namespace, f"web-{number}")
        watch.expect("the API server answers again")
        assert watch.said().count('must allow "watch"') == 1
        assert watch.end() == 0


def test_a_right_to_patch_that_is_missing(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    looker = create_account(control_plane, namespace, ALL_RULES[:1])
    kubeconfig = tmp_path / "kubeconfig"
    make(client, namespace)
    with (
        streaming_proxy(control_plane, kubeconfig, token=looker.token) as record,
        watching(tmp_path, kubeconfig, "-n", namespace) as watch,
    ):
        watch.expect(f'must allow "patch" on `services/status` in namespace "{namespace}"')
        # What is news brings no new try before its time.
        for number in range(50):
            note = {"metadata": {"annotations": {"example.com/note": str(number)}}}
            client.patch(services.path(namespace, "web"), note)
            time.sleep(0.1)
        patches = record.of("PATCH")
        # At once, and after 1, 2 and 4 seconds, a fifth less at most.
        assert 2 <= len(patches) <= 4
        assert fastest(patches) > 0.7
        assert watch.said().count("must allow") == 1
        assert watch.end() == 0


def test_a_proxy_that_fails_all_the_time(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    names = [f"web-{number}" for number in range(20)]
    for name in names:
        make(client, namespace, name)
    kubeconfig = tmp_path / "kubeconfig"
    dice = random.Random(1)  # noqa: S311 - no secret
    faults = [
        Fault(reset=True),
        Fault(status=500),
        Fault(status=429, retry_after=1),
        Fault(delay=0.5),
        Fault(status=503),
    ]

    def choose(request: Request) -> Fault | None:
        if request.watch:
            return Fault(cut_after=0.5)
        return dice.choice(faults) if dice.random() < 0.4 else None

    with streaming_proxy(control_plane, kubeconfig) as record:
        record.choose = choose
        with (
            watching(tmp_path, kubeconfig, "-n", namespace) as watch,
            recorded(control_plane.connect(), namespace) as recording,
        ):
            for _ in range(3):
                for name in names:
                    reset(client, namespace, name)
                    time.sleep(0.05)
                for name in names:
                    wait_until_proxy(client, namespace, name, seconds=60)
            assert watch.is_running()
            assert watch.end() == 0
    for name in names:
        for version in recording.of(name):
            assert [entry["ip"] for entry in services.ingress(version)] == [IP]
    assert "Traceback" not in watch.said()


def test_the_server_says_how_long_to_wait(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    kubeconfig = tmp_path / "kubeconfig"
    with streaming_proxy(control_plane, kubeconfig) as record:

        def choose(request: Request) -> Fault | None:
            first = request.method == "PATCH" and len(record.of("PATCH")) == 1
            return Fault(status=429, retry_after=3) if first else None

        record.choose = choose
        with watching(tmp_path, kubeconfig, "-n", namespace, "--no-events") as watch:
            wait_until_proxy(client, namespace)
            assert watch.end() == 0
    first, second = record.of("PATCH")
    assert 3 <= second.at - first.at < 5


def test_a_fight_calms_down(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    client = control_plane.client
    make(client, namespace)
    kubeconfig = tmp_path / "kubeconfig"
    over = threading.Event()

    def fight() -> None:
        with closing(control_plane.connect()) as other:
            while not over.wait(0.01):
                reset(other, namespace)

    with (
        streaming_proxy(control_plane, kubeconfig) as record,
        watching(tmp_path, kubeconfig, "-n", namespace, "--no-events") as watch,
    ):
        fighter = threading.Thread(target=fight)
        fighter.start()
        try:
            watch.expect('"tests" resets the mode each time that it is set')
            time.sleep(8)
        finally:
            over.set()
            fighter.join()
        # Twenty at ten a second, then ever fewer: after 3 s, and after 6.
        assert 26 <= len(record.of("PATCH")) <= 40
        wait_until_proxy(client, namespace, seconds=40)
        assert watch.end() == 0
