"""Measure what the policy costs: a write of a Service's status with and without it, in one run.

    python tests/bench/policy.py    # needs the programs of tests/tools, group cluster

A real API server is written to as a cloud controller does. The policy comes and goes between
rounds, so that whatever else the machine does falls on both sides; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.cluster import policies, services
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane

NAMESPACE = "default"
PORT_JSON = '{"proxy-protocol": "v2", "protocol": "tcp"}'


def make_services() -> dict[str, Object]:
    """Return a Service for each way to a decision, by what it shows."""
    many = services.load_balancer("ten-ports", **{f"port_{80 + n}": PORT_JSON for n in range(10)})
    many["spec"]["ports"] = [{"name": f"p{n}", "port": 80 + n} for n in range(10)]
    return {
        "the override": services.load_balancer("override", ip_mode="Proxy"),
        "the default annotation": services.load_balancer("default", default_proxy_protocol="v2"),
        "ten ports with JSON": many,
        "nothing to do": services.load_balancer("nothing"),
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--writes", type=int, default=100, help="of each kind in a round")
    arguments = parser.parse_args()
    seconds: dict[tuple[str, bool], list[float]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(Path(folder)) as control_plane,
    ):
        kinds = make_services()
        for service in kinds.values():
            control_plane.client.post(services.path(NAMESPACE), service)
        numbers = itertools.count()

        def write(*, with_policy: bool) -> None:
            for number, (kind, service) in itertools.product(
                range(arguments.writes), kinds.items()
            ):
                path = services.path(NAMESPACE, service["metadata"]["name"], "status")
                entry = {"ip": "203.0.113.10", "hostname": f"n{next(numbers)}.example.com"}
                body = services.with_addresses(entry)
                start = perf_counter()
                control_plane.client.patch(path, body, "strategic")
                if number:  # the first one may find a connection closed
                    seconds[kind, with_policy].append(perf_counter() - start)

        write(with_policy=False)
        seconds.clear()
        for _ in range(arguments.rounds):
            write(with_policy=False)
            with policies.installed(control_plane, NAMESPACE):
                write(with_policy=True)
            policies.wait_until_inactive(control_plane.client, NAMESPACE)
    rows = [_row(kind, seconds[kind, False], seconds[kind, True]) for kind in kinds]
    headers = ("decided by", "without", "with", "ratio", "p99 without", "p99 with")
    sys.stdout.write(f"{tabulate(rows, headers, tablefmt='plain', disable_numparse=True)}\n")


def _row(kind: str, without: list[float], having: list[float]) -> tuple[str, ...]:
    ratio = f"{median(having) / median(without):.2f} x"
    figures = [
        median(without),
        median(having),
        *(quantiles(x, n=100)[98] for x in (without, having)),
    ]
    before, after, *worst = (f"{figure * 1000:.1f} ms" for figure in figures)
    return (kind, before, after, ratio, *worst)


if __name__ == "__main__":
    main()
