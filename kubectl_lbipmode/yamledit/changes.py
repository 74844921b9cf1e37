"""Set or take away one entry of a mapping two levels down, losslessly, or refuse.

The two levels are given as a path: ``("metadata", "annotations")`` for our caller. Every change is
one `Edit`, proved before it is returned; what cannot be done so raises an `UnsupportedEditError`
that names the place.
"""

from __future__ import annotations

from typing import NamedTuple

from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.insertion import (
    alias_with_entry,
    flow_entry,
    flow_mapping,
    indent_step,
    insert_entry,
    insert_mapping,
    replace_value,
)
from kubectl_lbipmode.yamledit.mappings import find_override, merges, own_indices
from kubectl_lbipmode.yamledit.nodes import Alias, Mapping, Node, Scalar, resolve
from kubectl_lbipmode.yamledit.places import swallows_line_break
from kubectl_lbipmode.yamledit.proof import (
    mapping,
    null,
    prove,
    scalar,
    with_entry,
    with_value,
    without,
)
from kubectl_lbipmode.yamledit.removal import holds_comment, remove_entry
from kubectl_lbipmode.yamledit.scalars import is_null
from kubectl_lbipmode.yamledit.text import UnsupportedEditError

UNSHARE = "write the mapping out at each place that uses it"


class Target(NamedTuple):
    """The object that is edited: its mapping in *text*, under the document's directives."""

    text: str
    node: Mapping
    header: str


def put(target: Target, path: tuple[str, str], name: str, value: str) -> Edit:
    """Set ``path[0].path[1][name]`` to the word *value*.

    Raises:
        UnsupportedEditError: it cannot be done without changing more than that.
    """
    text, root, header = target
    outer = _open_outer(root, path[0])
    index = _own_index(outer, path[1])
    if index is None:
        edit, new_outer = _put_inner(text, root, outer, path[1], (name, value))
    else:
        edit, new_inner = _put_entry(text, root, outer, index, (name, value))
        new_outer = with_value(outer, index, new_inner)
    prove(text, outer, header, edit, new_outer)
    return edit


def drop(target: Target, path: tuple[str, str], name: str) -> Edit | None:
    """Take ``path[0].path[1][name]`` away; None if it is not there.

    A block mapping that is left empty and holds no comment goes too.

    Raises:
        UnsupportedEditError: it cannot be done without changing more than that.
    """
    text, root, header = target
    outer = _open_outer(root, path[0])
    inner_index = _own_index(outer, path[1])
    if inner_index is None:
        return None
    inner = outer.entries[inner_index][1]
    resolved = resolve(inner)
    if not isinstance(resolved, Mapping):
        return None
    if merges(resolved, name) or (isinstance(inner, Alias) and own_indices(resolved, name)):
        message = f"`{name}` comes from a mapping that is used elsewhere too"
        raise UnsupportedEditError(message, inner.start, "take it out of that mapping by hand")
    own = own_indices(resolved, name)
    if not own or isinstance(inner, Alias):
        return None
    _check_unshared(resolved, path[1])
    edit, new_outer = _drop_entry(text, outer, inner_index, resolved, own[0])
    prove(text, outer, header, edit, new_outer)
    return edit


def _open_outer(root: Mapping, name: str) -> Mapping:
    """Return the mapping under *name* that an edit may go into."""
    if root.shared:
        message = f"the object has an anchor (&{root.anchor}) and is used elsewhere"
        raise UnsupportedEditError(message, root.start, "write the object out at each place")
    index = _own_index(root, name)
    outer = None if index is None else root.entries[index][1]
    if not isinstance(outer, Mapping):
        place = outer.start if outer is not None else root.start
        message = f"`{name}` must be written out as a mapping, not come from an alias or a merge"
        raise UnsupportedEditError(message, place, UNSHARE)
    _check_unshared(outer, name)
    return outer


def _own_index(parent: Mapping, name: str) -> int | None:
    """Return the entry *name* that every reader takes, kubectl's included."""
    indices = own_indices(parent, name)
    if not indices:
        if merges(parent, name):
            raise UnsupportedEditError(f"`{name}` comes from a merge (<<)", parent.start, UNSHARE)
        return None
    if (override := find_override(parent, indices[-1])) is not None:
        message = f"a merge (<<) after `{name}` brings it in too, and kubectl lets that one win"
        raise UnsupportedEditError(message, override.start, f"put the merge before `{name}`")
    return indices[-1]


def _check_unshared(node: Node, name: str) -> None:
    if node.shared:
        message = f"`{name}` has an anchor (&{node.anchor}) and is used elsewhere"
        raise UnsupportedEditError(message, node.start, UNSHARE)


def _put_inner(
    text: str, root: Mapping, outer: Mapping, key: str, entry: tuple[str, str]
) -> tuple[Edit, Mapping]:
    """Add the inner mapping as the last entry of *outer*."""
    name, value = entry
    step = " " * indent_step(text, outer, root)
    flow = flow_mapping(key, entry)
    edit = insert_entry(text, outer, [f"{key}:", f"{step}{name}: {value}"], flow)
    new = (scalar(key), mapping((scalar(name), scalar(value))))
    return edit, with_entry(outer, new, last=_goes_last(text, outer))


def _goes_last(text: str, parent: Mapping) -> bool:
    return parent.flow or not swallows_line_break(text, parent.entries[-1][1])


def _put_entry(
    text: str, root: Mapping, outer: Mapping, index: int, entry: tuple[str, str]
) -> tuple[Edit, Node]:
    """Set the entry in the inner mapping, or make a mapping of what stands there."""
    name, value = entry
    key, inner = outer.entries[index]
    new = (scalar(name), scalar(value))
    if isinstance(inner, Alias):
        if not isinstance(resolve(inner), Mapping):
            raise _no_mapping(key, inner)
        edit = Edit(inner.start, inner.end, alias_with_entry(text, inner, entry))
        merge_key = Scalar(0, 0, None, None, "<<", "")
        return edit, mapping((merge_key, inner), new)
    _check_unshared(inner, key.value if isinstance(key, Scalar) else "the value")
    if is_null(inner):
        kept = inner if inner.tag is None else None
        return insert_mapping(text, root, outer, index, entry), mapping(new, old=kept)
    if not isinstance(inner, Mapping):
        raise _no_mapping(key, inner)
    own = own_indices(inner, name)
    if not own:
        edit = insert_entry(text, inner, [f"{name}: {value}"], flow_entry(name, value))
        return edit, with_entry(inner, new, last=_goes_last(text, inner))
    if (override := find_override(inner, own[0])) is not None:
        message = f"a merge (<<) after `{name}` brings it in too, and kubectl lets that one win"
        raise UnsupportedEditError(message, override.start, "put the merge before it")
    old = inner.entries[own[0]][1]
    edit = replace_value(text, inner, own[0], value)
    return edit, with_value(inner, own[0], scalar(value, old))


def _no_mapping(key: Node, value: Node) -> UnsupportedEditError:
    name = key.value if isinstance(key, Scalar) else "the value"
    return UnsupportedEditError(
        f"`{name}` must be a mapping", value.start, "write it as KEY: VALUE lines"
    )


def _drop_entry(
    text: str, outer: Mapping, inner_index: int, inner: Mapping, index: int
) -> tuple[Edit, Mapping]:
    value = inner.entries[index][1]
    if value.shared:
        message = f"the value has an anchor (&{value.anchor}) that is used elsewhere"
        raise UnsupportedEditError(message, value.start, "write the value out at both places")
    left = without(inner, index)
    if left.entries:
        if (alias := _bare_merge(text, inner, left)) is not None:
            # The inverse of what `put` makes of an alias.
            edit = Edit(inner.start, inner.end, text[alias.start : alias.end])
            return edit, with_value(outer, inner_index, alias)
        return remove_entry(text, inner, index), with_value(outer, inner_index, left)
    # A block mapping that is left without entries would be a null.
    may_go = outer.flow or len(outer.entries) > 1
    if may_go and _goes_too(text, outer.entries[inner_index][0], inner):
        return remove_entry(text, outer, inner_index), without(outer, inner_index)
    edit = remove_entry(text, inner, index)
    return edit, with_value(outer, inner_index, left if inner.flow else null(inner))


def _goes_too(text: str, key: Node, inner: Mapping) -> bool:
    """Whether *inner*, left empty, goes with its key: in flow style only if `put` has added it."""
    if not inner.flow:
        return inner.anchor is None and not holds_comment(text, key, inner)
    name, value = inner.entries[0]
    if not (isinstance(key, Scalar) and isinstance(name, Scalar) and isinstance(value, Scalar)):
        return False
    return text[key.start : inner.end] == flow_mapping(key.value, (name.value, value.value))


def _bare_merge(text: str, inner: Mapping, left: Mapping) -> Alias | None:
    """Return the alias of ``{<<: *alias, "KEY": VALUE}`` as `put` writes it."""
    alias = left.entries[0][1]
    if len(left.entries) > 1 or not isinstance(alias, Alias):
        return None
    name, value = inner.entries[-1]
    if not isinstance(name, Scalar) or not isinstance(value, Scalar):
        return None
    written = alias_with_entry(text, alias, (name.value, value.value))
    return alias if text[inner.start : inner.end] == written else None
