"""What a check comes to: a status, a message, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kubectl_lbipmode.linode import PREFIX


class Status(StrEnum):
    """How a check came out, the most urgent first.

    Part of the JSON output: add, never rename.
    """

    FAIL = "fail"
    WARN = "warn"
    UNKNOWN = "unknown"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Check:
    """One check by its *name*. *message* says what is the case, *hint* what to do about it."""

    name: str
    status: Status
    message: str
    hint: str | None = None

    @property
    def urgency(self) -> int:
        """Where it stands among others, the most urgent first."""
        return list(Status).index(self.status)


HOSTNAME_ONLY = (
    f'on Linode the annotation `{PREFIX}hostname-only-ingress: "true"` works all the same: no ip '
    "in the status, so nothing to bind; it costs what needs an ip there (A records, external-dns, "
    "addresses of Gateways)"
)
"""What is left where no mode can help. ``makeLoadBalancerStatus`` in the Linode CCM (v0.9.8)."""

TRY = "try one Service first: `sync` it, and call its address from a pod"
"""Where nobody has shown that it works."""
