"""Does the API server store modes?

KEP-1860: the field came with Kubernetes 1.29 behind the feature gate ``LoadBalancerIPMode``, which
is on by default from 1.30 and cannot be switched off from 1.32 on. A server without it takes a
status with a mode, leaves the mode out and reports success. So the version is only a guess, and a
write with ``dryRun=All`` is the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kubectl_lbipmode.doctor.check import HOSTNAME_ONLY, Check, Status
from kubectl_lbipmode.doctor.versions import Version, parse_version, show_version
from kubectl_lbipmode.doctor.view import View
from kubectl_lbipmode.errors import (
    ClusterError,
    ConflictError,
    InvalidError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)
from kubectl_lbipmode.model import IPMode, Service

GATE = "LoadBalancerIPMode"
GATED, ON, ALWAYS = (1, 29, 0), (1, 30, 0), (1, 32, 0)
"""From which version on the field is behind a gate, is there by default, is there for good."""

# A Service that changes under our hands is passed over for the next one, but not for ever.
_TRIES = 5


def check_server(view: View) -> Check:
    """Say whether the API server stores modes, by a dry run if there is a Service for it."""
    version = parse_version(view.version)
    server = f"the API server ({view.version})"
    try:
        trial = next(_try(view), None)
        unproven = "no Service with an ip is there to try it on"
    except (UnauthorizedError, UnreachableError):
        raise
    except ClusterError as error:
        trial, unproven = None, f"it could not be tried: {error}"
    if trial is None:
        return guess(server, version, unproven)
    name, is_stored = trial
    if is_stored:
        message = f"{server} stores `ipMode`: shown by a dry run on {name}"
        return Check("server", Status.OK, message)
    message = f"{server} drops `ipMode`: a dry run on {name} came back without it"
    return Check("server", Status.FAIL, message, _advise(version))


def _try(view: View) -> Iterator[tuple[str, bool]]:
    """Yield by a Service's name whether its mode came back from a dry run.

    Raises:
        ClusterError: the server refuses, or does not answer.
    """
    candidates = (
        (plan.service, index)
        for plan in view.plans
        for index, address in enumerate(plan.service.addresses)
        # Some other mode is not ours to write over, not even for show.
        if address.ip and address.ip_mode in ("", *IPMode)
    )
    refusal: ClusterError | None = None
    for service, index in islice(candidates, _TRIES):
        entry = f"/status/loadBalancer/ingress/{index}"
        patch = [
            {"op": "test", "path": f"{entry}/ip", "value": service.addresses[index].ip},
            {"op": "add", "path": f"{entry}/ipMode", "value": str(IPMode.PROXY)},
        ]
        try:
            reply = view.cluster.patch_status(service.namespace, service.name, patch, dry_run=True)
        except (ConflictError, NotFoundError, InvalidError) as error:
            refusal = error
            continue
        after = Service.from_mapping(reply).addresses
        # Any mode will do: a policy may have put another one in its place.
        yield service.full_name, index < len(after) and bool(after[index].ip_mode)
    if refusal is not None:
        raise refusal


def guess(server: str, version: Version | None, unproven: str) -> Check:
    """Go by the version alone, *unproven* saying why."""
    if version is None:
        return Check(
            "server", Status.UNKNOWN, f"{server} has a version of no known form; {unproven}"
        )
    if version < GATED:
        message = f"{server} drops `ipMode`, which came with Kubernetes 1.29"
        return Check("server", Status.FAIL, message, _advise(version))
    if version < ON:
        message = f"{server} drops `ipMode` unless the feature gate `{GATE}` is on; {unproven}"
        return Check("server", Status.WARN, message, _advise(version))
    condition = "" if version >= ALWAYS else f", unless its feature gate `{GATE}` is off"
    return Check(
        "server", Status.OK, f"{server} stores `ipMode` by its version{condition}; {unproven}"
    )


def _advise(version: Version | None) -> str:
    """Say what helps where modes are dropped."""
    if version is None or version >= ALWAYS:
        # By its version it stores them, so something else is at work.
        return f"look for a webhook on `services/status`; {HOSTNAME_ONLY}"
    if version < GATED:
        return f"upgrade Kubernetes to {show_version(ON)} or newer; {HOSTNAME_ONLY}"
    return (
        f"switch `{GATE}` on, in kube-apiserver and kube-proxy, or upgrade Kubernetes to "
        f"{show_version(ALWAYS)} or newer; {HOSTNAME_ONLY}"
    )
