"""``status`` and ``explain NAME`` on live Services."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.plugin import rows, run, run_json
from tests.cluster.waiting import wait_for

IP, IPV6 = "203.0.113.10", "2001:db8::10"
HOST = "203-0-113-10.ip.linodeusercontent.com"


@pytest.fixture
def kubeconfig(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Path:
    """Give a kubeconfig whose current namespace is that of the test."""
    return control_plane.write_kubeconfig(tmp_path / "kubeconfig", namespace=namespace)


def create(
    control_plane: ControlPlane, namespace: str, service: Object, *ingress: Object
) -> Object:
    client = control_plane.client
    created = client.post(services.path(namespace), service)
    if not ingress:
        return created
    path = services.path(namespace, service["metadata"]["name"], "status")
    return client.patch(path, services.with_addresses(*ingress))


def test_what_drifts_comes_first(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    proxied = {"default_proxy_protocol": "v2"}
    create(control_plane, namespace, services.load_balancer("a-pending", **proxied))
    create(control_plane, namespace, services.load_balancer("b-in-sync"), {"ip": IP})
    create(
        control_plane, namespace, services.load_balancer("c-host", **proxied), {"hostname": HOST}
    )
    drifting = services.load_balancer("d-drift", **proxied)
    create(control_plane, namespace, drifting, {"ip": IP, "hostname": HOST}, {"ip": IPV6})

    result = run(kubeconfig, "status")

    assert rows(result.stdout) == [
        [namespace, "d-drift", IP, "VIP", "Proxy", "Drift"],
        [namespace, "d-drift", IPV6, "VIP", "Proxy", "Drift"],
        [namespace, "a-pending", "<pending>", "<none>", "Proxy", "Pending"],
        [namespace, "b-in-sync", IP, "VIP", "VIP", "InSync"],
        [namespace, "c-host", HOST, "<none>", "Proxy", "NotApplicable"],
    ]
    assert result.stdout.split()[:6] == ["NAMESPACE", "NAME", "ADDRESS", "MODE", "WANTED", "REASON"]
    assert "4 services: 1 Drift" in result.stderr
    assert result.exit_code == 0
    assert run(kubeconfig, "status", "--exit-code").exit_code == 1
    assert run(kubeconfig, "status", "b-in-sync", "--exit-code").exit_code == 0


def test_wide_says_who_wrote_the_status(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    create(control_plane, namespace, services.load_balancer("web"))
    path = services.path(namespace, "web", "status")
    patch = services.with_addresses({"ip": IP})
    control_plane.client.patch(path, patch, fieldManager="cloud")

    table = run(kubeconfig, "status", "-o", "wide").stdout

    [row] = rows(table)
    assert row[6:11] == ["NoPortsProxyProtocol", "80/TCP", "Cluster", "<none>", "cloud"]
    assert re.fullmatch(r"\d+s", row[11])


def test_the_data_has_all_of_it(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    web = services.load_balancer("web", proxy_protocol="v1")
    created = create(control_plane, namespace, web, {"ip": IP, "hostname": HOST})

    [data] = run_json(kubeconfig, "status", "web")

    assert [finding["code"] for finding in data.pop("findings")] == ["deprecated-annotation"]
    assert data == {
        "namespace": namespace,
        "name": "web",
        "uid": created["metadata"]["uid"],
        "mode": "Proxy",
        "reason": "AllPortsProxyProtocol",
        "state": "Drift",
        "override": None,
        "ports": [
            {
                "port": 80,
                "protocol": "TCP",
                "proxyProtocol": "v1",
                "from": "service.beta.kubernetes.io/linode-loadbalancer-proxy-protocol",
            }
        ],
        "addresses": [{"ip": IP, "hostname": HOST, "mode": "VIP", "reason": "Drift"}],
    }
    assert "mode: Proxy" in run(kubeconfig, "status", "-o", "yaml").stdout
    assert run(kubeconfig, "status", "-o", "name").stdout == "service/web\n"
    assert run(kubeconfig, "status", "service/web", "-o", "name").stdout == "service/web\n"


def test_only_load_balancers_are_listed_and_others_are_told_by_name(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    inner: Object = {"metadata": {"name": "inner"}, "spec": {"ports": [{"port": 80}]}}
    create(control_plane, namespace, inner)

    result = run(kubeconfig, "status")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f'no Services of type LoadBalancer found in namespace "{namespace}"' in result.stderr
    [row] = rows(run(kubeconfig, "status", "inner").stdout)
    assert row == [namespace, "inner", "<none>", "<none>", "<none>", "NotLoadBalancer"]


def test_namespaces_and_labels_narrow_it(control_plane: ControlPlane, namespace: str) -> None:
    web = services.load_balancer("web")
    web["metadata"]["labels"] = {"app": "web"}
    create(control_plane, namespace, web)
    create(control_plane, namespace, services.load_balancer("other"))
    admin = control_plane.kubeconfig

    def names(*arguments: str) -> list[str]:
        return [data["name"] for data in run_json(admin, "status", *arguments)]

    assert names() == []
    assert names("-n", namespace) == ["other", "web"]
    assert names("-A") == ["other", "web"]
    assert names("-A", "-l", "app in (web, api)") == ["web"]
    assert names("-n", namespace, "-l", "!app") == ["other"]


def test_many_are_listed_in_pages(control_plane: ControlPlane, namespace: str) -> None:
    for number in range(510):
        create(control_plane, namespace, services.load_balancer(f"web-{number:03}"))
    listed = run_json(control_plane.kubeconfig, "status", "-n", namespace)
    assert [data["name"] for data in listed] == [f"web-{number:03}" for number in range(510)]


def test_someone_else_is_asked_for_in_headers(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    create(control_plane, namespace, services.load_balancer("web"))

    refused = run(kubeconfig, "status", "--as", "jane", "--as-group", "developers")
    assert refused.exit_code == 3
    assert f'the role must allow "list" on `services` in namespace "{namespace}"' in refused.stderr
    groups = ["--as-group", "developers", "--as-group", "system:masters"]
    assert run_json(kubeconfig, "status", "--as", "jane", *groups)


def test_explain_tells_where_the_mode_comes_from_and_what_the_addresses_make_of_it(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    web = services.load_balancer("web", default_proxy_protocol="v2")
    create(control_plane, namespace, web, {"ip": IP, "ipMode": "Proxy"})

    result = run(kubeconfig, "explain", "web")

    assert f"{namespace}/web (live)" in result.stdout
    assert "all ports use the PROXY protocol (AllPortsProxyProtocol)" in result.stdout
    assert f"{IP}  Proxy   it is as decided (InSync)" in result.stdout
    assert [data["name"] for data in run_json(kubeconfig, "explain", "-A")] == ["web"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], 'there is no Service "nope"'),
        (["--context", "nope"], 'the kubeconfig has no context "nope"'),
        (["--user", "nope"], 'the kubeconfig has no user "nope"'),
        (["--cluster", "nope"], 'the kubeconfig has no cluster "nope"'),
        (["--kubeconfig", "/does/not/exist"], "there is no kubeconfig at"),
    ],
)
def test_what_is_not_there_is_one_line_and_a_hint(
    kubeconfig: Path, arguments: list[str], message: str
) -> None:
    result = run(kubeconfig, "status", *arguments)
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"error: {message}")
    assert hint.startswith("hint: ")
    assert (result.exit_code, result.stdout) == (3, "")


def test_a_server_that_does_not_answer(kubeconfig: Path) -> None:
    config = json.loads(kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    kubeconfig.write_text(json.dumps(config))

    result = run(kubeconfig, "status")
    assert result.stderr.startswith(
        'error: the API server "https://127.0.0.1:1" cannot be reached\nhint: '
    )
    assert result.exit_code == 3


def test_a_server_that_is_not_trusted(kubeconfig: Path) -> None:
    config = json.loads(kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]["server"]
    del config["clusters"][0]["cluster"]["certificate-authority"]
    kubeconfig.write_text(json.dumps(config))

    result = run(kubeconfig, "status")
    assert f'the certificate of the API server "{server}" is not trusted' in (result.stderr)
    assert result.exit_code == 3


def test_a_token_that_is_refused_is_not_shown(control_plane: ControlPlane, tmp_path: Path) -> None:
    forged = "made.up.token"
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", token=forged)
    result = run(kubeconfig, "status")
    assert "error: the API server does not accept the credentials (401)" in result.stderr
    assert forged not in result.output
    assert result.exit_code == 3


def test_a_malformed_kubeconfig_is_not_shown(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
        "clusters: [{name: c}]\nusers: [{user: {token: secret}}]\n"
    )
    result = run(kubeconfig, "status")
    assert result.stderr.startswith(f'error: the kubeconfig "{kubeconfig}" cannot be read\nhint: ')
    assert "secret" not in result.output
    assert result.exit_code == 3


def test_the_words_of_a_credential_plugin_that_fails_are_passed_on(kubeconfig: Path) -> None:
    config = json.loads(kubeconfig.read_text())
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "interactiveMode": "Never",
        "command": "sh",
        "args": ["-c", "echo please log in >&2; exit 3"],
    }
    config["users"][0]["user"] = {"exec": plugin}
    kubeconfig.write_text(json.dumps(config))

    result = run(kubeconfig, "status")
    assert "the credential plugin of the kubeconfig failed" in result.stderr
    assert "please log in" in result.stderr
    assert result.exit_code == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["web", "-A"],
        ["web", "-l", "a=b"],
        ["-l", "(a"],
        ["--request-timeout", "soon"],
        ["--as-group", "x"],
        ["web", "--watch"],
    ],
)
def test_wrong_usage(kubeconfig: Path, arguments: list[str]) -> None:
    assert run(kubeconfig, "status", *arguments).exit_code == 2


def test_list_alone_is_enough(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, services.load_balancer("web"))
    account = create_account(control_plane, namespace, [rule("", "services", "list")])

    assert run_json(account.kubeconfig, "status")
    result = run(account.kubeconfig, "status", "web")
    assert f'the role must allow "get" on `services` in namespace "{namespace}"' in result.stderr


def test_watch_goes_on_with_a_row_for_each_change(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    web = services.load_balancer("web", default_proxy_protocol="v2")
    create(control_plane, namespace, web, {"ip": IP})
    shown = tmp_path / "shown"
    arguments = ["status", f"--kubeconfig={kubeconfig}", "--watch"]
    program = [sys.executable, "-c", "from kubectl_lbipmode.cli import main; main()"]
    with (
        shown.open("wb") as output,
        subprocess.Popen(
            [*program, *arguments], stdout=output, env={"PYTHONUNBUFFERED": "1"}
        ) as process,
    ):
        try:
            wait_for(lambda: len(shown.read_text().splitlines()) == 2, "the table")
            path = services.path(namespace, "web", "status")
            proxied = services.with_addresses({"ip": IP, "ipMode": "Proxy"})
            control_plane.client.patch(path, proxied)
            wait_for(lambda: len(shown.read_text().splitlines()) == 3, "the change")
        finally:
            process.terminate()
    last = shown.read_text().splitlines()[-1]
    assert last.split() == [namespace, "web", IP, "Proxy", "Proxy", "InSync"]
