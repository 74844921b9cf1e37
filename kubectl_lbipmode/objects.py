"""Find the Kubernetes objects in a parsed document, and read them without expanding it.

An object stands alone or in a wrapper (``List``, ``ServiceList``, ``ResourceList``), which may
stand in another one. Of a Service only the fields that the rules look at are read, through aliases
and merge keys, so that reading stays cheap however large the rest is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_lbipmode.fields import find_child, read_object, read_text
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.yamledit.mappings import (
    find,
    find_duplicate,
    find_late_merge,
    flatten,
    key_text,
    own_indices,
)
from kubectl_lbipmode.yamledit.nodes import Alias, Mapping, Node, Root, Sequence, resolve
from kubectl_lbipmode.yamledit.scalars import is_null

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
    annotations = find_child(find(item.node, "metadata"), "annotations")
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


def _walk(
    node: Node, header: str, path: str, *, shared: bool, default_kind: str, seen: set[int]
) -> Iterator[KubernetesObject]:
    mapping = resolve(node)
    if not isinstance(mapping, Mapping) or id(mapping) in seen:
        return
    shared = shared or mapping.shared or isinstance(node, Alias)
    items = find(mapping, "items")
    child_kind = _child_kind(
        read_text(find(mapping, "apiVersion")), read_text(find(mapping, "kind"))
    )
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
        service = Service.from_mapping(read_object(mapping, default_kind))
        yield KubernetesObject(mapping, header, path, node.start, shared, service)


def _child_kind(api_version: str, kind: str) -> str | None:
    """Return what the items of a wrapper are where they do not say; None if it is no wrapper."""
    if api_version.startswith("config.kubernetes.io/") and kind == "ResourceList":
        return ""
    if api_version != "v1":
        return None
    return {"List": "", "ServiceList": "Service"}.get(kind)


def _values(node: Node, name: str) -> list[Node]:
    """Return all values of *name*: those of duplicate keys, or the one that a merge brings in."""
    if not isinstance(node, Mapping):
        return []
    own = [resolve(node.entries[index][1]) for index in own_indices(node, name)]
    effective = find(node, name)
    return own or ([effective] if effective is not None else [])


def _texts(node: Node, name: str, default: str) -> list[str]:
    return [read_text(value) for value in _values(node, name)] or [default]
