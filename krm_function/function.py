"""ResourceList in, ResourceList out: the same editor on the list's own text.

The list is never written back from objects, so what the orchestrator sent (comments, quotes, its
bookkeeping annotations) is what it gets back, with the override and the results put in. The
failure contract: on an error the input goes out unchanged but for its results, and the run fails;
where the input cannot be parsed nothing goes out at all. Orchestrators read stdout before they look
at the exit status, and take an empty one for "delete everything" (``docs/krm.md``).
"""

from __future__ import annotations

from typing import NamedTuple

from krm_function.config import read_config
from krm_function.results import (
    Result,
    describe_change,
    describe_finding,
    describe_problem,
    put_results,
)
from kubectl_lbipmode.errors import InputError, Location
from kubectl_lbipmode.fields import read_section
from kubectl_lbipmode.manifests import Outcome, edit_services
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.parsed import ParsedDocument, refuse_utf16
from kubectl_lbipmode.yamledit.documents import Document
from kubectl_lbipmode.yamledit.edits import Edit, apply_edits
from kubectl_lbipmode.yamledit.mappings import find, find_duplicate, own_indices
from kubectl_lbipmode.yamledit.nodes import Mapping, Root, Scalar

SOURCE = "stdin"
_GROUP = "config.kubernetes.io/"
_LOCAL_CONFIG = f"{_GROUP}local-config"


class Processed(NamedTuple):
    """What goes to stdout, the results in it, and whether the run must fail."""

    output: bytes
    results: list[Result]
    failed: bool


def process(data: bytes) -> Processed:
    """Annotate the Services of a ResourceList.

    Raises:
        InputError: *data* cannot be parsed, or is no ResourceList: nothing may go to stdout.
    """
    document = Document(data)
    refuse_utf16(document, SOURCE)
    parsed = ParsedDocument(document, SOURCE)
    node = _find_list(parsed)
    try:
        options = read_config(read_section(find(node, "functionConfig")))
        edits, outcomes = edit_services(parsed, options, skip=_is_local)
    except InputError as problem:
        return _finish(parsed, node, [], [describe_problem(problem)], failed=True)
    failed = any(outcome.failed for outcome in outcomes)
    results = [result for outcome in outcomes for result in _describe(outcome, applied=not failed)]
    return _finish(parsed, node, [] if failed else edits, results, failed=failed)


def _find_list(parsed: ParsedDocument) -> Mapping:
    """Return the one ResourceList of the input.

    Raises:
        InputError: it is something else.
    """
    roots = [root for root in parsed.roots if not _is_empty(root)]
    node = roots[0].node if len(roots) == 1 else None
    if isinstance(node, Mapping):
        kind, api_version = find(node, "kind"), find(node, "apiVersion")
        is_list = isinstance(kind, Scalar) and kind.value == "ResourceList"
        if is_list and isinstance(api_version, Scalar) and api_version.value.startswith(_GROUP):
            _refuse_duplicates(parsed, node)
            return node
    raise InputError(
        f"the input must be one ResourceList of {_GROUP}v1",
        at=Location(SOURCE),
        hint="plain manifests are read by: kubectl lbipmode annotate",
    )


def _refuse_duplicates(parsed: ParsedDocument, node: Mapping) -> None:
    """Refuse a list with two `items`: we might edit the one and the orchestrator read the other."""
    key = find_duplicate(node)
    if key is not None:
        message = f"the key `{parsed.text[key.start : key.end]}` of the list stands twice"
        raise InputError(message, at=parsed.locate(key.start))


def _is_empty(root: Root) -> bool:
    return isinstance(root.node, Scalar) and not root.node.value


def _is_local(service: Service) -> bool:
    """Whether the object is for the tools alone and is never deployed."""
    annotation = service.annotations.get(_LOCAL_CONFIG)
    return annotation is not None and annotation.text == "true"


def _describe(outcome: Outcome, *, applied: bool) -> list[Result]:
    findings = [describe_finding(outcome.service, finding) for finding in outcome.findings]
    return [describe_change(outcome), *findings] if outcome.changed and applied else findings


def _finish(
    parsed: ParsedDocument, node: Mapping, edits: list[Edit], results: list[Result], *, failed: bool
) -> Processed:
    edits = [*edits, *put_results(parsed.text, node, results)]
    output = apply_edits(parsed.text, edits).encode() if edits else parsed.document.raw
    if own_indices(node, "results"):
        # What was replaced may have held an anchor that the rest of the list needs.
        ParsedDocument(Document(output), SOURCE)
    return Processed(output, results, failed)
