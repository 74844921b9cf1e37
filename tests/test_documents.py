"""Where a stream is cut, row by row. That joining gives it back is a law of ``test_laws.py``."""

from __future__ import annotations

import pytest

from kubectl_lbipmode.yamledit.documents import Document, cut

CUTS = [
    pytest.param("", [], id="nothing"),
    pytest.param("a", ["a"], id="no-marker"),
    pytest.param("---\na\n", ["---\na\n"], id="one-document"),
    pytest.param("a\n---\nb\n", ["a\n", "---\nb\n"], id="before-a-marker"),
    pytest.param("a\n--- # c\nb\n", ["a\n", "--- # c\nb\n"], id="comment-after-a-marker"),
    pytest.param("a\n--- b\n", ["a\n", "--- b\n"], id="content-after-a-marker"),
    pytest.param("a\n---", ["a\n", "---"], id="marker-at-the-end"),
    pytest.param("---\n---\na\n", ["---\n", "---\na\n"], id="empty-document"),
    pytest.param("# c\n\n---\na\n", ["# c\n\n---\na\n"], id="comment-goes-with-what-follows"),
    pytest.param("%YAML 1.1\n# c\n---\na\n", ["%YAML 1.1\n# c\n---\na\n"], id="directive"),
    pytest.param("---\n# c\n---\na\n", ["---\n# c\n", "---\na\n"], id="comment-only-document"),
    pytest.param("a\n...\n# c\n---\nb\n", ["a\n...\n", "# c\n---\nb\n"], id="after-dots"),
    pytest.param("a\n... # c\nb\n", ["a\n... # c\n", "b\n"], id="comment-after-dots"),
    pytest.param("a\n...", ["a\n..."], id="dots-at-the-end"),
    pytest.param(
        "a\n...\n%YAML 1.1\n---\n", ["a\n...\n", "%YAML 1.1\n---\n"], id="later-directive"
    ),
    pytest.param("|\n x\n---\na\n", ["|\n x\n", "---\na\n"], id="ends-a-block-scalar"),
    pytest.param("|\n ---\n x\n", ["|\n ---\n x\n"], id="indented-is-content"),
    pytest.param("---a\n---b\n", ["---a\n---b\n"], id="longer-word-is-content"),
    pytest.param("a\n----\n", ["a\n----\n"], id="four-dashes"),
    pytest.param("a\r\n---\r\nb\r\n", ["a\r\n", "---\r\nb\r\n"], id="crlf"),
    pytest.param("a\r---\rb\r", ["a\r---\rb\r"], id="not-after-a-lone-cr"),
    pytest.param("a\x85---\nb\n", ["a\x85---\nb\n"], id="not-after-a-nel"),
    pytest.param("a\n...\r--- b\nc\n", ["a\n...\r--- b\nc\n"], id="line-of-dots-goes-on"),
    pytest.param(
        "a\n... # c\u2028--- b\nc\n", ["a\n... # c\u2028--- b\nc\n"], id="or-behind-an-ls"
    ),
    pytest.param("a\n...\r\nb\n", ["a\n...\r\n", "b\n"], id="dots-and-crlf"),
    pytest.param("\ufeff---\na\n---\nb\n", ["\ufeff---\na\n", "---\nb\n"], id="bom"),
]


@pytest.mark.parametrize(("stream", "parts"), CUTS)
@pytest.mark.parametrize("width", [1, 2, 1000])
def test_cut(stream: str, parts: list[str], width: int) -> None:
    raw = stream.encode()
    chunks = [raw[start : start + width] for start in range(0, len(raw), width)]

    assert [document.raw.decode() for document in cut(chunks)] == parts


def test_documents_know_their_place() -> None:
    stream = b"# c\n---\n---\na: 1\n...\n# only a comment\n---\nb\n"

    places = [(document.index, document.line, document.is_first) for document in cut([stream])]

    assert places == [(0, 0, True), (1, 2, False), (2, 5, False)]


BLANK = [
    ("", True),
    ("\n \t\r\n", True),
    ("# c", True),
    ("\ufeff# c\n", True),
    ("%YAML 1.2\n---\n# c\n...\n", True),
    ("--- # c\n", True),
    ("a", False),
    ("--- a\n", False),
    ("--- {}\n", False),
    ("# c\na\n", False),
]


@pytest.mark.parametrize(("raw", "blank"), BLANK)
def test_is_blank(raw: str, blank: bool) -> None:
    assert Document(raw.encode()).is_blank == blank


EXPLICIT = [
    ("---\na\n", True, False),
    ("\ufeff# c\n---\n", True, False),
    ("%YAML 1.1\n---\n", True, True),
    ("# c\n%TAG ! a\n---\n", True, True),
    ("a\n", False, False),
    ("a\n---\n", False, False),
    ("...\n---\n", False, False),
    ("", False, False),
]


@pytest.mark.parametrize(("raw", "explicit", "directives"), EXPLICIT)
def test_is_explicit(raw: str, explicit: bool, directives: bool) -> None:
    document = Document(raw.encode())

    assert document.is_explicit == explicit
    assert document.has_directives == directives


def test_many_dots_are_no_depth() -> None:
    """A cut that is not made must not be a call deeper."""
    stream = b"...\r\x20\n" * 5_000

    assert [document.raw for document in cut([stream])] == [stream]
