"""``sync`` against a real API server, a real service controller, and others who write too."""

import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest

from kubectl_lbipmode.model import Service
from kubectl_lbipmode.plan import AddressReason, make_plan
from kubectl_lbipmode.rules import Wish
from kubectl_lbipmode.sync import OverruledError, Syncer
from tests.cluster import services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import ApiError, Client, Object
from tests.cluster.cloud_controller import CloudController
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.plugin import api_server, run, run_json
from tests.cluster.recording import recorded
from tests.cluster.waiting import wait_for

IP, OTHER_IP, IPV6 = "203.0.113.10", "203.0.113.11", "2001:db8::10"
HOST = "203-0-113-10.ip.linodeusercontent.com"
PROXIED = {"default_proxy_protocol": "v2"}
LIST, GET, PATCH = (
    rule("", "services", "list"),
    rule("", "services", "get"),
    rule("", "services/status", "patch"),
)


@pytest.fixture
def kubeconfig(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Path:
    """Give a kubeconfig whose current namespace is that of the test."""
    return control_plane.write_kubeconfig(tmp_path / "kubeconfig", namespace=namespace)


@pytest.fixture
def web(control_plane: ControlPlane, namespace: str) -> Object:
    """Give a Service that wants Proxy on both of its addresses, and has it on none."""
    return create(
        control_plane.client,
        namespace,
        services.load_balancer("web", **PROXIED),
        {"ip": IP, "hostname": HOST, "ports": [{"port": 80, "protocol": "TCP"}]},
        {"ip": IPV6, "hostname": HOST},
        {"hostname": HOST},
    )


def create(client: Client, namespace: str, service: Object, *ingress: Object) -> Object:
    client.post(services.path(namespace), service)
    status = services.path(namespace, service["metadata"]["name"], "status")
    return client.patch(status, services.with_addresses(*ingress))


def without_modes(service: Object) -> Object:
    """Leave out what a change of modes has to change."""
    rest = copy.deepcopy(service)
    for entry in services.ingress(rest):
        entry.pop("ipMode", None)
    for name in ("resourceVersion", "managedFields"):
        rest["metadata"].pop(name)
    return rest


def test_every_address_gets_the_mode_and_nothing_else_changes(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    result = run(kubeconfig, "sync")

    assert result.stdout.splitlines() == [
        f"{namespace}/web: {IP}: VIP -> Proxy (all ports use the PROXY protocol)",
        f"{namespace}/web: {IPV6}: VIP -> Proxy (all ports use the PROXY protocol)",
    ]
    assert "resets this when it next ensures the load balancer" in result.stderr
    assert result.exit_code == 0
    after = control_plane.client.get(services.path(namespace, "web"))
    assert services.modes(after) == ["Proxy", "Proxy", None]
    assert without_modes(after) == without_modes(web)
    owners = [
        entry["manager"]
        for entry in after["metadata"]["managedFields"]
        if entry.get("subresource") == "status"
    ]
    assert owners == ["kubectl-lbipmode"]


def test_where_nothing_drifts_nothing_is_sent(control_plane: ControlPlane, namespace: str) -> None:
    web = services.load_balancer("web", **PROXIED)
    create(control_plane.client, namespace, web, {"ip": IP, "ipMode": "Proxy"}, {"hostname": HOST})
    control_plane.client.post(
        services.path(namespace), services.load_balancer("pending", **PROXIED)
    )
    # It may not patch, so a patch would be refused.
    reader = create_account(control_plane, namespace, [LIST])

    result = run(reader.kubeconfig, "sync")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "resets this" not in result.stderr


def test_a_dry_run_of_the_client_needs_no_right_to_change(
    control_plane: ControlPlane, namespace: str, web: Object
) -> None:
    reader = create_account(control_plane, namespace, [LIST])

    result = run(reader.kubeconfig, "sync", "--dry-run=client")
    assert f"{namespace}/web: {IP}: VIP -> Proxy" in result.stdout
    assert result.stdout.splitlines()[0].endswith(" (dry run)")
    assert result.exit_code == 0

    refused = run(reader.kubeconfig, "sync", "--dry-run=server")
    assert f'must allow "patch" on `services/status` in namespace "{namespace}"' in refused.stderr
    assert refused.exit_code == 3
    assert control_plane.client.get(services.path(namespace, "web")) == web


def test_a_dry_run_of_the_server_stores_nothing(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    result = run(kubeconfig, "sync", "--dry-run=server")
    assert result.stdout.splitlines()[0].endswith(" (server dry run)")
    assert "resets this" not in result.stderr
    assert control_plane.client.get(services.path(namespace, "web")) == web


def test_a_diff_shows_what_would_change(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    result = run(kubeconfig, "sync", "--diff")
    changed = [line for line in result.stdout.splitlines() if line[:1] in "+-"]
    assert changed == [
        f"--- {namespace}/web/status",
        f"+++ {namespace}/web/status",
        "-  ipMode: VIP",
        "+  ipMode: Proxy",
        "-  ipMode: VIP",
        "+  ipMode: Proxy",
    ]
    assert result.exit_code == 1
    assert control_plane.client.get(services.path(namespace, "web")) == web
    run(kubeconfig, "sync")
    assert run(kubeconfig, "sync", "--diff").exit_code == 0


def test_the_data_says_from_what_to_what(namespace: str, kubeconfig: Path, web: Object) -> None:
    del web
    [data] = run_json(kubeconfig, "sync")
    assert data["changes"] == [
        {"ip": IP, "from": "VIP", "to": "Proxy"},
        {"ip": IPV6, "from": "VIP", "to": "Proxy"},
    ]
    assert (data["namespace"], data["state"], data["error"]) == (namespace, "NotApplicable", None)


def test_the_order_of_the_decision(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    client = control_plane.client
    create(client, namespace, services.load_balancer("overridden", ip_mode="VIP"), {"ip": IP})
    create(client, namespace, services.load_balancer("plain"), {"ip": OTHER_IP})

    def after(*arguments: str) -> list[str | None]:
        run(kubeconfig, "sync", *arguments)
        names = ("overridden", "plain")
        return [
            mode
            for name in names
            for mode in services.modes(client.get(services.path(namespace, name)))
        ]

    assert after() == ["VIP", "VIP"]
    assert after("--mode=Proxy") == ["VIP", "Proxy"]
    assert after("--mode=Proxy", "--overwrite") == ["Proxy", "Proxy"]
    assert after() == ["VIP", "Proxy"]  # the other may have been somebody else's choice
    assert after("--mode=VIP", "plain") == ["VIP", "VIP"]


@pytest.mark.parametrize(
    ("annotations", "mode", "status"),
    [({"metallb.io/ip-allocated-from-pool": "lan"}, "VIP", 3), ({}, "Proxy", 0)],
    ids=["announced-by-nodes", "foreign-proxy"],
)
def test_force_is_needed_where_it_could_do_harm(
    control_plane: ControlPlane,
    namespace: str,
    kubeconfig: Path,
    annotations: dict[str, str],
    mode: str,
    status: int,
) -> None:
    service = services.load_balancer("web", **({"ip_mode": "Proxy"} if annotations else {}))
    service["metadata"]["annotations"] |= annotations
    create(control_plane.client, namespace, service, {"ip": IP, "ipMode": mode})

    def now() -> list[str | None]:
        return services.modes(control_plane.client.get(services.path(namespace, "web")))

    assert run(kubeconfig, "sync").exit_code == status
    assert now() == [mode]
    assert run(kubeconfig, "sync", "--force").exit_code == 0
    assert now() != [mode]


def test_what_cannot_be_decided_is_an_error_and_the_rest_is_done(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    del web
    bad = services.load_balancer("bad", ip_mode="Router")
    create(control_plane.client, namespace, bad, {"ip": OTHER_IP})

    result = run(kubeconfig, "sync")

    assert f"error: {namespace}/bad: annotation" in result.stderr
    assert "1 of 2 could not be done" in result.stderr
    assert result.exit_code == 3
    assert f"{namespace}/web: {IP}: VIP -> Proxy" in result.stdout


def test_a_role_for_one_of_two_namespaces_does_half_and_says_so(
    control_plane: ControlPlane, namespace: str, web: Object
) -> None:
    del web
    with temporary_namespace(control_plane.client) as other:
        service = services.load_balancer("web", **PROXIED)
        create(control_plane.client, other, service, {"ip": OTHER_IP})
        create_account(control_plane, namespace, [LIST], name="lister", cluster_wide=True)
        account = create_account(control_plane, namespace, [PATCH])
        _bind(control_plane.client, namespace, "lister", account.name)

        def sync() -> bool:
            result = run(account.kubeconfig, "sync", "-A")
            # The binding takes effect a moment later.
            return "1 of 2 could not be done" in result.stderr and (
                f'must allow "patch" on `services/status` in namespace "{other}"' in result.stderr
            )

        wait_for(sync, "the half that is allowed")
        assert services.modes(control_plane.client.get(services.path(namespace, "web")))[0] == (
            "Proxy"
        )


def _bind(client: Client, namespace: str, role: str, account: str) -> None:
    client.post(
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        {
            "metadata": {"name": f"{namespace}-{role}-{account}"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": f"{namespace}-{role}",
            },
            "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": account}],
        },
    )


@pytest.mark.parametrize(
    ("rules", "arguments", "missing"),
    [
        ([PATCH], [], '"list" on `services`'),
        ([PATCH], ["web"], '"get" on `services`'),
        ([LIST], [], '"patch" on `services/status`'),
    ],
)
def test_each_missing_right_has_its_own_message(
    control_plane: ControlPlane,
    namespace: str,
    web: Object,
    rules: list[Object],
    arguments: list[str],
    missing: str,
) -> None:
    del web
    account = create_account(control_plane, namespace, rules)
    result = run(account.kubeconfig, "sync", *arguments)
    assert f'the role must allow {missing} in namespace "{namespace}"' in result.stderr
    assert result.exit_code == 3


def test_list_and_patch_are_enough(
    control_plane: ControlPlane, namespace: str, web: Object
) -> None:
    del web
    account = create_account(control_plane, namespace, [LIST, PATCH])
    assert run(account.kubeconfig, "sync").exit_code == 0


def test_a_patch_that_comes_too_late_changes_nothing_and_the_service_is_read_again(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    stale = Service.from_mapping(web)
    status = services.path(namespace, "web", "status")
    reordered = services.with_addresses({"ip": IPV6}, {"ip": OTHER_IP}, {"ip": IP})
    control_plane.client.patch(status, reordered)

    with pytest.raises(ApiError) as refusal:
        control_plane.client.patch(status, make_plan(stale, Wish()).patch, "json")
    assert refusal.value.code == 422

    outcome = Syncer(api_server(kubeconfig)).sync(stale)
    assert [change.ip for change in outcome.changes] == [IPV6, OTHER_IP, IP]
    after = control_plane.client.get(services.path(namespace, "web"))
    assert [entry["ip"] for entry in services.ingress(after)] == [IPV6, OTHER_IP, IP]
    assert services.modes(after) == ["Proxy"] * 3


def test_an_ip_is_known_again_however_it_is_written(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path
) -> None:
    web = services.load_balancer("web", **PROXIED)
    create(control_plane.client, namespace, web, {"ip": "2001:DB8::10"})
    assert run(kubeconfig, "sync").exit_code == 0
    [entry] = services.ingress(control_plane.client.get(services.path(namespace, "web")))
    assert entry == {"ip": "2001:DB8::10", "ipMode": "Proxy"}


def test_a_service_that_is_gone_is_no_error(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    control_plane.client.delete(services.path(namespace, "web"))
    outcome = Syncer(api_server(kubeconfig)).sync(Service.from_mapping(web))
    assert (outcome.plan.reason, outcome.problem) == (AddressReason.GONE, None)


def test_another_service_of_the_same_name_is_decided_about_anew(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    control_plane.client.delete(services.path(namespace, "web"))
    create(control_plane.client, namespace, services.load_balancer("web"), {"ip": IP})
    outcome = Syncer(api_server(kubeconfig)).sync(Service.from_mapping(web))
    assert (outcome.plan.reason, outcome.changes) == (AddressReason.IN_SYNC, ())


def test_the_service_controller_undoes_it_and_it_can_be_done_again(
    control_plane: ControlPlane,
    namespace: str,
    kubeconfig: Path,
    cloud_controller: CloudController,
) -> None:
    del cloud_controller
    client, path = control_plane.client, services.path(namespace, "web")
    web = services.load_balancer("web", enable_ipv6_ingress="true", **PROXIED)
    client.post(services.path(namespace), web)
    wait_for(lambda: services.modes(client.get(path)), "the addresses")

    for number in range(2):
        assert run(kubeconfig, "sync").exit_code == 0
        assert services.modes(client.get(path)) == ["Proxy", "Proxy"]
        client.patch(path, {"metadata": {"annotations": {"edited": str(number)}}})
        wait_for(lambda: services.modes(client.get(path)) == ["VIP", "VIP"], "the reset")


def test_a_server_that_drops_the_mode_is_named_once(
    control_plane_without_ipmode: ControlPlane,
) -> None:
    client = control_plane_without_ipmode.client
    with temporary_namespace(client) as namespace:
        for name in ("a", "b"):
            service = services.load_balancer(name, **PROXIED)
            create(client, namespace, service, {"ip": IP, "hostname": HOST})

        for arguments in ([], ["--dry-run=server"], ["--concurrency=1"]):
            admin = control_plane_without_ipmode.kubeconfig
            result = run(admin, "sync", "-n", namespace, *arguments)
            assert result.stderr.count("accepts `ipMode` and does not store it") == 1
            assert "2 services: 2 DroppedByServer" in result.stderr
            assert (result.exit_code, result.stdout) == (3, "")


def test_a_policy_that_decides_otherwise_is_named(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    path = "/apis/admissionregistration.k8s.io/v1"
    name = {"metadata": {"name": namespace}}
    rules = [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["UPDATE"],
            "resources": ["services/status"],
        }
    ]
    expression = (
        '[JSONPatch{op: "add", path: "/status/loadBalancer/ingress/0/ipMode", value: "VIP"}]'
    )
    policy = {
        "matchConstraints": {
            "resourceRules": rules,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        },
        "reinvocationPolicy": "Never",
        "failurePolicy": "Fail",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    client = control_plane.client
    client.post(f"{path}/mutatingadmissionpolicies", {**name, "spec": policy})
    binding = {**name, "spec": {"policyName": namespace}}
    client.post(f"{path}/mutatingadmissionpolicybindings", binding)
    try:
        syncer = Syncer(api_server(kubeconfig))

        def is_overruled() -> bool:
            # Until the policy takes effect, a few seconds later, the mode is set.
            problem = syncer.sync(Service.from_mapping(web)).problem
            client.patch(services.path(namespace, "web", "status"), web | {"metadata": {}})
            return isinstance(problem, OverruledError)

        wait_for(is_overruled, "the policy to take effect", seconds=30)
    finally:
        client.delete(f"{path}/mutatingadmissionpolicybindings/{namespace}")
        client.delete(f"{path}/mutatingadmissionpolicies/{namespace}")


def test_among_twenty_writers_no_address_is_lost_or_gets_a_wrong_mode(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, web: Object
) -> None:
    """Two swap the addresses, eighteen sync: a list sent from memory would undo the swap."""
    del web
    path, status = services.path(namespace, "web"), services.path(namespace, "web", "status")
    lists = [
        services.with_addresses({"ip": IP, "hostname": HOST}, {"ip": IPV6, "hostname": HOST}),
        services.with_addresses({"ip": IPV6, "hostname": HOST}, {"ip": OTHER_IP}),
    ]
    control_plane.client.patch(status, lists[0])
    start = threading.Barrier(20)

    def swap(offset: int) -> None:
        with closing(control_plane.connect()) as client:
            start.wait()
            end = time.monotonic() + 10
            for body in cycle(lists[offset:] + lists[:offset]):
                client.patch(status, body)
                if time.monotonic() > end:
                    return

    def keep_syncing(_: int) -> int:
        server = api_server(kubeconfig)
        start.wait()
        end, changes = time.monotonic() + 10, 0
        while time.monotonic() < end:
            service = Service.from_mapping(server.read_service(namespace, "web"))
            outcome = Syncer(server).sync(service)
            assert outcome.problem is None
            changes += len(outcome.changes)
        return changes

    with recorded(control_plane.connect(), namespace) as recording, ThreadPoolExecutor(20) as pool:
        swaps = [pool.submit(swap, offset) for offset in range(2)]
        syncs = [pool.submit(keep_syncing, number) for number in range(18)]
        assert all(future.result() is None for future in swaps)
        assert sum(future.result() for future in syncs) > 20

    allowed = [
        [(entry["ip"], entry.get("hostname")) for entry in services.ingress(body)] for body in lists
    ]
    seen = set()
    for version in recording.of("web"):
        entries = services.ingress(version)
        assert [(entry["ip"], entry.get("hostname")) for entry in entries] in allowed
        seen.add(tuple(services.modes(version)))
    # A patch sets both addresses or none.
    assert seen == {("VIP", "VIP"), ("Proxy", "Proxy")}
    assert run(kubeconfig, "sync").exit_code == 0
    assert services.modes(control_plane.client.get(path)) == ["Proxy", "Proxy"]
