"""The plugin as kubectl runs it, and as kubectl asks it for completions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.programs import environment, link_programs, service

pytestmark = pytest.mark.external


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    return environment(tmp_path, link_programs(tmp_path / "bin", kubectl="kubectl"))


def kubectl(
    env: dict[str, str], *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    command = ["kubectl", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=env, check=False
    )


def test_kubectl_finds_the_plugin(env: dict[str, str]) -> None:
    assert "/kubectl-lbipmode" in kubectl(env, "plugin", "list").stdout


def test_kubectl_hands_over_streams_and_status(env: dict[str, str]) -> None:
    done = kubectl(env, "lbipmode", "annotate", "-f", "-", stdin=service())
    assert (done.returncode, done.stdout) == (0, service(override="Proxy"))
    assert "1 service: 1 annotated" in done.stderr
    assert kubectl(env, "lbipmode", "annotate", "--check", stdin=service()).returncode == 1
    assert kubectl(env, "lbipmode", "annotate").returncode == 2


@pytest.mark.parametrize("command", [[], ["annotate"], ["explain"]])
def test_usage_lines_say_what_to_type(command: list[str], env: dict[str, str]) -> None:
    done = kubectl(env, "lbipmode", *command, "--help")
    assert done.stdout.startswith(" ".join(["Usage: kubectl lbipmode", *command]))


FILES, NO_FILES = ":0", ":4"
COMPLETED = [
    # what was typed, some of what is offered, and whether the shell may add files
    ("annotate --mode,", ["Proxy", "VIP", "auto"], NO_FILES),
    ("annotate --mode,P", ["Proxy"], NO_FILES),
    ("annotate --check,-o,", ["json", "yaml"], NO_FILES),
    ("ann", ["annotate\tSet the ip-mode override in manifests."], NO_FILES),
    ("annotate --write", ["--write-vip\tWrite VIP too, which is the default anyway."], NO_FILES),
    ("annotate --re", [
        "--recursive\tDescend into the folders of -f.",
        "--remove\tTake the override away instead.",
    ], NO_FILES),
    ("annotate -f,", [], FILES),
    ("annotate -f,we", [], FILES),
    ("annotate ", [], FILES),
    ("completion ", ["bash", "fish", "zsh"], NO_FILES),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "offered", "directive"), COMPLETED)
def test_kubectl_completes(
    typed: str, offered: list[str], directive: str, env: dict[str, str]
) -> None:
    done = kubectl(env, "__complete", "lbipmode", *typed.replace(" ", ",", 1).split(","))
    *candidates, last = done.stdout.splitlines()
    assert sorted(candidates) == offered
    assert last == directive


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell: str, env: dict[str, str]) -> None:
    done = kubectl(env, "lbipmode", "completion", shell)
    assert done.returncode == 0
    assert "_KUBECTL_LBIPMODE_COMPLETE" in done.stdout
    if shell == "bash":
        checked = subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False)
        assert checked.returncode == 0
