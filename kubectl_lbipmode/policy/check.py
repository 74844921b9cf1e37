"""Ask a live server whether the policy is there, bound, the one that we print, and acts.

Only reads, and one status write with ``dryRun=All``, of which nothing is stored. A policy has no
status that would say whether it works; such a write does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kubectl_lbipmode.errors import ClusterError, NotFoundError
from kubectl_lbipmode.policy import admission, kyverno
from kubectl_lbipmode.policy.admission import Manifest, Terms
from kubectl_lbipmode.policy.proof import Cluster, Proof, prove

# What the server, or Kyverno, fills in where we say nothing (`kubectl explain` names them).
_DEFAULTS: Manifest = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "scope": "*",
}
_BUILT_IN_HINT = (
    "is the server's admission plugin MutatingAdmissionPolicy switched off, does a webhook undo "
    "it, does `kubectl get --raw /metrics` count errors of the policy "
    "(apiserver_mutating_admission_policy_check_total)?"
)
_KYVERNO_HINT = (
    "does Kyverno's admission controller run, is the policy's condition WebhookConfigured true, "
    "are these namespaces among those that Kyverno leaves out?"
)


class PolicyNotServedError(ClusterError):
    """The API server has no policies of this kind."""


class State(StrEnum):
    """How a check came out. Part of the JSON output: add, never rename."""

    OK = "ok"
    FAILED = "failed"
    UNPROVEN = "unproven"


@dataclass(frozen=True, slots=True)
class Check:
    """One check by its *name*, how it came out, and what to do about it."""

    name: str
    state: State
    message: str
    hint: str | None = None


def check(cluster: Cluster, terms: Terms, *, by_kyverno: bool = False) -> Iterator[Check]:
    """Yield the checks of the policy, as those *terms* have it printed, up to the first failure.

    Raises:
        PolicyNotServedError: the server has no policies of this kind.
        ClusterError: it refuses, or does not answer.
    """
    if by_kyverno:
        require_kyverno(cluster)
        manifests = kyverno.keep_mode(terms)
    else:
        require_policies(cluster)
        manifests = admission.keep_mode(terms)
    for name, manifest in zip(("present", "bound"), manifests, strict=False):
        result = _compare(cluster, name, manifest)
        yield result
        if result.state is State.FAILED:
            return
    yield _act(cluster, terms, _KYVERNO_HINT if by_kyverno else _BUILT_IN_HINT)


def require_policies(cluster: Cluster) -> None:
    """Make sure that the server has MutatingAdmissionPolicies in ``v1``.

    Raises:
        PolicyNotServedError: it has not.
        ClusterError: it refuses, or does not answer.
    """
    if _serves(cluster, admission.GROUP_VERSION, "mutatingadmissionpolicies"):
        return
    version = cluster.request("GET", "/version")["gitVersion"]
    raise PolicyNotServedError(
        f"the API server ({version}) has no MutatingAdmissionPolicy in "
        f"`{admission.GROUP_VERSION}`: Kubernetes has it from 1.36 on",
        hint="use `policy --kyverno` where Kyverno runs, else `sync --watch`",
    )


def require_kyverno(cluster: Cluster) -> None:
    """Make sure that Kyverno's MutatingPolicies are there.

    Raises:
        PolicyNotServedError: they are not.
        ClusterError: the server refuses, or does not answer.
    """
    if _serves(cluster, kyverno.GROUP_VERSION, "mutatingpolicies"):
        return
    raise PolicyNotServedError(
        f"the API server has no MutatingPolicy in `{kyverno.GROUP_VERSION}`: "
        "Kyverno is not installed, or too old",
        hint="install Kyverno 1.18 or newer, or use `sync --watch`",
    )


def _serves(cluster: Cluster, group_version: str, resource: str) -> bool:
    try:
        resources = cluster.request("GET", f"/apis/{group_version}")["resources"]
    except NotFoundError:
        return False
    return resource in {served["name"] for served in resources}


def _compare(cluster: Cluster, name: str, manifest: Manifest) -> Check:
    """Compare the live object with the one that we would print."""
    what = f'{manifest["kind"]} "{manifest["metadata"]["name"]}"'
    try:
        live = cluster.request("GET", _path(manifest))
    except NotFoundError:
        hint = "apply what `kubectl lbipmode policy` prints, with the same options"
        return Check(name, State.FAILED, f"there is no {what}", hint)
    difference = _find_difference(manifest["spec"], live["spec"], "spec")
    if difference:
        hint = (
            "give --check the options that it was printed with; if it is of another version of "
            "this plugin, print and apply it again"
        )
        message = f"{what} is not the one that is printed: {difference}"
        return Check(name, State.FAILED, message, hint)
    return Check(name, State.OK, f"{what} is the one that is printed")


def _act(cluster: Cluster, terms: Terms, hint: str) -> Check:
    """Try it; *hint* is what to look for where it does not act."""
    match prove(cluster, terms):
        case Proof(service, asked, got) if got != asked:
            message = f"{service}: a dry run that asked for {asked} gave {got}"
            return Check("acts", State.OK, message)
        case Proof(service, asked, _):
            message = f"{service}: a dry run that asked for {asked}, which is wrong, got it"
            return Check("acts", State.FAILED, message, hint)
        case why:
            hint = "run it again when there is a Service of type LoadBalancer with an address"
            return Check("acts", State.UNPROVEN, why, hint)


def _path(manifest: Manifest) -> str:
    """Return where the API has the object."""
    plural = re.sub("y$", "ie", manifest["kind"].lower()) + "s"
    return f"/apis/{manifest['apiVersion']}/{plural}/{manifest['metadata']['name']}"


def _find_difference(printed: Any, live: Any, path: str) -> str | None:  # noqa: ANN401 - JSON
    """Return the first place where *live* differs other than by a default; None if nowhere."""
    match printed, live:
        case dict(), dict():
            for key in dict.fromkeys([*printed, *live]):
                default = _DEFAULTS.get(key)
                found = _find_difference(
                    printed.get(key, default), live.get(key, default), f"{path}.{key}"
                )
                if found:
                    return found
            return None
        case list(), list() if len(printed) == len(live):
            places = (
                _find_difference(*pair, f"{path}[{index}]")
                for index, pair in enumerate(zip(printed, live, strict=True))
            )
            return next(filter(None, places), None)
        case _:
            return None if printed == live else f"`{path}` differs"
