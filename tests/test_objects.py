"""Which objects a document holds, where they stand, and what is read of them."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.model import Address, Annotation, AnnotationKind, Port
from kubectl_lbipmode.objects import (
    KubernetesObject,
    find_duplicate_key,
    find_objects,
    has_broken_annotations,
    locate,
    may_be,
)
from kubectl_lbipmode.yamledit.nodes import compose

SERVICE = "{apiVersion: v1, kind: Service, metadata: {name: web}}"


def objects(text: str) -> list[KubernetesObject]:
    return list(find_objects(compose(text)))


def only(text: str) -> KubernetesObject:
    (item,) = objects(text)
    return item


FOUND = [
    pytest.param(SERVICE, [("", "Service")], id="alone"),
    pytest.param(f"--- {SERVICE}\n--- {SERVICE}\n", [("", "Service"), ("", "Service")], id="two"),
    pytest.param(
        f"{{apiVersion: v1, kind: List, items: [{SERVICE}, {{kind: Pod}}]}}",
        [("items[0]", "Service"), ("items[1]", "Pod")],
        id="list",
    ),
    pytest.param(
        "{apiVersion: v1, kind: ServiceList, items: [{metadata: {name: web}}]}",
        [("items[0]", "Service")],
        id="list-that-tells-the-kind",
    ),
    pytest.param(
        f"{{apiVersion: config.kubernetes.io/v1, kind: ResourceList, items: [{SERVICE}]}}",
        [("items[0]", "Service")],
        id="resource-list",
    ),
    pytest.param(
        "{apiVersion: v1, kind: List, items: ["
        f"{{kind: Pod}}, {{apiVersion: v1, kind: List, items: [{SERVICE}]}}]}}",
        [("items[0]", "Pod"), ("items[1].items[0]", "Service")],
        id="list-in-a-list",
    ),
    pytest.param("{apiVersion: v1, kind: List, items: []}", [], id="empty-list"),
    pytest.param("{apiVersion: v1, kind: List}", [], id="list-without-items"),
    pytest.param("{apiVersion: v1, kind: List, items: [word, [1]]}", [], id="no-objects"),
    pytest.param(
        "{apiVersion: example.com/v1, kind: AccessControlList}",
        [("", "AccessControlList")],
        id="a-kind-that-ends-in-list",
    ),
    pytest.param("&l {apiVersion: v1, kind: List, items: [*l]}", [], id="list-in-itself"),
    pytest.param("word", [], id="no-mapping"),
    pytest.param("", [], id="nothing"),
]


@pytest.mark.parametrize(("text", "found"), FOUND)
def test_find(text: str, found: list[tuple[str, str]]) -> None:
    assert [(item.path, item.service.kind) for item in objects(text)] == found


SHARED = [
    pytest.param(f"{{apiVersion: v1, kind: List, items: [{SERVICE}]}}", [False], id="once"),
    pytest.param(
        f"{{apiVersion: v1, kind: List, items: [&s {SERVICE}, *s]}}", [True, True], id="item"
    ),
    pytest.param(
        f"{{x: &i [{SERVICE}], apiVersion: v1, kind: List, items: *i}}", [True], id="items"
    ),
    pytest.param(
        f"{{apiVersion: v1, kind: List, items: [&s {SERVICE}, {SERVICE}]}}",
        [False, False],
        id="anchor-that-nothing-uses",
    ),
]


@pytest.mark.parametrize(("text", "shared"), SHARED)
def test_shared(text: str, shared: list[bool]) -> None:
    assert [item.shared for item in objects(text)] == shared


def test_read() -> None:
    service = only(
        """\
x: &x {type: LoadBalancer}
apiVersion: v1
kind: Service
metadata:
  generateName: web-
  namespace: "01234"
  labels: {app: web, tier: 1}
  annotations: {s: a, n: ~, b: yes, l: [1], j: 0x1F, t: !!str 5}
spec:
  <<: *x
  ports: [{port: 0x50, protocol: UDP, name: dns}, {port: $PORT}, word]
  externalTrafficPolicy: Local
  loadBalancerSourceRanges: [10.0.0.0/8]
status: {loadBalancer: {ingress: [{ip: 192.0.2.1, ipMode: VIP}, {hostname: lb.example.net}]}}
"""
    ).service

    assert service.full_name == "01234/web-"
    assert service.type == "LoadBalancer"
    assert service.labels == {"app": "web", "tier": "1"}
    assert service.annotations == {
        "s": Annotation("a"),
        "n": Annotation("", AnnotationKind.NULL),
        "b": Annotation("yes", AnnotationKind.SCALAR),
        "l": Annotation("", AnnotationKind.COLLECTION),
        "j": Annotation("0x1F", AnnotationKind.SCALAR),
        "t": Annotation("5"),
    }
    assert service.ports == (Port(80, "UDP", "dns"), Port("$PORT"), Port(None))
    assert service.external_traffic_policy == "Local"
    assert service.source_ranges
    assert service.load_balancer_class is None
    assert service.addresses == (Address("192.0.2.1", "", "VIP"), Address("", "lb.example.net", ""))


DUPLICATES = [
    pytest.param("{kind: Service, kind: Pod}", "kind", id="root"),
    pytest.param("{metadata: {name: a, name: a}}", "name", id="metadata"),
    pytest.param("{metadata: {annotations: {x: 1, 'x': 2}}}", "x", id="annotations"),
    pytest.param("{spec: {type: a, type: b}}", "type", id="spec"),
    pytest.param("{spec: {ports: [{port: 1}, {port: 1, port: 2}]}}", "port", id="port"),
    pytest.param("{metadata: {a: 1, a: 2}, metadata: {}}", "metadata", id="outer-one-first"),
    pytest.param("{metadata: {a: 1, <<: {a: 2}}}", "a", id="merge"),
    pytest.param("{x: &x {a: 1, a: 2}, metadata: {annotations: *x}}", "a", id="alias"),
    pytest.param("{metadata: {labels: {a: 1, a: 2}}, data: {a: 1, a: 2}}", None, id="elsewhere"),
    pytest.param(SERVICE, None, id="none"),
]


@pytest.mark.parametrize(("text", "name"), DUPLICATES)
def test_duplicate_key(text: str, name: str | None) -> None:
    duplicate = find_duplicate_key(only(text))

    assert (duplicate and duplicate[1]) == name


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("{metadata: {annotations: [a]}}", True),
        ("{metadata: {annotations: word}}", True),
        ("{metadata: {annotations: {}}}", False),
        ("{metadata: {annotations: ~}}", False),
        ("{metadata: {}}", False),
        ("{metadata: word}", False),
    ],
)
def test_broken_annotations(text: str, broken: bool) -> None:
    assert has_broken_annotations(only(text)) == broken


MAYBE = [
    ("{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}", True),
    (
        "{apiVersion: v1, kind: Service, kind: Pod, spec: {type: ClusterIP, type: LoadBalancer}}",
        True,
    ),
    ("{apiVersion: v1, kind: Service, spec: {}, spec: {type: LoadBalancer}}", True),
    ("{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}", False),
    ("{apiVersion: v1, kind: Pod, spec: {type: LoadBalancer}}", False),
    ("{apiVersion: serving.knative.dev/v1, kind: Service, spec: {type: LoadBalancer}}", False),
    ("{apiVersion: v1, kind: Service}", False),
]


@pytest.mark.parametrize(("text", "may"), MAYBE)
def test_may_be(text: str, may: bool) -> None:
    item = objects(text)[0]

    assert may_be(item, kind="Service", type_="LoadBalancer") == may


TEXT = "{metadata: {annotations: {a.b/c-1: x, d: y}}, spec: {ports: [{port: 1}, {port: 2}]}}"
PLACES = [
    ("metadata", "metadata:"),
    ("metadata.annotations", "annotations:"),
    ("metadata.annotations[a.b/c-1]", "a.b/c-1:"),
    ("metadata.annotations[absent]", "annotations:"),
    ("metadata.labels.app", "metadata:"),
    ("spec.ports", "ports:"),
    ("spec.ports[1]", "{port: 2"),
    ("spec.ports[1].port", "port: 2"),
    ("spec.ports[2].port", "ports:"),
    ("spec.type", "spec:"),
    ("status", "{metadata"),
    ("", "{metadata"),
]


@pytest.mark.parametrize(("field", "place"), PLACES)
def test_locate(field: str, place: str) -> None:
    """What is not there is looked for around its place."""
    assert TEXT[locate(only(TEXT).node, field) :].startswith(place)
