"""`--leader-elect`: of several copies one works, and another when that one cannot."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster.accounts import create_account, rule
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.streaming_proxy import Fault, Record, Request, streaming_proxy
from tests.cluster.test_watch_faults import ALL_RULES, make, reset, wait_until_proxy
from tests.cluster.waiting import wait_for
from tests.cluster.watching import Watch, watching

DURATION = 5.0
LEADS = "leading by the Lease"


@dataclass
class Copy:
    """A candidate, and the requests that it sent."""

    watch: Watch
    record: Record

    def leads(self) -> bool:
        """Say whether it said so."""
        return LEADS in self.watch.said()

    def writes(self) -> list[float]:
        """Return when it patched a Service."""
        return [request.at for request in self.record.of("PATCH")]


@contextmanager
def candidate(
    control_plane: ControlPlane, namespace: str, folder: Path, name: str
) -> Iterator[Copy]:
    kubeconfig = folder / f"{name}.kubeconfig"
    arguments = (
        "-n",
        namespace,
        "--no-events",
        "--leader-elect",
        f"--lease-name={namespace}",
        f"--lease-duration={DURATION:g}s",
    )
    with (
        streaming_proxy(control_plane, kubeconfig) as record,
        watching(folder, kubeconfig, *arguments, name=name, started=False) as watch,
    ):
        watch.expect("waiting for the Lease")
        yield Copy(watch, record)


def lease(control_plane: ControlPlane, namespace: str) -> Object:
    path = f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{namespace}"
    spec: Object = control_plane.client.get(path)["spec"]
    return spec


def wait_until_leads(copy: Copy, *, seconds: float = 20) -> float:
    """Return when it was seen to lead."""
    copy.watch.expect(LEADS, seconds=seconds)
    return time.monotonic()


def test_an_orderly_end_gives_the_lease_up(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with candidate(control_plane, namespace, tmp_path, "first") as first:
        wait_until_leads(first)
        wait_until_proxy(client, namespace)
        with candidate(control_plane, namespace, tmp_path, "second") as second:
            time.sleep(DURATION)
            assert not second.leads()
            # One that waits lists nothing and writes nothing but the Lease, and that not yet.
            assert {request.method for request in second.record.requests} == {"GET"}
            assert first.watch.end() == 0
            begun = time.monotonic()
            assert wait_until_leads(second) - begun < DURATION / 2
            reset(client, namespace)
            wait_until_proxy(client, namespace)
            assert second.watch.end() == 0
    spec = lease(control_plane, namespace)
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("", 1)


def test_a_dead_leader_is_followed_within_the_time_of_the_lease(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with (
        candidate(control_plane, namespace, tmp_path, "first") as first,
        ExitStack() as stack,
    ):
        wait_until_leads(first)
        second = stack.enter_context(candidate(control_plane, namespace, tmp_path, "second"))
        time.sleep(1)
        os.kill(first.watch.pid, signal.SIGKILL)
        begun = time.monotonic()
        # It counts from the last renewal that it saw, and looks again every so often.
        assert wait_until_leads(second) - begun < DURATION * (1 + 2 / 15) + 2
        reset(client, namespace)
        wait_until_proxy(client, namespace)


def test_a_leader_that_cannot_renew_ends_before_another_begins(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    over = threading.Event()

    def keep_resetting() -> None:
        with closing(control_plane.connect()) as other:
            while not over.wait(0.2):
                reset(other, namespace)

    resetter = threading.Thread(target=keep_resetting)
    with (
        candidate(control_plane, namespace, tmp_path, "first") as first,
        candidate(control_plane, namespace, tmp_path, "second") as second,
    ):
        wait_for(lambda: first.leads() or second.leads(), "a leader")
        leader, other = (first, second) if first.leads() else (second, first)
        resetter.start()
        try:
            time.sleep(1)
            # It could still patch; only its renewals get no answer.
            leader.record.choose = _stall_leases
            assert leader.watch.wait() == 3
            assert not other.leads()
            assert "could not be renewed in time" in leader.watch.said()
            wait_until_leads(other)
            wait_for(other.writes, "a repair by the other")
        finally:
            over.set()
            resetter.join()
        assert leader.writes()[-1] < other.writes()[0]
        assert other.watch.end() == 0


def _stall_leases(request: Request) -> Fault | None:
    return Fault(delay=30) if "/leases" in request.path else None


def test_never_do_two_write_at_once(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Four start at one moment; each that leads is killed, or stalled, or ended, in turn."""
    client = control_plane.client
    names = [f"web-{number}" for number in range(5)]
    for name in names:
        make(client, namespace, name)
    over = threading.Event()

    def keep_resetting() -> None:
        with closing(control_plane.connect()) as other:
            while not over.wait(0.05):
                for name in names:
                    reset(other, namespace, name)

    resetter = threading.Thread(target=keep_resetting)
    with ExitStack() as stack:
        copies = [
            stack.enter_context(candidate(control_plane, namespace, tmp_path, f"copy-{number}"))
            for number in range(4)
        ]
        resetter.start()
        try:
            alive = list(copies)
            for way in ("kill", "stall", "end"):
                leaders = wait_for(
                    lambda: [copy for copy in alive if copy.leads()],
                    "a leader",
                    seconds=30,
                )
                (leader,) = leaders
                wait_for(leader.writes, "a repair")
                alive.remove(leader)
                if way == "kill":
                    os.kill(leader.watch.pid, signal.SIGKILL)
                elif way == "stall":
                    leader.record.choose = _stall_leases
                    assert leader.watch.wait() == 3
                else:
                    assert leader.watch.end() == 0
            (last,) = alive
            wait_for(last.writes, "a repair", seconds=30)
        finally:
            over.set()
            resetter.join()
    spans = sorted((copy.writes()[0], copy.writes()[-1]) for copy in copies)
    for (_, end), (begin, _) in pairwise(spans):
        assert end < begin


def test_a_server_that_is_away_for_less_than_the_time(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with candidate(control_plane, namespace, tmp_path, "first") as first:
        wait_until_leads(first)
        first.record.choose = lambda request: (
            Fault(reset=True) if "/leases" in request.path else None
        )
        time.sleep(DURATION / 3)
        first.record.choose = lambda _: None
        time.sleep(DURATION)
        assert first.watch.is_running()
        reset(client, namespace)
        wait_until_proxy(client, namespace)
        assert first.watch.end() == 0


def test_one_that_waits_outlives_the_server(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with candidate(control_plane, namespace, tmp_path, "first") as first:
        wait_until_leads(first)
        with candidate(control_plane, namespace, tmp_path, "second") as second:
            # One that has never had an answer ends: it may have been started wrongly.
            wait_for(lambda: len(second.record.requests) > 1, "its first answer")
            control_plane.stop_apiserver()
            assert first.watch.wait() == 3
            control_plane.start_apiserver()
            wait_until_leads(second, seconds=30)
            reset(client, namespace)
            wait_until_proxy(client, namespace)
            assert second.watch.end() == 0


@pytest.mark.parametrize("verb", ["get", "create", "update"])
def test_a_right_to_the_lease_that_is_missing(
    control_plane: ControlPlane, namespace: str, tmp_path: Path, verb: str
) -> None:
    verbs = [each for each in ("get", "create", "update") if each != verb]
    rules = [*ALL_RULES, rule("coordination.k8s.io", "leases", *verbs)]
    account = create_account(control_plane, namespace, rules)
    arguments = ("--leader-elect", f"--lease-name={namespace}")
    if verb == "update":
        # It is there, nobody's, and so to be taken.
        path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        body = {"metadata": {"name": namespace}, "spec": {"holderIdentity": ""}}
        control_plane.client.post(path, body)
    with watching(tmp_path, account.kubeconfig, *arguments, started=False) as watch:
        assert watch.wait() == 3
    wanted = f'must allow "{verb}" on `leases.coordination.k8s.io` in namespace "{namespace}"'
    assert wanted in watch.said()
