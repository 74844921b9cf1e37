"""How a live Service compares with its decision: each reason has a row, and the patch is exact."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.announcers import find_announcer
from kubectl_lbipmode.findings import Code
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.plan import AddressReason, find_shared, is_same_ip, make_plan
from kubectl_lbipmode.rules import Reason, Wish

PREFIX = "service.beta.kubernetes.io/linode-loadbalancer-"
PROXY_PROTOCOL = {f"{PREFIX}default-proxy-protocol": "v2"}
NO_PROXY_PROTOCOL = {f"{PREFIX}default-proxy-protocol": "none"}
WANTS_PROXY, WANTS_VIP = {f"{PREFIX}ip-mode": "Proxy"}, {f"{PREFIX}ip-mode": "VIP"}
BAD_OVERRIDE = {f"{PREFIX}ip-mode": "Router"}
BAD_PORTS = {f"{PREFIX}default-proxy-protocol": "true"}
METALLB = {"metallb.io/ip-allocated-from-pool": "lan"}

IP, OTHER_IP, IPV6 = "203.0.113.10", "203.0.113.11", "2001:db8::10"
LINODE_HOST = "203-0-113-10.ip.linodeusercontent.com"
AT_VIP, AT_PROXY = {"ip": IP, "ipMode": "VIP"}, {"ip": IP, "ipMode": "Proxy"}


def live(
    annotations: dict[str, str],
    *ingress: dict[str, str],
    name: str = "web",
    spec: dict[str, object] | None = None,
) -> Service:
    return Service.from_mapping(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "namespace": "shop",
                "name": name,
                "uid": f"uid-of-{name}",
                "annotations": annotations,
            },
            "spec": {"type": "LoadBalancer", "ports": [{"port": 443}], **(spec or {})},
            "status": {"loadBalancer": {"ingress": list(ingress)}},
        }
    )


ROWS = [
    # annotations, address, reason
    pytest.param(PROXY_PROTOCOL, AT_PROXY, AddressReason.IN_SYNC, id="proxy-as-wanted"),
    pytest.param(NO_PROXY_PROTOCOL, AT_VIP, AddressReason.IN_SYNC, id="vip-as-wanted"),
    pytest.param(NO_PROXY_PROTOCOL, {"ip": IP}, AddressReason.IN_SYNC, id="no-mode-acts-as-vip"),
    pytest.param({}, AT_VIP, AddressReason.IN_SYNC, id="nobody-asked-for-proxy"),
    pytest.param(PROXY_PROTOCOL, AT_VIP, AddressReason.DRIFT, id="vip-but-proxy-wanted"),
    pytest.param(PROXY_PROTOCOL, {"ip": IP}, AddressReason.DRIFT, id="no-mode-but-proxy-wanted"),
    pytest.param(NO_PROXY_PROTOCOL, AT_PROXY, AddressReason.DRIFT, id="linode-by-annotation"),
    pytest.param(
        {}, {**AT_PROXY, "hostname": LINODE_HOST}, AddressReason.DRIFT, id="linode-by-hostname"
    ),
    pytest.param(
        {},
        {**AT_PROXY, "hostname": "nb-1.newark.NodeBalancer.linode.com."},
        AddressReason.DRIFT,
        id="linode-by-older-hostname",
    ),
    pytest.param(WANTS_VIP, AT_PROXY, AddressReason.DRIFT, id="override-back-to-vip"),
    pytest.param({}, AT_PROXY, AddressReason.FOREIGN_PROXY, id="another-cloud"),
    pytest.param(
        {},
        {**AT_PROXY, "hostname": "not-ip.linodeusercontent.com.example.net"},
        AddressReason.FOREIGN_PROXY,
        id="another-cloud-with-a-similar-hostname",
    ),
    pytest.param(
        WANTS_PROXY | METALLB, AT_VIP, AddressReason.ANNOUNCED_BY_NODES, id="proxy-on-a-true-vip"
    ),
    pytest.param(
        WANTS_PROXY | METALLB, AT_PROXY, AddressReason.IN_SYNC, id="true-vip-already-at-proxy"
    ),
    pytest.param(METALLB, AT_VIP, AddressReason.IN_SYNC, id="true-vip-left-alone"),
    pytest.param(
        PROXY_PROTOCOL, {"hostname": LINODE_HOST}, AddressReason.NOT_APPLICABLE, id="hostname-only"
    ),
    pytest.param(
        PROXY_PROTOCOL, {"ip": IP, "ipMode": "Router"}, AddressReason.UNKNOWN_MODE, id="newer-mode"
    ),
    pytest.param(
        WANTS_PROXY,
        {"ip": IP, "ipMode": "proxy"},
        AddressReason.UNKNOWN_MODE,
        id="the-API's-modes-have-a-case",
    ),
    pytest.param(BAD_OVERRIDE, AT_VIP, Reason.INVALID_OVERRIDE, id="no-decision-by-override"),
    pytest.param(BAD_PORTS, AT_VIP, Reason.INVALID_PORTS, id="no-decision-by-ports"),
]


@pytest.mark.parametrize(("annotations", "address", "reason"), ROWS)
def test_reason(
    annotations: dict[str, str], address: dict[str, str], reason: AddressReason | Reason
) -> None:
    plan = make_plan(live(annotations, address), Wish())

    assert [compared.reason for compared in plan.addresses] == [reason]
    assert plan.reason == reason
    assert bool(plan.patch) == (reason is AddressReason.DRIFT)


def test_every_reason_has_a_row() -> None:
    """A new reason fails here until a row shows when it applies."""
    shown = {row.values[2] for row in ROWS}
    # Of these one is about a Service without addresses, two about the server's replies.
    elsewhere = {AddressReason.PENDING, AddressReason.DROPPED_BY_SERVER, AddressReason.GONE}
    assert set(AddressReason) - shown == elsewhere


def test_a_service_without_addresses_is_pending() -> None:
    plan = make_plan(live(PROXY_PROTOCOL), Wish())
    assert (plan.reason, plan.patch) == (AddressReason.PENDING, [])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"type": "ClusterIP"}, Reason.NOT_LOAD_BALANCER),
        ({"loadBalancerClass": "metallb"}, Reason.OTHER_LOAD_BALANCER_CLASS),
        ({"ports": []}, Reason.NO_PORTS),
    ],
)
def test_without_a_decision_its_reason_passes_through(
    spec: dict[str, object], reason: Reason
) -> None:
    plan = make_plan(live(PROXY_PROTOCOL, AT_VIP, spec=spec), Wish())
    assert (plan.reason, plan.patch) == (reason, [])


def test_the_patch_changes_the_drifting_addresses_alone_and_tests_that_they_stand_there() -> None:
    ingress = (
        {"hostname": LINODE_HOST},
        {"ip": IP, "ipMode": "VIP", "hostname": LINODE_HOST},
        {"ip": OTHER_IP, "ipMode": "Proxy"},
        {"ip": "2001:DB8::10"},
    )
    assert make_plan(live(PROXY_PROTOCOL, *ingress), Wish()).patch == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-of-web"},
        {"op": "test", "path": "/status/loadBalancer/ingress/1/ip", "value": IP},
        {"op": "add", "path": "/status/loadBalancer/ingress/1/ipMode", "value": "Proxy"},
        {"op": "test", "path": "/status/loadBalancer/ingress/3/ip", "value": "2001:DB8::10"},
        {"op": "add", "path": "/status/loadBalancer/ingress/3/ipMode", "value": "Proxy"},
    ]


def test_the_most_urgent_address_speaks_for_the_service() -> None:
    ingress = (AT_PROXY, {"ip": OTHER_IP, "ipMode": "Router"}, {"ip": IPV6})
    assert make_plan(live(PROXY_PROTOCOL, *ingress), Wish()).reason is AddressReason.DRIFT
    assert make_plan(live(PROXY_PROTOCOL, *ingress[:2]), Wish()).reason is (
        AddressReason.UNKNOWN_MODE
    )


@pytest.mark.parametrize(
    ("annotations", "address"),
    [({}, AT_PROXY), (WANTS_PROXY | METALLB, AT_VIP)],
    ids=["foreign-proxy", "announced-by-nodes"],
)
def test_force_sets_what_is_left_alone_otherwise(
    annotations: dict[str, str], address: dict[str, str]
) -> None:
    plan = make_plan(live(annotations, address), Wish(), force=True)
    assert plan.reason is AddressReason.DRIFT


def test_force_does_not_touch_a_mode_that_is_not_known() -> None:
    service = live(PROXY_PROTOCOL, {"ip": IP, "ipMode": "Router"})
    assert make_plan(service, Wish(), force=True).reason is AddressReason.UNKNOWN_MODE


def test_a_vip_that_was_asked_for_replaces_a_foreign_proxy() -> None:
    plan = make_plan(live({}, AT_PROXY), Wish(IPMode.VIP))
    assert (plan.decision.reason, plan.reason) == (Reason.FLAG, AddressReason.DRIFT)


@pytest.mark.parametrize(
    ("annotations", "announcer"),
    [
        ({"metallb.universe.tf/address-pool": "lan"}, "MetalLB"),
        ({"kube-vip.io/vipHost": "node-1"}, "kube-vip"),
        ({"lbipam.cilium.io/ips": IP}, "Cilium"),
        ({"service.cilium.io/global": "true"}, None),
        ({"kube-router.io/service.advertise.loadbalancerip": "true"}, "kube-router"),
        ({"kube-router.io/service.advertise.loadbalancerip": "false"}, None),
        (PROXY_PROTOCOL, None),
    ],
)
def test_the_announcer_is_known_by_its_marks(
    annotations: dict[str, str], announcer: str | None
) -> None:
    assert find_announcer(live(annotations)) == announcer


@pytest.mark.parametrize(("status", "announcer"), [("True", "Cilium"), ("False", None)])
def test_an_address_that_cilium_gave_needs_no_annotation(
    status: str, announcer: str | None
) -> None:
    condition = {"type": "cilium.io/IPAMRequestSatisfied", "status": status}
    service = Service.from_mapping({"status": {"conditions": [condition]}})
    assert find_announcer(service) == announcer


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("2001:DB8::1", "2001:db8:0::1", True),
        (IP, IP, True),
        (IP, OTHER_IP, False),
        ("203.0.113.010", "203.0.113.10", False),
        ("not an ip", "not an ip", True),
    ],
)
def test_ips_are_compared_parsed(left: str, right: str, same: bool) -> None:
    assert is_same_ip(left, right) is same


def test_a_service_at_vip_that_shares_the_address_captures_its_traffic() -> None:
    plans = [
        make_plan(live(PROXY_PROTOCOL, {"ip": "2001:DB8::10"}, name="web"), Wish()),
        make_plan(live({}, {"ip": IPV6}, name="old"), Wish()),
        make_plan(live(PROXY_PROTOCOL, AT_VIP, name="alone"), Wish()),
    ]
    [(plan, finding)] = find_shared(plans)
    assert (plan.service.name, finding.code) == ("web", Code.SHARED_ADDRESS)
    assert "shop/old" in finding.message


def test_sharers_that_all_want_proxy_are_fine() -> None:
    plans = [make_plan(live(PROXY_PROTOCOL, AT_VIP, name=name), Wish()) for name in ("a", "b")]
    assert not list(find_shared(plans))


def test_what_only_a_live_object_has_is_read() -> None:
    cloud: object = {"f:status": {"f:loadBalancer": {"f:ingress": {}}}}
    conditions: object = {"f:status": {"f:conditions": {}}}
    service = Service.from_mapping(
        {
            "metadata": {
                "uid": "u",
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "managedFields": [
                    {"manager": "kubectl", "fieldsV1": {"f:spec": {}}},
                    {"manager": "other", "subresource": "status", "fieldsV1": conditions},
                    {"manager": "ccm-linode", "subresource": "status", "fieldsV1": cloud},
                ],
            }
        }
    )
    assert (service.uid, service.created) == ("u", "2026-01-02T03:04:05Z")
    assert service.status_writer == "ccm-linode"
