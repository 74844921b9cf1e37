"""The policy on a real API server decides as the rules core does, or leaves a Service alone.

The core's decision is the oracle: it is never given another mode. Where the policy leaves a
Service alone though the core has a mode for it, the reason is one that `cel.can_read` knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from kubectl_lbipmode.linode import PREFIX
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.policy import cel
from kubectl_lbipmode.rules import Decision, Reason, decide
from tests.cluster import policies, services
from tests.cluster.client import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace

IP, IPV6, HOST = "203.0.113.10", "2001:db8::10", "203-0-113-10.ip.linodeusercontent.com"
SYNC, ALONE = "as the core", "left alone"
# What Python strips, and CEL does not.
SEPARATORS = frozenset("\x1c\x1d\x1e\x1f")

# (annotations without their prefix, ports, further spec, what the policy does)
ROWS: dict[str, tuple[dict[str, str], list[Any], dict[str, Any], str]] = {
    "nothing-set": ({}, [80], {}, SYNC),
    "default-v2": ({"default-proxy-protocol": "v2"}, [80, 443], {}, SYNC),
    "default-v1-upper-case": ({"default-proxy-protocol": "V1"}, [80], {}, SYNC),
    "default-none": ({"default-proxy-protocol": "none"}, [80], {}, SYNC),
    "deprecated": ({"proxy-protocol": "v2"}, [80], {}, SYNC),
    "default-beats-deprecated": (
        {"default-proxy-protocol": "none", "proxy-protocol": "v2"}, [80], {}, SYNC,
    ),
    "empty-default": ({"default-proxy-protocol": "", "proxy-protocol": "v2"}, [80], {}, SYNC),
    "port-wins": (
        {"default-proxy-protocol": "none", "port-80": '{"proxy-protocol": "v2"}'}, [80], {}, SYNC,
    ),
    "port-empty": (
        {"default-proxy-protocol": "v2", "port-80": '{"proxy-protocol": ""}'}, [80], {}, SYNC,
    ),
    "port-null": (
        {"default-proxy-protocol": "v2", "port-80": '{"proxy-protocol": null}'}, [80], {}, SYNC,
    ),
    "port-literal-null": ({"default-proxy-protocol": "v2", "port-80": "null"}, [80], {}, SYNC),
    "port-empty-object": ({"default-proxy-protocol": "v2", "port-80": " { } "}, [80], {}, SYNC),
    "port-empty-text": ({"default-proxy-protocol": "v2", "port-80": ""}, [80], {}, SYNC),
    "port-key-case": ({"port-80": '{"Proxy-Protocol": "v1"}'}, [80], {}, SYNC),
    "port-last-duplicate": (
        {"port-80": '{"proxy-protocol": "v1", "proxy-protocol": "none"}'}, [80], {}, SYNC,
    ),
    "port-duplicates-of-any-case": (
        {"port-80": '{"proxy-protocol": "none", "PROXY-protocol": "v1"}'}, [80], {}, SYNC,
    ),
    "port-null-after-value": (
        {"port-80": '{"proxy-protocol": "v2", "proxy-protocol": null}'}, [80], {}, SYNC,
    ),
    "port-empty-after-value": (
        {"port-80": '{"proxy-protocol": "v2", "proxy-protocol": ""}'}, [80], {}, SYNC,
    ),
    "port-name-as-value": (
        {"port-80": '{"x": "proxy-protocol", "y": "v2", ":": ":"}'}, [80], {}, SYNC,
    ),
    "port-name-in-value": ({"port-80": '{"x": " proxy-protocol : v2 "}'}, [80], {}, SYNC),
    "port-form-feed": ({"port-80": '{\f"proxy-protocol": "v2"}'}, [80], {}, SYNC),
    "port-control-character": ({"port-80": '{"proxy-protocol": "v2", "x": "\t"}'}, [80], {}, SYNC),
    "port-over-lines": ({"port-80": '{\r\n\t"proxy-protocol" :\n "v2"\n}\n'}, [80], {}, SYNC),
    "port-number": ({"port-80": '{"proxy-protocol": 2}'}, [80], {}, SYNC),
    "port-trailing": ({"port-80": '{"proxy-protocol": "v2"} x'}, [80], {}, SYNC),
    "port-trailing-comma": ({"port-80": '{"proxy-protocol": "v2",}'}, [80], {}, SYNC),
    "port-list": ({"port-80": '["v2"]'}, [80], {}, SYNC),
    "port-single-quotes": ({"port-80": "{'proxy-protocol': 'v2'}"}, [80], {}, SYNC),
    "port-of-another": ({"port-8080": '{"proxy-protocol": "v2"}'}, [80], {}, SYNC),
    "port-known-key-number": (
        {"port-80": '{"proxy-protocol": "v2", "udp-check-port": 8080}'}, [80], {}, SYNC,
    ),
    "port-known-key-list": (
        {"port-80": '{"proxy-protocol": "v2", "algorithm": ["roundrobin"]}'}, [80], {}, SYNC,
    ),
    "port-nan": ({"port-80": '{"proxy-protocol": "v2", "x": NaN}'}, [80], {}, SYNC),
    "port-unknown-key-number": ({"port-80": '{"proxy-protocol": "v2", "x": 1}'}, [80], {}, ALONE),
    "port-unknown-key-nested": (
        {"port-80": '{"proxy-protocol": "v2", "x": {"proxy-protocol": "none"}}'}, [80], {}, ALONE,
    ),
    "port-escapes": ({"port-80": '{"proxy\\u002dprotocol": "\\u0076\\u0032"}'}, [80], {}, ALONE),
    "port-escaped-duplicate": (
        {"port-80": '{"proxy-protocol": "v2", "proxy\\u002dprotocol": "none"}'}, [80], {}, SYNC,
    ),
    "port-escaped-quotes": (
        {"port-80": '{"x": "\\"proxy-protocol\\":\\"v2\\""}'}, [80], {}, SYNC,
    ),
    "port-very-long": (
        {"port-80": json.dumps({"proxy-protocol": "v2", "x": "x" * 2000})}, [80], {}, ALONE,
    ),
    "mixed": ({"port-80": '{"proxy-protocol": "v2"}'}, [80, 443], {}, SYNC),
    "mixed-by-opt-out": (
        {"default-proxy-protocol": "v2", "port-443": '{"proxy-protocol": "none"}'},
        [80, 443], {}, SYNC,
    ),
    "versions-differ": (
        {"port-80": '{"proxy-protocol": "v1"}', "port-443": '{"proxy-protocol": "v2"}'},
        [80, 443], {}, SYNC,
    ),
    "unknown-version": ({"default-proxy-protocol": "v3"}, [80], {}, SYNC),
    "boolean": ({"default-proxy-protocol": "true"}, [80], {}, SYNC),
    "not-trimmed": ({"default-proxy-protocol": " v2"}, [80], {}, SYNC),
    "udp": ({"default-proxy-protocol": "v2"}, [(53, "UDP")], {}, SYNC),
    "udp-without": ({}, [(53, "UDP")], {}, SYNC),
    "udp-by-json": (
        {"default-proxy-protocol": "v1", "port-53": '{"protocol": "udp"}'}, [53], {}, SYNC,
    ),
    "udp-made-tcp": (
        {"default-protocol": "tcp", "default-proxy-protocol": "v2"}, [(53, "UDP")], {}, SYNC,
    ),
    "udp-made-tcp-by-json": (
        {"default-proxy-protocol": "v2", "port-53": '{"protocol": "TCP"}'}, [(53, "UDP")], {}, SYNC,
    ),
    "two-of-one-number": ({"default-proxy-protocol": "v2"}, [53, (53, "UDP")], {}, SYNC),
    "sctp": ({"default-proxy-protocol": "v2"}, [(80, "SCTP")], {}, SYNC),
    "empty-protocol": (
        {"default-protocol": "", "default-proxy-protocol": "v2"}, [80], {}, SYNC,
    ),
    "http": ({"default-protocol": "HTTP", "default-proxy-protocol": "v2"}, [80], {}, SYNC),
    "override-proxy": ({"ip-mode": "Proxy"}, [80], {}, SYNC),
    "override-vip": ({"ip-mode": "VIP", "default-proxy-protocol": "v2"}, [80], {}, SYNC),
    "override-case": ({"ip-mode": " proXY\n\u2003\x85"}, [80], {}, SYNC),
    "override-separator": ({"ip-mode": "Proxy\x1f"}, [80], {}, ALONE),
    "override-unknown": ({"ip-mode": "Router", "default-proxy-protocol": "v2"}, [80], {}, SYNC),
    "override-empty": ({"ip-mode": "", "default-proxy-protocol": "v2"}, [80], {}, SYNC),
    "override-saves": ({"ip-mode": "Proxy", "port-80": "{"}, [80], {}, SYNC),
    "hostname-only": (
        {"hostname-only-ingress": "T", "default-proxy-protocol": "v2"}, [80], {}, SYNC,
    ),
    "local": ({"default-proxy-protocol": "v2"}, [80], {"externalTrafficPolicy": "Local"}, SYNC),
    "class": (
        {"ip-mode": "Proxy"}, [80], {"loadBalancerClass": "example.com/lb"}, SYNC,
    ),
    "many-ports": ({"default-proxy-protocol": "v2"}, list(range(1, 101)), {}, SYNC),
    # Nothing here is too dear to evaluate: the policy would refuse the write, being `Fail`.
    "many-ports-with-long-json": (
        {f"port-{n}": json.dumps({"proxy-protocol": "v2", "x": "x" * 950}) for n in range(1, 101)},
        list(range(1, 101)), {}, SYNC,
    ),
    "very-long-values": (
        dict.fromkeys(["ip-mode", "port-80", "default-proxy-protocol"], "x" * 80_000),
        [80], {}, SYNC,
    ),
    "too-many-ports": ({"default-proxy-protocol": "v2"}, list(range(1, 102)), {}, ALONE),
}  # fmt: skip


def make(name: str, annotations: dict[str, str], ports: list[Any], spec: dict[str, Any]) -> Object:
    """Return a Service to create. A port is a number, or that and a protocol."""
    pairs = [port if isinstance(port, tuple) else (port, "TCP") for port in ports]
    service = services.load_balancer(name)
    service["metadata"]["annotations"] = {PREFIX + key: text for key, text in annotations.items()}
    service["spec"] = {
        "type": "LoadBalancer",
        "allocateLoadBalancerNodePorts": False,
        "ports": [
            {"name": f"p{index}", "port": number, "protocol": protocol}
            for index, (number, protocol) in enumerate(pairs)
        ],
        **spec,
    }
    return service


@dataclass
class Server:
    """Creates Services under the policy, writes their status, and compares with the core."""

    control_plane: ControlPlane
    namespace: str
    left_alone: list[Object] = field(default_factory=list)

    def compare(self, service: Object, *writes: list[Object]) -> Decision:
        """Assert that each of *writes* is answered as the core, or `can_read`, has it."""
        client = self.control_plane.client
        created = client.post(services.path(self.namespace), service)
        name = created["metadata"]["name"]
        # A reply does not say what it is.
        decision = decide(Service.from_mapping({"apiVersion": "v1", "kind": "Service", **created}))
        mode = None if self._is_left_alone(created, decision) else _may_set(decision)
        if mode is None and _may_set(decision) is not None:
            self.left_alone.append(created)
        try:
            for entries in writes:
                reply = client.patch(
                    services.path(self.namespace, name, "status"), services.with_addresses(*entries)
                )
                wanted = [
                    (mode or entry.get("ipMode", "VIP")) if entry.get("ip") else None
                    for entry in entries
                ]
                assert services.modes(reply) == wanted
                assert [_without_mode(entry) for entry in services.ingress(reply)] == [
                    _without_mode(entry) for entry in entries
                ]
        finally:
            client.delete(services.path(self.namespace, name))
        return decision

    def _is_left_alone(self, service: Object, decision: Decision) -> bool:
        annotations = service["metadata"].get("annotations", {})
        if decision.reason is Reason.OVERRIDE:
            return not SEPARATORS.isdisjoint(annotations[f"{PREFIX}ip-mode"])
        ports = decision.ports
        own = [annotations[port.annotation] for port in ports if port.annotation in annotations]
        return not cel.can_read(own, len(ports))


def _may_set(decision: Decision) -> str | None:
    """Return the mode that the policy has a say in: VIP by ports is the server's own default."""
    if decision.reason in (Reason.OVERRIDE, Reason.ALL_PORTS_PROXY_PROTOCOL):
        return decision.mode
    return None


def _without_mode(entry: Object) -> Object:
    return {key: value for key, value in entry.items() if key != "ipMode"}


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane) -> Iterator[Server]:
    """Give a server with a policy that would refuse each write that it fails on."""
    with (
        temporary_namespace(control_plane.client) as namespace,
        policies.installed(control_plane, namespace, "--fail-closed"),
    ):
        yield Server(control_plane, namespace)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_rules(server: Server, name: str) -> None:
    annotations, ports, spec, what = ROWS[name]
    before = len(server.left_alone)
    server.compare(
        make("row", annotations, ports, spec),
        [{"ip": IP, "hostname": HOST}, {"hostname": HOST}, {"ip": IPV6, "ipMode": "Proxy"}],
        [{"ip": IP, "ipMode": "VIP"}],
        [{"ip": IP, "ipMode": "Proxy"}],
    )
    assert (len(server.left_alone) > before) == (what == ALONE)


MODES = st.sampled_from(["Proxy", "VIP", "proxy", "vip", " Proxy ", "Proxy\n"])
PROXY_PROTOCOLS = st.sampled_from(["v2", "v1", "V2", "v2", "none"])
PROTOCOLS = st.sampled_from(["tcp", "TCP", "http", "https", "tcp", "udp"])
ADDRESSES = st.lists(
    st.fixed_dictionaries(
        {"ip": st.sampled_from([IP, IPV6, "203.0.113.11"])},
        optional={
            "hostname": st.just(HOST),
            "ipMode": st.sampled_from(["VIP", "Proxy"]),
            "ports": st.just([{"port": 80, "protocol": "TCP"}]),
        },
    )
    | st.just({"hostname": HOST}),
    min_size=1,
    max_size=4,
)
PORTS = st.lists(
    st.tuples(st.sampled_from([80, 443]), st.sampled_from(["TCP", "TCP", "TCP", "UDP", "SCTP"])),
    min_size=1,
    max_size=3,
    unique=True,
)
PORT_NAMES = ("port-80", "port-443", "port-8080")


@st.composite
def plain_json(draw: st.DrawFn) -> str:
    """Draw what people write into a port's annotation."""
    fields = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "proxy-protocol": PROXY_PROTOCOLS,
                "protocol": PROTOCOLS,
                "tls-secret-name": st.just("web-tls"),
                "algorithm": st.sampled_from(["roundrobin", "leastconn"]),
                "stickiness": st.just("table"),
            },
        )
    )
    indent = draw(st.sampled_from([None, None, None, 2]))
    separators = draw(st.sampled_from([None, (",", ":"), (", ", " : ")]))
    return json.dumps(fields, indent=indent, separators=separators)


PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "default-proxy-protocol": PROXY_PROTOCOLS,
        "proxy-protocol": PROXY_PROTOCOLS,
        "default-protocol": PROTOCOLS,
        **dict.fromkeys(PORT_NAMES, plain_json()),
    },
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
BLANKS = st.text(" \t\n\r\f\v\x1c\x1f\x85\xa0\u2003\u2028\u200b", max_size=3)
KEYS = st.sampled_from(
    [
        "proxy-protocol",
        "protocol",
        "Proxy-Protocol",
        "PROTOCOL",
        "tls-secret-name",
        "x",
        ":",
        "\u017f",
    ]
)
SCALARS = PROXY_PROTOCOLS | PROTOCOLS | TEXT | st.sampled_from([None, True, 1, 1.5, "", "protocol"])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(KEYS, SCALARS, max_size=2)


@st.composite
def wild_json(draw: st.DrawFn) -> str:
    """Draw JSON of any shape, with duplicate keys, and some that is broken."""
    entries = draw(st.lists(st.tuples(KEYS, VALUES), max_size=4))
    blank = draw(st.sampled_from(["", " ", "\n", "\t", "\f"]))
    write = json.JSONEncoder(ensure_ascii=draw(st.booleans())).encode
    text = f",{blank}".join(f"{write(key)}{blank}:{write(value)}" for key, value in entries)
    text = f"{blank}{{{text}{blank}}}"
    if draw(st.integers(0, 4)) == 0:
        start = draw(st.integers(0, len(text)))
        text = text[:start] + draw(st.sampled_from(['"', "\\", ",", "}", "\x00"])) + text[start:]
    return text


def _padded(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(BLANKS, values, BLANKS).map("".join)


WILD = st.fixed_dictionaries(
    {},
    optional={
        "default-proxy-protocol": PROXY_PROTOCOLS | _padded(PROXY_PROTOCOLS),
        "proxy-protocol": PROXY_PROTOCOLS | TEXT,
        "default-protocol": PROTOCOLS | TEXT,
        **dict.fromkeys(PORT_NAMES, plain_json() | wild_json() | TEXT),
    },
)
OVERRIDES = st.fixed_dictionaries({"ip-mode": MODES | _padded(MODES) | TEXT})
CLASSES = st.sampled_from([*[{}] * 9, {"loadBalancerClass": "example.com/lb"}])
on_a_server = settings(suppress_health_check=[HealthCheck.too_slow])


@on_a_server
@given(PLAIN, st.just({}) | MODES.map(lambda mode: {"ip-mode": mode}), PORTS, ADDRESSES)
def test_what_people_write_is_never_left_alone(
    server: Server,
    annotations: dict[str, str],
    override: dict[str, str],
    ports: list[Any],
    addresses: list[Object],
) -> None:
    before = len(server.left_alone)
    decision = server.compare(make("plain", annotations | override, ports, {}), addresses)
    event(decision.reason)
    assert len(server.left_alone) == before


@on_a_server
@given(WILD, st.just({}) | OVERRIDES, PORTS, CLASSES, ADDRESSES)
def test_whatever_is_written_never_leads_to_another_mode(
    server: Server,
    annotations: dict[str, str],
    override: dict[str, str],
    ports: list[Any],
    spec: dict[str, Any],
    addresses: list[Object],
) -> None:
    before = len(server.left_alone)
    decision = server.compare(make("wild", annotations | override, ports, spec), addresses)
    event(f"{decision.reason}, {ALONE if len(server.left_alone) > before else SYNC}")
