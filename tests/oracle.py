"""A second opinion on YAML: what a text means, without asking the code under test.

PyYAML parses; everything after that is written anew here, short enough to be checked by eye. A
scalar is a pair of tag and text, a sequence a list, a mapping a dict with its merge keys resolved.
Two readers of the same text differ in what a merge key (``<<``) that follows a key may do to it,
and an edit has to satisfy both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

import yaml

KEY = "service.beta.kubernetes.io/linode-loadbalancer-ip-mode"

Text = tuple[str, str]
Value = Text | list["Value"] | dict[str, "Value"]
Object = dict[str, "Value"]

_CORE_TAG = "tag:yaml.org,2002:"
_NULL = f"{_CORE_TAG}null"


class Reader(Enum):
    """Whose rules for merge keys count."""

    SPECIFICATION = auto()
    """A mapping's own keys win, wherever the merge stands."""

    KUBECTL = auto()
    """Entries are taken in order, so that a later merge overrides an earlier key."""


def read(raw: bytes, reader: Reader = Reader.SPECIFICATION) -> list[Value]:
    """Return the value of each document in *raw*."""
    return [_read_node(root, reader) for root in _Composer(raw).documents()]


def services(value: Value) -> Iterator[Object]:
    """Yield the Services of any type, also those inside of lists."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if isinstance(items, list) and (default := _kind_of_items(value)) is not None:
        for item in items:
            yield from services(_with_defaults(item, default))
    elif (_word(value.get("apiVersion")), _word(value.get("kind"))) == ("v1", "Service"):
        yield value


def change_services(value: Value, change: Callable[[Object], Object]) -> Value:
    """Return *value* with *change* applied to each of its `services`, in order."""
    if not isinstance(value, dict):
        return value
    items = value.get("items")
    if isinstance(items, list) and (default := _kind_of_items(value)) is not None:
        changed = [_change_item(item, default, change) for item in items]
        return {**value, "items": changed}
    return change(value) if next(services(value), None) is not None else value


def is_load_balancer(service: Object) -> bool:
    """Whether *service* has the type that the override is for."""
    return _word(_field(service, "spec", "type")) == "LoadBalancer"


def override(service: Object) -> str | None:
    """Return the text of the annotation; None for none."""
    value = _field(service, "metadata", "annotations", KEY)
    return None if value is None else _word(value)


def with_override(service: Object, text: str | None) -> Object:
    """Return *service* with the annotation set to a string, or without it."""
    metadata = service.get("metadata")
    if not isinstance(metadata, dict):
        return service
    annotations = metadata.get("annotations")
    entries = annotations if isinstance(annotations, dict) else {}
    rest: Object = {name: value for name, value in entries.items() if name != KEY}
    if text is not None:
        rest[KEY] = (f"{_CORE_TAG}str", text)
    return {**service, "metadata": {**metadata, "annotations": rest}}


def as_stored(service: Object) -> Object:
    """Return *service* as the API server tells it: no annotations, null and ``{}`` are one.

    A tag of the user's own on the override says nothing to the API server either.
    """
    metadata = service.get("metadata")
    if not isinstance(metadata, dict):
        return service
    annotations = metadata.get("annotations")
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    if not annotations or (isinstance(annotations, tuple) and annotations[0] == _NULL):
        return {**service, "metadata": rest}
    if isinstance(annotations, dict) and isinstance(value := annotations.get(KEY), tuple):
        tag, text = value
        if not tag.startswith(_CORE_TAG):
            annotations = {**annotations, KEY: (f"{_CORE_TAG}str", text)}
    return {**service, "metadata": {**rest, "annotations": annotations}}


class _Composer:
    """PyYAML's events as nodes; its own composer refuses an anchor that is given twice."""

    def __init__(self, raw: bytes) -> None:
        self._loader: Any = yaml.CSafeLoader(raw)
        self._anchors: dict[str, yaml.Node] = {}

    def documents(self) -> Iterator[yaml.Node]:
        """Yield the root of each document."""
        while self._loader.check_event():
            if isinstance(self._loader.get_event(), yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._node()

    def _node(self) -> yaml.Node:
        event = self._loader.get_event()
        anchor, tag = event.anchor, getattr(event, "tag", "")
        node: yaml.Node
        match event:
            case yaml.AliasEvent():
                return self._anchors[anchor]
            case yaml.ScalarEvent():
                tag = tag or self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
                node = yaml.ScalarNode(tag, event.value)
            case yaml.SequenceStartEvent():
                node = yaml.SequenceNode(tag, [])
            case _:
                node = yaml.MappingNode(tag, [])
        if anchor is not None:
            self._anchors[anchor] = node
        if isinstance(node, yaml.CollectionNode):
            while not isinstance(self._loader.peek_event(), yaml.CollectionEndEvent):
                child = self._node()
                is_key = isinstance(node, yaml.MappingNode)
                node.value.append((child, self._node()) if is_key else child)
            self._loader.get_event()
        return node


def _read_node(node: yaml.Node, reader: Reader) -> Value:
    match node:
        case yaml.ScalarNode():
            return node.tag, node.value
        case yaml.SequenceNode():
            return [_read_node(item, reader) for item in node.value]
        case yaml.MappingNode() if node.tag != _NULL:
            return _read_mapping(node, reader)
        case _:
            return _NULL, ""


def _read_mapping(node: yaml.MappingNode, reader: Reader) -> Object:
    entries: Object = {}
    own: set[str] = set()
    for key, value in node.value:
        if key.tag == f"{_CORE_TAG}merge":
            merged = _read_merged(value, reader)
            if reader is Reader.SPECIFICATION:
                merged = {name: entry for name, entry in merged.items() if name not in own}
            entries |= merged
        else:
            name = key.value if isinstance(key, yaml.ScalarNode) else repr(_read_node(key, reader))
            own.add(name)
            entries[name] = _read_node(value, reader)
    return entries


def _read_merged(node: yaml.Node, reader: Reader) -> Object:
    """Return what a merge key brings in: of several sources, the first wins."""
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    merged: Object = {}
    for source in reversed(sources):
        if isinstance(source, yaml.MappingNode):
            merged |= _read_mapping(source, reader)
    return merged


def _kind_of_items(value: Object) -> str | None:
    """Return which kind the items of a wrapper have if they do not say; None for no wrapper."""
    api_version, kind = _word(value.get("apiVersion")), _word(value.get("kind"))
    if api_version.startswith("config.kubernetes.io/") and kind == "ResourceList":
        return ""
    return {"List": "", "ServiceList": "Service"}.get(kind) if api_version == "v1" else None


def _with_defaults(item: Value, kind: str) -> Value:
    if not isinstance(item, dict) or not kind:
        return item
    defaults: Object = {"apiVersion": ("", "v1"), "kind": ("", kind)}
    return {**defaults, **item}


def _change_item(item: Value, kind: str, change: Callable[[Object], Object]) -> Value:
    full = _with_defaults(item, kind)
    changed = change_services(full, change)
    if not isinstance(item, dict) or not isinstance(changed, dict):
        return changed
    return {name: value for name, value in changed.items() if name in item}


def _field(value: Value | None, *path: str) -> Value | None:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _word(value: Value | None) -> str:
    return value[1] if isinstance(value, tuple) else ""
