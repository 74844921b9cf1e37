"""The port's JSON, read as Go reads it: by rows, and beside real Go on generated texts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_lbipmode.portjson import FIELDS, PortJSONError, read_port_json
from tests.tools.install import locate

REFUSED = [
    ("", "not valid JSON"),
    ("{", "not valid JSON"),
    ('{"proxy-protocol": "v2"} x', "not valid JSON"),
    ("{'proxy-protocol': 'v2'}", "not valid JSON"),
    ('{"x": NaN}', "NaN"),
    ('{"x": -Infinity}', "-Infinity"),
    ("[]", "a list"),
    ('"v2"', "a string"),
    ("2", "a number"),
    ("true", "a boolean"),
    ('{"algorithm": {}}', "`algorithm`, not an object"),
    ('{"UDP-Check-Port": 8080}', "`udp-check-port`, not a number"),
    ("[" * 100_000, "too deeply"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused(text: str, message: str) -> None:
    with pytest.raises(PortJSONError, match=message.replace("[", r"\[")):
        read_port_json(text)


READ = [
    pytest.param("null", "", id="null"),
    pytest.param("{}", "", id="empty"),
    pytest.param('{"proxy-protocol": "v1", "proxy-protocol": "v2"}', "v2", id="last-wins"),
    pytest.param('{"proxy-protocol": "v1", "Proxy-Protocol": "v2"}', "v2", id="case-folds"),
    pytest.param('{"proxy-protocol": "v2", "proxy-protocol": null}', "v2", id="null-is-nothing"),
    pytest.param('{"proxy-protocol": "v2", "proxy-protocol": ""}', "", id="empty-empties"),
    pytest.param('{"proxy\\u002dprotocol": "\\u0076\\u0032"}', "v2", id="escapes"),
    pytest.param('{"proxy-protocol": "\\ud800"}', "\N{REPLACEMENT CHARACTER}", id="surrogate"),
    pytest.param(f'{{"proxy-protocol": "v2", "x": {"9" * 9000}}}', "v2", id="long-number"),
    pytest.param('{"proxy-protocol": "v2", "x": [{"proxy-protocol": 1}]}', "v2", id="nested"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_read(text: str, value: str) -> None:
    assert read_port_json(text)["proxy-protocol"] == value


def test_names_fold_as_in_go() -> None:
    text = '{"tl\N{LATIN SMALL LETTER LONG S}-secret-name": "a", "\N{KELVIN SIGN}": 1}'

    assert read_port_json(text)["tls-secret-name"] == "a"


class Go:
    """A program that unmarshals each text into the CCM's struct, in real Go."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [locate("gojson")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def read(self, text: str) -> dict[str, str] | None:
        """Return the six fields; None where Go refuses the text."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps(text, ensure_ascii=False)}\n".encode())
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return None if "error" in answer else answer["value"]

    def close(self) -> None:
        """End the program."""
        self.process.communicate()


@pytest.fixture(scope="module")
def go() -> Iterator[Go]:
    program = Go()
    yield program
    program.close()


def _any_case(name: str) -> st.SearchStrategy[str]:
    folds = {"s": "sS\N{LATIN SMALL LETTER LONG S}", "k": "kK\N{KELVIN SIGN}"}
    letters = [st.sampled_from(folds.get(char, char + char.upper())) for char in name]
    return st.tuples(*letters).map("".join)


names = st.one_of(
    st.sampled_from(FIELDS).flatmap(_any_case), st.sampled_from([*FIELDS, "x", ""]), st.text()
)
escapes = st.sampled_from([r"\ud800", r"\udc00", r"\ud83d\ude00", r"\u0076", r"\/", r"\x", "\t"])
strings = st.one_of(
    st.sampled_from(["v1", "v2", "none", "", "V2"]).map(json.dumps),
    st.text().map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.lists(escapes, max_size=3).map(lambda parts: f'"{"".join(parts)}"'),
)
numbers = st.sampled_from(["0", "-1", "1.5", "1e999", "01", "1.", "-", "NaN", "Infinity", "+1"])
values = st.recursive(
    st.one_of(strings, numbers, st.sampled_from(["null", "true", "false", "", "nul"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(names.map(json.dumps), inner), max_size=3).map(
            lambda pairs: f"{{{','.join(f'{key}:{value}' for key, value in pairs)}}}"
        ),
    ),
    max_leaves=6,
)
objects = st.lists(st.tuples(names.map(json.dumps), values), max_size=5).map(
    lambda pairs: f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
)
texts = st.one_of(
    objects, values, st.tuples(st.sampled_from([" ", "\n", "\ufeff", "x"]), objects).map("".join)
)


@pytest.mark.external
@given(text=texts)
def test_same_as_go(go: Go, text: str) -> None:
    """Wherever Go reads, we read the same; wherever Go refuses, we refuse."""
    try:
        ours: dict[str, str] | None = read_port_json(text)
    except PortJSONError:
        ours = None

    assert ours == go.read(text)
