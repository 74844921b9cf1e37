"""Kubernetes' own policies: the one that sets the mode, and the one that refuses a bad override.

Each is a policy and its binding, ready for ``kubectl apply``. Policies that mutate are in
``admissionregistration.k8s.io/v1`` from Kubernetes 1.36 on, those that validate from 1.30 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.policy import cel
from kubectl_lbipmode.policy.selectors import to_label_selector

GROUP_VERSION = "admissionregistration.k8s.io/v1"
DEFAULT_NAME = "lbipmode"

_OVERRIDE = f"object.metadata.?annotations[?'{IP_MODE}']"
# As long as `findings.quote` shows a value.
_LONGEST_QUOTE = 120

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Terms:
    """What a user may choose about a policy; *namespaces* and *services* are label selectors."""

    name: str = DEFAULT_NAME
    namespaces: str = ""
    services: str = ""
    fail_closed: bool = False
    override_only: bool = False

    @property
    def failure_policy(self) -> str:
        """What becomes of a write when the policy itself fails."""
        return "Fail" if self.fail_closed else "Ignore"


def keep_mode(terms: Terms) -> list[Manifest]:
    """Return the MutatingAdmissionPolicy that sets the mode on each status write.

    Raises:
        InputError: a selector cannot be read.
    """
    # Asking twice changes nothing, and whoever comes after us may have changed the mode.
    spec = {**specify_mutation(terms), "reinvocationPolicy": "IfNeeded"}
    return _bind("MutatingAdmissionPolicy", terms, spec, {})


def refuse_bad_override(terms: Terms) -> list[Manifest]:
    """Return the ValidatingAdmissionPolicy that refuses an override that is no mode.

    Only what a request brings in is refused: a Service that holds such a value already can still
    be changed elsewhere, and lose its finalizers.

    Raises:
        InputError: a selector cannot be read.
    """
    modes = ", ".join(f"'{mode.lower()}'" for mode in IPMode)
    message = f"annotation `{IP_MODE}` must be " + " or ".join(f'"{mode}"' for mode in IPMode)
    before = _OVERRIDE.replace("object", "oldObject", 1)
    shown = (
        f"variables.value.size() > {_LONGEST_QUOTE} ? "
        f"variables.value.substring(0, {_LONGEST_QUOTE}) + '…' : variables.value"
    )
    conditions = {
        "in-scope": "object.spec.type == 'LoadBalancer' && !has(object.spec.loadBalancerClass)",
        "is-new": f"{_OVERRIDE}.hasValue() && (oldObject == null || "
        f"oldObject.spec.type != 'LoadBalancer' || {before} != {_OVERRIDE})",
    }
    spec = {
        "failurePolicy": terms.failure_policy,
        "matchConstraints": _constrain(terms, ["CREATE", "UPDATE"], "services"),
        "matchConditions": _name_expressions(conditions),
        "variables": _name_expressions({"value": f"{_OVERRIDE}.orValue('')"}),
        "validations": [
            {
                "expression": f"variables.value.trim().lowerAscii() in [{modes}]",
                "message": message,
                "messageExpression": f"'{message}, not ' + strings.quote({shown})",
            }
        ],
    }
    return _bind("ValidatingAdmissionPolicy", terms, spec, {"validationActions": ["Deny"]})


def identify(manifests: list[Manifest]) -> list[Manifest]:
    """Return what is needed to delete *manifests*: the binding first, so that nothing half acts."""
    return [
        {
            "apiVersion": manifest["apiVersion"],
            "kind": manifest["kind"],
            "metadata": {"name": manifest["metadata"]["name"]},
        }
        for manifest in reversed(manifests)
    ]


def specify_mutation(terms: Terms) -> Manifest:
    """Return what any policy that sets the mode has in its ``spec``, Kyverno's too.

    Raises:
        InputError: a selector cannot be read.
    """
    return {
        "failurePolicy": terms.failure_policy,
        "matchConstraints": _constrain(terms, ["UPDATE"], "services/status"),
        "matchConditions": _name_expressions(cel.conditions(override_only=terms.override_only)),
        "variables": _name_expressions(cel.variables(override_only=terms.override_only)),
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": cel.mutation()}}],
    }


def _constrain(terms: Terms, operations: list[str], resource: str) -> Manifest:
    """Return the requests that a policy is about."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": operations,
        "resources": [resource],
    }
    selectors = {"namespaceSelector": terms.namespaces, "objectSelector": terms.services}
    return {
        "resourceRules": [rule],
        **{key: to_label_selector(text) for key, text in selectors.items() if text},
    }


def _name_expressions(expressions: dict[str, str]) -> list[Manifest]:
    """Return expressions as the API lists them."""
    return [{"name": name, "expression": text} for name, text in expressions.items()]


def _bind(kind: str, terms: Terms, spec: Manifest, how: Manifest) -> list[Manifest]:
    binding = {"policyName": terms.name, **how}
    return [
        {
            "apiVersion": GROUP_VERSION,
            "kind": kind,
            "metadata": {"name": terms.name},
            "spec": spec,
        }
        for kind, spec in ((kind, spec), (f"{kind}Binding", binding))
    ]
