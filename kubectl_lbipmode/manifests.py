r"""Manifests in, manifests out: find the Services of a document, decide, edit.

Pure: one document's bytes go in, the same bytes with the annotations come out, and an `Outcome` for
each Service. What cannot be done is an error finding of the outcome, or an `InputError` where the
document as a whole cannot be read; the caller then writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kubectl_lbipmode.candidates import could_hold_finding, could_hold_target
from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.findings import Code, Finding, Severity, annotation_field, error
from kubectl_lbipmode.linode import IP_MODE
from kubectl_lbipmode.model import Annotation, IPMode, Service
from kubectl_lbipmode.objects import (
    KubernetesObject,
    find_duplicate_key,
    find_objects,
    has_broken_annotations,
    locate,
    may_be,
)
from kubectl_lbipmode.parsed import ParsedDocument, refuse_utf16
from kubectl_lbipmode.rules import Decision, Reason, Wish, decide, is_service
from kubectl_lbipmode.selection import Selection
from kubectl_lbipmode.yamledit.changes import Target, drop, put
from kubectl_lbipmode.yamledit.documents import Document
from kubectl_lbipmode.yamledit.edits import Edit, apply_edits
from kubectl_lbipmode.yamledit.text import UnsupportedEditError

_ANNOTATIONS = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class Options:
    """What `annotate` is asked to do.

    *remove* takes the override away instead of setting it. *everything* reports Services out of
    scope too, which means parsing more documents.
    """

    wish: Wish = field(default_factory=Wish)
    write_vip: bool = False
    remove: bool = False
    everything: bool = False
    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one Service.

    *index* is the document's number in the source, *path* the item in it (``items[3]``, or empty),
    *line* where it begins, from 1. *before* and *after* are the override's text, None for none.
    """

    index: int
    path: str
    line: int
    service: Service
    decision: Decision
    findings: tuple[Finding, ...]
    before: str | None
    after: str | None
    changed: bool

    @property
    def failed(self) -> bool:
        """Whether an error finding stands in the way."""
        return _has_error(self.findings)


class _Change(NamedTuple):
    """Set the override to *value*; None takes it away."""

    value: str | None


def annotate(
    document: Document, options: Options, source: str
) -> tuple[bytes, tuple[Outcome, ...]]:
    """Set or remove the override of the Services in *document*.

    Raises:
        InputError: the document could hold a Service to edit, but it cannot be read.
    """
    refuse_utf16(document, source)
    must_read = could_hold_target(document.raw, removing=options.remove)
    if not must_read and not could_hold_finding(document.raw, everything=options.everything):
        return document.raw, ()
    try:
        parsed = ParsedDocument(document, source)
    except InputError:
        if must_read:
            raise
        return document.raw, ()
    edits, outcomes = edit_services(parsed, options)
    return (apply_edits(parsed.text, edits).encode() if edits else document.raw), outcomes


def edit_services(
    parsed: ParsedDocument, options: Options, skip: Callable[[Service], bool] = lambda _: False
) -> tuple[list[Edit], tuple[Outcome, ...]]:
    """Return the edits of the text, and an outcome for each Service that is not to be skipped.

    Raises:
        InputError: a Service has a duplicate key.
    """
    edits: list[Edit] = []
    outcomes: list[Outcome] = []
    for item in find_objects(parsed.roots):
        if skip(item.service) or not options.selection.takes(item.service):
            continue
        _refuse_duplicates(item, parsed, options)
        decision, findings, change = _decide(item, options)
        # What is no Service is worth a word only where a Linode annotation has gone astray.
        if not is_service(item.service) and not findings:
            continue
        edit = None
        if change is not None:
            try:
                edit = _make_edit(item, parsed.text, change)
            except UnsupportedEditError as refusal:
                findings.append(_refused(refusal, parsed))
        if edit is not None:
            edits.append(edit)
        before = _override_text(item.service)
        outcomes.append(
            Outcome(
                index=parsed.document.index,
                path=item.path,
                line=parsed.locate(item.start).line,
                service=item.service,
                decision=decision,
                findings=tuple(_with_place(finding, item, parsed) for finding in findings),
                before=before,
                after=change.value if change is not None and edit is not None else before,
                changed=edit is not None,
            )
        )
    return edits, tuple(outcomes)


def _decide(
    item: KubernetesObject, options: Options
) -> tuple[Decision, list[Finding], _Change | None]:
    """Decide about one object: what to say of it, and what to change."""
    service = item.service
    if options.remove:
        # Taken away without deciding; the decision tells what holds from then on.
        annotations = {key: text for key, text in service.annotations.items() if key != IP_MODE}
        decision = decide(replace(service, annotations=annotations))
        removes = is_service(service) and IP_MODE in service.annotations
        return decision, [], _Change(None) if removes else None
    decision = decide(service, options.wish)
    findings = [*decision.findings, *_check_shape(item, decision)]
    wanted = None if _has_error(findings) else _choose_value(decision, service, options)
    if wanted is None or service.annotations.get(IP_MODE) == Annotation(wanted):
        return decision, findings, None
    return decision, findings, _Change(wanted)


def _choose_value(decision: Decision, service: Service, options: Options) -> str | None:
    """Return what to write; None where the override stays as it is.

    `VIP` is what Kubernetes does anyway, and an override outlives the ports that it was read from:
    it is written only when asked for.
    """
    if decision.mode is None or decision.reason is Reason.OVERRIDE:
        return None
    wish = options.wish
    replaces = wish.overwrite and IP_MODE in service.annotations
    if decision.mode is IPMode.PROXY or options.write_vip or wish.mode is not None or replaces:
        return decision.mode.value
    return None


def _make_edit(item: KubernetesObject, text: str, change: _Change) -> Edit | None:
    if item.shared:
        message = "the Service is used in a second place through an alias"
        raise UnsupportedEditError(message, item.start, "write it out at each place")
    target = Target(text, item.node, item.header)
    if change.value is None:
        return drop(target, _ANNOTATIONS, IP_MODE)
    return put(target, _ANNOTATIONS, IP_MODE, change.value)


def _refused(refusal: UnsupportedEditError, parsed: ParsedDocument) -> Finding:
    at = parsed.locate(refusal.offset)
    message = f"the override cannot be written: {refusal.message}"
    finding = error(Code.CANNOT_EDIT, message, refusal.hint, field=annotation_field(IP_MODE))
    return replace(finding, line=at.line, column=at.column)


def _check_shape(item: KubernetesObject, decision: Decision) -> list[Finding]:
    """Return the error of annotations that are no mapping: no reader takes them."""
    if not decision.in_scope or not has_broken_annotations(item):
        return []
    message = "`metadata.annotations` must be a mapping"
    hint = "write each annotation as KEY: VALUE"
    return [error(Code.CANNOT_EDIT, message, hint, field="metadata.annotations")]


def _has_error(findings: list[Finding] | tuple[Finding, ...]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


def _override_text(service: Service) -> str | None:
    annotation = service.annotations.get(IP_MODE)
    return None if annotation is None else annotation.text


def _with_place(finding: Finding, item: KubernetesObject, parsed: ParsedDocument) -> Finding:
    if finding.line:
        return finding
    at = parsed.locate(locate(item.node, finding.field))
    return replace(finding, line=at.line, column=at.column)


def _refuse_duplicates(item: KubernetesObject, parsed: ParsedDocument, options: Options) -> None:
    if not may_be(item, kind="Service", type_=None if options.remove else "LoadBalancer"):
        return
    duplicate = find_duplicate_key(item)
    if duplicate is not None:
        key, name = duplicate
        raise InputError(
            f"the key `{name}` stands twice in one mapping",
            at=parsed.locate(key.start),
            hint="readers differ in which one they take; remove one of them",
        )
