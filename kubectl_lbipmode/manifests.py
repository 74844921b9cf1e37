r"""Manifests in, manifests out: find the Services of a document, decide, edit.

Pure: one document's bytes go in, the same bytes with the annotations come out, and an `Outcome` for
each Service. What cannot be done is an error finding of the outcome, or an `InputError` where the
document as a whole cannot be read; the caller then writes nothing.

A document is not parsed when it cannot hold a LoadBalancer Service: when the letters
``LoadBalancer`` or ``Service`` do not stand in it. That is sound: of YAML's escapes only ``\x``,
``\u`` and ``\U`` yield a letter and only a backslash before a line end joins two halves of a word
(folding puts a space between them), so a document with one of those is parsed; and an anchor is
known in its own document only. A ``!!binary`` scalar could spell a word too; it is left out
knowingly, since no reader of Kubernetes takes one there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from kubectl_lbipmode.errors import InputError, Location
from kubectl_lbipmode.findings import Code, Finding, Severity, annotation_field, error
from kubectl_lbipmode.linode import IP_MODE, PREFIX
from kubectl_lbipmode.model import AnnotationKind, IPMode, Service
from kubectl_lbipmode.objects import (
    KubernetesObject,
    find_duplicate_key,
    find_objects,
    has_broken_annotations,
    locate,
    may_be,
)
from kubectl_lbipmode.rules import Decision, Reason, Wish, decide, is_service
from kubectl_lbipmode.selection import Selection
from kubectl_lbipmode.yamledit.changes import Target, drop, put
from kubectl_lbipmode.yamledit.documents import Document
from kubectl_lbipmode.yamledit.edits import Edit, apply_edits
from kubectl_lbipmode.yamledit.nodes import Root, compose
from kubectl_lbipmode.yamledit.text import BOM, Refusal, SyntaxProblem, TextError, position

_HIDES_LETTERS = re.compile(rb"\\(?:[xuU]|[ \t]*(?:[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]))")
_ANNOTATIONS = ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class Options:
    """What `annotate` is asked to do.

    *remove* takes the override away instead of setting it. *everything* reports Services out of
    scope too, which means parsing more documents.
    """

    wish: Wish = Wish()
    write_vip: bool = False
    remove: bool = False
    everything: bool = False
    selection: Selection = Selection()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one Service.

    *index* is the document's number in the source, *path* the item in it (``items[3]``, or empty),
    *line* where it begins, from 1. *before* and *after* are the override's text, None for none.
    *annotations* of the object are at hand in *service*.
    """

    index: int
    path: str
    line: int
    service: Service
    decision: Decision
    findings: tuple[Finding, ...]
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Whether the override is another one than before."""
        return self.before != self.after

    @property
    def failed(self) -> bool:
        """Whether an error finding stands in the way."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


def annotate(
    document: Document, options: Options, source: str
) -> tuple[bytes, tuple[Outcome, ...]]:
    """Set or remove the override of the Services in *document*.

    Raises:
        InputError: the document could hold a Service to edit, but it cannot be read.
    """
    _refuse_utf16(document, source)
    must_read = _could_hold_target(document.raw, options)
    if not must_read and not _could_hold_finding(document.raw, options):
        return document.raw, ()
    place = Place(source, document)
    try:
        text = _decode(place)
        roots = parse(text, place)
    except InputError:
        if must_read:
            raise
        return document.raw, ()
    edits, outcomes = edit_services(text, roots, place, options)
    return (apply_edits(text, edits).encode() if edits else document.raw), outcomes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text comes from, to tell a line of it from a line of its source."""

    source: str
    document: Document

    def locate(self, text: str, offset: int) -> Location:
        """Return the location of *offset* in the source."""
        line, column = position(text, offset)
        return Location(self.source, self.document.line + line, column)

    def error(self, problem: TextError, text: str) -> InputError:
        """Turn an error about the text into one about the source."""
        at = self.locate(text, problem.offset)
        return InputError(problem.message, at=at, hint=problem.hint)


def parse(text: str, place: Place) -> list[Root]:
    """Parse a document's text.

    Raises:
        InputError: it is not valid YAML.
    """
    try:
        return compose(text)
    except SyntaxProblem as problem:
        raise place.error(problem, text) from problem


def edit_services(
    text: str,
    roots: list[Root],
    place: Place,
    options: Options,
    skip: Callable[[Service], bool] = lambda _: False,
) -> tuple[list[Edit], tuple[Outcome, ...]]:
    """Return the edits of *text* and an outcome for each Service that is not to be skipped.

    Raises:
        InputError: a Service has a duplicate key.
    """
    edits: list[Edit] = []
    outcomes: list[Outcome] = []
    for item in find_objects(roots):
        service = item.service
        if skip(service) or not options.selection.takes(service):
            continue
        _refuse_duplicates(item, text, place, options)
        edit, outcome = _edit_object(item, text, place, options)
        if edit is not None:
            edits.append(edit)
        if is_service(service) or outcome.findings:
            outcomes.append(outcome)
    return edits, tuple(outcomes)


def _edit_object(
    item: KubernetesObject, text: str, place: Place, options: Options
) -> tuple[Edit | None, Outcome]:
    """Decide about one object, and make the edit that follows."""
    before = _override_text(item.service)
    if options.remove:
        decision = _decide_after_removal(item.service)
        wanted, findings = None, []
        is_change = is_service(item.service) and before is not None
    else:
        decision = decide(item.service, options.wish)
        wanted = _choose_value(decision, before, options)
        findings = [*decision.findings, *_check_shape(item, decision)]
        is_change = wanted is not None and not _is_string(item.service, wanted)
        is_change &= not any(finding.severity is Severity.ERROR for finding in findings)
    edit = None
    if is_change:
        try:
            edit = _make_edit(item, text, wanted)
        except Refusal as refusal:
            findings.append(_refused(refusal, text, place))
    located = tuple(_with_place(finding, item, text, place) for finding in findings)
    outcome = Outcome(
        index=place.document.index,
        path=item.path,
        line=place.locate(text, item.start).line,
        service=item.service,
        decision=decision,
        findings=located,
        before=before,
        after=wanted if edit is not None else before,
    )
    return edit, outcome


def _choose_value(decision: Decision, before: str | None, options: Options) -> str | None:
    """Return what to write; None where the object stays as it is.

    `VIP` is what Kubernetes does anyway, and an override outlives the ports that it was read from:
    it is written only when asked for.
    """
    if decision.mode is None or decision.reason is Reason.OVERRIDE:
        return None
    wish = options.wish
    asked = options.write_vip or wish.mode is not None or (wish.overwrite and before is not None)
    return decision.mode if decision.mode is IPMode.PROXY or asked else None


def _make_edit(item: KubernetesObject, text: str, wanted: str | None) -> Edit | None:
    if item.shared:
        message = "the Service is used in a second place through an alias"
        raise Refusal(message, item.start, "write it out at each place")
    target = Target(text, item.node, item.header)
    if wanted is None:
        return drop(target, _ANNOTATIONS, IP_MODE)
    return put(target, _ANNOTATIONS, IP_MODE, wanted)


def _refused(refusal: Refusal, text: str, place: Place) -> Finding:
    at = place.locate(text, refusal.offset)
    message = f"the override cannot be edited: {refusal.message}"
    finding = error(Code.CANNOT_EDIT, message, refusal.hint, field=annotation_field(IP_MODE))
    return replace(finding, line=at.line, column=at.column)


def _check_shape(item: KubernetesObject, decision: Decision) -> list[Finding]:
    """Return the error of annotations that are no mapping: no reader takes them."""
    if not decision.in_scope or not has_broken_annotations(item):
        return []
    message = "`metadata.annotations` must be a mapping"
    hint = "write each annotation as KEY: VALUE"
    return [error(Code.CANNOT_EDIT, message, hint, field="metadata.annotations")]


def _decide_after_removal(service: Service) -> Decision:
    annotations = {name: value for name, value in service.annotations.items() if name != IP_MODE}
    return decide(replace(service, annotations=annotations))


def _override_text(service: Service) -> str | None:
    annotation = service.annotations.get(IP_MODE)
    return None if annotation is None else annotation.text


def _is_string(service: Service, wanted: str) -> bool:
    """Whether the override is *wanted* already, letter by letter."""
    annotation = service.annotations.get(IP_MODE)
    return (
        annotation is not None
        and annotation.kind is AnnotationKind.STRING
        and annotation.text == wanted
    )


def _with_place(finding: Finding, item: KubernetesObject, text: str, place: Place) -> Finding:
    if finding.line:
        return finding
    at = place.locate(text, locate(item.node, finding.field))
    return replace(finding, line=at.line, column=at.column)


def _refuse_duplicates(item: KubernetesObject, text: str, place: Place, options: Options) -> None:
    if not may_be(item, kind="Service", type_=None if options.remove else "LoadBalancer"):
        return
    key = find_duplicate_key(item)
    if key is not None:
        name = text[key.start : key.end]
        raise InputError(
            f"the key `{name}` stands twice in one mapping",
            at=place.locate(text, key.start),
            hint="readers differ in which one they take; remove one of them",
        )


def _could_hold_target(raw: bytes, options: Options) -> bool:
    """Whether a Service that we may edit could be in *raw*; see the module's docstring."""
    word = IP_MODE.encode() if options.remove else b"LoadBalancer"
    return (word in raw and b"Service" in raw) or _HIDES_LETTERS.search(raw) is not None


def _could_hold_finding(raw: bytes, options: Options) -> bool:
    """Whether there may be something to say about *raw*, though nothing to edit."""
    return PREFIX.encode() in raw or (options.everything and b"Service" in raw)


def _decode(place: Place) -> str:
    raw = place.document.raw
    try:
        text = raw.decode()
    except UnicodeDecodeError as problem:
        before = raw[: problem.start]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode(errors="replace")) + 1
        line = place.document.line + before.count(b"\n") + 1
        raise InputError(
            f"not UTF-8: the byte 0x{raw[problem.start]:02X} cannot stand here",
            at=Location(place.source, line, column),
            hint="save the file as UTF-8",
        ) from problem
    start = 1 if place.document.is_first else 0
    if (found := text.find(BOM, start)) >= 0:
        raise InputError(
            "a byte order mark (U+FEFF) must stand at the start of the stream only",
            at=place.locate(text, found),
            hint="remove it; files that were joined leave one behind",
        )
    return text


def _refuse_utf16(document: Document, source: str) -> None:
    """Refuse a stream that is not written in bytes of ASCII: UTF-16 or UTF-32."""
    if document.is_first and (
        document.raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in document.raw[:2]
    ):
        raise InputError("UTF-16 is not read", at=Location(source), hint="save the file as UTF-8")
