"""The page about ``doctor``: what it shows is printed, on a cluster as it describes it."""

import re
import subprocess
import sys
from pathlib import Path

from tests.cluster import services
from tests.cluster.control_plane import ControlPlane
from tests.cluster.objects import config_map, created, daemon_set, node
from tests.programs import environment, link_programs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/doctor.md"
_SESSION = re.compile(r"^```sh\n\$ (?P<command>.+)\n(?P<printed>(?:.+\n)*)```$", re.MULTILINE)


def test_the_command_prints_what_the_page_says(tmp_path: Path) -> None:
    programs = link_programs(tmp_path / "bin", kubectl="kubectl")
    (programs / "kubectl-lbipmode").symlink_to(Path(sys.executable).with_name("kubectl-lbipmode"))
    (tmp_path / "control-plane").mkdir()
    mode = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nmode: "
    cluster = (
        node("lke1-2-3", "linode://1", "lke.linode.com/pool-id"),
        config_map("kube-proxy", config_conf=f"{mode}iptables\n"),
        daemon_set("kube-proxy", "linode/kube-proxy-amd64:v1.36.3", config_map="kube-proxy"),
    )
    sessions = list(_SESSION.finditer(PAGE.read_text(encoding="utf-8")))
    assert sessions

    with ControlPlane(tmp_path / "control-plane") as control_plane:
        client = control_plane.client
        client.post("/api/v1/namespaces", {"metadata": {"name": "gateway"}})
        web = services.load_balancer("traefik", default_proxy_protocol="v2")
        client.post(services.path("gateway"), web)
        status = services.path("gateway", "traefik", "status")
        client.patch(status, services.with_addresses({"ip": "192.0.2.10"}))
        env = environment(tmp_path, programs) | {"KUBECONFIG": str(control_plane.kubeconfig)}
        with created(client, *cluster):
            for session in sessions:
                done = subprocess.run(
                    ["bash", "-c", session["command"]],
                    env=env,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    check=False,
                )
                assert done.stdout == session["printed"], session["command"]
