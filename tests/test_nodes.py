"""The places of nodes, and what is not valid YAML, with the place of that."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from kubectl_lbipmode.errors import LBIPModeError
from kubectl_lbipmode.yamledit.nodes import Collection, Node, Scalar, Sequence, compose
from kubectl_lbipmode.yamledit.text import InvalidYAMLError


def items(text: str) -> list[Node]:
    (root,) = compose(text)
    assert isinstance(root.node, Sequence)
    return root.node.items


PLACES = [
    pytest.param("- b\n", "b", "b", id="plain"),
    pytest.param("- 'b' # c\n", "'b'", "'b'", id="quoted"),
    pytest.param("- &x b\n", "&x b", "b", id="anchor"),
    pytest.param("- !!str &x 'b'\n", "!!str &x 'b'", "'b'", id="tag-and-anchor"),
    pytest.param("- !<tag:x> b\n", "!<tag:x> b", "b", id="verbatim-tag"),
    pytest.param("- &x # c\n  b\n", "&x # c\n  b", "b", id="anchor-on-a-line-of-its-own"),
    pytest.param("- &x\n", "&x", "", id="anchor-alone"),
    pytest.param("\ufeff- b\n", "b", "b", id="bom"),
    pytest.param("# 🚀 é\u2028- b\n", "b", "b", id="code-points"),
    pytest.param("- >-\n  b\n", ">-\n  b\n", ">-\n  b\n", id="block-scalar"),
]


@pytest.mark.parametrize(("text", "span", "content"), PLACES)
def test_place(text: str, span: str, content: str) -> None:
    (node,) = items(text)
    assert isinstance(node, Scalar)

    assert text[node.start : node.end] == span
    assert text[node.content(text) : node.end] == content


def test_place_of_a_collection() -> None:
    text = "- &x !!map {a: b} # c\n"
    (node,) = items(text)
    assert isinstance(node, Collection)

    assert text[node.start : node.end] == "&x !!map {a: b}"
    assert text[node.inner :].startswith("a: b")


def test_documents_and_their_directives() -> None:
    roots = compose("%TAG !e! tag:e.com,2000:\n---\na\n...\n---\nb\n")

    assert [root.header for root in roots] == ["%TAG !e! tag:e.com,2000:\n---\n", ""]


def test_an_anchor_given_twice_means_the_later_one() -> None:
    one, other, alias = items("[&x a, &x b, *x]")

    assert (one.shared, other.shared) == (False, True)
    assert alias.target is other  # type: ignore[attr-defined]


def test_an_anchor_ends_with_its_document() -> None:
    with pytest.raises(InvalidYAMLError, match=r"the anchor of \*x is missing"):
        compose("&x a\n---\n*x\n")


def test_a_fragment_may_use_anchors_from_outside() -> None:
    (root,) = compose("*x", fragment=True)

    assert root.node.target is None  # type: ignore[attr-defined]


def test_depth_costs_no_stack() -> None:
    depth = 2_000

    (root,) = compose("[" * depth + "]" * depth)

    assert root.node.end == 2 * depth


INVALID = [
    pytest.param("a: [b\n", "did not find expected ',' or ']'", 6, id="unclosed"),
    pytest.param("a: b: c\n", "mapping values are not allowed", 4, id="colon"),
    pytest.param("a:\n\tb: c\n", "cannot start any token", 3, id="tab"),
    pytest.param("\ufeffa: b: c\n", "mapping values are not allowed", 5, id="after-a-bom"),
    pytest.param("🚀: b: c\n", "mapping values are not allowed", 4, id="after-an-emoji"),
    pytest.param("é: \0\n", "the character U+0000 is not allowed", 3, id="nul"),
    pytest.param("\ufeffé: \x07\n", "the character U+0007 is not allowed", 4, id="bell"),
    pytest.param("a: *b\n", "the anchor of *b is missing", 3, id="unknown-alias"),
    pytest.param("a: !e!x b\n", "undefined tag handle", 3, id="unknown-tag-handle"),
    pytest.param("{{ a }}: b\n", "must not be a mapping or a list", 1, id="template"),
    pytest.param("a: b\nc\n", "could not find expected ':'", 7, id="no-colon"),
]


@pytest.mark.parametrize(("text", "message", "offset"), INVALID)
def test_invalid(text: str, message: str, offset: int) -> None:
    with pytest.raises(InvalidYAMLError) as caught:
        compose(text)

    assert message in caught.value.message
    assert caught.value.offset == offset


def test_without_the_c_parser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:  # noqa: ANN401 - as the built-in has it
        if name == "_ruamel_yaml":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(LBIPModeError) as caught:
        compose("a")

    assert caught.value.hint == "install it with: python -m pip install ruamel.yaml.clib"
