"""What an API server's refusals mean: a reply with an error status, as one of our errors.

A refusal is a ``Status`` object. Its message may quote whole objects (a body that does not decode,
say), so it is cut; a body that is no ``Status`` comes from something in between and is not shown.
The texts that are matched are those of kube-apiserver 1.31 to 1.36.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from kubectl_lbipmode.errors import (
    ClusterError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
    UnavailableError,
)

_LONGEST_MESSAGE = 200
_MISSING_RULE = re.compile(
    r'cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_QUOTED_OBJECT = re.compile(r'"\{.*\}"', re.DOTALL)
# A test that failed and a path that is not there give the same reply, which names nothing.
_DOES_NOT_APPLY = "the server rejected our request due to an error in our request"


def read_refusal(code: int, body: bytes, retry_after: str | None = None) -> ClusterError:
    """Return the error that a reply with the HTTP status *code* stands for."""
    status = _read_status(body)
    said = str(status.get("message") or f"the API server answered {code}")
    message = _shorten(said)
    if code == HTTPStatus.UNPROCESSABLE_ENTITY and status.get("message") == _DOES_NOT_APPLY:
        return ConflictError("the Service changed since it was read")
    if code == HTTPStatus.GONE:
        token = (status.get("metadata") or {}).get("continue", "")
        return ExpiredError(message, continue_token=token)
    if code == HTTPStatus.TOO_MANY_REQUESTS or code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        hint = "the API server, or something in front of it, is in trouble; try again later"
        return UnavailableError(message, hint=hint, retry_after=_read_seconds(retry_after))
    if code == HTTPStatus.FORBIDDEN:
        return _read_forbidden(said)
    readers: dict[int, Callable[[str], ClusterError]] = {
        HTTPStatus.UNAUTHORIZED: _read_unauthorized,
        HTTPStatus.NOT_FOUND: NotFoundError,
        HTTPStatus.CONFLICT: ConflictError,
    }
    return readers.get(code, InvalidError)(message)


def _read_status(body: bytes) -> dict[str, Any]:
    try:
        status = json.loads(body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) and status.get("kind") == "Status" else {}


def _shorten(message: str) -> str:
    message = " ".join(_QUOTED_OBJECT.sub('"{…}"', message).split())
    return message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"


def _read_unauthorized(message: str) -> UnauthorizedError:
    del message  # "Unauthorized" is all that it says.
    return UnauthorizedError(
        "the API server does not accept the credentials (401)",
        hint="log in again, or choose another --context or --user",
    )


def _read_forbidden(message: str) -> ForbiddenError:
    match = _MISSING_RULE.search(message)
    if match is None:
        # An admission policy or a webhook: it says itself why.
        return ForbiddenError(_shorten(message))
    resource = f"{match['resource']}.{match['group']}" if match["group"] else match["resource"]
    where = f'in namespace "{match["namespace"]}"' if match["namespace"] else "in the whole cluster"
    return ForbiddenError(
        f'the role must allow "{match["verb"]}" on `{resource}` {where}',
        hint="add the rule to a Role or ClusterRole that is bound to you; "
        "`kubectl auth whoami` says who you are",
    )


def _read_seconds(retry_after: str | None) -> float | None:
    """Read a ``Retry-After`` header in seconds; API servers send no dates."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else None
