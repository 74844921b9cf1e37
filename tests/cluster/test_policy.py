"""The policy as an operator meets it: applied, checked, narrowed, removed, on a real API server."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.rules import decide
from tests.cluster import policies, services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import CONTENT_TYPES, ApiError, Object, Patch
from tests.cluster.control_plane import ControlPlane
from tests.cluster.plugin import run
from tests.cluster.policies import installed, options
from tests.cluster.waiting import wait_for
from tests.tools.install import locate

IP, IPV6, OTHER_IP = "203.0.113.10", "2001:db8::10", "203.0.113.11"
HOST = "203-0-113-10.ip.linodeusercontent.com"
POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"


@pytest.fixture
def policy(control_plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Install the policy for the test's namespace."""
    with installed(control_plane, namespace):
        yield


def create(control_plane: ControlPlane, namespace: str, name: str = "web", **words: str) -> Object:
    """Create a Service with these annotations of Linode."""
    path, service = services.path(namespace), services.load_balancer(name, **words)
    return control_plane.client.post(path, service)


def write(
    control_plane: ControlPlane, namespace: str, *entries: Object, name: str = "web"
) -> list[str | None]:
    """Write the addresses as a cloud controller does, and return the modes that came of it."""
    path = services.path(namespace, name, "status")
    body = services.with_addresses(*(entries or ({"ip": IP},)))
    return services.modes(control_plane.client.patch(path, body, "strategic"))


def read_modes(control_plane: ControlPlane, namespace: str, name: str = "web") -> list[str | None]:
    """Return the modes that are stored."""
    return services.modes(control_plane.client.get(services.path(namespace, name)))


@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize("kind", CONTENT_TYPES)
@pytest.mark.parametrize("dry_run", ["", "All"])
def test_every_kind_of_patch(
    control_plane: ControlPlane, namespace: str, kind: Patch, dry_run: str
) -> None:
    create(control_plane, namespace, ip_mode="Proxy")
    path = services.path(namespace, "web", "status")
    entries = [{"ip": IP, "hostname": HOST}, {"hostname": HOST}, {"ip": IPV6, "ipMode": "VIP"}]
    body: Any = services.with_addresses(*entries)
    query = {"dryRun": dry_run} if dry_run else {}
    if kind == "json":
        body = [{"op": "add", "path": "/status/loadBalancer", "value": {"ingress": entries}}]
    elif kind == "apply":
        body |= {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
        query["fieldManager"] = "cloud"

    reply = control_plane.client.patch(path, body, kind, **query)

    assert services.modes(reply) == ["Proxy", None, "Proxy"]
    stored = [] if dry_run else ["Proxy", None, "Proxy"]
    assert read_modes(control_plane, namespace) == stored


@pytest.mark.usefixtures("policy")
def test_put_whatever_it_says_of_the_spec(control_plane: ControlPlane, namespace: str) -> None:
    service = create(control_plane, namespace, default_proxy_protocol="v2")
    path = services.path(namespace, "web", "status")
    metadata = {"name": "web", "annotations": service["metadata"]["annotations"]}
    status = services.with_addresses({"ip": IP})["status"]
    specs = [
        service["spec"],
        # What the server keeps is the old one, and the policy has to go by that.
        {},
        {**service["spec"], "type": "ClusterIP"},
        {**service["spec"], "loadBalancerClass": "example.com/lb"},
        {**service["spec"], "ports": [{"port": 53, "protocol": "UDP"}]},
    ]
    for spec in specs:
        body = {"metadata": metadata, "spec": spec, "status": status}
        assert services.modes(control_plane.client.put(path, body)) == ["Proxy"]
    assert control_plane.client.get(path)["spec"] == service["spec"]


@pytest.mark.usefixtures("policy")
def test_an_annotation_that_comes_with_the_status(
    control_plane: ControlPlane, namespace: str
) -> None:
    create(control_plane, namespace)
    path = services.path(namespace, "web", "status")
    for mode in ("Proxy", "VIP"):
        body = services.with_addresses({"ip": IP})
        body["metadata"] = {"annotations": {IP_MODE: mode}}
        assert services.modes(control_plane.client.patch(path, body)) == [mode]


@pytest.mark.usefixtures("policy")
def test_kubectl_edit(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    create(control_plane, namespace, ip_mode="Proxy")
    write(control_plane, namespace)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!/bin/sh\nsed -i 's/ipMode: Proxy/ipMode: VIP/; s/{IP}/{OTHER_IP}/' \"$1\"\n"
    )
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)

    edited = subprocess.run(
        [locate("kubectl"), "edit", "service/web", "--subresource=status", "-n", namespace],
        env={
            "KUBECONFIG": str(control_plane.kubeconfig),
            "HOME": str(tmp_path),
            "EDITOR": str(editor),
            "PATH": "/usr/bin:/bin",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert edited.stdout.strip() == "service/web edited", edited.stderr
    entry = {"ip": OTHER_IP, "ipMode": "Proxy"}
    path = services.path(namespace, "web")
    assert services.ingress(control_plane.client.get(path)) == [entry]


@pytest.mark.usefixtures("policy")
def test_a_mode_that_is_none_is_still_refused(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, ip_mode="Proxy")
    for entry, reason in (
        ({"ip": IP, "ipMode": "Router"}, "Unsupported value"),
        ({"hostname": HOST, "ipMode": "VIP"}, "Forbidden"),
    ):
        with pytest.raises(ApiError, match=reason):
            write(control_plane, namespace, entry)


@pytest.mark.usefixtures("policy")
def test_what_another_controller_chose_stays(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, default_proxy_protocol="none")
    assert write(control_plane, namespace, {"ip": IP, "ipMode": "Proxy"}) == ["Proxy"]


@pytest.mark.usefixtures("policy")
def test_without_a_controller_it_waits_for_sync(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    create(control_plane, namespace)
    write(control_plane, namespace)
    kubeconfig = control_plane.write_kubeconfig(
        tmp_path / "kubeconfig", token=_token(control_plane, namespace), namespace=namespace
    )
    annotated = control_plane.kubectl(
        "annotate", "service/web", f"{IP_MODE}=Proxy", "-n", namespace
    )
    assert annotated.returncode == 0
    assert read_modes(control_plane, namespace) == ["VIP"]

    synced = run(kubeconfig, "sync", "web")
    assert synced.exit_code == 0
    assert "the admission policy keeps it" in synced.stderr
    assert read_modes(control_plane, namespace) == ["Proxy"]
    admin = run(control_plane.kubeconfig, "status", "web", "-n", namespace)
    assert "sets the mode in every write of a status" in admin.stderr
    # What undid it without the policy.
    assert write(control_plane, namespace) == ["Proxy"]


def _token(control_plane: ControlPlane, namespace: str) -> str:
    """Return the token of one who may do no more than `sync` needs."""
    rules = [rule("", "services", "get", "list"), rule("", "services/status", "patch")]
    return create_account(control_plane, namespace, rules).token


def test_override_only(control_plane: ControlPlane, namespace: str) -> None:
    with installed(control_plane, namespace, "--override-only"):
        create(control_plane, namespace, default_proxy_protocol="v2")
        assert write(control_plane, namespace) == ["VIP"]
        create(control_plane, namespace, "declared", ip_mode="Proxy")
        assert write(control_plane, namespace, name="declared") == ["Proxy"]


def test_only_services_with_a_label(control_plane: ControlPlane, namespace: str) -> None:
    policies.apply(control_plane, namespace, "-l", "keep=yes,tier notin (test)")
    try:
        for labels, name in (({"keep": "yes"}, "in"), ({"keep": "yes", "tier": "test"}, "out")):
            service = services.load_balancer(name, ip_mode="Proxy")
            service["metadata"]["labels"] = labels
            control_plane.client.post(services.path(namespace), service)
        result = run(
            control_plane.kubeconfig,
            *("policy", *options(namespace), "-l", "keep=yes,tier notin (test)", "--check"),
        )
        assert (result.exit_code, "unproven: there is no Service" in result.stdout) == (0, True)
        write(control_plane, namespace, name="in")
        result = run(
            control_plane.kubeconfig,
            *("policy", *options(namespace), "-l", "keep=yes,tier notin (test)", "--check"),
        )
        assert f"ok: {namespace}/in: a dry run that asked for VIP gave Proxy" in result.stdout
        assert write(control_plane, namespace, name="in") == ["Proxy"]
        assert write(control_plane, namespace, name="out") == ["VIP"]
    finally:
        policies.remove(control_plane, namespace)


def test_removed_it_leaves_the_mode_until_the_next_write(
    control_plane: ControlPlane, namespace: str
) -> None:
    with installed(control_plane, namespace):
        create(control_plane, namespace, ip_mode="Proxy")
        assert write(control_plane, namespace) == ["Proxy"]
    policies.wait_until_inactive(control_plane.client, namespace)
    assert read_modes(control_plane, namespace) == ["Proxy"]
    assert write(control_plane, namespace) == ["VIP"]
    for path in (POLICIES, BINDINGS):
        assert control_plane.client.request("GET", f"{path}/{namespace}").code == 404


def check(control_plane: ControlPlane, namespace: str, *more: str) -> tuple[int, list[str]]:
    """Return the exit status of `policy --check`, and the states of its checks."""
    arguments = ("policy", *options(namespace), "--check", *more, "-o", "json")
    result = run(control_plane.kubeconfig, *arguments)
    return result.exit_code, [
        f"{found['name']} {found['state']}" for found in json.loads(result.stdout)
    ]


def test_check_tells_what_is_wrong_and_stores_nothing(
    control_plane: ControlPlane, namespace: str
) -> None:
    client = control_plane.client
    assert check(control_plane, namespace) == (1, ["present failed"])
    policies.apply(control_plane, namespace)
    try:
        present = ["present ok", "bound ok"]
        assert check(control_plane, namespace) == (0, [*present, "acts unproven"])
        create(control_plane, namespace, default_proxy_protocol="v2", port_80='{"x": 1}')
        write(control_plane, namespace)
        assert check(control_plane, namespace) == (0, [*present, "acts unproven"])
        create(control_plane, namespace, "sure", ip_mode="vip")
        write(control_plane, namespace, {"hostname": HOST}, {"ip": IP}, name="sure")
        before = client.get(services.path(namespace, "sure"))
        assert check(control_plane, namespace) == (0, [*present, "acts ok"])
        assert client.get(services.path(namespace, "sure")) == before

        assert check(control_plane, namespace, "--override-only") == (1, ["present failed"])
        client.patch(f"{POLICIES}/{namespace}", {"spec": {"failurePolicy": "Fail"}})
        assert check(control_plane, namespace) == (1, ["present failed"])
        assert check(control_plane, namespace, "--fail-closed") == (0, [*present, "acts ok"])
        client.delete(f"{BINDINGS}/{namespace}")
        state = check(control_plane, namespace, "--fail-closed")
        assert state == (1, ["present ok", "bound failed"])
    finally:
        policies.remove(control_plane, namespace)


def test_check_sees_that_the_server_does_not_act(tmp_path: Path) -> None:
    flags = ["--disable-admission-plugins=MutatingAdmissionPolicy"]
    with ControlPlane(tmp_path, flags=flags) as control_plane:
        policies.apply(control_plane, "default")
        create(control_plane, "default", ip_mode="Proxy")
        write(control_plane, "default")
        expected = (1, ["present ok", "bound ok", "acts failed"])
        assert check(control_plane, "default") == expected


def test_it_has_the_last_word(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, ip_mode="Proxy")
    create(control_plane, namespace, "witness", throttle="0")
    with installed(control_plane, namespace):
        for other in (f"a-{namespace}", f"z-{namespace}"):
            # One that wants the opposite, before and after ours by name.
            opponent = control_plane.client.get(f"{POLICIES}/{namespace}")
            opponent["metadata"] = {"name": other}
            opponent["spec"]["reinvocationPolicy"] = "Never"
            mode = "object.metadata.name == 'witness' ? 'Proxy' : 'VIP'"
            opponent["spec"]["variables"][-1]["expression"] = mode
            control_plane.client.post(POLICIES, opponent)
            binding = {"metadata": {"name": other}, "spec": {"policyName": other}}
            control_plane.client.post(BINDINGS, binding)
            try:
                wait_for(
                    lambda: write(control_plane, namespace, name="witness") == ["Proxy"],
                    "the opponent to act",
                )
                assert write(control_plane, namespace) == ["Proxy"]
            finally:
                control_plane.client.delete(f"{BINDINGS}/{other}")
                control_plane.client.delete(f"{POLICIES}/{other}")


def test_check_without_the_rights_for_a_proof(control_plane: ControlPlane, namespace: str) -> None:
    group = "admissionregistration.k8s.io"
    rules = [
        rule("", "services", "list"),
        rule("", "namespaces", "list"),
        rule(group, "mutatingadmissionpolicies", "get"),
        rule(group, "mutatingadmissionpolicybindings", "get"),
    ]
    with installed(control_plane, namespace):
        create(control_plane, namespace, ip_mode="Proxy")
        write(control_plane, namespace)
        account = create_account(control_plane, namespace, rules, cluster_wide=True)
        result = run(account.kubeconfig, "policy", *options(namespace), "--check")
    assert result.exit_code == 0
    assert 'unproven: it could not be tried: the role must allow "patch"' in result.stdout


def test_a_server_without_such_policies(control_plane_1_31: ControlPlane) -> None:
    checked = run(control_plane_1_31.kubeconfig, "policy", "--check")
    assert checked.exit_code == 3
    message = (
        "the API server (v1.31.14) has no MutatingAdmissionPolicy in "
        "`admissionregistration.k8s.io/v1`: Kubernetes has it from 1.36 on\n"
        "hint: use `policy --kyverno` where Kyverno runs, else `sync --watch`\n"
    )
    assert checked.stderr == f"error: {message}"

    printed = run(control_plane_1_31.kubeconfig, "policy")
    assert (printed.exit_code, printed.stderr) == (0, f"warning: {message}")
    assert "kind: MutatingAdmissionPolicyBinding" in printed.stdout
    assert run(control_plane_1_31.kubeconfig, "policy", "--kyverno").stderr == ""


def test_check_of_kyverno_where_there_is_none(control_plane: ControlPlane) -> None:
    result = run(control_plane.kubeconfig, "policy", "--kyverno", "--check")
    assert result.exit_code == 3
    assert (
        "error: the API server has no MutatingPolicy in `policies.kyverno.io/v1`" in result.stderr
    )


def test_validate_refuses_what_the_core_refuses_in_its_words(
    control_plane: ControlPlane, namespace: str
) -> None:
    client, path = control_plane.client, services.path(namespace)
    create(control_plane, namespace, "old", ip_mode="router")
    create(control_plane, namespace, "cluster-ip", ip_mode="router")
    client.patch(services.path(namespace, "cluster-ip"), {"spec": {"type": "ClusterIP"}})
    policies.apply(control_plane, namespace, "--validate")
    try:
        policies.wait_until_refused(client, namespace)
        for value in ("Router", "", "Proxy, VIP", 'a "quoted" \\ one', "é", "x" * 300):
            service = services.load_balancer("web", ip_mode=value)
            (finding, *_) = decide(Service.from_mapping(service)).findings
            with pytest.raises(ApiError) as refused:
                client.post(path, service)
            assert finding.message in refused.value.message
        with pytest.raises(ApiError, match="must be"):
            client.patch(services.path(namespace, "cluster-ip"), {"spec": {"type": "LoadBalancer"}})
        for value in ("Proxy", " vip\n"):
            client.post(path, services.load_balancer("web", ip_mode=value), dryRun="All")
        client.post(path, services.load_balancer("web"), dryRun="All")

        # One from before can be changed elsewhere, and no write of a status is in its way.
        old = services.path(namespace, "old")
        client.patch(old, {"metadata": {"finalizers": ["example.com/held"]}})
        assert write(control_plane, namespace, name="old") == ["VIP"]
        client.delete(old)
        client.patch(old, {"metadata": {"finalizers": None}})
        assert client.request("GET", old).code == 404
    finally:
        policies.remove(control_plane, namespace, "--validate")


def test_json_is_one_list_that_kubectl_takes(control_plane: ControlPlane, namespace: str) -> None:
    printed = run(control_plane.kubeconfig, "policy", *options(namespace), "-o", "json")
    applied = control_plane.kubectl("apply", "--dry-run=server", "-f", "-", stdin=printed.stdout)
    name = f"admissionregistration.k8s.io/{namespace}"
    assert applied.stdout.splitlines() == [
        f"mutatingadmissionpolicy.{name} created (server dry run)",
        f"mutatingadmissionpolicybinding.{name} created (server dry run)",
    ]
