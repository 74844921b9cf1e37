"""Measure ``sync`` beside the bare requests that it has to send: ``python tests/bench/sync.py``.

On a control plane of its own, 2,000 Services drift. The yardstick sends the very same JSON Patches
one by one over one connection with the standard library, as fast as the server takes them. ``sync``
has to list, to decide, to send and to check each reply besides, and its start-up counts too. Rounds
are interleaved and the median counts; what was set is reset in between and not measured.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[2]))
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.plan import Patch, make_plan
from kubectl_lbipmode.rules import Wish
from tests.cluster import services
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace

_PROGRAM = Path(sys.executable).parent / "kubectl-lbipmode"
_PROXIED = {"default_proxy_protocol": "v2"}
MOST_TIMES, MOST_MEMORY = 1.3, 150.0


@dataclass
class Contestant:
    """A way to do it; its figures are wall seconds and peak memory in MiB, 0 if not measured."""

    name: str
    run: Callable[[], float]
    wall: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """Run once."""
        begun = monotonic()
        self.memory.append(self.run())
        self.wall.append(monotonic() - begun)


def main() -> int:
    """Measure, print a table, and return 1 if a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--services", type=int, default=2000, help="how many")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(Path(folder)) as control_plane,
        temporary_namespace(control_plane.client) as namespace,
    ):
        _say(f"Making {arguments.services} Services …")
        _create(control_plane, namespace, arguments.services)
        bare = Contestant("the bare patches, one by one", lambda: _patch(control_plane, namespace))
        ours = [
            Contestant(
                f"sync --concurrency={concurrency}",
                lambda concurrency=concurrency: _sync(control_plane, namespace, concurrency),  # type: ignore[misc]
            )
            for concurrency in (1, 4)
        ]
        for number in range(arguments.rounds):
            for contestant in (bare, *ours):
                _say(f"Round {number + 1} of {arguments.rounds}: {contestant.name} …")
                _reset(control_plane, namespace, arguments.services)
                contestant.measure()
                _check(control_plane, namespace)
    rows = [
        (
            contestant.name,
            f"{median(contestant.wall):.1f} s",
            f"{median(contestant.wall) / median(bare.wall):.2f} x",
            f"{max(contestant.memory):.0f} MiB" if contestant is not bare else "",
        )
        for contestant in (bare, *ours)
    ]
    title = f"{arguments.services} Services, median of {arguments.rounds}"
    _say(tabulate(rows, (title, "wall", "wall / bare", "memory"), tablefmt="plain"))
    is_kept = all(
        median(contestant.wall) <= MOST_TIMES * median(bare.wall)
        and max(contestant.memory) <= MOST_MEMORY
        for contestant in ours
    )
    _say(f"At most {MOST_TIMES} x and {MOST_MEMORY:.0f} MiB: {'kept' if is_kept else 'NOT KEPT'}")
    return 0 if is_kept else 1


def _create(control_plane: ControlPlane, namespace: str, number: int) -> None:
    for index in range(number):
        service = services.load_balancer(_name(index), **_PROXIED)
        control_plane.client.post(services.path(namespace), service)


def _reset(control_plane: ControlPlane, namespace: str, number: int) -> None:
    """Write each status as a cloud controller does."""
    for index in range(number):
        address = {"ip": f"198.18.{index // 250}.{index % 250 + 1}"}
        status = services.path(namespace, _name(index), "status")
        control_plane.client.patch(status, services.with_addresses(address), "strategic")


def _find_patches(control_plane: ControlPlane, namespace: str) -> Iterator[tuple[str, Patch]]:
    for item in control_plane.client.get(services.path(namespace))["items"]:
        service = Service.from_mapping({"apiVersion": "v1", "kind": "Service", **item})
        yield service.name, make_plan(service, Wish()).patch


def _patch(control_plane: ControlPlane, namespace: str) -> float:
    with closing(control_plane.connect()) as client:
        for name, patch in _find_patches(control_plane, namespace):
            client.patch(services.path(namespace, name, "status"), list(patch), "json")
    return 0.0


def _sync(control_plane: ControlPlane, namespace: str, concurrency: int) -> float:
    command = [
        str(_PROGRAM),
        "sync",
        f"--kubeconfig={control_plane.kubeconfig}",
        f"--namespace={namespace}",
        f"--concurrency={concurrency}",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"sync ended with status {process.returncode}")
    return usage.ru_maxrss / 1024


def _check(control_plane: ControlPlane, namespace: str) -> None:
    for item in control_plane.client.get(services.path(namespace))["items"]:
        if services.modes(item) != ["Proxy"]:
            raise RuntimeError(f"{item['metadata']['name']} was not set")


def _name(index: int) -> str:
    return f"web-{index}"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - it is what the script is for


if __name__ == "__main__":
    sys.exit(main())
