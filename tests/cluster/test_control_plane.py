"""The control plane is what the other tests take it for."""

from contextlib import closing

import pytest

from tests.cluster import services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.recording import recorded
from tests.tools.programs import PROGRAMS

PROXY = {"ip": "203.0.113.10", "ipMode": "Proxy"}
VERSIONS = {program.name: program.version for program in PROGRAMS}


def test_it_is_ready_and_has_the_version_of_the_table(control_plane: ControlPlane) -> None:
    assert control_plane.client.request("GET", "/readyz").content == b"ok"
    version = control_plane.client.get("/version")["gitVersion"]
    assert version == f"v{VERSIONS['kube-apiserver']}"


@pytest.mark.parametrize("program", ["kubectl", "kubectl-1.36"])
def test_kubectl_is_the_administrator(control_plane: ControlPlane, program: str) -> None:
    run = control_plane.kubectl("auth", "can-i", "*", "*", program=program)
    assert (run.returncode, run.stdout.strip()) == (0, "yes"), run.stderr


def test_an_account_may_do_what_its_rules_say(control_plane: ControlPlane, namespace: str) -> None:
    rules = [rule("", "services", "list"), rule("", "services/status", "patch")]
    account = create_account(control_plane, namespace, rules)
    control_plane.client.post(services.path(namespace), services.load_balancer("web"))

    assert account.client.get(services.path(namespace))["items"]
    status = services.path(namespace, "web", "status")
    assert services.ingress(account.client.patch(status, services.with_addresses(PROXY)))
    with pytest.raises(ApiError, match="cannot get resource") as error:
        account.client.get(services.path(namespace, "web"))
    assert (error.value.code, error.value.reason) == (403, "Forbidden")
    with pytest.raises(ApiError, match="at the cluster scope"):
        account.client.get("/api/v1/services")


def test_a_cluster_role_holds_everywhere(control_plane: ControlPlane, namespace: str) -> None:
    rules = [rule("", "services", "list")]
    account = create_account(control_plane, namespace, rules, cluster_wide=True)
    assert account.client.get("/api/v1/services")["items"]


def test_a_kubeconfig_of_an_account_is_the_account(
    control_plane: ControlPlane, namespace: str
) -> None:
    account = create_account(control_plane, namespace, [], name="someone")
    whoami = ("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
    run = control_plane.kubectl(*whoami, kubeconfig=account.kubeconfig)
    assert run.stdout == f"system:serviceaccount:{namespace}:someone", run.stderr
    run = control_plane.kubectl("get", "services", kubeconfig=account.kubeconfig)
    assert f'cannot list resource "services" in API group "" in the namespace "{namespace}"' in (
        run.stderr
    )


def test_a_token_that_nobody_signed_is_refused(control_plane: ControlPlane) -> None:
    with closing(control_plane.connect("made.up.token")) as stranger:
        assert stranger.request("GET", "/api/v1/services").code == 401


def test_services_have_addresses_of_both_families(
    control_plane: ControlPlane, namespace: str
) -> None:
    service = services.load_balancer("web")
    service["spec"]["ipFamilyPolicy"] = "RequireDualStack"
    created = control_plane.client.post(services.path(namespace), service)
    assert [":" in ip for ip in created["spec"]["clusterIPs"]] == [False, True]


def test_no_service_outlives_its_namespace(control_plane: ControlPlane) -> None:
    admin = control_plane.client
    with temporary_namespace(admin) as name:
        service = services.load_balancer("web")
        service["metadata"]["finalizers"] = ["service.kubernetes.io/load-balancer-cleanup"]
        admin.post(services.path(name), service)
    with pytest.raises(ApiError, match="not found"):
        admin.get(f"/api/v1/namespaces/{name}")
    assert not admin.get(services.path(name))["items"]


def test_a_recording_has_every_version(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.client
    with recorded(admin, namespace) as recording:
        admin.post(services.path(namespace), services.load_balancer("web"))
        status = services.path(namespace, "web", "status")
        for last in range(50):
            admin.patch(status, services.with_addresses({"ip": f"203.0.113.{last}"}))
    seen = [services.ingress(service) for service in recording.of("web")]
    assert [[entry["ip"] for entry in entries] for entries in seen] == [
        [],
        *([f"203.0.113.{last}"] for last in range(50)),
    ]


def test_the_old_server_stores_the_mode(control_plane_1_31: ControlPlane) -> None:
    admin = control_plane_1_31.client
    assert admin.get("/version")["gitVersion"] == f"v{VERSIONS['kube-apiserver-1.31']}"
    with temporary_namespace(admin) as name:
        admin.post(services.path(name), services.load_balancer("web"))
        admin.patch(services.path(name, "web", "status"), services.with_addresses(PROXY))
        assert services.ingress(admin.get(services.path(name, "web"))) == [PROXY]


def test_without_its_gate_it_drops_the_mode(control_plane_without_ipmode: ControlPlane) -> None:
    admin = control_plane_without_ipmode.client
    with temporary_namespace(admin) as name:
        admin.post(services.path(name), services.load_balancer("web"))
        status = services.path(name, "web", "status")
        address = services.with_addresses({"ip": PROXY["ip"]})
        before = admin.patch(status, address)

        mode = {"op": "add", "path": "/status/loadBalancer/ingress/0/ipMode", "value": "Proxy"}
        reply = admin.request("PATCH", status, [mode], content_type="application/json-patch+json")
        assert (reply.code, reply.warnings) == (200, [])
        assert services.ingress(reply.body) == [{"ip": PROXY["ip"]}]
        assert admin.get(services.path(name, "web")) == before


def test_the_same_data_is_there_after_a_stop(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.client
    service = admin.post(services.path(namespace), services.load_balancer("web"))
    version = service["metadata"]["resourceVersion"]
    with closing(admin.watch(services.path(namespace), version)) as watch:
        admin.patch(services.path(namespace, "web"), {"metadata": {"labels": {"a": "b"}}})
        assert next(watch)["type"] == "MODIFIED"
        control_plane.stop_apiserver()
        try:
            assert list(watch) == []
            with pytest.raises(ConnectionRefusedError):
                admin.get("/version")
        finally:
            control_plane.start_apiserver()
    assert admin.get(services.path(namespace, "web"))["metadata"]["labels"] == {"a": "b"}


def test_what_was_compacted_is_gone(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.client
    admin.post(services.path(namespace), services.load_balancer("web"))
    old = admin.get(services.path(namespace))["metadata"]["resourceVersion"]
    admin.patch(services.path(namespace, "web"), {"metadata": {"labels": {"a": "b"}}})
    exactly = {"resourceVersion": old, "resourceVersionMatch": "Exact"}

    control_plane.compact_etcd()
    assert next(admin.watch(services.path(namespace), old))["type"] == "MODIFIED", "from its cache"
    control_plane.stop_apiserver()
    control_plane.start_apiserver()

    event = next(admin.watch(services.path(namespace), old))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    with pytest.raises(ApiError) as error:
        admin.get(services.path(namespace), **exactly)
    assert (error.value.code, error.value.reason) == (410, "Expired")
