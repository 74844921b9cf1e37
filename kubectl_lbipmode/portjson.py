"""Read a ``port-<port>`` annotation as Go's encoding/json reads it into a struct.

The Linode CCM unmarshals the annotation into a struct of six string fields
(``portConfigAnnotation`` in ``cloud/linode/loadbalancers.go``). Go's reader and Python's agree on
what JSON is, but not on what to make of it: Go matches key names without regard to case, lets the
last of duplicate keys win, skips ``null``, ignores unknown keys whatever they hold and wants
strings for those it knows. The CCM refuses a Service where this reader raises, so we raise there
too, and nowhere else. ``tests/test_portjson.py`` holds it against real Go.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

FIELDS = (
    "tls-secret-name",
    "protocol",
    "proxy-protocol",
    "algorithm",
    "stickiness",
    "udp-check-port",
)

# Go folds names by Unicode's simple folding; only these two fold into ASCII from outside of it.
_FOLD = str.maketrans({"\N{LATIN SMALL LETTER LONG S}": "s", "\N{KELVIN SIGN}": "k"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class PortJSONError(ValueError):
    """What is wrong with the annotation, as the end of a sentence about it."""


class _Object(list[tuple[str, object]]):
    """A JSON object with its keys in order and its duplicates kept."""


class _Number:
    """A JSON number, never converted: Go skips one of any length in a key that it ignores."""


def read_port_json(text: str) -> dict[str, str]:
    """Return the six fields of *text*; a field that is absent or null is the empty string.

    Raises:
        PortJSONError: not JSON, no object, or a known field that holds no string.
    """
    value = _parse(text)
    fields = dict.fromkeys(FIELDS, "")
    if value is None:
        return fields
    if not isinstance(value, _Object):
        raise PortJSONError(f"must be a JSON object, not {_describe(value)}")
    for key, entry in value:
        name = key.translate(_FOLD).lower()
        if name not in fields or entry is None:
            continue
        if not isinstance(entry, str):
            raise PortJSONError(f"must hold a JSON string as `{name}`, not {_describe(entry)}")
        # An escaped surrogate without its partner is U+FFFD to Go, and no text to anyone else.
        fields[name] = _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", entry)
    return fields


def _parse(text: str) -> object:
    try:
        return json.loads(
            text,
            object_pairs_hook=_Object,
            parse_int=lambda _: _Number(),
            parse_float=lambda _: _Number(),
            parse_constant=_refuse_constant,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno} of the value"
        raise PortJSONError(f"is not valid JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise PortJSONError("is nested too deeply") from error


def _refuse_constant(name: str) -> NoReturn:
    raise PortJSONError(f"is not valid JSON: {name} is no JSON number")


def _describe(value: object) -> str:
    match value:
        case _Object():
            return "an object"
        case list():
            return "a list"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case _:
            return "a number"
