"""What is worth saying about a Service: findings, as data.

A finding has a code that scripts may rely on, a message for people, and a place. The codes are a
promise of the JSON output: add, never rename. ``docs/rules.md`` shows each with an example, and a
test holds the two together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

_LONGEST_QUOTE = 120


class Severity(StrEnum):
    """How much a finding weighs: an error stops the run, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """One a kind of finding."""

    # Errors: no mode can be told, or nothing can be written.
    ANNOTATION_NOT_SCALAR = "annotation-not-scalar"
    CANNOT_EDIT = "cannot-edit"
    INVALID_OVERRIDE = "invalid-override"
    INVALID_PORT_JSON = "invalid-port-json"
    INVALID_PROTOCOL = "invalid-protocol"
    INVALID_PROXY_PROTOCOL = "invalid-proxy-protocol"
    MISSING_METADATA = "missing-metadata"
    MISSING_PORT_NUMBER = "missing-port-number"
    PROXY_PROTOCOL_ON_UDP = "proxy-protocol-on-udp"
    # Warnings: the mode stands, but the result may not be what was meant.
    ANNOTATION_NOT_STRING = "annotation-not-string"
    ANNOTATION_WITHOUT_EFFECT = "annotation-without-effect"
    DEPRECATED_ANNOTATION = "deprecated-annotation"
    DEPRECATED_ANNOTATION_IGNORED = "deprecated-annotation-ignored"
    EMPTY_LOAD_BALANCER_CLASS = "empty-load-balancer-class"
    FIREWALL_SEES_NODES = "firewall-sees-nodes"
    HOSTNAME_ONLY_INGRESS = "hostname-only-ingress"
    INVALID_ALGORITHM = "invalid-algorithm"
    INVALID_CHECK_TYPE = "invalid-check-type"
    MISSING_TYPE = "missing-type"
    MIXED_PORTS = "mixed-ports"
    NO_PORTS = "no-ports"
    OVERRIDE_DIFFERS = "override-differs"
    PROXY_PROTOCOL_ON_HTTP = "proxy-protocol-on-http"
    SHARED_ADDRESS = "shared-address"
    SOURCE_RANGES_NOT_ENFORCED = "source-ranges-not-enforced"
    THROTTLE_SEES_NODES = "throttle-sees-nodes"
    TLS_SECRET_MISSING = "tls-secret-missing"  # noqa: S105 - a code, not a password
    TLS_SECRET_ON_UDP = "tls-secret-on-udp"  # noqa: S105 - a code, not a password
    TLS_TERMINATED = "tls-terminated"
    TRAFFIC_POLICY_LOCAL = "traffic-policy-local"
    UNUSED_PORT_ANNOTATION = "unused-port-annotation"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth saying about a Service, with the place where it stands.

    *field* is written as the API server writes paths: ``spec.ports[0].port``,
    ``metadata.annotations[KEY]``. *line* and *column* count from 1 and are 0 where there is no
    text, as with a live object.
    """

    severity: Severity
    code: Code
    message: str
    hint: str | None = None
    field: str = ""
    line: int = 0
    column: int = 0


def error(code: Code, message: str, hint: str | None = None, *, field: str) -> Finding:
    """Build a finding that stops the run."""
    return Finding(Severity.ERROR, code, message, hint, field)


def warning(code: Code, message: str, hint: str | None = None, *, field: str) -> Finding:
    """Build a finding that does not."""
    return Finding(Severity.WARNING, code, message, hint, field)


def annotation_field(name: str) -> str:
    """Write the path of an annotation as the API server does."""
    return f"metadata.annotations[{name}]"


def quote(value: str) -> str:
    """Show a user's value in quotes, control characters escaped, cut where it is long."""
    shown = value if len(value) <= _LONGEST_QUOTE else f"{value[:_LONGEST_QUOTE]}…"
    quoted = json.dumps(shown, ensure_ascii=False)
    # A terminal must not take a user's value for a command to it.
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in quoted)


def join_quoted(values: tuple[str, ...]) -> str:
    """List the values that are allowed."""
    return ", ".join(quote(value) for value in values)
