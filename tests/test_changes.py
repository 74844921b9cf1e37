"""Before and after, row by row: what a change of one entry does to a text, and what it refuses.

The path is ``m``, ``a`` and the entry ``k: v``, to keep the rows short: the editor knows nothing of
annotations.
"""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.changes import Target, drop, put
from kubectl_lbipmode.yamledit.edits import Edit, apply_edits
from kubectl_lbipmode.yamledit.nodes import Mapping, compose
from kubectl_lbipmode.yamledit.text import UnsupportedEditError

PATH = ("m", "a")


def target(text: str) -> Target:
    (root,) = compose(text)
    assert isinstance(root.node, Mapping)
    return Target(text, root.node, root.header)


def set_entry(text: str) -> str:
    return apply_edits(text, [put(target(text), PATH, "k", "v")])


def remove_entry(text: str) -> str:
    edit = drop(target(text), PATH, "k")
    return text if edit is None else apply_edits(text, [edit])


# What is put in and taken out again without a trace.
INSERTED = [
    pytest.param("m:\n  a:\n    x: y\n", "m:\n  a:\n    x: y\n    k: v\n", id="last"),
    pytest.param("m:\n  a:\n    x: y", "m:\n  a:\n    x: y\n    k: v", id="no-newline-at-the-end"),
    pytest.param(
        "m:\n  a:\n    x: y # c\n    # below\n  z: 1\n",
        "m:\n  a:\n    x: y # c\n    k: v\n    # below\n  z: 1\n",
        id="before-comment-lines-below",
    ),
    pytest.param(
        "m:\n  a:\n    x: y\n\n\n  z: 1\n",
        "m:\n  a:\n    x: y\n    k: v\n\n\n  z: 1\n",
        id="before-blank-lines-below",
    ),
    pytest.param("m:\r\n  a:\r\n    x: 1\r\n", "m:\r\n  a:\r\n    x: 1\r\n    k: v\r\n", id="crlf"),
    pytest.param("m:\r  a:\r    x: y\r", "m:\r  a:\r    x: y\r    k: v\r", id="lone-cr"),
    pytest.param(
        "m:\n  a:\n    x: y\r\n  z: 1\n",
        "m:\n  a:\n    x: y\r\n    k: v\r\n  z: 1\n",
        id="line-break-of-the-place",
    ),
    pytest.param(
        "\ufeffm:\n  a:\n    x: y\n", "\ufeffm:\n  a:\n    x: y\n    k: v\n", id="after-a-bom"
    ),
    pytest.param(
        "m:\n   a:\n    x: y\n", "m:\n   a:\n    x: y\n    k: v\n", id="in-the-siblings-column"
    ),
    pytest.param("m:\n  a:\n    x:\n", "m:\n  a:\n    x:\n    k: v\n", id="after-a-null"),
    pytest.param("m:\n  a:\n    x:", "m:\n  a:\n    x:\n    k: v", id="after-a-null-at-the-end"),
    pytest.param("m:\n  a:\n    ? x\n", "m:\n  a:\n    ? x\n    k: v\n", id="after-a-key-alone"),
    pytest.param(
        "? m\n: ? a\n  : ? x\n    : y\n",
        "? m\n: ? a\n  : ? x\n    : y\n    k: v\n",
        id="after-question-marks",
    ),
    pytest.param("m:\n  a: &b\n    x: y\n", "m:\n  a: &b\n    x: y\n    k: v\n", id="anchor"),
    pytest.param("m:\n  a: !!map\n    x: y\n", "m:\n  a: !!map\n    x: y\n    k: v\n", id="tag"),
    pytest.param(
        "n: &n {x: y}\nm:\n  a:\n    <<: *n\n",
        "n: &n {x: y}\nm:\n  a:\n    <<: *n\n    k: v\n",
        id="after-a-merge",
    ),
    pytest.param(
        "m:\n  a:\n    x: |\n      y\n\nz: 1\n",
        "m:\n  a:\n    x: |\n      y\n    k: v\n\nz: 1\n",
        id="after-a-block-scalar",
    ),
    pytest.param(
        "m:\n  a:\n    x: |+\n      y\n\nz: 1\n",
        "m:\n  a:\n    x: |+\n      y\n\n    k: v\nz: 1\n",
        id="after-one-that-keeps-its-blank-lines",
    ),
    pytest.param(
        "m:\n  a:\n    x: |-\n      y",
        "m:\n  a:\n    x: |-\n      y\n    k: v",
        id="after-one-that-strips-its-end",
    ),
    pytest.param(
        "m:\n  a:\n    x: >2 # c\n      y\n       z\n",
        "m:\n  a:\n    x: >2 # c\n      y\n       z\n    k: v\n",
        id="after-one-that-tells-its-indent",
    ),
    pytest.param(
        "m:\n  a:\n    x: |\n      y",
        "m:\n  a:\n    k: v\n    x: |\n      y",
        id="before-one-that-would-take-the-line-break",
    ),
    pytest.param(
        'm:\n  a:\n    x: "\n\n y"\n', 'm:\n  a:\n    x: "\n\n y"\n    k: v\n', id="lines"
    ),
    pytest.param("{m: {a: {x: y}}}", '{m: {a: {x: y, "k": "v"}}}', id="flow"),
    pytest.param("m: {a: { x: y }}\n", 'm: {a: { x: y, "k": "v" }}\n', id="flow-with-blanks"),
    pytest.param("m: {a: {x: y,}}\n", 'm: {a: {x: y, "k": "v",}}\n', id="trailing-comma"),
    pytest.param('{"m":{"a":{"x":"y"}}}', '{"m":{"a":{"x":"y", "k": "v"}}}', id="json"),
    pytest.param(
        'm: {a: {\n\t"x": 1\n}}', 'm: {a: {\n\t"x": 1,\n\t"k": "v"\n}}', id="json-with-tabs"
    ),
    pytest.param(
        "m: {a: {\n  x: y, # c, }\n}}\n",
        'm: {a: {\n  x: y, # c, }\n  "k": "v",\n}}\n',
        id="after-a-comment-behind-the-comma",
    ),
    pytest.param(
        "m: {a: {\n  x: y # c, }\n}}\n",
        'm: {a: {\n  x: y, # c, }\n  "k": "v"\n}}\n',
        id="comma-before-the-comment",
    ),
    pytest.param("m: {a: {x}}\n", 'm: {a: {x, "k": "v"}}\n', id="flow-key-alone"),
    pytest.param("m: {a: {}} # c\n", 'm: {a: {"k": "v"}} # c\n', id="empty"),
    pytest.param("m: {a: { }}\n", 'm: {a: {"k": "v" }}\n', id="blank"),
    pytest.param("m: {a: { # c\n }}\n", 'm: {a: {"k": "v" # c\n }}\n', id="only-a-comment"),
    pytest.param(
        "n: &n {x: y}\nm:\n  a: *n # c\n",
        'n: &n {x: y}\nm:\n  a: {<<: *n, "k": v} # c\n',
        id="alias",
    ),
    pytest.param("m:\n  x: y\n", "m:\n  x: y\n  a:\n    k: v\n", id="nothing-there"),
    pytest.param("m:\n    x: y\n", "m:\n    x: y\n    a:\n        k: v\n", id="indents-alike"),
    pytest.param("m: {x: y}\n", 'm: {x: y, "a": { "k": "v" }}\n', id="nothing-there-in-flow"),
    pytest.param("m: {}\n", 'm: {"a": { "k": "v" }}\n', id="empty-parent"),
    pytest.param(
        "m:\n  x:\n    y: z\n    # of x\n  # of m\n",
        "m:\n  x:\n    y: z\n    # of x\n  a:\n    k: v\n  # of m\n",
        id="comments-of-a-block-stay-with-it",
    ),
    pytest.param(
        "m:\n  x:\n  - 1\n\n    # of x\nz: 1\n",
        "m:\n  x:\n  - 1\n\n    # of x\n  a:\n    k: v\nz: 1\n",
        id="below-a-blank-line-too",
    ),
    pytest.param(
        "m:\n  x: |\n    y", "m:\n  a:\n    k: v\n  x: |\n    y", id="nothing-there-at-the-end"
    ),
    pytest.param(
        "&b m: {a: {x: y}}\nz: *b\n",
        '&b m: {a: {x: y, "k": "v"}}\nz: *b\n',
        id="a-shared-key-is-no-matter",
    ),
    pytest.param(
        "%TAG !e! tag:e.com,2000:\n---\nm:\n  a:\n    x: !e!x y\n",
        "%TAG !e! tag:e.com,2000:\n---\nm:\n  a:\n    x: !e!x y\n    k: v\n",
        id="under-a-directive",
    ),
]


@pytest.mark.parametrize(("before", "after"), INSERTED)
def test_insert(before: str, after: str) -> None:
    assert set_entry(before) == after


@pytest.mark.parametrize(("before", "after"), INSERTED)
def test_insert_and_remove(before: str, after: str) -> None:
    assert remove_entry(after) == before


# A null becomes a mapping, and the way back gives another null.
FILLED = [
    pytest.param("m:\n  a:\n", "m:\n  a:\n    k: v\n", id="missing"),
    pytest.param("m:\n  a: # c\n  x: y\n", "m:\n  a: # c\n    k: v\n  x: y\n", id="comment"),
    pytest.param("m:\n  a:", "m:\n  a:\n    k: v", id="missing-at-the-end"),
    pytest.param("m:\n  a: &b\n", "m:\n  a: &b\n    k: v\n", id="anchor"),
    pytest.param("m:\n  ? a\n  :\n", "m:\n  ? a\n  :\n    k: v\n", id="after-a-question-mark"),
    pytest.param("m:\n  a: ~ # c\n", 'm:\n  a: {"k": "v"} # c\n', id="tilde"),
    pytest.param("m: {a: null}\n", 'm: {a: {"k": "v"}}\n', id="null-in-flow"),
    pytest.param("m:\n  a: !!null ''\n", 'm:\n  a: {"k": "v"}\n', id="tag-that-does-not-fit"),
]


@pytest.mark.parametrize(("before", "after"), FILLED)
def test_fill(before: str, after: str) -> None:
    assert set_entry(before) == after


REPLACED = [
    pytest.param("m:\n  a:\n    k: w # c\n", "m:\n  a:\n    k: v # c\n", id="plain"),
    pytest.param("m:\n  a:\n    k: 'w'\n", "m:\n  a:\n    k: 'v'\n", id="single-quotes"),
    pytest.param('m:\n  a:\n    k: "w"\n', 'm:\n  a:\n    k: "v"\n', id="double-quotes"),
    pytest.param("m:\n  a:\n    k: |- # c\n      w\n", "m:\n  a:\n    k: v # c\n", id="literal"),
    pytest.param(
        "m:\n  a:\n    k: >+\n      w\n\n    x: y\n",
        "m:\n  a:\n    k: v\n\n    x: y\n",
        id="folded",
    ),
    pytest.param("m:\n  a:\n    k: |\n", "m:\n  a:\n    k: v\n", id="empty-literal"),
    pytest.param(
        "m:\n  a:\n    k:\n      w\n", "m:\n  a:\n    k:\n      v\n", id="on-its-own-line"
    ),
    pytest.param("m:\n  a:\n    k: w\n      x\n", "m:\n  a:\n    k: v\n", id="two-lines"),
    pytest.param("m:\n  a:\n    k: &b w\n", "m:\n  a:\n    k: &b v\n", id="anchor"),
    pytest.param("m:\n  a:\n    k: !!str w\n", "m:\n  a:\n    k: !!str v\n", id="tag"),
    pytest.param("m:\n  a:\n    k: !x &b w\n", "m:\n  a:\n    k: !x &b v\n", id="tag-and-anchor"),
    pytest.param("m:\n  a:\n    k: !!int 1\n", "m:\n  a:\n    k: v\n", id="tag-that-does-not-fit"),
    pytest.param("m:\n  a:\n    k: true\n", "m:\n  a:\n    k: v\n", id="boolean"),
    pytest.param("m:\n  a:\n    k: ~\n", "m:\n  a:\n    k: v\n", id="null"),
    pytest.param("m:\n  a:\n    k: # c\n", "m:\n  a:\n    k: v # c\n", id="missing"),
    pytest.param("m:\n  a:\n    ? k\n    :\n", "m:\n  a:\n    ? k\n    : v\n", id="question-mark"),
    pytest.param("m: {a: {k: w}}\n", "m: {a: {k: v}}\n", id="plain-in-flow"),
    pytest.param('{"m":{"a":{"k":null}}}', '{"m":{"a":{"k":"v"}}}', id="null-in-json"),
    pytest.param(
        "n: &n w\nm:\n  a:\n    k: *n\n", "n: &n w\nm:\n  a:\n    k: v\n", id="alias-of-another"
    ),
    pytest.param(
        "n: &n {k: w}\nm:\n  a:\n    <<: *n\n    k: w\n",
        "n: &n {k: w}\nm:\n  a:\n    <<: *n\n    k: v\n",
        id="below-a-merge-with-it",
    ),
]


@pytest.mark.parametrize(("before", "after"), REPLACED)
def test_replace(before: str, after: str) -> None:
    assert set_entry(before) == after


REMOVED = [
    pytest.param("m:\n  x: y\n", "m:\n  x: y\n", id="nothing-there"),
    pytest.param("m:\n  a:\n    x: y\n", "m:\n  a:\n    x: y\n", id="only-others"),
    pytest.param("m:\n  a: [k]\n", "m:\n  a: [k]\n", id="no-mapping"),
    pytest.param(
        "m:\n  a:\n    k: v # own\n    # of x\n    x: y\n",
        "m:\n  a:\n    # of x\n    x: y\n",
        id="with-its-own-comment-only",
    ),
    pytest.param(
        "m:\n  a:\n    k: |\n      v\n\n    x: y\n", "m:\n  a:\n\n    x: y\n", id="block-scalar"
    ),
    pytest.param(
        "m:\n  x: y\n  a: # c\n    k: v\n",
        "m:\n  x: y\n  a: # c\n",
        id="comment-keeps-the-parent",
    ),
    pytest.param(
        "m:\n  x: y\n  a:\n    # c\n    k: v\n",
        "m:\n  x: y\n  a:\n    # c\n",
        id="comment-above-too",
    ),
    pytest.param(
        "m:\n  x: y\n  a:\n    k: v\n\n    # c\n",
        "m:\n  x: y\n  a:\n\n    # c\n",
        id="comment-below-too",
    ),
    pytest.param(
        "m:\n  x: y\n  a:\n    k: v\n  # c\n", "m:\n  x: y\n  # c\n", id="but-not-its-own"
    ),
    pytest.param(
        "m:\n  x: y\n  a: &b\n    k: v\n", "m:\n  x: y\n  a: &b\n", id="so-does-an-anchor"
    ),
    pytest.param("m:\n  a:\n    k: v\n", "m:\n  a:\n", id="parent-is-all-there-is"),
    pytest.param(
        "m:\n  ? a\n  : k: v\n    x: y\n", "m:\n  ? a\n  : x: y\n", id="first-on-a-line-of-another"
    ),
    pytest.param(
        "m:\n  ? a\n  : k: v\n    # of x\n    x: y\n",
        "m:\n  ? a\n  : \n    # of x\n    x: y\n",
        id="the-next-has-a-comment",
    ),
    pytest.param("m:\n  x: 1\n  ? a\n  : k: v\n", "m:\n  x: 1\n", id="alone-on-a-line-of-another"),
    pytest.param("m:\n  ? a\n  : k: v\n", "m:\n  ? a\n  : \n", id="and-all-there-is"),
    pytest.param("m: {x: y, a: {k: [v]}}\n", "m: {x: y, a: {}}\n", id="value-of-any-kind"),
    pytest.param(
        "n: &n {x: y}\nm: {a: {<<: *n, k: [v]}}\n",
        "n: &n {x: y}\nm: {a: {<<: *n}}\n",
        id="beside-a-merge",
    ),
    pytest.param("m: {a: {k: v, x: y}}\n", "m: {a: {x: y}}\n", id="first-in-flow"),
    pytest.param("m: {a: {x: y, k: v}}\n", "m: {a: {x: y}}\n", id="last-in-flow"),
    pytest.param("m: {a: {x: y, k: v, }}\n", "m: {a: {x: y, }}\n", id="last-with-a-comma"),
    pytest.param("m: {a: {x: y, ? k : v}}\n", "m: {a: {x: y}}\n", id="question-mark-in-flow"),
    pytest.param("m: {a: {? k : v, x: y}}\n", "m: {a: {x: y}}\n", id="first-with-one"),
    pytest.param("m: {a: {k: v}}\n", "m: {a: {}}\n", id="alone-in-flow"),
    pytest.param("m: {a: {k: v,}}\n", "m: {a: {}}\n", id="alone-with-a-comma"),
    pytest.param(
        "m: {a: {x: y,\n  k: v, # own\n  z: 1}}\n", "m: {a: {x: y,\n  z: 1}}\n", id="line-in-flow"
    ),
    pytest.param(
        "m: {a: {k: v, # own\n  x: y}}\n", "m: {a: {x: y}}\n", id="first-with-its-own-comment"
    ),
    pytest.param(
        "m: {a: {k: v,\n  # of x\n  x: y}}\n",
        "m: {a: {\n  # of x\n  x: y}}\n",
        id="the-next-has-a-comment-in-flow",
    ),
    pytest.param(
        "m: {a: {x: y, # of x\n  k: v, }}\n",
        "m: {a: {x: y, # of x\n }}\n",
        id="the-brace-stays-out-of-a-comment",
    ),
    pytest.param(
        "m: {a: {x: y # of x\n  , k: v # own\n}}\n",
        "m: {a: {x: y # of x\n}}\n",
        id="comma-before-it",
    ),
]


@pytest.mark.parametrize(("before", "after"), REMOVED)
def test_remove(before: str, after: str) -> None:
    assert remove_entry(before) == after


# The text at the place that the error names comes last.
SHARED = "has an anchor (&b) and is used elsewhere"
REFUSED = [
    pytest.param("m:\n  a: &b\n    x: y\nz: *b\n", f"`a` {SHARED}", "&b", id="shared"),
    pytest.param("m: &b\n  x: y\nz: *b\n", f"`m` {SHARED}", "&b", id="shared-parent"),
    pytest.param("m: &b {x: {<<: *b}}\n", f"`m` {SHARED}", "&b", id="shared-with-itself"),
    pytest.param("&b {m: {x: *b}}\n", "the object has an anchor", "&b", id="shared-root"),
    pytest.param("z: &b {x: y}\nm: *b\n", "must be written out", "*b", id="parent-is-an-alias"),
    pytest.param("z: &b {m: {x: y}}\n<<: *b\n", "`m` comes from a merge", "z:", id="parent-merged"),
    pytest.param("x: y\n", "`m` must be written out", "x:", id="no-parent"),
    pytest.param("m: word\n", "`m` must be written out", "word", id="parent-is-no-mapping"),
    pytest.param("z: &b {a: {x: y}}\nm:\n  <<: *b\n", "`a` comes from", "<<", id="merged"),
    pytest.param(
        "z: &b {a: {x: y}}\nm:\n  a: {}\n  <<: *b\n",
        "after `a` brings it in",
        "<<",
        id="merge-below",
    ),
    pytest.param(
        "z: &b {k: w}\nm:\n  a:\n    k: w\n    <<: *b\n",
        "after `k` brings",
        "<<",
        id="and-below-it",
    ),
    pytest.param("m:\n  a: [x]\n", "`a` must be a mapping", "[x]", id="list"),
    pytest.param("m:\n  a: word\n", "`a` must be a mapping", "word", id="word"),
    pytest.param("z: &b w\nm:\n  a: *b\n", "`a` must be a mapping", "*b", id="alias-of-a-word"),
    pytest.param("m:\n  a: &b\nz: *b\n", f"`a` {SHARED}", "&b", id="shared-null"),
    pytest.param("m: {a, x: y}\n", "`a` stands without a value", "a,", id="flow-key-alone"),
    pytest.param("m: {a: , x: y}\n", "`a` stands without a value", "a:", id="flow-null"),
    pytest.param("m:\n  ? a\n", "`a` stands without a value", "a\n", id="question-mark-alone"),
    pytest.param("m: {a: {k, x: y}}\n", "`k` stands without a value", "k,", id="entry-alone"),
    pytest.param(
        "m:\n  a:\n    ? k\n", "`k` stands without a value", "k\n", id="entry-with-a-mark"
    ),
    pytest.param(
        "m:\n  a:\n    k: {x: y}\n", "must be a plain or quoted", "{x", id="entry-is-more"
    ),
    pytest.param(
        "m:\n  a:\n    k: &b w\n    x: *b\n",
        "the value of `k` has an anchor",
        "&b",
        id="shared-value",
    ),
]


@pytest.mark.parametrize(("text", "message", "place"), REFUSED)
def test_refuse_to_set(text: str, message: str, place: str) -> None:
    with pytest.raises(UnsupportedEditError) as caught:
        set_entry(text)

    assert message in caught.value.message
    assert caught.value.hint
    assert text[caught.value.offset :].startswith(place)


FROM_ELSEWHERE = "`k` comes from a mapping that is used elsewhere too"
KEPT = [
    pytest.param("m:\n  a: &b\n    k: v\nz: *b\n", f"`a` {SHARED}", "&b", id="shared"),
    pytest.param("m:\n  a:\n    k: &b v\n    x: *b\n", "the value has", "&b", id="shared-value"),
    pytest.param("z: &b {k: v}\nm:\n  a: *b\n", FROM_ELSEWHERE, "*b", id="alias"),
    pytest.param("z: &b {k: v}\nm:\n  a:\n    <<: *b\n", FROM_ELSEWHERE, "<<", id="merged"),
    pytest.param(
        "z: &b {k: v}\nm:\n  a:\n    <<: *b\n    k: w\n", FROM_ELSEWHERE, "<<", id="merged-beside"
    ),
    pytest.param(
        "z: &b {a: {k: v}}\nm: *b\n", "must be written out", "*b", id="parent-is-an-alias"
    ),
]


@pytest.mark.parametrize(("text", "message", "place"), KEPT)
def test_refuse_to_remove(text: str, message: str, place: str) -> None:
    with pytest.raises(UnsupportedEditError) as caught:
        remove_entry(text)

    assert message in caught.value.message
    assert caught.value.hint
    assert text[caught.value.offset :].startswith(place)


def test_edits_apply_in_any_order() -> None:
    edits = [Edit(4, 5, "!"), Edit(0, 1, ""), Edit(2, 2, "__")]

    assert apply_edits("abcde", edits) == "b__cd!"


def test_overlapping_edits_are_a_bug() -> None:
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abcde", [Edit(0, 3, ""), Edit(2, 4, "")])
