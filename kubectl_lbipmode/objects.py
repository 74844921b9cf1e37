"""Find the Kubernetes objects in a parsed document, and read them without expanding it.

An object stands alone or in a wrapper (``List``, ``ServiceList``, ``ResourceList``), which may
stand in another one. Of a Service only the fields that the rules look at are read, through aliases
and merge keys, so that reading stays cheap however large the rest is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubectl_lbipmode.model import Annotation, AnnotationKind, Service
from kubectl_lbipmode.yamledit.mappings import (
    find,
    find_duplicate,
    find_late_merge,
    flatten,
    key_text,
    own_indices,
)
from kubectl_lbipmode.yamledit.nodes import Alias, Mapping, Node, Root, Scalar, Sequence, resolve
from kubectl_lbipmode.yamledit.scalars import is_null, is_string, read_boolean, read_integer

_STEP = re.compile(r"\[(.*?)\](?=\.|\[|$)|([^.\[]+)")


@dataclass(frozen=True, slots=True)
class KubernetesObject:
    """An object in a document: its mapping, and its place in the wrapper (``items[3]``, or empty).

    *shared* says that the object, or a wrapper around it, is used in a second place by an alias.
    """

    node: Mapping
    header: str
    path: str
    start: int
    shared: bool
    service: Service


def find_objects(roots: list[Root]) -> Iterator[KubernetesObject]:
    """Yield the objects of all documents, those in wrappers instead of the wrappers."""
    for root in roots:
        yield from _walk(root.node, root.header, "", shared=False, default_kind="", seen=set())


def find_duplicate_key(item: KubernetesObject) -> tuple[Node, str] | None:
    """Return the second of two equal keys where a Service must not have them, and its text.

    Readers differ in which one they take, and so they do where a merge brings in a key that stands
    before it. The root, metadata, annotations, spec and each port count; for a key that stands
    twice, both values are looked into.
    """
    waiting: list[Node] = [item.node]
    for name in ("metadata", "spec"):
        parents = _values(item.node, name)
        waiting += parents
        inner = {"metadata": "annotations", "spec": "ports"}[name]
        for parent in parents:
            for value in _values(parent, inner):
                waiting += map(resolve, value.items) if isinstance(value, Sequence) else [value]
    for node in waiting:
        if not isinstance(node, Mapping):
            continue
        if (duplicate := find_duplicate(node)) is not None:
            return duplicate, key_text(duplicate) or ""
        if (late := find_late_merge(node)) is not None:
            return late
    return None


def has_broken_annotations(item: KubernetesObject) -> bool:
    """Whether the annotations are there, but are no mapping."""
    annotations = _child(find(item.node, "metadata"), "annotations")
    return not (annotations is None or is_null(annotations) or isinstance(annotations, Mapping))


def may_be(item: KubernetesObject, *, kind: str, type_: str | None) -> bool:
    """Whether the object is, or with one of its duplicate keys would be, of that kind and type."""
    if "v1" not in _texts(item.node, "apiVersion", item.service.api_version):
        return False
    if kind not in _texts(item.node, "kind", item.service.kind):
        return False
    specs = _values(item.node, "spec")
    return type_ is None or any(type_ in _texts(spec, "type", "") for spec in specs)


def locate(node: Mapping, field: str) -> int:
    """Return the place of *field*, or of the nearest thing around it that is there."""
    place, current = node.start, node
    for match in _STEP.finditer(field):
        step = match[1] if match[1] is not None else match[2]
        value: Node | None = None
        if isinstance(current, Mapping):
            entry = flatten(current).get(step)
            if entry is None:
                break
            place, value = entry[0].start, entry[1]
        elif isinstance(current, Sequence) and step.isdigit() and int(step) < len(current.items):
            value = resolve(current.items[int(step)])
            place = current.items[int(step)].start
        if value is None:
            break
        current = value  # type: ignore[assignment]
    return place


def read_section(node: Node | None) -> object:
    """Read a small object, such as a functionConfig, two levels deep; deeper is an empty mapping.

    Booleans and nulls are read as such, every other scalar as text.
    """
    if not isinstance(node, Mapping):
        return None if node is None else _read_flag(node)
    return {
        key: {name: _read_flag(entry) for name, (_, entry) in _flat(value).items()}
        if isinstance(value, Mapping)
        else _read_flag(value)
        for key, (_, value) in flatten(node).items()
    }


def _read_flag(node: Node) -> object:
    if not isinstance(node, Scalar):
        return [] if isinstance(node, Sequence) else {}
    if is_null(node):
        return None
    flag = read_boolean(node)
    return node.value if flag is None else flag


def _walk(
    node: Node, header: str, path: str, *, shared: bool, default_kind: str, seen: set[int]
) -> Iterator[KubernetesObject]:
    mapping = resolve(node)
    if not isinstance(mapping, Mapping) or id(mapping) in seen:
        return
    shared = shared or mapping.shared or isinstance(node, Alias)
    items = find(mapping, "items")
    child_kind = _child_kind(_text(find(mapping, "apiVersion")), _text(find(mapping, "kind")))
    if child_kind is not None and isinstance(items, Sequence):
        inside = {*seen, id(mapping)}
        shared = shared or items.shared
        prefix = f"{path}." if path else ""
        for index, item in enumerate(items.items):
            place = f"{prefix}items[{index}]"
            yield from _walk(
                item, header, place, shared=shared, default_kind=child_kind, seen=inside
            )
    elif child_kind is None:
        service = Service.from_mapping(_read(mapping, default_kind))
        yield KubernetesObject(mapping, header, path, node.start, shared, service)


def _child_kind(api_version: str, kind: str) -> str | None:
    """Return what the items of a wrapper are where they do not say; None if it is no wrapper."""
    if api_version.startswith("config.kubernetes.io/") and kind == "ResourceList":
        return ""
    if api_version != "v1":
        return None
    return {"List": "", "ServiceList": "Service"}.get(kind)


def _read(node: Mapping, default_kind: str) -> dict[str, Any]:
    """Read the fields that the rules look at, as a plain mapping."""
    metadata = find(node, "metadata")
    head = {
        "apiVersion": _text(find(node, "apiVersion")) or ("v1" if default_kind else ""),
        "kind": _text(find(node, "kind")) or default_kind,
        "metadata": _read_metadata(metadata) if isinstance(metadata, Mapping) else None,
    }
    if head["kind"] != "Service":
        return head  # Of anything else, the annotations are all that is worth a word.
    spec = find(node, "spec")
    status = _child(_child(find(node, "status"), "loadBalancer"), "ingress")
    return {
        **head,
        "spec": {
            "type": _text(_child(spec, "type")),
            "loadBalancerClass": _value(_child(spec, "loadBalancerClass")),
            "ports": _read_list(_child(spec, "ports"), ("port", "protocol", "name")),
            "externalTrafficPolicy": _text(_child(spec, "externalTrafficPolicy")),
            "loadBalancerSourceRanges": _read_list(_child(spec, "loadBalancerSourceRanges"), ()),
        },
        "status": {"loadBalancer": {"ingress": _read_list(status, ("ip", "hostname", "ipMode"))}},
    }


def _read_metadata(metadata: Mapping) -> dict[str, Any]:
    labels = find(metadata, "labels")
    annotations = find(metadata, "annotations")
    return {
        "name": _text(find(metadata, "name")) or _text(find(metadata, "generateName")),
        "namespace": _text(find(metadata, "namespace")),
        "labels": {key: _text(value) for key, (_, value) in _flat(labels).items()},
        "annotations": {
            key: _read_annotation(value) for key, (_, value) in _flat(annotations).items()
        },
    }


def _read_annotation(value: Node) -> Annotation:
    if not isinstance(value, Scalar):
        return Annotation("", AnnotationKind.COLLECTION)
    if is_null(value):
        return Annotation("", AnnotationKind.NULL)
    kind = AnnotationKind.STRING if is_string(value) else AnnotationKind.SCALAR
    return Annotation(value.value, kind)


def _read_list(node: Node | None, names: tuple[str, ...]) -> object:
    if not isinstance(node, Sequence):
        return _value(node)
    return [
        {name: _value(find(entry, name)) for name in names} if isinstance(entry, Mapping) else None
        for entry in map(resolve, node.items)
    ]


def _value(node: Node | None) -> object:
    """Return a scalar as text or whole number; a null as None; what is no scalar as a mark."""
    if node is None or is_null(node):
        return None
    if not isinstance(node, Scalar):
        return {}
    number = read_integer(node)
    return node.value if number is None else number


def _child(node: Node | None, name: str) -> Node | None:
    return find(node, name) if isinstance(node, Mapping) else None


def _flat(node: Node | None) -> dict[str, tuple[Node, Node]]:
    return flatten(node) if isinstance(node, Mapping) else {}


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, Scalar) and not is_null(node) else ""


def _values(node: Node, name: str) -> list[Node]:
    """Return all values of *name*: those of duplicate keys, or the one that a merge brings in."""
    if not isinstance(node, Mapping):
        return []
    own = [resolve(node.entries[index][1]) for index in own_indices(node, name)]
    effective = find(node, name)
    return own or ([effective] if effective is not None else [])


def _texts(node: Node, name: str, default: str) -> list[str]:
    return [_text(value) for value in _values(node, name)] or [default]
