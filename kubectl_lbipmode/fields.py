"""Read the fields that the rules look at, through aliases and merge keys, and no others.

So reading stays cheap however large the rest of a document is, and an alias is never expanded.
"""

from __future__ import annotations

from typing import Any

from kubectl_lbipmode.model import Annotation, AnnotationKind
from kubectl_lbipmode.yamledit.mappings import find, flatten
from kubectl_lbipmode.yamledit.nodes import Mapping, Node, Scalar, Sequence, resolve
from kubectl_lbipmode.yamledit.scalars import is_null, is_string, read_boolean, read_integer


def read_object(node: Mapping, default_kind: str) -> dict[str, Any]:
    """Read the fields that the rules look at, as a plain mapping."""
    metadata = find(node, "metadata")
    head = {
        "apiVersion": read_text(find(node, "apiVersion")) or ("v1" if default_kind else ""),
        "kind": read_text(find(node, "kind")) or default_kind,
        "metadata": _read_metadata(metadata) if isinstance(metadata, Mapping) else None,
    }
    if head["kind"] != "Service":
        return head  # Of anything else, the annotations are all that is worth a word.
    spec = find(node, "spec")
    status = find_child(find_child(find(node, "status"), "loadBalancer"), "ingress")
    return {
        **head,
        "spec": {
            "type": read_text(find_child(spec, "type")),
            "loadBalancerClass": _value(find_child(spec, "loadBalancerClass")),
            "ports": _read_list(find_child(spec, "ports"), ("port", "protocol", "name")),
            "externalTrafficPolicy": read_text(find_child(spec, "externalTrafficPolicy")),
            "loadBalancerSourceRanges": _read_list(
                find_child(spec, "loadBalancerSourceRanges"), ()
            ),
        },
        "status": {"loadBalancer": {"ingress": _read_list(status, ("ip", "hostname", "ipMode"))}},
    }


def _read_metadata(metadata: Mapping) -> dict[str, Any]:
    labels = find(metadata, "labels")
    annotations = find(metadata, "annotations")
    return {
        "name": read_text(find(metadata, "name")) or read_text(find(metadata, "generateName")),
        "namespace": read_text(find(metadata, "namespace")),
        "labels": {key: read_text(value) for key, (_, value) in _flat(labels).items()},
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


def find_child(node: Node | None, name: str) -> Node | None:
    """Return the value of *name* if *node* is a mapping that has it."""
    return find(node, name) if isinstance(node, Mapping) else None


def _flat(node: Node | None) -> dict[str, tuple[Node, Node]]:
    return flatten(node) if isinstance(node, Mapping) else {}


def read_text(node: Node | None) -> str:
    """Return the text of a scalar; of anything else, and of a null, the empty string."""
    return node.value if isinstance(node, Scalar) and not is_null(node) else ""


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
