"""Which Services a command is about: by namespace, name and label selector.

Selectors are kubectl's, set-based ones too (``k8s.io/apimachinery/pkg/labels``): ``a=b``,
``a!=b``, ``a``, ``!a``, ``a in (b, c)``, ``a notin (b, c)``, ``a>1``, ``a<1``, joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.model import Service

Requirement = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"[-A-Za-z0-9_.]*"
# Compiled at the first use: most runs read no selector.
_REQUIREMENT = (
    rf"\s*(?:(?P<absent>!)\s*(?P<absent_key>{_KEY})"
    rf"|(?P<key>{_KEY})(?:"
    rf"\s+(?P<set>in|notin)\s*\((?P<values>\s*{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)\)"
    rf"|\s*(?P<operator>==|=|!=|>|<)\s*(?P<value>{_VALUE}))?)\s*(?:,|$)"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """What to narrow to; the default takes everything."""

    namespace: str | None = None
    names: frozenset[str] = frozenset()
    requirements: tuple[Requirement, ...] = ()

    def takes(self, service: Service) -> bool:
        """Whether *service* is one that the command is about."""
        if self.namespace is not None and service.namespace != self.namespace:
            return False
        if self.names and service.name not in self.names:
            return False
        return all(requirement(service.labels) for requirement in self.requirements)


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """Read a label selector.

    Raises:
        InputError: it is not one.
    """
    requirement = re.compile(_REQUIREMENT)
    requirements = []
    position = 0
    while position < len(text):
        match = requirement.match(text, position)
        if match is None or (match.end() == len(text) and text.endswith(",")):
            raise InputError(
                f'the label selector "{text}" cannot be read from "{text[position:]}" on',
                hint="write it as for kubectl: app=web,tier!=test,env in (prod, stage)",
            )
        requirements.append(_require(match))
        position = match.end()
    return tuple(requirements)


def _require(match: re.Match[str]) -> Requirement:
    key, value = match["absent_key"] or match["key"], match["value"]
    operator = match["absent"] or match["set"] or match["operator"] or "exists"
    if operator in ("<", ">"):
        return _compare(key, operator, value)
    values = frozenset(entry.strip() for entry in (match["values"] or "").split(","))
    # What an absent label (None) gives is the API's own choice: it is not in any set.
    tests: dict[str, Callable[[str | None], bool]] = {
        "!": lambda label: label is None,
        "exists": lambda label: label is not None,
        "in": lambda label: label in values,
        "notin": lambda label: label not in values,
        "=": lambda label: label == value,
        "==": lambda label: label == value,
        "!=": lambda label: label != value,
    }
    test = tests[operator]
    return lambda labels: test(labels.get(key))


def _compare(key: str, operator: str, value: str) -> Requirement:
    """Compare whole numbers, as the API does; a label that is none never matches."""
    if not re.fullmatch("-?[0-9]+", value):
        raise InputError(f"the label selector `{key}{operator}{value}` must compare with a number")
    bound = int(value)

    def holds(labels: Mapping[str, str]) -> bool:
        if not re.fullmatch("-?[0-9]+", labels.get(key, "")):
            return False
        number = int(labels[key])
        return number > bound if operator == ">" else number < bound

    return holds
