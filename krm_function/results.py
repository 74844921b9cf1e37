"""Results: what a function says about its items, in the list itself.

The shape is the KRM Functions Specification's (v1): message and severity always; a resourceRef
where the object has a name; a field with what stands there and what was proposed, which needs the
resourceRef; a file where the orchestrator says which (kpt does, kustomize does not).
"""

from __future__ import annotations

import json
import re
from typing import Any

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.findings import Finding, annotation_field
from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.manifests import Outcome
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.report import REASONS
from kubectl_lbipmode.rules import Reason
from kubectl_lbipmode.yamledit.edits import Edit
from kubectl_lbipmode.yamledit.insertion import insert_entry, replace_entry
from kubectl_lbipmode.yamledit.mappings import own_indices
from kubectl_lbipmode.yamledit.nodes import Mapping

Result = dict[str, Any]

_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")
_REASONS = REASONS | {Reason.FLAG: "`mode` of the functionConfig says so"}
# JSON takes these raw, YAML does not; beyond U+FFFF there are none that YAML refuses.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def describe_change(outcome: Outcome) -> Result:
    """Say what was written, and why."""
    service, decision = outcome.service, outcome.decision
    if outcome.after is None:
        message = f"{service.full_name}: the override is removed"
    else:
        why = _REASONS[decision.reason]
        message = f"{service.full_name}: the override is set to {outcome.after}: {why}"
    change = {"currentValue": outcome.before, "proposedValue": outcome.after}
    field = {"path": annotation_field(IP_MODE)} | {
        key: value for key, value in change.items() if value is not None
    }
    return {"message": message, "severity": "info"} | _reference(service, field)


def describe_finding(service: Service, finding: Finding) -> Result:
    """Say what was found."""
    name = f"{service.full_name}: " if service.full_name else ""
    hint = f" ({finding.hint})" if finding.hint else ""
    return {
        "message": f"{name}{finding.message}{hint}",
        "severity": finding.severity.value,
    } | _reference(service, {"path": finding.field} if finding.field else None)


def describe_problem(problem: InputError) -> Result:
    """Say what kept the function from looking at the items at all."""
    hint = f" ({problem.hint})" if problem.hint else ""
    return {"message": f"{problem}{hint}", "severity": "error"}


def put_results(text: str, root: Mapping, results: list[Result]) -> list[Edit]:
    """Return the edit that puts *results* in the place of those that came in, if it takes one."""
    own = own_indices(root, "results")
    if not results and not own:
        return []
    entries = [_write(result) for result in results]
    flow = f'"results": [{", ".join(entries)}]'
    lines = ["results:", *(f"- {entry}" for entry in entries)] if entries else ["results: []"]
    if own:
        return [replace_entry(text, root, own[-1], lines, flow)]
    return [insert_entry(text, root, lines, flow)]


def _reference(service: Service, field: dict[str, str] | None) -> Result:
    """Return what points at the object: with a name, a resourceRef and the field; its file."""
    reference: Result = {}
    if service.name:
        reference["resourceRef"] = {
            "apiVersion": service.api_version,
            "kind": service.kind,
            "name": service.name,
        } | ({"namespace": service.namespace} if service.namespace else {})
        if field is not None:
            reference["field"] = field
    path = _first(service, _PATHS)
    if path:
        index = _first(service, _INDICES)
        is_number = re.fullmatch("[0-9]{1,9}", index) is not None
        reference["file"] = {"path": path, "index": int(index) if is_number else 0}
    return reference


def _first(service: Service, names: tuple[str, ...]) -> str:
    return next(
        (service.annotations[name].text for name in names if name in service.annotations), ""
    )


def _write(result: Result) -> str:
    """Write a result as JSON that is YAML too: both kinds of list take it."""
    return _NOT_IN_YAML.sub(_escape, json.dumps(result, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
