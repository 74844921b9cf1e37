"""The laws of the lossless edit, on streams in every style that YAML has.

Each law is one test, and its docstring is the law. `tests.oracle` says what a text means; nothing
here asks the code under test for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st

from kubectl_lbipmode.errors import InputError, Location
from kubectl_lbipmode.findings import Severity
from kubectl_lbipmode.manifests import Options, Outcome, annotate
from kubectl_lbipmode.model import IPMode
from kubectl_lbipmode.rules import Wish, is_service
from kubectl_lbipmode.yamledit.documents import Document, cut
from tests.oracle import (
    KEY,
    Object,
    Reader,
    Value,
    as_stored,
    change_services,
    is_load_balancer,
    override,
    read,
    services,
    with_override,
)
from tests.strategies import marked_bytes, mutated_streams, noise, streams

REMOVE = Options(remove=True)
KEEP = Options(Wish(IPMode.PROXY))
BY_PORTS = Options(write_vip=True, everything=True)

modes = st.sampled_from(list(IPMode))
wishes = modes.map(lambda mode: Options(Wish(mode, overwrite=True)))
options = st.one_of(wishes, st.sampled_from([REMOVE, KEEP, BY_PORTS]))

# All that may stand in the way of an edit of valid YAML; whatever else is refused is a bug.
OBSTACLES = (
    "has an anchor",
    "is used in a second place through an alias",
    "comes from a mapping that is used elsewhere",
    "comes from a merge",
    "must be written out as a mapping",
    "stands twice in one mapping",
    "stands without a value",
    "`metadata.annotations` must be a mapping",
    "must be a string, not a mapping or a list",
    'must be "VIP" or "Proxy"',
    "a Service must have `metadata`",
)
NOTHING: Value = ("tag:yaml.org,2002:null", "")
PUNCTUATION = frozenset(' \t\r\n\x85\u2028{}[]",:<*')


class Run(NamedTuple):
    """What became of one document."""

    before: bytes
    after: bytes
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> bool:
        """Whether an error finding stands in the way of a Service."""
        return any(outcome.failed for outcome in self.outcomes)


def run(raw: bytes, wanted: Options) -> Iterator[Run]:
    """Annotate the documents of a stream; one that cannot be read is left out."""
    for document in cut([raw]):
        try:
            yield Run(document.raw, *annotate(document, wanted, "web.yaml"))
        except InputError:
            continue


def is_woven_into(short: bytes, long: bytes) -> bool:
    """Whether all bytes of *short* stand in *long*, in order."""
    rest = iter(long)
    return all(byte in rest for byte in short)


@given(st.one_of(marked_bytes, streams()), st.lists(st.integers(0, 40), max_size=8))
def test_cutting_and_joining_gives_the_same_bytes(raw: bytes, widths: list[int]) -> None:
    """A stream cut into documents and joined is the stream, whatever the chunks it comes in."""
    ends = [0, *accumulate(widths), len(raw)]

    documents = list(cut([raw]))

    assert b"".join(document.raw for document in documents) == raw
    assert list(cut(raw[start:end] for start, end in pairwise(ends))) == documents
    for one, other in pairwise(documents):
        assert other.line == one.line + one.raw.count(b"\n")


@given(streams())
def test_each_document_is_cut_whole(raw: bytes) -> None:
    """The documents of a stream, read one by one, are those that it holds."""
    parts = [document.raw for document in cut([raw])]

    assert drop_empty(value for part in parts for value in read(part)) == drop_empty(read(raw))


@given(streams(), wishes)
def test_setting_adds_the_annotation_and_takes_nothing(raw: bytes, wish: Options) -> None:
    """What is new is the annotation and punctuation; all else is the input's own, in order.

    A null gives way to a mapping.
    """
    for before, after, outcomes in run(raw, wish):
        changed = [outcome for outcome in outcomes if outcome.changed]
        if any(outcome.before is not None for outcome in changed):
            continue
        count = Counter(after.decode())
        count.subtract(before.decode())
        gone = {char for char, number in count.items() if number < 0}

        assert is_woven_into(before, after) or gone <= set("~nulNUL'!")
        for outcome in changed:
            count.subtract(f"{KEY}{outcome.after}annotations")
        assert {char for char, number in count.items() if number > 0} <= PUNCTUATION


@given(streams(), wishes)
def test_replacing_keeps_every_comment(raw: bytes, wish: Options) -> None:
    """Where a value is replaced, no comment goes, and no line but the value's own."""
    for before, after, outcomes in run(raw, wish):
        replaced = [outcome for outcome in outcomes if outcome.before is not None]
        # In a block scalar, what looks like a comment is text of the value.
        in_values = sum((outcome.before or "").count("#") for outcome in replaced)
        assert 0 <= before.count(b"#") - after.count(b"#") <= in_values
        gone = before.count(b"\n") - after.count(b"\n")
        assert gone <= 4 * len(replaced)


@given(streams())
def test_removing_takes_the_annotation_and_adds_nothing(raw: bytes) -> None:
    """All bytes of the output stand in the input, in order; few comments go with the value."""
    for before, after, outcomes in run(raw, REMOVE):
        assert is_woven_into(after, before)
        removed = [outcome for outcome in outcomes if outcome.changed]
        assert before.count(b"#") - after.count(b"#") <= 5 * len(removed)


@given(streams(), options)
def test_the_value_is_the_old_one_with_that_annotation_changed(raw: bytes, wanted: Options) -> None:
    """To every reader the result means what the input means, but for the override as reported."""
    for before, after, outcomes in run(raw, wanted):
        for reader in Reader:
            old = read(before, reader)
            of_services = [outcome for outcome in outcomes if is_service(outcome.service)]
            verdicts = iter(of_services)

            def change(service: Object, verdicts: Iterator[Outcome] = verdicts) -> Object:
                verdict = next(verdicts, None)
                if verdict is None or not verdict.changed:
                    return service
                return with_override(service, verdict.after)

            expected = [change_services(value, change) for value in old]
            assert stored(read(after, reader)) == stored(expected)
            found = [service for value in old for service in services(value)]
            assert len(of_services) == len(found) or not any(
                override(service) if wanted.remove else is_load_balancer(service)
                for service in found
            )


@given(streams(), modes)
def test_every_service_gets_the_mode_or_an_error(raw: bytes, mode: IPMode) -> None:
    """With --mode and --overwrite, every reader finds the mode, unless an error says why not."""
    for _, after, outcomes in run(raw, Options(Wish(mode, overwrite=True))):
        verdicts = [outcome for outcome in outcomes if outcome.decision.in_scope]
        for reader in Reader:
            found = [service for value in read(after, reader) for service in services(value)]
            overrides = [override(service) for service in found if is_load_balancer(service)]
            for verdict, text in zip(verdicts, overrides, strict=True):
                assert verdict.failed or text == mode


@given(streams(), options)
def test_a_second_run_changes_nothing(raw: bytes, wanted: Options) -> None:
    """Annotating what is annotated gives it back, byte for byte, and says so."""
    for _, once, outcomes in run(raw, wanted):
        again = list(run(once, wanted))

        assert [second.after for second in again] == [second.before for second in again]
        assert not any(outcome.changed for second in again for outcome in second.outcomes)
        failed = any(outcome.failed for outcome in outcomes)
        assert any(second.failed for second in again) == failed


@given(streams(), wishes)
def test_annotating_and_removing_gives_the_input_back(raw: bytes, wish: Options) -> None:
    """What `annotate` adds, `--remove` takes away, to the byte.

    Only annotations that were null come back as none or empty: one thing to the API server.
    """
    for before, after, outcomes in run(raw, wish):
        if not outcomes or any(o.failed or o.before is not None for o in outcomes):
            continue
        undone = list(run(after, REMOVE))
        back = b"".join(part.after for part in undone)

        assert not any(part.failed for part in undone)
        assert stored(read(back)) == stored(read(before))
        assert back == before or has_null_annotations(before)


@given(streams(), options)
def test_what_cannot_be_done_is_refused_with_its_place(raw: bytes, wanted: Options) -> None:
    """An error is one of the obstacles, with a line and a column; the bytes stay as they are."""
    lines = raw.split(b"\n")
    for document in cut([raw]):
        for message, line, column in refusals(document, wanted):
            event(f"refused: {message}")
            assert any(obstacle in message for obstacle in OBSTACLES)
            assert document.line < line <= len(lines)
            assert 1 <= column <= len(lines[line - 1].decode()) + 1


def refusals(document: Document, wanted: Options) -> list[tuple[str, int, int]]:
    """Return what stands in the way, with line and column, and see that no Service changes then."""
    try:
        after, outcomes = annotate(document, wanted, "web.yaml")
    except InputError as error:
        at = error.at or Location("")
        return [(error.message, at.line, at.column)]
    assert not any(outcome.changed and outcome.failed for outcome in outcomes)
    assert after == document.raw or any(outcome.changed for outcome in outcomes)
    return [
        (finding.message, finding.line, finding.column)
        for outcome in outcomes
        for finding in outcome.findings
        if finding.severity is Severity.ERROR
    ]


@given(st.one_of(noise, mutated_streams()), options)
def test_nothing_but_an_input_error_comes_out(raw: bytes, wanted: Options) -> None:
    """Whatever comes in, it is read or refused; an edited text is valid, and stays as it is."""
    for _, once, _ in run(raw, wanted):
        assert [after for _, after, _ in run(once, wanted)] == [once] * bool(once)


def drop_empty(values: Iterable[Value]) -> list[Value]:
    """Leave out documents that hold nothing: whether one is there depends on the markers."""
    return [value for value in values if value != NOTHING]


def stored(values: list[Value]) -> list[Value]:
    """Return *values* with each Service as the API server tells it."""
    return [change_services(value, as_stored) for value in values]


def has_null_annotations(raw: bytes) -> bool:
    """Whether a Service has annotations that are null."""
    found = [service for value in read(raw) for service in services(value)]
    return any(
        isinstance(metadata := service.get("metadata"), dict)
        and isinstance(metadata.get("annotations"), tuple)
        for service in found
    )
