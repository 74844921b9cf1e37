"""``doctor`` on Services, on what keeps their modes, and on what earlier cures left behind."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cluster import policies, services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import Object
from tests.cluster.cloud_controller import CloudController, make_ready_node
from tests.cluster.control_plane import ControlPlane
from tests.cluster.diagnoses import Found, diagnose
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.objects import config_map, created, custom_kind, daemon_set, deployment
from tests.cluster.plugin import run
from tests.cluster.waiting import wait_for

DEPLOYMENT = Path(__file__).parents[2] / "examples/in-cluster/deployment.yaml"
IP, OTHER_IP = "203.0.113.10", "203.0.113.11"
HOST = "203-0-113-10.ip.linodeusercontent.com"
PROXIED = {"default_proxy_protocol": "v2"}


def create(
    control_plane: ControlPlane,
    namespace: str,
    service: Object,
    *ingress: Object,
    writer: str = "cloud",
) -> None:
    client = control_plane.client
    client.post(services.path(namespace), service)
    path = services.path(namespace, service["metadata"]["name"], "status")
    client.patch(path, services.with_addresses(*ingress), fieldManager=writer)


def announced(name: str, **annotations: str) -> Object:
    service = services.load_balancer(name, **annotations)
    service["metadata"]["annotations"]["metallb.io/ip-allocated-from-pool"] = "pool"
    return service


# Whose addresses do nodes announce?


def test_no_address_is_announced(control_plane: ControlPlane) -> None:
    found = diagnose(control_plane.kubeconfig)["announced"]

    assert found == ("ok", "no Service shows that nodes announce its address", None)


def test_announced_addresses_are_right_at_vip(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, announced("web"), {"ip": IP})

    found = diagnose(control_plane.kubeconfig)["announced"]

    assert found.status == "ok"
    assert found.message == (
        f"nodes announce the addresses of {namespace}/web (MetalLB), and VIP is right for them"
    )


def test_an_announced_address_that_should_be_proxy(
    control_plane: ControlPlane, namespace: str
) -> None:
    for number in range(7):
        create(control_plane, namespace, announced(f"web-{number}", **PROXIED), {"ip": IP})

    found = diagnose(control_plane.kubeconfig)["announced"]

    assert found.status == "warn"
    assert f"{namespace}/web-4 and 2 more (MetalLB)" in found.message
    assert "would cut off traffic from outside" in (found.hint or "")


# Who shares an address?


def test_a_shared_address_that_captures(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, services.load_balancer("web", **PROXIED), {"ip": IP})
    create(control_plane, namespace, services.load_balancer("web-2", **PROXIED), {"ip": IP})
    assert diagnose(control_plane.kubeconfig)["shared"].status == "ok"

    create(control_plane, namespace, services.load_balancer("admin"), {"ip": IP})
    found = diagnose(control_plane.kubeconfig)["shared"]

    assert found == (
        "warn",
        f"{namespace}/web: the address {IP} is shared with {namespace}/admin, which should not "
        "have mode Proxy and so captures the traffic from inside the cluster "
        "(and 1 more: see `status`)",
        "set the mode on every Service that has the address",
    )


# Who has no ip?


def test_a_hostname_alone_leaves_nothing_to_do(control_plane: ControlPlane, namespace: str) -> None:
    assert diagnose(control_plane.kubeconfig)["hostname-only"].message == (
        "no Service is known by a hostname alone"
    )
    create(control_plane, namespace, services.load_balancer("both"), {"ip": IP, "hostname": HOST})
    create(control_plane, namespace, services.load_balancer("web"), {"hostname": HOST})

    found = diagnose(control_plane.kubeconfig)["hostname-only"]

    assert found.status == "ok"
    assert found.message.startswith(f"{namespace}/web: a hostname and no ip, so there is nothing")


# Does the cloud's controller set modes itself?


def test_a_controller_that_sets_modes(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make_ready_node(client)
    client.post(services.path(namespace), services.load_balancer("web", **PROXIED))
    log = tmp_path / "cloud-controller.log"
    with CloudController(control_plane.kubeconfig, log, ["--ip-mode=Proxy"]):
        web = services.path(namespace, "web")
        wait_for(lambda: services.ingress(client.get(web)), "an address")

    found = diagnose(control_plane.kubeconfig)["controller"]

    assert found.status == "warn"
    assert found.message == (
        f'"cloud-controller" wrote Proxy to {namespace}/web: a controller sets modes itself'
    )
    assert "nothing left to do" in (found.hint or "")


def test_what_we_set_is_no_controllers(
    control_plane: ControlPlane, namespace: str, cloud_controller: CloudController
) -> None:
    client = control_plane.client
    client.post(services.path(namespace), services.load_balancer("web", **PROXIED))
    web = services.path(namespace, "web")
    wait_for(lambda: services.ingress(client.get(web)), "an address")
    assert "ensure" in " ".join(cloud_controller.calls())
    assert diagnose(control_plane.kubeconfig)["controller"].status == "ok"

    assert run(control_plane.kubeconfig, "sync", "-n", namespace).exit_code == 0

    assert services.modes(client.get(web)) == ["Proxy"]
    found = diagnose(control_plane.kubeconfig)["controller"]
    assert found == ("ok", "no controller was seen to set a mode by itself", None)


def test_under_a_policy_a_controller_cannot_be_judged(
    control_plane: ControlPlane, namespace: str, cloud_controller: CloudController
) -> None:
    client = control_plane.client
    with policies.installed(control_plane, namespace):
        client.post(services.path(namespace), services.load_balancer("web", **PROXIED))
        web = services.path(namespace, "web")
        wait_for(lambda: services.ingress(client.get(web)), "an address")
        assert cloud_controller.calls()
        assert services.modes(client.get(web)) == ["Proxy"]
        found = diagnose(control_plane.kubeconfig)["controller"]

    assert found.status == "unknown"
    assert "may be the policy's doing" in found.message


# What keeps the modes?


@contextmanager
def policy(control_plane: ControlPlane, *options: str) -> Iterator[None]:
    """Have what ``policy`` prints with these options in the whole cluster."""
    printed = run(control_plane.kubeconfig, "policy", *options)
    assert printed.exit_code == 0, printed.stderr
    applied = control_plane.kubectl("apply", "-f", "-", stdin=printed.stdout)
    try:
        assert applied.returncode == 0, applied.stderr
        yield
    finally:
        printed = run(control_plane.kubeconfig, "policy", *options, "--remove")
        deleted = control_plane.kubectl("delete", "-f", "-", stdin=printed.stdout)
        assert deleted.returncode == 0, deleted.stderr


def keeping(control_plane: ControlPlane) -> Found:
    return diagnose(control_plane.kubeconfig)["keeping"]


def test_nothing_keeps_modes(control_plane: ControlPlane, namespace: str) -> None:
    assert keeping(control_plane) == (
        "ok",
        "nothing in the cluster keeps modes set, and no Service should be Proxy",
        None,
    )
    # Nothing is to be kept here.
    service = services.load_balancer("host", **PROXIED)
    create(control_plane, namespace, service, {"hostname": HOST})
    assert keeping(control_plane).status == "ok"
    create(control_plane, namespace, services.load_balancer("web", **PROXIED), {"ip": IP})

    found = keeping(control_plane)

    assert found.status == "warn"
    assert "lasts until the cloud's controller next writes the status" in found.message
    assert found.hint == "`kubectl lbipmode policy | kubectl apply -f -`, or run `sync --watch`"


def test_a_policy_without_a_service_is_unproven(control_plane: ControlPlane) -> None:
    with policy(control_plane):
        found = keeping(control_plane)

    assert found.status == "unknown"
    assert found.message.startswith('MutatingAdmissionPolicy "lbipmode": there is no Service')


@pytest.mark.parametrize("options", [[], ["--override-only", "--name=other"]], ids=["all", "other"])
def test_a_policy_that_acts(
    control_plane: ControlPlane, namespace: str, options: list[str]
) -> None:
    service = services.load_balancer("web", ip_mode="Proxy")
    create(control_plane, namespace, service, {"ip": IP})

    with policy(control_plane, *options):
        policies.wait_until_active(control_plane.client, namespace)
        found = keeping(control_plane)

    name = "other" if options else "lbipmode"
    assert (found.status, found.hint) == ("ok", None)
    assert found.message == (
        f'MutatingAdmissionPolicy "{name}": {namespace}/web: '
        "a dry run that asked for VIP gave Proxy"
    )


def test_a_policy_that_nothing_binds(control_plane: ControlPlane) -> None:
    with policy(control_plane):
        path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/lbipmode"
        binding = control_plane.client.get(path)
        control_plane.client.delete(path)
        found = keeping(control_plane)
        metadata = {"name": "lbipmode"}
        control_plane.client.post(path.rpartition("/")[0], {**binding, "metadata": metadata})

    assert found.status == "fail"
    assert 'there is no MutatingAdmissionPolicyBinding "lbipmode"' in found.message


def test_a_policy_with_options(control_plane: ControlPlane, namespace: str) -> None:
    service = services.load_balancer("web", **PROXIED)
    service["metadata"]["labels"] = {"app": "web"}
    create(control_plane, namespace, service, {"ip": IP})
    selector = "--selector=app in (web, api),app,!canary,tier!=db"
    options = ["--fail-closed", selector]

    with policies.installed(control_plane, namespace):
        narrowed = keeping(control_plane)
    with policy(control_plane, *options):
        wait_for(lambda: keeping(control_plane).status == "ok", "the policy to act")
        found = keeping(control_plane)

    assert narrowed.status == "ok"
    assert narrowed.message.startswith(f'MutatingAdmissionPolicy "{namespace}": {namespace}/web: ')
    assert found.message.startswith(f'MutatingAdmissionPolicy "lbipmode": {namespace}/web: ')


def test_a_policy_of_another_making(control_plane: ControlPlane) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/lbipmode"
    with policy(control_plane):
        other = {"spec": {"reinvocationPolicy": "Never"}}
        control_plane.client.patch(path, other)
        found = keeping(control_plane)

    assert found == (
        "warn",
        'MutatingAdmissionPolicy "lbipmode" sets modes, but not as this version does: '
        'MutatingAdmissionPolicy "lbipmode" is not the one that is printed: '
        "`spec.reinvocationPolicy` differs",
        "print it with its options and apply it again: "
        "`kubectl lbipmode policy | kubectl apply -f -`",
    )


KYVERNO = custom_kind("policies.kyverno.io", "v1", "MutatingPolicy", "mutatingpolicies")


def test_a_policy_of_kyverno(control_plane_1_31: ControlPlane) -> None:
    with created(control_plane_1_31.client, KYVERNO), policy(control_plane_1_31, "--kyverno"):
        found = diagnose(control_plane_1_31.kubeconfig)

    assert found["keeping"].status == "unknown"
    assert found["keeping"].message.startswith('MutatingPolicy "lbipmode": there is no Service')
    assert found["right-to-install"] == (
        "ok",
        "you may apply what `policy --kyverno` prints",
        None,
    )


def test_a_policy_of_kyverno_without_kyverno(control_plane_1_31: ControlPlane) -> None:
    kyverno = policy(control_plane_1_31, "--kyverno")
    with service_to_keep(control_plane_1_31), created(control_plane_1_31.client, KYVERNO), kyverno:
        found = keeping(control_plane_1_31)

    assert found.status == "fail"
    assert "a dry run that asked for VIP, which is wrong, got it" in found.message


def test_a_policy_with_a_selector_of_the_future(control_plane_1_31: ControlPlane) -> None:
    newer = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "MutatingPolicy",
        "metadata": {"name": "newer"},
        "spec": {
            "matchConstraints": {
                "objectSelector": {"matchExpressions": [{"key": "a", "operator": "Matches"}]},
                "resourceRules": [{"resources": ["services/status"]}],
            },
            "mutations": "/status/loadBalancer/ingress/0/ipMode",
        },
    }
    with created(control_plane_1_31.client, KYVERNO, newer):
        found = keeping(control_plane_1_31)

    assert found.status == "warn"
    assert found.message.startswith('MutatingPolicy "newer" sets modes, but not as this version')


def test_a_server_without_policies(control_plane_1_31: ControlPlane) -> None:
    with service_to_keep(control_plane_1_31):
        found = diagnose(control_plane_1_31.kubeconfig)
        with created(control_plane_1_31.client, KYVERNO):
            with_kyverno = diagnose(control_plane_1_31.kubeconfig)

    assert found["keeping"].hint == "run `sync --watch`"
    assert found["right-to-install"].message == (
        "the server takes none of the policies that `policy` prints"
    )
    assert "`kubectl lbipmode policy --kyverno | kubectl apply -f -`, or" in (
        with_kyverno["keeping"].hint or ""
    )


@contextmanager
def service_to_keep(control_plane: ControlPlane) -> Iterator[None]:
    """Have a Service that should be Proxy."""
    with temporary_namespace(control_plane.client) as namespace:
        create(control_plane, namespace, services.load_balancer("web", **PROXIED), {"ip": IP})
        yield


def test_a_watch_in_the_cluster(control_plane: ControlPlane, namespace: str) -> None:
    create(control_plane, namespace, services.load_balancer("web", **PROXIED), {"ip": IP})
    watch = yaml.safe_load(DEPLOYMENT.read_text(encoding="utf-8"))
    watch["metadata"]["namespace"] = "kube-system"

    with created(control_plane.client, watch):
        waiting = keeping(control_plane)
        path = "/apis/apps/v1/namespaces/kube-system/deployments/lbipmode/status"
        replicas = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), 2)
        control_plane.client.patch(path, {"status": replicas})
        found = keeping(control_plane)

    assert found == ("ok", "kube-system/lbipmode keeps modes set (`sync --watch`)", None)
    assert waiting == (
        "fail",
        "kube-system/lbipmode is to keep modes set (`sync --watch`), and no pod of it works",
        "see why: `kubectl describe deployment lbipmode -n kube-system`",
    )


def test_another_deployment_is_no_watch(control_plane: ControlPlane) -> None:
    other = deployment("lbipmode", "example.com/lbipmode:v1", "kubectl-lbipmode", "status", "-w")

    with created(control_plane.client, other):
        assert "nothing in the cluster keeps modes" in keeping(control_plane).message


# What is left of earlier cures?


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        (
            [deployment("hairpin-proxy-controller", "compumike/hairpin-proxy-controller:0.2.1")],
            None,
        ),
        ([deployment("proxy", "ghcr.io/lexfrei/ouroboros:0.1.0")], "kube-system/proxy rewrites"),
        ([daemon_set("ouroboros-etchosts", "any:v1")], "kube-system/ouroboros-etchosts rewrites"),
        (
            [
                config_map(
                    "coredns-base",
                    Corefile=".:53 {\n    rewrite name a.example.com hairpin-proxy.hairpin-proxy."
                    "svc.cluster.local # Added by hairpin-proxy\n}\n",
                )
            ],
            "the ConfigMap kube-system/coredns-base still holds such rewrites",
        ),
    ],
    ids=["hairpin-proxy", "by-its-image", "daemon-set", "corefile"],
)
def test_an_earlier_cure(
    control_plane: ControlPlane, objects: list[Object], said: str | None
) -> None:
    with created(control_plane.client, *objects):
        found = diagnose(control_plane.kubeconfig)["leftovers"]

    assert found.status == "warn"
    assert (said or "hairpin-proxy-controller rewrites DNS") in found.message
    assert "delete it" in (found.hint or "")


def test_no_earlier_cure(control_plane: ControlPlane, namespace: str) -> None:
    corefile = config_map("coredns", Corefile=".:53 {\n    forward . /etc/resolv.conf\n}\n")
    rules = [rule("apps", "deployments", "list"), rule("apps", "daemonsets", "list")]
    account = create_account(control_plane, namespace, rules, cluster_wide=True)
    with created(control_plane.client, corefile):
        found = diagnose(control_plane.kubeconfig)["leftovers"]
        unseen = diagnose(account.kubeconfig)["leftovers"]

    assert found == ("ok", "neither hairpin-proxy nor ouroboros is there", None)
    assert unseen.status == "unknown"
    assert 'unseen: the role must allow "list" on `configmaps`' in unseen.message


# Does Linode's controller have Cilium announce addresses?


@pytest.mark.parametrize("version", ["v2", "v2alpha1", "v3"])
def test_a_pool_that_linodes_controller_made(control_plane: ControlPlane, version: str) -> None:
    kind = "CiliumLoadBalancerIPPool"
    selected = {
        "io.kubernetes.service.namespace": "shop",
        "io.kubernetes.service.name": "web",
    }
    pool = {
        "apiVersion": f"cilium.io/{version}",
        "kind": kind,
        "metadata": {
            "name": "shop-web-pool",
            "labels": {"app.kubernetes.io/managed-by": "linode-ccm"},
        },
        "spec": {
            "serviceSelector": {"matchLabels": selected},
            "blocks": [{"cidr": f"{OTHER_IP}/32"}],
        },
    }
    mine = {**pool, "metadata": {"name": "mine"}, "spec": {}}
    definition = custom_kind("cilium.io", version, kind, "ciliumloadbalancerippools")
    with created(control_plane.client, definition, mine):
        without = diagnose(control_plane.kubeconfig)["linode-pools"]
        with created(control_plane.client, pool):
            found = diagnose(control_plane.kubeconfig)["linode-pools"]

    assert without.status == "ok"
    assert found.status == "warn"
    assert "has Cilium announce shop/web from the nodes" in found.message
    assert "never set Proxy there" in (found.hint or "")


def test_cilium_without_pools(control_plane: ControlPlane) -> None:
    definition = custom_kind("cilium.io", "v2", "CiliumNode", "ciliumnodes")
    with created(control_plane.client, definition):
        assert diagnose(control_plane.kubeconfig)["linode-pools"].status == "ok"
