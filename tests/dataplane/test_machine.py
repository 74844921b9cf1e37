"""A run says last that the data path cannot be tested here; and no run leaves anything behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.cluster.processes import is_running
from tests.cluster.waiting import wait_for
from tests.dataplane.machine import GO_ON

ROOT = Path(__file__).parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "-p", "tests.dataplane.conftest"]

SIMPLE = """
def test_of_the_data_path(network):
    pass
"""

ENDLESS = """
import time
from pathlib import Path

def test_that_never_ends(scene, cloud_controller):
    scene.begin()
    hosts = vars(scene.network).values()
    found = [str(Path(host.netns.path).readlink()) for host in hosts]
    ready = Path({ready!r})
    ready.with_suffix(".partial").write_text(" ".join(found))
    ready.with_suffix(".partial").rename(ready)
    time.sleep(600)
"""


def run(
    folder: Path, environment: Mapping[str, str], wrapper: Sequence[str] = ()
) -> tuple[int, list[str]]:
    """Run a test of the data path, and return the exit status and the last lines."""
    test = folder / "test_simple.py"
    test.write_text(SIMPLE)
    done = subprocess.run(
        [*wrapper, *PYTEST, test],
        cwd=ROOT,
        env={**environment, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()[-3:]


def test_what_is_missing_is_said_last_and_fails(tmp_path: Path) -> None:
    status, (what, hint, counts) = run(tmp_path, {"PATH": str(tmp_path)})
    assert what.startswith("NOT TESTED: the data path; missing: conntrack, haproxy, ")
    assert hint == f"hint: {GO_ON}=1 lets the run go on without it"
    assert "1 error" in counts
    assert status == 1


def test_a_run_may_be_told_to_go_on(tmp_path: Path) -> None:
    status, (*_, what, counts) = run(tmp_path, {"PATH": str(tmp_path), GO_ON: "1"})
    assert what.startswith("NOT TESTED: the data path; missing: conntrack, haproxy, ")
    assert "1 skipped" in counts
    assert status == 0


@pytest.mark.system
def test_what_the_kernel_forbids_is_said(tmp_path: Path) -> None:
    without = ["setpriv", "--bounding-set=-sys_admin"]
    status, (what, _, counts) = run(tmp_path, os.environ, without)
    assert what == ("NOT TESTED: the data path; no new network namespace: Operation not permitted")
    assert "1 error" in counts
    assert status == 1


@pytest.mark.system
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_however_a_run_ends_nothing_is_left(tmp_path: Path, how: signal.Signals) -> None:
    ready, output, folder = tmp_path / "ready", tmp_path / "output", tmp_path / "runs"
    test = tmp_path / "test_endless.py"
    test.write_text(ENDLESS.format(ready=str(ready)))
    with (
        output.open("wb") as file,
        subprocess.Popen(
            [*PYTEST, f"--basetemp={folder}", test], cwd=ROOT, stdout=file, stderr=file
        ) as child,
    ):
        try:
            wait_for(lambda: ready.exists() or child.poll() is not None, "a scene", seconds=60)
            assert child.poll() is None, output.read_text()
            namespaces = set(ready.read_text().split())
            logs = [log for log in folder.rglob("*.log") if is_running(log)]
            assert len(namespaces) == 5
            assert namespaces <= namespaces_in_use()
            assert len(logs) == 8
            child.send_signal(how)
            child.wait(60)
        finally:
            child.kill()
    wait_for(lambda: not any(map(is_running, logs)), "the end of the programs")
    wait_for(lambda: not namespaces & namespaces_in_use(), "the end of the namespaces")


def namespaces_in_use() -> set[str]:
    """Return the network namespaces that any thread is in."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/task/*/ns/net"):
        try:
            found.add(str(path.readlink()))
        except OSError:
            continue  # the thread has ended meanwhile
    return found
