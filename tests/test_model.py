"""A Service is read from whatever a manifest or an API server holds; nothing makes it fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_lbipmode.model import Address, Annotation, AnnotationKind, Port, Service

EMPTY = Service.from_mapping({})

ANNOTATIONS = [
    pytest.param("text", Annotation("text"), id="string"),
    pytest.param("", Annotation(""), id="empty"),
    pytest.param(None, Annotation("", AnnotationKind.NULL), id="null"),
    pytest.param(True, Annotation("true", AnnotationKind.SCALAR), id="boolean"),
    pytest.param(8080, Annotation("8080", AnnotationKind.SCALAR), id="number"),
    pytest.param({"a": "b"}, Annotation("", AnnotationKind.COLLECTION), id="mapping"),
    pytest.param(["a"], Annotation("", AnnotationKind.COLLECTION), id="list"),
    pytest.param(Annotation("1.10", AnnotationKind.SCALAR), None, id="passes-through"),
]


@pytest.mark.parametrize(("value", "annotation"), ANNOTATIONS)
def test_annotation(value: object, annotation: Annotation | None) -> None:
    assert Annotation.from_value(value) == (annotation or value)


PORTS = [
    pytest.param([{"port": 80}], (Port(80),), id="number"),
    pytest.param([{"port": "$PORT", "protocol": "UDP"}], (Port("$PORT", "UDP"),), id="placeholder"),
    pytest.param([{"port": 80, "protocol": None, "name": 1}], (Port(80, name="1"),), id="odd"),
    pytest.param([{"port": ""}], (Port(None),), id="empty"),
    pytest.param([{"port": {"a": 1}}], (Port(None),), id="mapping"),
    pytest.param(["80"], (Port(None),), id="no-mapping"),
    pytest.param([], (), id="none"),
    pytest.param(None, (), id="null"),
    pytest.param({"port": 80}, (Port(None),), id="no-list"),
]


@pytest.mark.parametrize(("ports", "read"), PORTS)
def test_ports(ports: object, read: tuple[Port, ...]) -> None:
    assert Service.from_mapping({"spec": {"ports": ports}}).ports == read


FIELDS = [
    pytest.param({"metadata": None}, "has_metadata", False, id="metadata-null"),
    pytest.param({"metadata": {}}, "has_metadata", True, id="metadata-empty"),
    pytest.param({"metadata": {"labels": {"a": 1}}}, "labels", {"a": "1"}, id="labels"),
    pytest.param({"metadata": {"labels": ["a"]}}, "labels", {}, id="labels-are-no-mapping"),
    pytest.param({"spec": {"loadBalancerClass": ""}}, "load_balancer_class", "", id="class-empty"),
    pytest.param(
        {"spec": {"loadBalancerClass": None}}, "load_balancer_class", None, id="class-null"
    ),
    pytest.param({"spec": {"loadBalancerSourceRanges": []}}, "source_ranges", False, id="no-range"),
    pytest.param(
        {"spec": {"loadBalancerSourceRanges": ["::/0"]}}, "source_ranges", True, id="range"
    ),
    pytest.param({"spec": "word"}, "type", "", id="spec-is-no-mapping"),
    pytest.param(
        {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "Router"}, None]}}},
        "addresses",
        (Address("192.0.2.1", ip_mode="Router"), Address()),
        id="a-mode-from-the-future",
    ),
    pytest.param({"status": {"loadBalancer": None}}, "addresses", (), id="no-address"),
    pytest.param({"metadata": {"name": "web"}}, "full_name", "web", id="name"),
    pytest.param(
        {"metadata": {"name": "web", "namespace": "shop"}}, "full_name", "shop/web", id="namespace"
    ),
]


@pytest.mark.parametrize(("value", "field", "read"), FIELDS)
def test_field(value: dict[str, Any], field: str, read: object) -> None:
    assert getattr(Service.from_mapping(value), field) == read


words = st.sampled_from(
    ["apiVersion", "kind", "metadata", "annotations", "labels", "spec", "ports", "port", "status"]
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), words),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=4)),
    max_leaves=12,
)


@given(st.dictionaries(words, json_values, max_size=4))
def test_reading_never_fails(value: dict[str, Any]) -> None:
    """Whatever JSON stands in the place of a Service, it is read."""
    assert isinstance(Service.from_mapping(value), Service)
