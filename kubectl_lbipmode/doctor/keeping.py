"""What keeps modes set, once they are: an admission policy, or `sync --watch` in the cluster.

A policy is known by what it does, since it may have any name: it changes ``ipMode`` on writes of
``services/status``. Kubernetes' own kind and Kyverno's are looked at in the same way, and then
examined as `policy --check` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.view import JSONObject, View, Workload, is_hostname_only
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.policy import admission, check, kyverno
from kubectl_lbipmode.policy.admission import Terms
from kubectl_lbipmode.policy.check import PolicyNotServedError, State


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A kind of policy, the resources that one of them takes, and the command that prints it."""

    kind: str
    group_version: str
    resources: tuple[str, ...]
    command: str

    @property
    def group(self) -> str:
        """The API group, without its version."""
        return self.group_version.partition("/")[0]

    @property
    def install(self) -> str:
        """How to have one in the cluster."""
        return f"`kubectl lbipmode {self.command} | kubectl apply -f -`"


BUILT_IN = PolicyKind(
    "MutatingAdmissionPolicy",
    admission.GROUP_VERSION,
    ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
    "policy",
)
KYVERNO = PolicyKind(
    "MutatingPolicy", kyverno.GROUP_VERSION, ("mutatingpolicies",), "policy --kyverno"
)


@dataclass(frozen=True, slots=True)
class Policy:
    """A live policy that sets modes."""

    kind: PolicyKind
    name: str
    spec: JSONObject

    def __str__(self) -> str:
        """Write it as `policy --check` does."""
        return f'{self.kind.kind} "{self.name}"'


def check_keeping(view: View) -> Check:
    """Say what keeps modes set, and whether it does."""
    policies = find_policies(view)
    if policies:
        # One that works is enough.
        return max((_examine(view, policy) for policy in policies), key=lambda check: check.urgency)
    watchers = [workload for workload in view.deployments if _is_watcher(workload)]
    if watchers:
        return _describe_watch(max(watchers, key=lambda workload: workload.available))
    message = "nothing in the cluster keeps modes set"
    wanted = [plan.service for plan in view.plans if plan.decision.mode is IPMode.PROXY]
    if all(map(is_hostname_only, wanted)):
        return Check("keeping", Status.OK, f"{message}, and no Service should be Proxy")
    kind = find_kind(view)
    hint = "run `sync --watch`"
    if kind is not None:
        hint = f"{kind.install}, or {hint}"
    message += ": what `sync` sets lasts until the cloud's controller next writes the status"
    return Check("keeping", Status.WARN, message, hint)


def find_kind(view: View) -> PolicyKind | None:
    """Return the kind of policy that the server takes, its own before Kyverno's; None if none.

    Raises:
        ClusterError: the server refuses, or does not answer.
    """
    return next(_find_kinds(view), None)


def find_policies(view: View) -> list[Policy]:
    """Return the live policies that set modes.

    Raises:
        ClusterError: the server refuses, or does not answer.
    """
    return [
        Policy(kind, item["metadata"]["name"], item.get("spec") or {})
        for kind in _find_kinds(view)
        for item in view.list_objects(f"/apis/{kind.group_version}/{kind.resources[0]}")
        if _sets_modes(item.get("spec") or {})
    ]


def _find_kinds(view: View) -> Iterator[PolicyKind]:
    for kind, require in ((BUILT_IN, check.require_policies), (KYVERNO, check.require_kyverno)):
        try:
            require(view.cluster)
        except PolicyNotServedError:
            continue
        yield kind


def _sets_modes(spec: JSONObject) -> bool:
    text = json.dumps(spec)
    return '"services/status"' in text and "/ipMode" in text


def _is_watcher(workload: Workload) -> bool:
    words = {word for text in workload.words for word in text.split()}
    names = (workload.name, *workload.images, *words)
    is_watching = workload.find_flag("watch") == "true" or "-w" in words
    return is_watching and "sync" in words and any("lbipmode" in name for name in names)


def _describe_watch(workload: Workload) -> Check:
    if workload.available:
        message = f"{workload.full_name} keeps modes set (`sync --watch`)"
        return Check("keeping", Status.OK, message)
    message = f"{workload.full_name} is to keep modes set (`sync --watch`), and no pod of it works"
    hint = f"see why: `kubectl describe deployment {workload.name} -n {workload.namespace}`"
    return Check("keeping", Status.FAIL, message, hint)


def _examine(view: View, policy: Policy) -> Check:
    """Check a policy against what we would print with its options."""
    terms = read_terms(policy.name, policy.spec)
    by_kyverno = policy.kind is KYVERNO
    try:
        results = list(check.check(view.cluster, terms, by_kyverno=by_kyverno))
        difference = results[0].message
        if results[0].state is not State.OK:
            # Whether it goes by the ports is an option, too, which no single field tells.
            terms = replace(terms, override_only=True)
            results = list(check.check(view.cluster, terms, by_kyverno=by_kyverno))
    except InputError as error:
        results, difference = [], str(error)
    if not results or results[0].state is not State.OK:
        message = f"{policy} sets modes, but not as this version does: {difference}"
        hint = f"print it with its options and apply it again: {policy.kind.install}"
        return Check("keeping", Status.WARN, message, hint)
    statuses = {
        State.OK: Status.OK,
        State.UNPROVEN: Status.UNKNOWN,
        State.FAILED: Status.FAIL,
    }
    last = results[-1]
    return Check("keeping", statuses[last.state], f"{policy}: {last.message}", last.hint)


def read_terms(name: str, spec: JSONObject) -> Terms:
    """Return the options that a live policy was printed with, but for ``--override-only``."""
    constraints = spec.get("matchConstraints") or {}
    return Terms(
        name,
        _write_selector(constraints.get("namespaceSelector") or {}),
        _write_selector(constraints.get("objectSelector") or {}),
        fail_closed=spec.get("failurePolicy") == "Fail",
    )


def _write_selector(selector: JSONObject) -> str:
    """Write a label selector as kubectl takes it."""
    labels = (selector.get("matchLabels") or {}).items()
    return ",".join(
        [
            *(f"{key}={value}" for key, value in labels),
            *(_write_expression(entry) for entry in selector.get("matchExpressions") or []),
        ]
    )


def _write_expression(entry: JSONObject) -> str:
    key, operator = entry["key"], entry["operator"]
    match operator:
        case "Exists":
            return str(key)
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return f"{key} {operator.lower()} ({','.join(entry.get('values') or [])})"
