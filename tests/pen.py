"""A pen that writes YAML in every style there is, drawing each choice as it goes.

Block or flow or JSON, quotes, comments, indents, anchors, merges. Each choice lists the plainest
way first, so that a failing text shrinks to one that is plain everywhere but where it matters. What
a pen writes is meant to be valid YAML.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Lines = list[str]


@dataclass(frozen=True)
class Value:
    """What follows a colon or a dash: the rest of that line, and the lines below it.

    A trailing comment goes after the last line, or after the first where *opens* says that the
    lines below are a block. *step* is how deep to indent those of a block collection.
    """

    head: str
    body: Lines
    opens: bool = False
    step: int | None = None


Write = Callable[[bool], Value]
"""Writes a value, in flow style if told so."""
Entry = tuple[str, Write]


class Layout(NamedTuple):
    """How flow collections are spread out: what stands between their parts."""

    opening: str = ""
    comma: str = ", "
    closing: str = ""
    colon: str = ": "


AT_MARGIN = "\0"
"""Begins a line that is never indented; taken out when all is written."""

TAILS = (" # c", "  # a: b, } ] # x", " #", "\t# tab", " # 🚀 é", " ", "\t")
GAPS: tuple[Lines, ...] = (
    ["# c"],
    [""],
    ["    # deeper"],
    [f"{AT_MARGIN}# margin"],
    ["", "# a: b, } ]", ""],
    ["  "],
    ["#", "   # deeper", "# c"],
)
JSON_LAYOUTS = (
    Layout(comma=",", colon=":"),
    Layout(),
    Layout("\n  ", ",\n  ", "\n"),
    Layout("\n\t", ",\n\t", "\n", colon=" : "),
)
LAYOUTS = (
    *JSON_LAYOUTS[1:],
    Layout(comma=","),
    Layout(" ", " , ", " "),
    Layout("\n  ", ",\n  ", ",\n"),
    Layout(" # c, }\n  ", ", # c, }\n  ", ", # c\n"),
    Layout("\n  ", " # c, }\n  , ", " # c\n"),
    Layout("", ",\n\n  # c: {\n  ", f",\n{AT_MARGIN}"),
    Layout("", ", ", ",", colon=" : "),
    Layout("\n# c\n", "\n,\n", "\n# c\n", colon=":\n  "),
)
NULLS = ("", "~", "null", "!!null ''", "NULL")
WORDS = (
    "v2",
    "'it''s # no comment, }'",
    '"\\u00e9 \\x41 # {"',
    '\'{"proxy-protocol": "v2"}\'',
    "!!str 123",
    "!custom x",
    "true",
    "8080",
    "''",
    "🚀",
    "a#b",
    "x" * 130,
)
# In block style only: plain words with indicators, and what takes more than one line.
BLOCK_WORDS: tuple[tuple[str, Lines], ...] = (
    ("a b, c] {d}", []),
    ("-x", []),
    ('"two \\', ['  lines"']),
    ("'two", ["", "  lines'"]),
    ("plain", ["  in two lines"]),
    ('"nel\x85and ls\u2028in quotes"', []),
    ("", ["  on-its-own-line"]),
    ("!!str # c", ["  x"]),
)
HEADERS = (
    "|",
    "|-",
    "|+",
    ">",
    ">-",
    ">+",
    "|2",
    "|1-",
    ">3+",
    "|+2",
    "| # c",
    "|+  # c, }",
    "|- ",
)
CONTENTS: tuple[Lines, ...] = (
    ["text"],
    ["text", "", "more"],
    ["# no comment", "  deeper"],
    ["---"],
    ['{"a": [', "", '"b"]}'],
    ["text  "],
    ["a: b", "", ""],
    [],
    ["", ""],
)


def indent(lines: Lines, width: int) -> Lines:
    """Move *lines* to the right; an empty line stays empty."""
    return [line if line[:1] in ("", AT_MARGIN) else " " * width + line for line in lines]


def word(text: str) -> Write:
    """Return a writer of a plain scalar."""
    return lambda _: Value(text, [])


class Pen:
    """Writes collections and scalars; *draw* makes the choices."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        style = self.choose(("block", "block", "flow", "json"))
        self.flow = style != "block"
        self.json = style == "json"
        self.quote = '"' if self.json else ""
        self.layout = self.choose(JSON_LAYOUTS if self.json else LAYOUTS)
        self.step = self.choose((2, 4, 1, 3, 8))
        self.decorated = not self.json and self.rarely(1)
        # What aliases may point to. A name may be given twice, as in real files.
        self.mappings: list[str] = []
        self.scalars: list[str] = []

    def choose(self, options: tuple[T, ...]) -> T:
        """Draw one of *options*."""
        return self.draw(st.sampled_from(options))

    def rarely(self, odds: int) -> bool:
        """Draw whether to do something out of the ordinary: once in *odds* and one."""
        return self.draw(st.integers(0, odds)) == odds

    def yaml_only(self, odds: int) -> bool:
        """Draw as `rarely` does, but never in JSON."""
        return not self.json and self.rarely(odds)

    def mapping(self, entries: list[Entry], *, flow: bool) -> Value:
        """Write a mapping: in flow style where told so, or once in a while."""
        if flow or self.rarely(5):
            return self._flow_mapping(entries)
        head = self.choose(("!!map", "!m")) if self.rarely(9) else ""
        step = self.choose((1, 2, 5)) if self.rarely(9) else self.step
        return Value(head, self.block(entries), opens=True, step=step)

    def block(self, entries: list[Entry]) -> Lines:
        """Write the lines of a block mapping."""
        lines: Lines = []
        for name, write in entries:
            lines += self._gap() + self._block_entry(self._key(name), write(False))
        return lines + self._gap()

    def sequence(self, items: list[Write], *, flow: bool) -> Value:
        """Write a sequence, in block style unless told otherwise."""
        if flow or not items:
            return self._flow("[", [_join(write(True)) for write in items], "]")
        lines: Lines = []
        for write in items:
            lines += self._gap() + self._item(write(False))
        return Value("", lines, opens=True, step=self.choose((0, 2, self.step)))

    def anchored(self, write: Callable[[], Value]) -> Value:
        """Write a mapping with an anchor, for aliases that follow."""
        name = self.choose(("a", "b"))
        # Inside of the mapping its name would mean itself.
        self.mappings = [known for known in self.mappings if known != name]
        value = write()
        self.mappings.append(name)
        if value.opens and self.rarely(5):
            return replace(value, body=[f"&{name}", *value.body])
        return replace(value, head=f"&{name} {value.head}".rstrip())

    def alias(self) -> Value:
        """Write an alias of a mapping; a word where there is none."""
        return Value(f"*{self.choose(tuple(self.mappings))}" if self.mappings else "word", [])

    def merges(self) -> list[Entry]:
        """Draw a merge key for what has an anchor."""
        if not self.mappings:
            return []
        one, other = self.alias().head, f"*{self.mappings[0]}"
        key = self.choose(("<<", "<<", "<<", "!!merge <<", "'<<'"))
        sources = (one, f"[{one}]", f"[ {one} , {other} ]", f"{{<<: {one}}}")
        return [(key, word(self.choose(sources)))]

    def text(self, flow: bool) -> Value:
        """Write a scalar of any style."""
        if self.json:
            return Value(self.choose(('"x"', '"{ \\"a\\": [1] } # ,"', '"\\u00e9"')), [])
        if self.scalars and self.rarely(5):
            return Value(f"*{self.choose(tuple(self.scalars))}", [])
        if self.rarely(12):
            self.scalars.append("s")
            return Value("&s x", [])
        kind = "word" if flow else self.choose(("word", "word", "block word", "block scalar"))
        if kind == "word":
            return Value(self.choose(WORDS), [])
        if kind == "block word":
            return Value(*self.choose(BLOCK_WORDS))
        header = self.choose(HEADERS)
        width = next((int(char) for char in header if char.isdigit()), 2)
        return Value(header, indent(self.choose(CONTENTS), width), opens=True)

    def _gap(self) -> Lines:
        """Draw what stands between two entries on lines of its own."""
        return self.choose(GAPS) if self.decorated and self.rarely(4) else []

    def _tail(self) -> str:
        """Draw what stands after an entry on its last line."""
        return self.choose(TAILS) if self.decorated and self.rarely(3) else ""

    def _key(self, name: str) -> str:
        if self.json:
            return f'"{name}"'
        if "<<" in name or not self.rarely(9):
            return name
        escaped = f"\\x{ord(name[0]):02X}{name[1:]}"
        forms = (f'"{name}"', f"'{name}'", f'"{escaped}"', f"!!str {name}", f"&k {name}")
        return self.choose(forms)

    def _block_entry(self, key: str, value: Value) -> Lines:
        tail = self._tail()
        if self.rarely(19):
            return self._explicit_entry(key, value, tail)
        colon = self.choose((":   ", ":\t", " : ")) if value.head and self.rarely(9) else ": "
        first = f"{key}{colon}{value.head}".rstrip(" ")
        if value.opens:
            return [first + tail, *indent(value.body, value.step or 0)]
        *lines, last = [first, *value.body]
        return [*lines, last + tail]

    def _explicit_entry(self, key: str, value: Value, tail: str) -> Lines:
        first = f"? {key}{tail}"
        if not value.head and not value.body and self.rarely(1):
            return [first]
        if value.step is not None and not value.head and self.rarely(1):
            return [first, *_compact(":", 2, value.body)]
        return [first, f": {value.head}".rstrip(" "), *indent(value.body, value.step or 0)]

    def _item(self, value: Value) -> Lines:
        """Write an item of a block sequence; a mapping may begin on the line of the dash."""
        if value.step is None or value.head:
            return [f"- {value.head}", *indent(value.body, max(value.step or 2, 1))]
        if self.rarely(4):
            # A tab between a dash and a block is no valid YAML.
            comment = self._tail().replace("\t", " ")
            return [f"-{comment}", *indent(value.body, max(value.step, 1))]
        return _compact("-", self.choose((2, 4)), value.body)

    def _flow_mapping(self, entries: list[Entry]) -> Value:
        parts = []
        for name, write in entries:
            key, value = self._key(name), _join(write(True))
            if not value and self.rarely(2):
                parts.append(key)
            elif self.yaml_only(19):
                parts.append(f"? {key} : {value}")
            else:
                # Readers want a blank between a colon and a comma.
                parts.append(f"{key}{self.layout.colon if value else ': '}{value}")
        return self._flow("{", parts, "}")

    def _flow(self, opening: str, parts: Lines, closing: str) -> Value:
        closings = ("", ",", ", ", " # c, }\n", ", # c\n") if parts else ("", " ", " # c, }\n")
        inside = self.layout.opening + self.layout.comma.join(parts) + self.layout.closing
        if not parts or self.yaml_only(9):
            inside = self.layout.comma.join(parts) + self.choose(
                closings[:1] if self.json else closings
            )
        first, *rest = f"{opening}{inside}{closing}".split("\n")
        return Value(first, indent(rest, self.step))


def _compact(indicator: str, width: int, lines: Lines) -> Lines:
    """Let a block collection begin on the line of its *indicator*."""
    first, *rest = lines
    return [f"{indicator:<{width}}{first.lstrip(AT_MARGIN)}", *indent(rest, width)]


def _join(value: Value) -> str:
    return "\n".join([value.head, *value.body])
