"""No program of the tests outlives them, however they end."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.control_plane import ControlPlane
from tests.cluster.processes import EndedError, is_running
from tests.cluster.waiting import wait_for

ROOT = Path(__file__).parents[2]

ENDLESS_TEST = """
import time
from pathlib import Path
from tests.cluster.control_plane import ControlPlane

def test_that_never_ends():
    with ControlPlane(Path({folder!r})):
        Path({folder!r}, "booted").touch()
        time.sleep(600)
"""


def test_a_killed_pytest_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "control-plane"
    folder.mkdir()
    test = tmp_path / "test_endless.py"
    test.write_text(ENDLESS_TEST.format(folder=str(folder)))
    output = tmp_path / "output"
    with (
        output.open("wb") as file,
        subprocess.Popen(
            [sys.executable, "-m", "pytest", "-c", "pyproject.toml", test],
            cwd=ROOT,
            stdout=file,
            stderr=file,
        ) as child,
    ):
        try:
            booted = folder / "booted"
            wait_for(lambda: booted.exists() or child.poll() is not None, "a boot", seconds=60)
            assert child.poll() is None, output.read_text()
        finally:
            child.kill()

    logs = [folder / "etcd.log", folder / "kube-apiserver.log"]
    wait_for(lambda: not any(map(is_running, logs)), "their end")


def test_a_failed_boot_shows_why_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(EndedError, match=r"(?s)kube-apiserver ended .*unknown flag: --nonsense"),
        ControlPlane(tmp_path, flags=["--nonsense"]),
    ):
        pytest.fail("it booted")
    assert not is_running(tmp_path / "etcd.log")
    assert not (tmp_path / "etcd").exists()
