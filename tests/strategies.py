"""Streams of manifests for the laws to be tried on, valid or not.

`streams` holds LoadBalancer Services, alone and in lists, among other documents, as a `Pen` writes
them; `mutated_streams` and `noise` are for what is not valid.
"""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from tests.oracle import KEY
from tests.pen import AT_MARGIN, NULLS, Entry, Lines, Pen, Value, Write, indent, word

# What the override may look like already.
OVERRIDES = (
    Value("VIP", []),
    Value("Proxy", []),
    Value('"VIP"', []),
    Value("'vip'", []),
    Value('" proxy "', []),
    Value("|-", ["  VIP"], opens=True),
    Value("|", ["  Proxy"], opens=True),
    Value(">+", ["  VIP", "", ""], opens=True),
    Value("|2+ # why", ["  VIP"], opens=True),
    Value("!!str VIP", []),
    Value("!custom 'VIP'", []),
    Value("&v VIP", []),
    Value("&v !!str VIP", []),
    Value("", []),
    Value("~", []),
    Value("''", []),
    Value("Router", []),
    Value("true", []),
    Value("!!bool true", []),
    Value("!!null ''", []),
    Value("!!int 1", []),
    Value("", ["    VIP"]),
    Value("&v", ["    VIP"]),
    Value('"V\\x49P"', []),
    Value("{a: b}", []),
)
BREAKS = (
    ("\n",),
    ("\r\n",),
    ("\r",),
    ("\n", "\r\n"),
    ("\r\n", "\n", "\r"),
    ("\x85",),
    ("\n", "\n", "\u2028"),
)
MARKERS = ("---", "--- # c", "---   ", "---\t", "--- !!map", "--- &r")
ENDS = (
    ("...",),
    ("... # c",),
    ("...", "# between", "%YAML 1.1"),
    ("...", "%TAG !e! tag:example.com,2000:", "# c"),
)


class ServicePen(Pen):
    """Writes manifests: LoadBalancer Services and their annotations above all."""

    def service(self, flow: bool) -> Value:
        """Write a Service."""
        if self.yaml_only(14):
            return self.anchored(lambda: self.mapping(self.service_fields(), flow=flow))
        return self.mapping(self.service_fields(), flow=flow)

    def service_fields(self) -> list[Entry]:
        """Draw the fields of a Service, in their usual order or in another."""
        fields: list[Entry] = [
            ("apiVersion", self._word("v1")),
            ("kind", self._word("Service")),
            ("metadata", self._metadata),
            ("spec", self._spec),
        ]
        if self.rarely(3):
            fields = self.draw(st.permutations(fields))
        if self.yaml_only(3):
            fields.insert(0, ("x-common", self._common))
        return fields

    def other(self, flow: bool) -> Value:
        """Write an object that is none of our business; its annotations may be shared."""
        fields: list[Entry] = [
            ("apiVersion", self._word("v1")),
            ("kind", self._word("ConfigMap")),
            ("metadata", self._mapping_of(("annotations", self._common))),
            ("data", self._mapping_of(("key", self.text))),
        ]
        return self.mapping(fields, flow=flow)

    def wrapper(self, flow: bool) -> Value:
        """Write a list of objects, other lists among them."""
        api_version, kind = self.choose(
            (("v1", "List"), ("v1", "ServiceList"), ("config.kubernetes.io/v1", "ResourceList"))
        )
        kinds: tuple[Write, ...] = (self.service, self.service, self.service, self.other)
        items = [self.choose(kinds) for _ in range(self.choose((1, 2, 0, 3)))]
        if self.rarely(9):
            items.append(self.wrapper)
        if self.yaml_only(9):
            items.append(lambda _: self.alias())
        fields: list[Entry] = [
            ("apiVersion", self._word(api_version)),
            ("kind", self._word(kind)),
            ("items", lambda flow: self.sequence(items, flow=flow)),
        ]
        if self.rarely(5):
            fields.append(("functionConfig", self._mapping_of(("data", self.text))))
        return self.mapping(fields, flow=flow)

    def _word(self, text: str) -> Write:
        if self.yaml_only(29):
            half = len(text) // 2
            folded = f'"{text[:half]}\\', [f'  {text[half:]}"']
            return lambda _: Value(*folded)
        return word(f"{self.quote}{text}{self.quote}")

    def _mapping_of(self, *entries: Entry) -> Write:
        return lambda flow: self.mapping(list(entries), flow=flow)

    def _common(self, flow: bool) -> Value:
        """Write a mapping that others may merge or alias, our key in it or not."""
        if self.json or self.rarely(6):
            return self._common_mapping(flow)
        return self.anchored(lambda: self._common_mapping(flow))

    def _common_mapping(self, flow: bool) -> Value:
        entries: list[Entry] = [("team", self.text)]
        if self.rarely(3):
            entries.insert(self.choose((1, 0)), (KEY, self._override))
        if self.yaml_only(5):
            entries += self.merges()
        return self.mapping(entries, flow=flow)

    def _metadata(self, flow: bool) -> Value:
        kind = self.choose(("own",) * 27 + ("anchored",) * 2 + ("unusual",))
        if self.json or kind == "own":
            return self._metadata_mapping(flow)
        if kind == "anchored":
            return self.anchored(lambda: self._metadata_mapping(flow))
        return self.choose((Value("", []), Value("{}", []), Value("[]", []), self.alias()))

    def _metadata_mapping(self, flow: bool) -> Value:
        fields: list[Entry] = [("name", self._word("web"))]
        if self.rarely(2):
            fields.append(("labels", self._labels))
        if not self.rarely(3):
            fields.insert(self.choose((len(fields), 0, 1)), ("annotations", self._annotations))
        if self.rarely(3):
            fields.append(("note", self.text))
        if self.rarely(9):
            fields.append(("finalizers", lambda flow: self.sequence([self.text], flow=flow)))
        if self.yaml_only(19):
            fields[self.choose((1, 0)) : 0] = self.merges()
        return self.mapping(fields, flow=flow)

    def _annotations(self, flow: bool) -> Value:
        kind = self.choose(("filled",) * 6 + ("null", "empty", "alias", "anchored", "broken"))
        if kind == "null":
            return Value("null" if self.json else self.choose(NULLS), [])
        if kind == "empty":
            return self._flow_mapping([])
        if kind == "alias" and self.mappings:
            return self.alias()
        if kind == "broken" and self.rarely(2):
            return Value(self.choose(("[]", '"x"')), [])
        if kind == "anchored" and not self.json:
            return self.anchored(lambda: self._annotations_mapping(flow))
        return self._annotations_mapping(flow)

    def _annotations_mapping(self, flow: bool) -> Value:
        entries: list[Entry] = [
            (f"example.com/{n}", self.text) for n in range(self.choose((1, 2, 3)))
        ]
        if self.rarely(2):
            self._put_in(entries, [(KEY, self._override)])
        if self.yaml_only(2):
            self._put_in(entries, self.merges())
            if self.rarely(9):
                self._put_in(entries, self.merges())
        return self.mapping(entries, flow=flow)

    def _put_in(self, entries: list[Entry], new: list[Entry]) -> None:
        """Put *new* somewhere into *entries*, or in the place of one of them."""
        place = self.choose((len(entries), 0, 1))
        entries[place : place + self.choose((0, 1))] = new

    def _override(self, flow: bool) -> Value:
        if self.json:
            return Value(self.choose(('"VIP"', '"Proxy"', '""', "null", "true")), [])
        if self.scalars and self.rarely(9):
            return Value(f"*{self.choose(tuple(self.scalars))}", [])
        value = self.choose(OVERRIDES)
        if flow and value.opens:
            return OVERRIDES[0]
        if "&v" in value.head:
            self.scalars.append("v")
        return value

    def _labels(self, flow: bool) -> Value:
        entries: list[Entry] = [("app", self.text)]
        kind = self.choose(("own", "alias", "merge")) if self.mappings else "own"
        if kind == "alias":
            return self.alias()
        return self.mapping(entries if kind == "own" else self.merges(), flow=flow)

    def _spec(self, flow: bool) -> Value:
        fields: list[Entry] = [
            ("type", self._word("ClusterIP" if self.rarely(19) else "LoadBalancer")),
            ("ports", word(f"[{{{self.quote}port{self.quote}: 80}}]")),
        ]
        return self.mapping(fields, flow=flow)


@st.composite
def documents(draw: st.DrawFn) -> Value:
    """Draw a document, without its marker."""
    pen = ServicePen(draw)
    write = pen.choose((pen.service,) * 6 + (pen.wrapper,) * 3 + (pen.other, None))
    if write is not None:
        return write(pen.flow)
    texts: tuple[Lines, ...] = (["# only a comment"], [], ["text"], ["- a", "- b"])
    return pen.choose((Value("", pen.choose(texts)), Value("|", ["  Service", "  LoadBalancer"])))


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Draw a stream of documents, as a file would hold it."""
    pattern = draw(st.sampled_from(BREAKS))
    # Where a lone CR ends the line of a `...`, a directive below cannot be told from its document.
    ends = ENDS if {*pattern} <= {"\n", "\r\n"} else ENDS[:2]
    lines: Lines = []
    drawn = draw(st.lists(documents(), min_size=1, max_size=3))
    for number, document in enumerate(drawn, start=1):
        lines += _mark(draw, document, needed=number > 1)
        if draw(st.integers(0, 9)) == 9:
            # A directive must have a document after it.
            lines += draw(st.sampled_from(ends if number < len(drawn) else ENDS[:2]))
    breaks = itertools.cycle(pattern)
    text = "".join(f"{line}{line_break}" for line, line_break in zip(lines, breaks, strict=False))
    text = text.replace(AT_MARGIN, "")
    if draw(st.integers(0, 3)) == 3:
        text = text.rstrip("\r\n\x85\u2028")
    bom = "\ufeff" if draw(st.integers(0, 9)) == 9 else ""
    return f"{bom}{text}".encode()


def _mark(draw: st.DrawFn, document: Value, *, needed: bool) -> Lines:
    """Put the marker before a document, or none where none is needed."""
    width = draw(st.sampled_from((0, 0, 0, 0, 0, 0, 0, 2)))
    body = indent(document.body, width)
    is_blank = all(line.lstrip(" ").startswith("#") for line in body)
    if not (needed or document.head or is_blank) and draw(st.booleans()):
        return body
    if document.head:
        # A flow mapping or a block scalar may stand on the line of the marker, or below it.
        head = f"--- {document.head}" if document.opens or draw(st.booleans()) else None
        return [head, *body] if head else ["---", document.head, *body]
    # A root that has an anchor of its own takes no other.
    takes_more = document.opens and not body[0].startswith("&")
    marker = draw(st.sampled_from(MARKERS if takes_more else MARKERS[:4]))
    return [marker, *body]


# Bytes that mean something to a cutter of streams, in pieces small enough to meet by chance.
marked_bytes = st.lists(
    st.sampled_from(
        (b"\n", b"---", b"...", b" ", b"#", b"a", b"\r", b"-", b".", b"%YAML 1.2", b"\xef\xbb\xbf")
    ),
    max_size=30,
).map(b"".join)

# What parsers stumble over.
_INDICATORS = "\n\t\r ,:-?#&*!|>'\"%@`{}[]<~\\x\0\x07\x85\u2028\ufeff\ud7ff🚀0+"
noise = st.builds(
    lambda bom, raw: bom + b"kind: Service # LoadBalancer\n" + raw,
    st.sampled_from((b"", b"\xef\xbb\xbf")),
    st.one_of(
        st.binary(max_size=60),
        st.text(st.sampled_from(_INDICATORS), max_size=40).map(str.encode),
        st.text(max_size=40).map(lambda text: text.encode(errors="replace")),
    ),
)


@st.composite
def mutated_streams(draw: st.DrawFn) -> bytes:
    """Draw a stream with a few places deleted, doubled or written over."""
    text = draw(streams()).decode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.sampled_from((0, 1, 2, 5, 20)))
        new = draw(
            st.one_of(st.sampled_from(_INDICATORS), st.just(""), st.just(text[start:end] * 2))
        )
        text = text[:start] + new + text[end:]
    return text.encode()
