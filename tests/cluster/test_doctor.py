"""``doctor`` on real servers: do they store modes, what may the caller do, how is it told."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubectl_lbipmode.doctor.diagnosis import CHECKS
from tests.cluster import services
from tests.cluster.accounts import create_account, rule
from tests.cluster.control_plane import ControlPlane
from tests.cluster.diagnoses import Found, diagnose
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.objects import created
from tests.cluster.plugin import run, run_json
from tests.cluster.policies import installed
from tests.cluster.waiting import wait_for

IP = "203.0.113.10"


def create_service(
    control_plane: ControlPlane, namespace: str, name: str = "web", ip_mode: str | None = None
) -> None:
    client = control_plane.client
    client.post(services.path(namespace), services.load_balancer(name))
    entry = {"ip": IP} | ({"ipMode": ip_mode} if ip_mode else {})
    client.patch(services.path(namespace, name, "status"), services.with_addresses(entry))


# Does the server store modes?


def test_a_dry_run_shows_that_modes_are_stored(control_plane: ControlPlane, namespace: str) -> None:
    create_service(control_plane, namespace)
    before = control_plane.client.get(services.path(namespace, "web"))

    found = diagnose(control_plane.kubeconfig)["server"]

    assert found.status == "ok"
    assert re.search(
        rf"\(v1\.36\.\d+\) stores `ipMode`: .* dry run on {namespace}/web$", found.message
    )
    assert control_plane.client.get(services.path(namespace, "web")) == before


def test_a_policy_that_wants_another_mode_does_not_mislead(
    control_plane: ControlPlane, namespace: str
) -> None:
    client = control_plane.client
    client.post(services.path(namespace), services.load_balancer("web", ip_mode="VIP"))
    client.patch(services.path(namespace, "web", "status"), services.with_addresses({"ip": IP}))

    with installed(control_plane, namespace):
        found = diagnose(control_plane.kubeconfig)["server"]

    assert (found.status, found.hint) == ("ok", None)
    assert "shown by a dry run" in found.message


def test_a_dry_run_that_is_refused_proves_nothing(
    control_plane: ControlPlane, namespace: str
) -> None:
    create_service(control_plane, namespace)
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"]}
    constraints = {
        "namespaceSelector": selector,
        "resourceRules": [{**rule, "resources": ["services/status"]}],
    }
    base = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": namespace}}
    policy = {
        **base,
        "kind": "ValidatingAdmissionPolicy",
        "spec": {"matchConstraints": constraints, "validations": [{"expression": "false"}]},
    }
    binding = {
        **base,
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": namespace, "validationActions": ["Deny"]},
    }

    def server() -> Found:
        return diagnose(control_plane.kubeconfig)["server"]

    with created(control_plane.client, policy, binding):
        wait_for(lambda: "shown" not in server().message, "the policy to act")
        found = server()

    assert found.status == "ok"
    assert "stores `ipMode` by its version; it could not be tried: " in found.message
    assert f"ValidatingAdmissionPolicy '{namespace}'" in found.message


def test_without_a_service_the_version_counts(control_plane: ControlPlane) -> None:
    found = diagnose(control_plane.kubeconfig)["server"]

    assert found.status == "ok"
    assert found.message.endswith("by its version; no Service with an ip is there to try it on")


def test_an_old_server_is_shown_to_store_modes(control_plane_1_31: ControlPlane) -> None:
    kubeconfig = control_plane_1_31.kubeconfig
    assert "unless its feature gate" in diagnose(kubeconfig)["server"].message

    with temporary_namespace(control_plane_1_31.client) as namespace:
        create_service(control_plane_1_31, namespace)
        found = diagnose(kubeconfig)["server"]

    assert found.status == "ok"
    assert "(v1.31.14) stores `ipMode`: shown by a dry run" in found.message


def test_a_server_with_its_gate_off_fails(control_plane_without_ipmode: ControlPlane) -> None:
    with temporary_namespace(control_plane_without_ipmode.client) as namespace:
        create_service(control_plane_without_ipmode, namespace, ip_mode="Proxy")
        result = run(control_plane_without_ipmode.kubeconfig, "doctor")

    assert result.exit_code == 1
    first, hint, *_ = result.stdout.splitlines()
    assert first.startswith("fail     server: the API server (v1.31.14) drops `ipMode`: a dry run")
    assert hint.startswith("         hint: switch `LoadBalancerIPMode` on, in kube-apiserver")
    assert 'linode-loadbalancer-hostname-only-ingress: "true"`' in hint
    assert "external-dns" in hint


# What may the caller do?


def test_an_administrator_may_do_all_of_it(control_plane: ControlPlane) -> None:
    found = diagnose(control_plane.kubeconfig)

    rights = {name: check.message for name, check in found.items() if name.startswith("right-")}
    assert rights == {
        "right-to-look": "you may run `status` and `explain` in the whole cluster",
        "right-to-set": "you may run `sync` in the whole cluster",
        "right-to-watch": "you may run `sync --watch` in the whole cluster",
        "right-to-install": "you may apply what `policy` prints",
    }


def test_who_may_do_nothing_is_told_what_is_missing(
    control_plane: ControlPlane, namespace: str
) -> None:
    account = create_account(control_plane, namespace, [])

    found = diagnose(account.kubeconfig)

    assert set(found) == set(CHECKS)
    assert found["right-to-look"].status == found["right-to-set"].status == "fail"
    assert found["right-to-look"].message == (
        "to run `status` and `explain` in the whole cluster, you lack "
        '"get" on `services`, "list" on `services`'
    )
    assert "doctor -n NAMESPACE" in (found["right-to-look"].hint or "")
    assert found["right-to-watch"].status == found["right-to-install"].status == "warn"
    assert '"create" on `mutatingadmissionpolicies.admissionregistration.k8s.io`' in (
        found["right-to-install"].message
    )
    unseen = {name: check for name, check in found.items() if check.status == "unknown"}
    for name, resource in {
        "data-plane": "daemonsets.apps",
        "cloud": "nodes",
        "controller": "services",
        "announced": "services",
        "shared": "services",
        "hostname-only": "services",
        "leftovers": "deployments.apps",
    }.items():
        assert unseen[name].message == (
            f'cannot be seen: the role must allow "list" on `{resource}` in the whole cluster'
        )
    assert "cannot be seen: " in unseen["keeping"].message
    assert "mutatingadmissionpolicies" in unseen["keeping"].message
    # Its version may be read by all.
    assert found["server"].status == "ok"
    assert 'it could not be tried: the role must allow "list"' in found["server"].message


def test_who_may_look_and_not_set(control_plane: ControlPlane, namespace: str) -> None:
    create_service(control_plane, namespace)
    rules = [rule("", "services", "get", "list")]
    account = create_account(control_plane, namespace, rules, cluster_wide=True)

    found = diagnose(account.kubeconfig)

    assert found["right-to-look"].status == "ok"
    assert found["right-to-set"] == (
        "fail",
        'to run `sync` in the whole cluster, you lack "patch" on `services/status`',
        "add the rights to a Role or ClusterRole that is bound to you; "
        "for one namespace alone, see `doctor -n NAMESPACE`",
    )
    assert '"watch" on `services`, "patch"' in found["right-to-watch"].message
    assert "`services/status` in namespace" in found["server"].message
    assert found["hostname-only"].status == "ok"


def test_rights_in_one_namespace(control_plane: ControlPlane, namespace: str) -> None:
    create_service(control_plane, namespace)
    rules = [
        rule("", "services", "get", "list", "watch"),
        rule("", "services/status", "patch"),
    ]
    account = create_account(control_plane, namespace, rules)

    everywhere = diagnose(account.kubeconfig)
    found = diagnose(account.kubeconfig, "-n", namespace)

    assert everywhere["right-to-set"].status == "fail"
    assert found["right-to-set"].message == f'you may run `sync` in namespace "{namespace}"'
    assert found["right-to-watch"].status == "ok"
    assert f"shown by a dry run on {namespace}/web" in found["server"].message


def test_as_another(control_plane: ControlPlane, namespace: str) -> None:
    account = create_account(control_plane, namespace, [])
    user = f"--as=system:serviceaccount:{namespace}:{account.name}"

    assert diagnose(control_plane.kubeconfig, user)["right-to-set"].status == "fail"


# How is it told?


def test_what_needs_attention_comes_first(control_plane: ControlPlane, namespace: str) -> None:
    account = create_account(control_plane, namespace, [])

    result = run(account.kubeconfig, "doctor")

    statuses = [line.split()[0] for line in result.stdout.splitlines() if "  hint: " not in line]
    assert statuses == sorted(statuses, key=["fail", "warn", "unknown", "ok"].index)
    assert len(statuses) == len(CHECKS)
    assert result.stderr == f"{len(CHECKS)} checks: 2 fail, 2 warn, 8 unknown, 2 ok\n"
    assert result.exit_code == 1


def test_the_data(control_plane: ControlPlane) -> None:
    data = run_json(control_plane.kubeconfig, "doctor")

    assert {check["name"] for check in data} == set(CHECKS)
    assert set(data[0]) == {"name", "status", "message", "hint"}
    assert (
        "- name: server\n  status: ok\n"
        in run(control_plane.kubeconfig, "doctor", "-o", "yaml").stdout
    )


@pytest.mark.parametrize("is_terminal", [True, False])
def test_colours_are_for_a_terminal(control_plane: ControlPlane, *, is_terminal: bool) -> None:
    script = "from kubectl_lbipmode.cli import main; main()"
    command = [sys.executable, "-c", script, "doctor", f"--kubeconfig={control_plane.kubeconfig}"]
    leader, follower = pty.openpty()
    try:
        if is_terminal:
            subprocess.run(command, stdout=follower, check=True)
            printed = os.read(leader, 65536).decode()
        else:
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    finally:
        os.close(leader)
        os.close(follower)

    assert ("\x1b[32mok       \x1b[0m"[:9] in printed) == is_terminal
    assert ("\x1b[" in printed) == is_terminal


def test_no_server_is_an_error(control_plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = control_plane.write_kubeconfig(tmp_path / "kubeconfig", token="none")  # noqa: S106 - it is none

    refused = run(kubeconfig, "doctor")
    missing = run(tmp_path / "missing", "doctor")

    assert (refused.exit_code, refused.stdout) == (3, "")
    assert "does not accept the credentials (401)" in refused.stderr
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert "there is no kubeconfig" in missing.stderr
