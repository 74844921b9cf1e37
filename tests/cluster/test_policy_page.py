"""The page about the policy: its commands, one after the other, on a real API server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import policies, services
from tests.cluster.control_plane import ControlPlane
from tests.programs import environment, link_programs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/policy.md"
_SESSION = re.compile(r"^```sh\n(\$ .+?)^```$", re.M | re.S)


@pytest.fixture
def booted(tmp_path: Path) -> ControlPlane:
    """Give a control plane not yet started: the page's policy is for all of its namespaces."""
    folder = tmp_path / "control-plane"
    folder.mkdir()
    return ControlPlane(folder)


def test_the_commands_print_what_the_page_says(booted: ControlPlane, tmp_path: Path) -> None:
    programs = link_programs(tmp_path / "bin", kubectl="kubectl")
    (programs / "kubectl-lbipmode").symlink_to(Path(sys.executable).with_name("kubectl-lbipmode"))
    with booted as control_plane:
        client = control_plane.client
        client.post("/api/v1/namespaces", {"metadata": {"name": "gateway"}})
        web = services.load_balancer("traefik", default_proxy_protocol="v2")
        client.post(services.path("gateway"), web)
        status = services.path("gateway", "traefik", "status")
        client.patch(status, services.with_addresses({"ip": "192.0.2.10"}))
        env = environment(tmp_path, programs) | {"KUBECONFIG": str(control_plane.kubeconfig)}
        for block in _SESSION.findall(PAGE.read_text(encoding="utf-8")):
            command, printed = block.removeprefix("$ ").split("\n", 1)
            done = subprocess.run(
                ["bash", "-c", command],
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.stdout == printed, command
            if command.endswith("policy | kubectl apply -f -"):
                policies.wait_until_active(client, "default")


def test_the_table_of_options_names_options() -> None:
    from kubectl_lbipmode.cli.policy import command

    known = {option for parameter in command.params for option in parameter.opts}
    section = PAGE.read_text(encoding="utf-8").split("### Options\n")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| (`.+?) \|", section, re.M))
    assert {name.strip("`") for names in named for name in names.split(", ")} <= known
