"""``doctor`` on what moves packets, and on the cloud: DaemonSets, ConfigMaps and Nodes."""

import pytest

from kubectl_lbipmode.doctor.diagnosis import CHECKS
from tests.cluster import services
from tests.cluster.accounts import create_account, rule
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.diagnoses import Found, diagnose
from tests.cluster.objects import (
    config_map,
    created,
    custom_kind,
    daemon_set,
    deployment,
    node,
    pod,
    service_account,
)

FALLBACK = "hostname-only-ingress"
TRY = "try one Service first"

# What kubeadm makes of kube-proxy.
CONFIG = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


def kube_proxy(version: str, *words: str) -> Object:
    return daemon_set(
        "kube-proxy", f"registry.k8s.io/kube-proxy:v{version}", *words, config_map="kube-proxy"
    )


def cilium(version: str) -> Object:
    return daemon_set("cilium", f"quay.io/cilium/cilium:v{version}@sha256:{'0' * 64}")


def cilium_config(replacement: str) -> Object:
    return {
        **config_map("cilium-config"),
        "data": {"kube-proxy-replacement": replacement},
    }


def antrea(version: str, settings: str) -> list[Object]:
    agent = daemon_set(
        "antrea-agent", f"antrea/antrea-agent-ubuntu:v{version}", config_map="antrea-config"
    )
    config = {**config_map("antrea-config"), "data": {"antrea-agent.conf": settings}}
    return [config, agent]


def calico(**environment: str) -> Object:
    return daemon_set("calico-node", "calico/node:v3.30.0", environment=environment)


def felix(*, bpf: bool) -> list[Object]:
    group = "crd.projectcalico.org"
    return [
        custom_kind(group, "v1", "FelixConfiguration", "felixconfigurations"),
        {
            "apiVersion": f"{group}/v1",
            "kind": "FelixConfiguration",
            "metadata": {"name": "default"},
            "spec": {"bpfEnabled": bpf},
        },
    ]


def diagnose_with(control_plane: ControlPlane, name: str, *objects: Object) -> Found:
    with created(control_plane.client, *objects):
        return diagnose(control_plane.kubeconfig)[name]


CASES = {
    "kube-proxy": (
        [config_map("kube-proxy", config_conf=CONFIG + "mode: nftables\n"), kube_proxy("1.36.3")],
        "ok",
        "kube-proxy 1.36.3 (kube-system/kube-proxy, nftables mode) honours `ipMode`",
        None,
    ),
    "kube-proxy-by-flags": (
        [kube_proxy("1.31.4", "kube-proxy", "--proxy-mode=ipvs", "--feature-gates=A=true")],
        "ok",
        "kube-proxy 1.31.4 (kube-system/kube-proxy, ipvs mode) honours",
        None,
    ),
    "kube-proxy-default-mode": (
        [config_map("kube-proxy", config_conf=CONFIG + 'mode: ""\n'), kube_proxy("1.31.4")],
        "ok",
        "default mode",
        None,
    ),
    "kube-proxy-mode-unseen": ([kube_proxy("1.31.4")], "ok", "mode not seen", None),
    "kube-proxy-old": (
        [kube_proxy("1.28.9")],
        "fail",
        "kube-proxy 1.28.9 (kube-system/kube-proxy, mode not seen) ignores `ipMode`",
        "upgrade it to 1.30.0 or newer",
    ),
    "kube-proxy-gate-off-in-its-config": (
        [
            config_map(
                "kube-proxy",
                config_conf=CONFIG + "featureGates:\n  LoadBalancerIPMode: false\n",
            ),
            kube_proxy("1.30.2"),
        ],
        "fail",
        "ignores `ipMode`: its feature gate `LoadBalancerIPMode` is off",
        "switch `LoadBalancerIPMode` on",
    ),
    "kube-proxy-gate-off-by-flag": (
        [kube_proxy("1.30.2", "--feature-gates=A=true,LoadBalancerIPMode=false")],
        "fail",
        "is off",
        "or upgrade it to 1.32.0 or newer",
    ),
    "kube-proxy-gate-on": (
        [kube_proxy("1.29.2", "--feature-gates=LoadBalancerIPMode=true")],
        "ok",
        "kube-proxy 1.29.2",
        None,
    ),
    "kube-proxy-without-version": (
        [daemon_set("kube-proxy", f"registry.k8s.io/kube-proxy@sha256:{'0' * 64}")],
        "unknown",
        "its version cannot be seen",
        "from 1.30.0 on",
    ),
    "kube-proxy-in-pods": (
        [
            service_account(),
            pod(
                "kube-proxy-a", "rancher/hardened-kubernetes:v1.31.4-rke2r1", component="kube-proxy"
            ),
            pod(
                "kube-proxy-b", "rancher/hardened-kubernetes:v1.28.4-rke2r1", component="kube-proxy"
            ),
        ],
        "fail",
        "kube-proxy 1.28.4 (kube-system/kube-proxy-b, mode not seen) ignores",
        "upgrade",
    ),
    "cilium": (
        [cilium_config("true"), cilium("1.17.1")],
        "ok",
        "Cilium 1.17.1 (kube-system/cilium, in the place of kube-proxy) honours `ipMode`",
        None,
    ),
    "cilium-old": (
        [cilium_config("strict"), cilium("1.16.5")],
        "fail",
        "Cilium 1.16.5 (kube-system/cilium, in the place of kube-proxy) ignores `ipMode`",
        "upgrade it to 1.18.1 or newer",
    ),
    "cilium-broken": ([cilium_config("true"), cilium("1.18.0")], "fail", "ignores", "cilium#40915"),
    "cilium-mended": ([cilium_config("true"), cilium("1.18.1")], "ok", "honours", None),
    "cilium-without-version": (
        [cilium_config("true"), daemon_set("cilium", "quay.io/cilium/cilium-ci:latest")],
        "unknown",
        "its version cannot be seen",
        "from 1.17.0 on, but for 1.18.0",
    ),
    "cilium-without-config": ([cilium("1.16.5")], "fail", "Cilium 1.16.5", FALLBACK),
    "cilium-beside-kube-proxy": (
        [cilium_config("false"), cilium("1.16.5"), kube_proxy("1.31.4")],
        "ok",
        "kube-proxy 1.31.4",
        None,
    ),
    "cilium-and-an-old-kube-proxy": (
        [cilium_config("true"), cilium("1.17.1"), kube_proxy("1.28.9")],
        "fail",
        "ignores `ipMode`; Cilium 1.17.1 (kube-system/cilium, in the place",
        FALLBACK,
    ),
    "gke": (
        [daemon_set("anetd", "gke.gcr.io/cilium/cilium:v1.14.7", label="cilium")],
        "unknown",
        "GKE Dataplane V2",
        TRY,
    ),
    "kube-router": (
        [daemon_set("kube-router", "cloudnativelabs/kube-router:v2.5.0")],
        "warn",
        "no longer announces an address with Proxy over BGP",
        TRY,
    ),
    "kube-router-for-routes-alone": (
        [
            daemon_set("kube-router", "kube-router:v2.5.0", "--run-service-proxy=false"),
            kube_proxy("1.31.4"),
        ],
        "ok",
        "kube-proxy 1.31.4",
        None,
    ),
    "ovn-kubernetes": (
        [daemon_set("ovnkube-node", "ghcr.io/ovn-kubernetes/ovn-kube-ubuntu:master")],
        "fail",
        "OVN-Kubernetes ignores `ipMode`",
        FALLBACK,
    ),
    "calico": ([calico(), kube_proxy("1.31.4")], "ok", "kube-proxy 1.31.4", None),
    "calico-ebpf": ([*felix(bpf=True), calico()], "warn", "Calico's eBPF data plane should", TRY),
    "calico-without-ebpf": (
        [*felix(bpf=False), calico(), kube_proxy("1.31.4")],
        "ok",
        "kube-proxy 1.31.4",
        None,
    ),
    "calico-ebpf-by-environment": ([calico(FELIX_BPFENABLED="true")], "warn", "Calico", TRY),
    "antrea": (
        antrea("2.3.0", "antreaProxy:\n  proxyAll: true\n"),
        "ok",
        "Antrea 2.3.0 (kube-system/antrea-agent), in the place of kube-proxy, honours",
        None,
    ),
    "antrea-old": (
        antrea("1.15.0", "antreaProxy:\n  proxyAll: true\n"),
        "fail",
        "ignores",
        FALLBACK,
    ),
    "antrea-beside-kube-proxy": (
        [*antrea("2.3.0", "antreaProxy: {}\n"), kube_proxy("1.31.4")],
        "warn",
        "only with `proxyAll` and without kube-proxy",
        "docs/antrea-proxy.md",
    ),
    "antrea-that-leaves-addresses-alone": (
        antrea("1.15.0", "antreaProxy:\n  proxyLoadBalancerIPs: false\n"),
        "ok",
        "leaves the addresses of load balancers alone",
        None,
    ),
    "antrea-switched-off": (
        [*antrea("1.15.0", "featureGates:\n  AntreaProxy: false\n"), kube_proxy("1.31.4")],
        "ok",
        "kube-proxy 1.31.4",
        None,
    ),
    "antrea-without-version": (
        [daemon_set("antrea-agent", "antrea/antrea-agent-ubuntu")],
        "unknown",
        "its version cannot be seen",
        "from 2.0 on",
    ),
    "nothing-known": (
        [daemon_set("something-new", "example.com/something-new:v1")],
        "unknown",
        "neither kube-proxy nor anything known to replace it",
        TRY,
    ),
}


@pytest.mark.parametrize(("objects", "status", "said", "hinted"), CASES.values(), ids=CASES)
def test_data_plane(
    control_plane: ControlPlane, objects: list[Object], status: str, said: str, hinted: str | None
) -> None:
    found = diagnose_with(control_plane, "data-plane", *objects)

    assert found.status == status, found
    assert said in found.message
    assert (hinted or "") in (found.hint or "")
    assert (hinted is None) == (found.hint is None)
    assert (FALLBACK in (found.hint or "")) == (status == "fail")


def test_a_kube_proxy_that_runs_nowhere_does_not_count(control_plane: ControlPlane) -> None:
    objects = (cilium_config("true"), cilium("1.17.1"), kube_proxy("1.28.9"))
    with created(control_plane.client, *objects):
        status = {
            "observedGeneration": 1,
            "desiredNumberScheduled": 0,
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "numberReady": 0,
        }
        path = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy/status"
        control_plane.client.patch(path, {"status": status})
        found = diagnose(control_plane.kubeconfig)["data-plane"]

    assert found.status == "ok"
    assert found.message.startswith("Cilium 1.17.1 ")


def test_version_of_kube_proxy_that_nodes_report(control_plane: ControlPlane) -> None:
    client = control_plane.client
    worker = node("worker", "linode://1")
    proxy = daemon_set("kube-proxy", "registry.example.com/kube-proxy:stable")
    with created(client, worker, proxy):
        info = dict.fromkeys(
            (
                *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage"),
                *("containerRuntimeVersion", "operatingSystem", "architecture"),
            ),
            "",
        )
        info |= {"kubeletVersion": "v1.28.4", "kubeProxyVersion": "v1.28.4"}
        client.patch("/api/v1/nodes/worker/status", {"status": {"nodeInfo": info}})
        found = diagnose(control_plane.kubeconfig)["data-plane"]

    assert found.status == "fail"
    assert "kube-proxy 1.28.4 (" in found.message


def test_what_may_not_be_read_is_said(control_plane: ControlPlane, namespace: str) -> None:
    rules = [rule("apps", "daemonsets", "list")]
    account = create_account(control_plane, namespace, rules, cluster_wide=True)
    unseen = 'the role must allow "{}" on `{}` in {}'
    cases = [
        (
            [config_map("kube-proxy", config_conf=CONFIG), kube_proxy("1.31.4")],
            "ok",
            "mode not seen: " + unseen.format("get", "configmaps", 'namespace "kube-system"'),
        ),
        (
            [config_map("kube-proxy"), daemon_set("kube-proxy", "kube-proxy@sha256:0")],
            "unknown",
            "its version cannot be seen",
        ),
        (
            [cilium_config("true"), cilium("1.17.1")],
            "unknown",
            "pods cannot be seen: " + unseen.format("list", "pods", "the whole cluster"),
        ),
        (
            [cilium_config("true"), cilium("1.16.5")],
            "fail",
            "as it seems: " + unseen.format("get", "configmaps", 'namespace "kube-system"'),
        ),
        ([calico(), kube_proxy("1.31.4")], "unknown", "whether Calico moves packets by eBPF"),
        (
            antrea("2.3.0", "antreaProxy: {}\n"),
            "unknown",
            "how it is set up (" + unseen.format("get", "configmaps", 'namespace "kube-system"'),
        ),
    ]
    for objects, status, said in cases:
        with created(control_plane.client, *objects):
            found = diagnose(account.kubeconfig)["data-plane"]

        assert found.status == status, found
        assert said in found.message


def test_strange_objects_do_no_harm(control_plane: ControlPlane) -> None:
    felix_kind, felix_object = felix(bpf=True)
    del felix_object["spec"]
    pools = custom_kind("cilium.io", "v9", "CiliumLoadBalancerIPPool", "ciliumloadbalancerippools")
    pool = {
        "apiVersion": "cilium.io/v9",
        "kind": "CiliumLoadBalancerIPPool",
        "metadata": {"name": "pool"},
        "spec": None,
    }
    strange = config_map("kube-proxy", config_conf="\t- {not: [yaml\n", other="- a\n- list\n")
    agent = daemon_set("antrea-agent", "antrea-agent:v9.9.9", config_map="antrea-config")
    with created(
        control_plane.client,
        *(felix_kind, felix_object, calico(), pools, pool, strange, agent),
        daemon_set("kube-proxy", "kube-proxy:v99.0.0-x+y", "--proxy-mode", config_map="kube-proxy"),
        node("a", "://"),
    ):
        found = diagnose(control_plane.kubeconfig)

    assert set(found) == set(CHECKS)
    assert found["data-plane"].status == "warn"
    assert "Antrea 9.9.9 (kube-system/antrea-agent) honours" in found["data-plane"].message
    assert "kube-proxy 99.0.0 (kube-system/kube-proxy, true mode)" in found["data-plane"].message
    assert found["linode-pools"].status == "ok"
    assert found["cloud"].status == "unknown"


LKE = "lke.linode.com/pool-id"

CLOUD_CASES = {
    "linode": ([node("a", "linode://1")], "ok", "Linode: its controller sets no modes", None),
    "linode-with-its-controller": (
        [
            node("a", "linode://1"),
            daemon_set("ccm-linode", "docker.io/linode/linode-cloud-controller-manager:v0.9.8"),
        ],
        "ok",
        "(up to v0.9.8; here it is v0.9.8)",
        None,
    ),
    "linode-with-a-deployment": (
        [node("a", "linode://1"), deployment("ccm", "linode/linode-cloud-controller-manager")],
        "ok",
        "here it is of no named version",
        None,
    ),
    "lke": ([node("a", "linode://1", LKE)], "ok", "there is nothing to upgrade", None),
    "sets-modes": (
        [node("a", "hcloud://1")],
        "warn",
        "Hetzner: its controller sets modes itself",
        "leave it to that controller, and to its annotation `load-balancer.hetzner.cloud/",
    ),
    "sets-modes-without-setting": (
        [node("a", "kind://docker/kind/kind-control-plane")],
        "warn",
        "kind: its controller sets modes itself",
        "leave it to that controller",
    ),
    "sets-no-modes": (
        [node("a", "digitalocean://1")],
        "warn",
        "DigitalOcean: its controller sets no modes",
        "by the override",
    ),
    "hostnames": (
        [node("a", "aws:///x/i-1")],
        "ok",
        "AWS: its controller publishes",
        "nothing to do",
    ),
    "passes-packets": ([node("a", "azure:///x")], "warn", "so VIP is right", "do not set Proxy"),
    "unknown": ([node("a", "new-cloud://1")], "unknown", 'of the cloud "new-cloud"', "find out"),
    "none": ([], "unknown", "no Node says by `spec.providerID`", "find out"),
    "several": (
        [node("a", "linode://1"), node("b", "linode://2"), node("c", "hcloud://1")],
        "unknown",
        "of several clouds: linode (2), hcloud (1)",
        "see to each of them",
    ),
}


@pytest.mark.parametrize(
    ("objects", "status", "said", "hinted"), CLOUD_CASES.values(), ids=CLOUD_CASES
)
def test_cloud(
    control_plane: ControlPlane, objects: list[Object], status: str, said: str, hinted: str | None
) -> None:
    found = diagnose_with(control_plane, "cloud", *objects)

    assert found.status == status, found
    assert said in found.message
    assert (hinted or "") in (found.hint or "")
    assert (hinted is None) == (found.hint is None)
    # On LKE nobody can, elsewhere no release would do.
    assert "upgrade" not in (found.hint or "")


def test_linode_by_its_services_alone(control_plane: ControlPlane, namespace: str) -> None:
    service = services.load_balancer("web", default_proxy_protocol="v2")
    control_plane.client.post(services.path(namespace), service)

    found = diagnose(control_plane.kubeconfig)["cloud"]

    assert found.status == "ok"
    assert found.message.startswith("Linode: ")


def test_controller_of_linode_that_may_not_be_seen(
    control_plane: ControlPlane, namespace: str
) -> None:
    rules = [rule("", "nodes", "list")]
    account = create_account(control_plane, namespace, rules, cluster_wide=True)
    with created(control_plane.client, node("a", "linode://1")):
        found = diagnose(account.kubeconfig)["cloud"]

    assert found == ("ok", "Linode: its controller sets no modes (up to v0.9.8)", None)
