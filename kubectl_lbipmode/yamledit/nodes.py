"""A document as nodes with exact places.

The places count code points. A node's span includes its anchor and tag; `Scalar.content` is where
the value itself begins. An alias stays an alias and is never expanded, so a document takes time and
memory in proportion to its text, an "alias bomb" too. What an alias points to is marked as
*shared*: an edit of it in one place would change it in another.
"""

from __future__ import annotations

import gc
import re

from kubectl_lbipmode.yamledit.parser import NextEvent, explain, open_events
from kubectl_lbipmode.yamledit.text import BOM, InvalidYAMLError

_PROPERTIES = re.compile(
    "(?:[&!][^ \t\r\n\x85\u2028\u2029]*(?:[ \t\r\n\x85\u2028\u2029]|#[^\r\n\x85\u2028\u2029]*)*)*"
)


class Node:
    """One node: *start* and *end* in the text, *tag* if one is written, *anchor*, *shared*."""

    __slots__ = ("anchor", "end", "shared", "start", "tag")

    def __init__(self, start: int, end: int, anchor: str | None, tag: str | None) -> None:
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag
        self.shared = False


class Scalar(Node):
    """A scalar; *style* is its first character: ``'``, ``"``, ``|``, ``>``, or empty if plain."""

    __slots__ = ("style", "value")

    def __init__(
        self, start: int, end: int, anchor: str | None, tag: str | None, value: str, style: str
    ) -> None:
        # Not by way of super(): scalars are most of what a document is composed of.
        self.start = start
        self.end = end
        self.anchor = anchor
        self.tag = tag
        self.shared = False
        self.value = value
        self.style = style

    def content(self, text: str) -> int:
        """Return where the value begins, after anchor and tag."""
        if self.anchor is None and self.tag is None:
            return self.start
        match = _PROPERTIES.match(text, self.start, self.end)
        assert match is not None
        return match.end()


class Alias(Node):
    """``*name``; *target* is None where the anchor stands outside of the text that was parsed."""

    __slots__ = ("name", "target")

    def __init__(self, start: int, end: int, name: str, target: Node | None) -> None:
        super().__init__(start, end, None, None)
        self.name = name
        self.target = target


class Collection(Node):
    """A mapping or a sequence; *inner* is where its first entry begins (after ``{`` if flow)."""

    __slots__ = ("flow", "inner")

    def __init__(
        self, start: int, end: int, anchor: str | None, tag: str | None, inner: int, flow: bool
    ) -> None:
        super().__init__(start, end, anchor, tag)
        self.inner = inner
        self.flow = flow


class Mapping(Collection):
    """A mapping with its entries in order, duplicates and all.

    *places* is where each key's entries stand, worked out when it is first asked for
    (`mappings.find_places`).
    """

    __slots__ = ("entries", "places")
    entries: list[tuple[Node, Node]]
    places: dict[str | None, list[int]] | None


class Sequence(Collection):
    """A sequence."""

    __slots__ = ("items",)
    items: list[Node]


class Root:
    """One document of the text: its node, and the directives that it needs to be parsed."""

    __slots__ = ("header", "node")

    def __init__(self, node: Node, header: str) -> None:
        self.node = node
        self.header = header


def resolve(node: Node) -> Node:
    """Return what *node* stands for: the target of an alias, else itself."""
    return node.target if isinstance(node, Alias) and node.target is not None else node


def compose(text: str, *, fragment: bool = False) -> list[Root]:
    """Parse *text* into the documents that it holds; a *fragment* may use anchors from outside.

    Raises:
        InvalidYAMLError: the text is not valid YAML.
    """
    # Building a big tree with the cyclic collector on takes time that grows with its square.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _compose(text, fragment=fragment)
    finally:
        if collecting:
            gc.enable()


def _compose(text: str, *, fragment: bool) -> list[Root]:
    next_event = open_events(text)
    try:
        return _build(text, next_event, fragment=fragment)
    except InvalidYAMLError:
        raise
    except Exception as error:
        problem = explain(error, text)
        if problem is None:
            raise
        raise problem from error


def _build(  # noqa: C901, PLR0912, PLR0915 - one hot loop, a branch for each kind of event
    text: str, next_event: NextEvent, *, fragment: bool
) -> list[Root]:
    """Turn events into nodes, on a stack of our own: how deep to nest is the user's choice."""
    skipped = 1 if text.startswith(BOM) else 0  # The C parser does not count a leading BOM.
    roots: list[Root] = []
    header = ""
    anchors: dict[str, Node] = {}
    # Children of the open collection as a flat list; a mapping pairs them up when it ends.
    children: list[Node] = []
    stack: list[tuple[Collection, list[Node]]] = []
    while (event := next_event()) is not None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            node: Node = Scalar(
                event.start_mark.index + skipped,
                event.end_mark.index + skipped,
                event.anchor,
                # `tag` is a property: asking it for what few scalars have costs more than they do.
                event.ctag and event.tag,
                event.value,
                event.style,
            )
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            collection = (Mapping if kind == "MappingStartEvent" else Sequence)(
                event.start_mark.index + skipped,
                -1,
                event.anchor,
                event.tag,
                event.end_mark.index + skipped,
                bool(event.flow_style),
            )
            if event.anchor is not None:
                anchors[event.anchor] = collection
            stack.append((collection, children))
            children = []
            continue
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            node, siblings = stack.pop()
            node.end = event.end_mark.index + skipped
            if isinstance(node, Mapping):
                _refuse_collection_keys(children)
                node.entries = list(zip(children[::2], children[1::2], strict=True))
                node.places = None
            else:
                assert isinstance(node, Sequence)
                node.items = children
            children = siblings
            children.append(node)
            continue
        elif kind == "AliasEvent":
            start, end = event.start_mark.index + skipped, event.end_mark.index + skipped
            target = anchors.get(event.anchor)
            if target is not None:
                target.shared = True
            elif not fragment:
                raise InvalidYAMLError(
                    f"not valid YAML: the anchor of *{event.anchor} is missing", start
                )
            children.append(Alias(start, end, event.anchor, target))
            continue
        elif kind == "DocumentStartEvent":
            anchors = {}
            end = event.end_mark.index + skipped
            start = event.start_mark.index + skipped
            header = f"{text[start:end]}\n" if event.tags or event.version else ""
            continue
        elif kind == "DocumentEndEvent":
            roots.append(Root(children.pop(), header))
            continue
        else:
            continue
        if event.anchor is not None:
            anchors[event.anchor] = node
        children.append(node)
    return roots


def _refuse_collection_keys(children: list[Node]) -> None:
    """Refuse a mapping or a list as a key: YAML has them, JSON and so Kubernetes has not."""
    for key in children[::2]:
        if type(key) is not Scalar and isinstance(key, Collection):
            message = "not valid YAML for Kubernetes: a key must not be a mapping or a list"
            hint = "render templates ({{ … }}) before"
            raise InvalidYAMLError(message, key.start, hint)
