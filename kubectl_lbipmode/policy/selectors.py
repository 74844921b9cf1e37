"""Label selectors from the command line as the API's own ``LabelSelector``."""

from __future__ import annotations

import re
from typing import Any

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.selection import parse_selector

# A comma in brackets separates values, any other one requirements.
_REQUIREMENT = re.compile(r"(?:[^,(]|\([^)]*\))+")
_SET = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s*\((?P<values>.*)\)")
_EQUALITY = re.compile(r"(?P<key>[^=!]+?)\s*(?P<operator>!?==?)\s*(?P<value>.*)")
_OPERATORS = {"in": "In", "notin": "NotIn"}


def to_label_selector(text: str) -> dict[str, Any]:
    """Return kubectl's selector *text* as a ``LabelSelector``.

    Raises:
        InputError: it is none, or compares with ``<`` or ``>``, which the API's has not.
    """
    parse_selector(text)
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for requirement in map(str.strip, _REQUIREMENT.findall(text)):
        match = _EQUALITY.fullmatch(requirement)
        if match and match["operator"] != "!=" and match["key"] not in labels:
            labels[match["key"]] = match["value"]
        else:
            expressions.append(_to_expression(requirement))
    selector = {"matchLabels": labels, "matchExpressions": expressions}
    return {key: value for key, value in selector.items() if value}


def _to_expression(requirement: str) -> dict[str, Any]:
    if match := _SET.fullmatch(requirement):
        values = [value.strip() for value in match["values"].split(",")]
        return {"key": match["key"], "operator": _OPERATORS[match["operator"]], "values": values}
    if match := _EQUALITY.fullmatch(requirement):
        operator = "NotIn" if match["operator"] == "!=" else "In"
        return {"key": match["key"], "operator": operator, "values": [match["value"]]}
    if "<" in requirement or ">" in requirement:
        raise InputError(
            f"the label selector `{requirement}` compares, which a policy cannot",
            hint="list the values: env in (prod, stage)",
        )
    if requirement.startswith("!"):
        return {"key": requirement[1:].strip(), "operator": "DoesNotExist"}
    return {"key": requirement, "operator": "Exists"}
