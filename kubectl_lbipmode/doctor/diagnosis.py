"""All checks in turn: what cannot be read is a result too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.cloud import check_cloud
from kubectl_lbipmode.doctor.dataplane import check_data_plane
from kubectl_lbipmode.doctor.keeping import check_keeping
from kubectl_lbipmode.doctor.leftovers import check_leftovers, check_linode_pools
from kubectl_lbipmode.doctor.rights import (
    check_right_to_install,
    check_right_to_look,
    check_right_to_set,
    check_right_to_watch,
)
from kubectl_lbipmode.doctor.server import check_server
from kubectl_lbipmode.doctor.services import (
    check_announced,
    check_controller,
    check_hostname_only,
    check_shared,
)
from kubectl_lbipmode.doctor.view import View
from kubectl_lbipmode.errors import ClusterError, UnauthorizedError, UnreachableError

CHECKS: dict[str, Callable[[View], Check]] = {
    "server": check_server,
    "data-plane": check_data_plane,
    "cloud": check_cloud,
    "controller": check_controller,
    "right-to-look": check_right_to_look,
    "right-to-set": check_right_to_set,
    "right-to-watch": check_right_to_watch,
    "right-to-install": check_right_to_install,
    "keeping": check_keeping,
    "announced": check_announced,
    "linode-pools": check_linode_pools,
    "shared": check_shared,
    "hostname-only": check_hostname_only,
    "leftovers": check_leftovers,
}
"""By name: what modes cannot do without comes first. The names are a promise: add, never rename."""


def diagnose(view: View) -> list[Check]:
    """Return all checks, the most urgent first, and in the order of `CHECKS` among equals.

    Raises:
        UnauthorizedError: the server does not accept the credentials.
        UnreachableError: it cannot be reached.
    """
    checks = [_run(name, check, view) for name, check in CHECKS.items()]
    return sorted(checks, key=lambda check: check.urgency)


def check_data(check: Check) -> dict[str, Any]:
    """Return a check as plain data."""
    return {
        "name": check.name,
        "status": check.status.value,
        "message": check.message,
        "hint": check.hint,
    }


def _run(name: str, check: Callable[[View], Check], view: View) -> Check:
    try:
        return check(view)
    except (UnauthorizedError, UnreachableError):
        raise  # It would be the same with every other check.
    except ClusterError as error:
        return Check(name, Status.UNKNOWN, f"cannot be seen: {error}", error.hint)
