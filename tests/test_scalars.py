"""What a scalar means to Kubernetes, row by row."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.nodes import Scalar, compose
from kubectl_lbipmode.yamledit.scalars import (
    is_null,
    is_string,
    read_boolean,
    read_integer,
    tag_may_stay,
)


def scalar(text: str) -> Scalar:
    (root,) = compose(f"- {text}\n")
    node = root.node.items[0]  # type: ignore[attr-defined]
    assert isinstance(node, Scalar)
    return node


NULLS = ["", "~", "null", "Null", "NULL", "!!null x", "!!null ''"]
STRINGS = [
    *("word", "''", '"null"', "'true'", "|\n  1", "nUll", "none", "yep", "1.2.3", "0x", "1e", "."),
    *(
        "12:30:45",
        "2024-01-01",
        "0b2",
        "1_x",
        "!!str 1",
        "!!str",
        "!custom 1",
        "! true",
        "!!binary aGk=",
    ),
]
OTHERS = [
    *("true", "False", "YES", "no", "On", "off", "y", "N", "1", "-1", "+1", "0x1F", "0o17", "017"),
    *("0b11", "1.5", ".5", "1e3", "1E-3", "1_000", ".inf", "-.INF", ".nan", "!!bool x", "!!int 1"),
    "!!float 1",
]


@pytest.mark.parametrize(
    ("text", "null", "string"),
    [
        *((text, True, False) for text in NULLS),
        *((text, False, True) for text in STRINGS),
        *((text, False, False) for text in OTHERS),
    ],
)
def test_kind(text: str, null: bool, string: bool) -> None:
    node = scalar(text)

    assert is_null(node) == null
    assert is_string(node) == string


INTEGERS = [
    ("80", 80),
    ("+80", 80),
    ("-1", -1),
    ("0x50", 80),
    ("0o120", 80),
    ("0120", 80),
    ("-010", -8),
    ("0b1010000", 80),
    ("8_0", 80),
    ("8e1", 80),
    ("80.0", 80),
    ("00", 0),
    ("12345678901234567890", 12345678901234567890),
    ("80.5", None),
    ("1e99", None),
    (".inf", None),
    (".nan", None),
    ("'80'", None),
    ("http", None),
    ("08", 8),
    ("", None),
]


@pytest.mark.parametrize(("text", "number"), INTEGERS)
def test_read_integer(text: str, number: int | None) -> None:
    assert read_integer(scalar(text)) == number


@pytest.mark.parametrize(
    ("text", "flag"),
    [("true", True), ("On", True), ("NO", False), ("n", False), ("'true'", None), ("1", None)],
)
def test_read_boolean(text: str, flag: bool | None) -> None:
    assert read_boolean(scalar(text)) is flag


@pytest.mark.parametrize(
    ("text", "stays"),
    [("1", True), ("!!str 1", True), ("!x 1", True), ("!!int 1", False), ("!!null ''", False)],
)
def test_tag_may_stay(text: str, stays: bool) -> None:
    assert tag_may_stay(scalar(text)) == stays
