"""The decision, row by row: ``data/rules-cases.yaml``, and a row for each reason and finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_lbipmode.findings import Code, Severity
from kubectl_lbipmode.linode import PREFIX
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.rules import Decision, Reason, Wish, decide, read_mode

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "data" / "rules-cases.yaml").read_text()
)

HTTP = [{"port": 80}]
V2 = {"default-proxy-protocol": "v2"}
TLS = {"port-443": '{"protocol": "https", "tls-secret-name": "web"}'}


def service(
    annotations: dict[str, Any] | None = None,
    ports: Any = None,  # noqa: ANN401 - anything may stand in a manifest
    **spec: Any,  # noqa: ANN401 - likewise
) -> dict[str, Any]:
    """Make a LoadBalancer Service; annotations without their prefix."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "edge",
            "annotations": {f"{PREFIX}{key}": value for key, value in (annotations or {}).items()},
        },
        "spec": {"type": "LoadBalancer", "ports": HTTP if ports is None else ports, **spec},
    }


def decide_on(value: dict[str, Any], wish: Wish | None = None) -> Decision:
    return decide(Service.from_mapping(value), wish or Wish())


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    decision = decide_on(service(case["a"], case["ports"], **case.get("spec", {})))

    assert decision.mode == case["mode"]
    for severity, key in ((Severity.ERROR, "error"), (Severity.WARNING, "warn")):
        messages = [f.message for f in decision.findings if f.severity is severity]
        assert key not in case or any(case[key] in message for message in messages)
    assert "error" in case or all(f.severity is Severity.WARNING for f in decision.findings)


REASONS = [
    pytest.param(service({"ip-mode": "VIP"}), Wish(), Reason.OVERRIDE, id="override"),
    pytest.param(service(), Wish(IPMode.PROXY), Reason.FLAG, id="asked-for"),
    pytest.param(
        service({"ip-mode": "VIP"}), Wish(IPMode.PROXY), Reason.OVERRIDE, id="override-beats-asking"
    ),
    pytest.param(
        service({"ip-mode": "VIP"}), Wish(IPMode.PROXY, overwrite=True), Reason.FLAG, id="overwrite"
    ),
    pytest.param(
        service({"ip-mode": "?", **V2}),
        Wish(overwrite=True),
        Reason.ALL_PORTS_PROXY_PROTOCOL,
        id="overwrite-ignores-an-invalid-override",
    ),
    pytest.param(service(V2), Wish(), Reason.ALL_PORTS_PROXY_PROTOCOL, id="all-ports"),
    pytest.param(
        service({"port-80": '{"proxy-protocol": "v1"}'}, [{"port": 80}, {"port": 443}]),
        Wish(),
        Reason.SOME_PORTS_PROXY_PROTOCOL,
        id="some-ports",
    ),
    pytest.param(service(), Wish(), Reason.NO_PORTS_PROXY_PROTOCOL, id="no-port"),
    pytest.param(service(V2, []), Wish(), Reason.NO_PORTS, id="without-ports"),
    pytest.param(service({"ip-mode": "?"}), Wish(), Reason.INVALID_OVERRIDE, id="bad-override"),
    pytest.param(
        service({"default-proxy-protocol": "v3"}), Wish(), Reason.INVALID_PORTS, id="bad-ports"
    ),
    pytest.param(service(ports={}), Wish(), Reason.INVALID_PORTS, id="ports-are-no-list"),
    pytest.param(
        service(type="ClusterIP"), Wish(IPMode.PROXY), Reason.NOT_LOAD_BALANCER, id="cluster-ip"
    ),
    pytest.param(
        service(loadBalancerClass="example.com/lb"),
        Wish(),
        Reason.OTHER_LOAD_BALANCER_CLASS,
        id="another-class",
    ),
    pytest.param(
        service() | {"apiVersion": "serving.knative.dev/v1"},
        Wish(),
        Reason.NOT_A_SERVICE,
        id="knative",
    ),
    pytest.param(service() | {"metadata": None}, Wish(), Reason.NO_METADATA, id="no-metadata"),
]


@pytest.mark.parametrize(("value", "wish", "reason"), REASONS)
def test_reason(value: dict[str, Any], wish: Wish, reason: Reason) -> None:
    assert decide_on(value, wish).reason is reason


def test_every_reason_has_a_row() -> None:
    """A new `Reason` fails here until a row shows when it applies."""
    assert {case.values[2] for case in REASONS} == set(Reason)


FINDINGS = [
    (service({"ip-mode": {"a": "b"}}), Code.ANNOTATION_NOT_SCALAR),
    (service({"throttle": ["a"]}), Code.ANNOTATION_NOT_SCALAR),
    (service({"default-proxy-protocol": ["v2"]}), Code.ANNOTATION_NOT_SCALAR),
    (service({"ip-mode": "?"}), Code.INVALID_OVERRIDE),
    (service({"port-80": "{"}), Code.INVALID_PORT_JSON),
    (service({"default-protocol": "quic"}), Code.INVALID_PROTOCOL),
    (service({"default-proxy-protocol": ""}), Code.INVALID_PROXY_PROTOCOL),
    (service() | {"metadata": None}, Code.MISSING_METADATA),
    (service(ports=[{"name": "web"}]), Code.MISSING_PORT_NUMBER),
    (service(V2, [{"port": 53, "protocol": "UDP"}]), Code.PROXY_PROTOCOL_ON_UDP),
    (service({"check-interval": 5}), Code.ANNOTATION_NOT_STRING),
    (service(V2, type="NodePort"), Code.ANNOTATION_WITHOUT_EFFECT),
    (service({"proxy-protocol": "v1"}), Code.DEPRECATED_ANNOTATION),
    (service({"proxy-protocol": "v1", **V2}), Code.DEPRECATED_ANNOTATION_IGNORED),
    (service(loadBalancerClass=""), Code.EMPTY_LOAD_BALANCER_CLASS),
    (service({"firewall-acl": "{}", **V2}), Code.FIREWALL_SEES_NODES),
    (service({"hostname-only-ingress": "1"}), Code.HOSTNAME_ONLY_INGRESS),
    (service({"default-algorithm": "ring_hash"}), Code.INVALID_ALGORITHM),
    (service({"check-type": "tcp"}), Code.INVALID_CHECK_TYPE),
    (service(V2, type=""), Code.MISSING_TYPE),
    (
        service({"port-80": '{"proxy-protocol": "v1"}'}, [{"port": 80}, {"port": 81}]),
        Code.MIXED_PORTS,
    ),
    (service(ports=[]), Code.NO_PORTS),
    (service({"ip-mode": "VIP", **V2}), Code.OVERRIDE_DIFFERS),
    (service({"default-protocol": "http", **V2}), Code.PROXY_PROTOCOL_ON_HTTP),
    (service(V2, loadBalancerSourceRanges=["10.0.0.0/8"]), Code.SOURCE_RANGES_NOT_ENFORCED),
    (service({"throttle": "20", **V2}), Code.THROTTLE_SEES_NODES),
    (service({"default-protocol": "https"}), Code.TLS_SECRET_MISSING),
    (
        service({"port-53": '{"tls-secret-name": "a"}'}, [{"port": 53, "protocol": "UDP"}]),
        Code.TLS_SECRET_ON_UDP,
    ),
    (service(TLS, [{"port": 443}]), Code.TLS_TERMINATED),
    (service(V2, externalTrafficPolicy="Local"), Code.TRAFFIC_POLICY_LOCAL),
    (service({"port-8080": "{"}), Code.UNUSED_PORT_ANNOTATION),
]
# Of the text (an edit that cannot be made) and of several live Services (an address in common).
ELSEWHERE = {Code.CANNOT_EDIT, Code.SHARED_ADDRESS}


@pytest.mark.parametrize(
    ("value", "code"),
    [pytest.param(*row, id=f"{row[1]}-{number}") for number, row in enumerate(FINDINGS)],
)
def test_finding(value: dict[str, Any], code: Code) -> None:
    found = [finding for finding in decide_on(value).findings if finding.code is code]

    assert found
    assert all(finding.message and finding.hint and finding.field for finding in found)


def test_every_code_has_a_row() -> None:
    """A new `Code` fails here until a row shows it."""
    assert {code for _, code in FINDINGS} == set(Code) - ELSEWHERE


QUIET = [
    pytest.param(service(), id="plain"),
    pytest.param(service(V2), id="proxy"),
    pytest.param(service({"ip-mode": "Proxy", **V2}), id="agreeing-override"),
    pytest.param(service({"throttle": "0", **V2}), id="throttle-is-off"),
    pytest.param(service({"port-8080": "{"}, [{"port": "$PORT"}]), id="ports-of-a-template"),
    pytest.param(service({"hostname-only-ingress": "yes"}), id="no-boolean-of-go"),
    pytest.param(service(type="ClusterIP"), id="out-of-scope"),
]


@pytest.mark.parametrize("value", QUIET)
def test_nothing_to_say(value: dict[str, Any]) -> None:
    assert decide_on(value).findings == ()


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("VIP", IPMode.VIP),
        (" proxy\n", IPMode.PROXY),
        ("PROXY", IPMode.PROXY),
        ("", None),
        ("Router", None),
        ("V I P", None),
    ],
)
def test_read_mode(text: str, mode: IPMode | None) -> None:
    assert read_mode(text) is mode
