"""Read a mapping: its own entries, and those that merge keys (``<<``) bring in.

A merge key is a plain ``<<`` whose value is a mapping or a list of mappings. By the YAML
specification the mapping's own keys win, then the first of the merged ones. kubectl's YAML reader
differs in one point: a ``<<`` that stands *after* a key overrides it (`find_override` tells).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_lbipmode.yamledit.nodes import Mapping, Node, Scalar, Sequence, resolve

_MERGE_TAG = "tag:yaml.org,2002:merge"


def key_text(key: Node) -> str | None:
    """Return the text of a scalar key; None for a merge key or a key that is no scalar."""
    key = resolve(key)
    return key.value if isinstance(key, Scalar) and not is_merge(key) else None


def is_merge(key: Node) -> bool:
    """Whether *key* is a merge key."""
    return (
        isinstance(key, Scalar)
        and key.value == "<<"
        and (key.tag == _MERGE_TAG or (key.tag is None and not key.style))
    )


def find_places(mapping: Mapping) -> dict[str | None, list[int]]:
    """Return which of the mapping's own entries have which key; merge keys are under None."""
    if mapping.places is None:
        mapping.places = {}
        for index, (key, _) in enumerate(mapping.entries):
            mapping.places.setdefault(key_text(key), []).append(index)
    return mapping.places


def own_indices(mapping: Mapping, name: str) -> list[int]:
    """Return which of the mapping's own entries have the key *name*."""
    return find_places(mapping).get(name, [])


def find(mapping: Mapping, name: str) -> Node | None:
    """Return the value of *name*, through aliases and merges; the last of duplicates."""
    for layer in _layers(mapping):
        places = find_places(layer).get(name)
        if places:
            return resolve(layer.entries[places[-1]][1])
    return None


def flatten(mapping: Mapping) -> dict[str, tuple[Node, Node]]:
    """Return all entries by key text, those of merges included, as (key, value) nodes."""
    entries: dict[str, tuple[Node, Node]] = {}
    for layer in _layers(mapping):
        for name, places in find_places(layer).items():
            if name is not None and name not in entries:
                key, value = layer.entries[places[-1]]
                entries[name] = (key, resolve(value))
    return entries


def find_duplicate(mapping: Mapping) -> Node | None:
    """Return the second of two own keys with the same text."""
    seconds = [
        places[1] for name, places in find_places(mapping).items() if name and len(places) > 1
    ]
    return mapping.entries[min(seconds)][0] if seconds else None


def find_late_merge(mapping: Mapping) -> tuple[Node, str] | None:
    """Return a merge key that brings in a key that is there before it, and the text of that key."""
    if None not in find_places(mapping):
        return None
    seen: set[str] = set()
    for key, value in mapping.entries:
        if is_merge(key):
            merged = {name for source in _merged(value) for name in flatten(source)}
            if twice := seen & merged:
                return key, min(twice)
            seen |= merged
        elif (name := key_text(key)) is not None:
            seen.add(name)
    return None


def find_override(mapping: Mapping, index: int) -> Node | None:
    """Return a later merge key that brings in the key of entry *index* too."""
    name = key_text(mapping.entries[index][0])
    for key, value in mapping.entries[index + 1 :]:
        if name is not None and is_merge(key) and _merge_has(value, name):
            return key
    return None


def merges(mapping: Mapping, name: str) -> bool:
    """Whether a merge brings in the key *name*, whatever the mapping's own keys say."""
    return any(is_merge(key) and _merge_has(value, name) for key, value in mapping.entries)


def _merge_has(value: Node, name: str) -> bool:
    return any(find(source, name) is not None for source in _merged(value))


def _merged(value: Node) -> Iterator[Mapping]:
    value = resolve(value)
    sources = [resolve(item) for item in value.items] if isinstance(value, Sequence) else [value]
    yield from (source for source in sources if isinstance(source, Mapping))


def _layers(mapping: Mapping) -> Iterator[Mapping]:
    """Yield the mapping and all that it merges, the winner first, each one once."""
    if None not in find_places(mapping):
        yield mapping
        return
    seen: set[int] = set()
    waiting = [mapping]
    while waiting:
        layer = waiting.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        yield layer
        merged = [layer.entries[index][1] for index in find_places(layer).get(None, [])]
        waiting.extend(reversed([source for value in merged for source in _merged(value)]))
