"""What we read: Services, their ports, addresses and annotations, as frozen values.

Built from plain mappings, so that a manifest, a ResourceList item and a live object are one thing
to the rules. Reading never fails: a value of the wrong kind is kept as the text that was written,
and the rules say what is wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class IPMode(StrEnum):
    """The modes that we may write, spelled as the Kubernetes API spells them (KEP-1860)."""

    VIP = "VIP"
    PROXY = "Proxy"


class AnnotationKind(StrEnum):
    """What was written as the value. The API server takes strings only, and null as ``""``."""

    STRING = "string"
    NULL = "null"
    SCALAR = "scalar"
    COLLECTION = "collection"


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation value: the text as it stands, and whether it is a string at all."""

    text: str
    kind: AnnotationKind = AnnotationKind.STRING

    @classmethod
    def from_value(cls, value: object) -> Annotation:
        """Read a plain value; an `Annotation` passes through."""
        match value:
            case Annotation():
                return value
            case str():
                return cls(value)
            case None:
                return cls("", AnnotationKind.NULL)
            case Mapping() | list():
                return cls("", AnnotationKind.COLLECTION)
            case _:
                return cls(json.dumps(value), AnnotationKind.SCALAR)


@dataclass(frozen=True, slots=True)
class Port:
    """One entry of ``spec.ports``.

    *number* is a string where the file holds a placeholder (``$PORT``), None where it is missing.
    """

    number: int | str | None
    protocol: str = "TCP"
    name: str = ""

    @classmethod
    def from_value(cls, value: object) -> Port:
        """Read a plain mapping; anything else is a port without a number."""
        entry = _mapping(value)
        number = entry.get("port")
        return cls(
            number=number if isinstance(number, int | str) and number != "" else None,
            protocol=_text(entry.get("protocol")) or "TCP",
            name=_text(entry.get("name")),
        )


@dataclass(frozen=True, slots=True)
class Address:
    """One entry of ``status.loadBalancer.ingress``, as read.

    *ip_mode* stays a plain string: a newer cluster may send a mode that this version does not
    know (KEP-6272 proposes ``Router``), and reading must not fail on it.
    """

    ip: str = ""
    hostname: str = ""
    ip_mode: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A Service as far as the rules look at it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    has_metadata: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, Annotation]
    type: str
    load_balancer_class: str | None
    ports: tuple[Port, ...]
    external_traffic_policy: str
    source_ranges: bool
    addresses: tuple[Address, ...]
    # What only a live object has.
    uid: str = ""
    created: str = ""
    status_writer: str = ""
    conditions: frozenset[str] = frozenset()

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> Service:
        """Read a plain mapping, such as parsed JSON; never fails."""
        metadata = value.get("metadata")
        spec = _mapping(value.get("spec"))
        status = _mapping(value.get("status"))
        ingress = _mapping(status.get("loadBalancer")).get("ingress")
        load_balancer_class = spec.get("loadBalancerClass")
        return cls(
            api_version=_text(value.get("apiVersion")),
            kind=_text(value.get("kind")),
            namespace=_text(_mapping(metadata).get("namespace")),
            name=_text(_mapping(metadata).get("name")),
            has_metadata=isinstance(metadata, Mapping),
            labels=_texts(_mapping(metadata).get("labels")),
            annotations={
                str(key): Annotation.from_value(entry)
                for key, entry in _mapping(_mapping(metadata).get("annotations")).items()
            },
            type=_text(spec.get("type")),
            load_balancer_class=None if load_balancer_class is None else _text(load_balancer_class),
            ports=_read_ports(spec.get("ports")),
            external_traffic_policy=_text(spec.get("externalTrafficPolicy")),
            source_ranges=bool(spec.get("loadBalancerSourceRanges")),
            addresses=tuple(
                Address(
                    _text(_mapping(entry).get("ip")),
                    _text(_mapping(entry).get("hostname")),
                    _text(_mapping(entry).get("ipMode")),
                )
                for entry in _list(ingress)
            ),
            uid=_text(_mapping(metadata).get("uid")),
            created=_text(_mapping(metadata).get("creationTimestamp")),
            status_writer=_find_status_writer(_mapping(metadata).get("managedFields")),
            conditions=frozenset(
                _text(_mapping(condition).get("type"))
                for condition in _list(status.get("conditions"))
                if _mapping(condition).get("status") == "True"
            ),
        )

    @property
    def full_name(self) -> str:
        """``namespace/name``, or the name alone where no namespace is written."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def _read_ports(value: object) -> tuple[Port, ...]:
    if value is None or isinstance(value, list):
        return tuple(Port.from_value(port) for port in value or [])
    # What is no list cannot be a list of ports: one port in error stands for it.
    return (Port(None),)


def _find_status_writer(managed_fields: object) -> str:
    """Return the field manager that owns the addresses: whoever wrote them last."""
    for entry in map(_mapping, _list(managed_fields)):
        status = _mapping(_mapping(entry.get("fieldsV1")).get("f:status"))
        if entry.get("subresource") == "status" and "f:loadBalancer" in status:
            return _text(entry.get("manager"))
    return ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _texts(value: object) -> dict[str, str]:
    return {str(key): _text(entry) for key, entry in _mapping(value).items()}
