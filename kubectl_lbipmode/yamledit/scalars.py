"""What a plain scalar means to the YAML readers of Kubernetes (YAML 1.1, as go-yaml reads it)."""

from __future__ import annotations

import re

from kubectl_lbipmode.yamledit.nodes import Node, Scalar

_TAG = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = frozenset(
    form
    for word in ("y", "n", "yes", "no", "on", "off", "true", "false")
    for form in (word, word.capitalize(), word.upper())
)
_NUMBER = re.compile(
    r"[-+]?(?:0x[0-9a-f]+|0o?[0-7]+|0b[01]+|[0-9]+"
    r"|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:e[-+]?[0-9]+)?|\.inf)|\.nan",
    re.IGNORECASE,
)
_OCTAL = re.compile(r"([-+]?)0o?([0-7]+)", re.IGNORECASE)


def is_null(node: Node) -> bool:
    """Whether *node* is a null."""
    if not isinstance(node, Scalar):
        return False
    if node.tag is not None:
        return node.tag == f"{_TAG}null"
    return not node.style and node.value in _NULLS


def is_string(node: Node) -> bool:
    """Whether *node* is a string, quoted or not."""
    if not isinstance(node, Scalar) or is_null(node):
        return False
    if node.tag is not None:
        return node.tag not in {f"{_TAG}{name}" for name in ("bool", "int", "float")}
    if node.style:
        return True
    return node.value not in _BOOLS and not _NUMBER.fullmatch(node.value.replace("_", ""))


def tag_may_stay(node: Scalar) -> bool:
    """Whether *node* has no tag, or one that fits a string in its place too."""
    return node.tag is None or is_string(node)


def read_boolean(node: Scalar) -> bool | None:
    """Return the boolean that *node* stands for, ``yes`` and ``off`` among them, else None."""
    if node.style or node.tag is not None or node.value not in _BOOLS:
        return None
    return node.value.lower() in ("y", "yes", "on", "true")


def read_integer(node: Scalar) -> int | None:
    """Return the whole number that *node* stands for (``0x50``, ``0o120``, ``8e1``), else None."""
    text = node.value.replace("_", "")
    if node.style or not _NUMBER.fullmatch(text):
        return None
    octal = _OCTAL.fullmatch(text)
    try:
        return int(f"{octal[1]}0o{octal[2]}", 0) if octal else int(text, 0)
    except ValueError:
        pass
    number = float(text) if "n" not in text.lower() else 0.5
    return int(number) if number.is_integer() and abs(number) < 2**53 else None
