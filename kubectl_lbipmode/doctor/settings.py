"""One setting of a program's configuration file, as it lies in a ConfigMap."""

from __future__ import annotations

from kubectl_lbipmode.yamledit.mappings import find
from kubectl_lbipmode.yamledit.nodes import Mapping, Node, Scalar, compose
from kubectl_lbipmode.yamledit.text import TextError


def find_setting(text: str, *path: str) -> str | None:
    """Return the text of the value at *path* in YAML or JSON; None where there is none."""
    try:
        roots = compose(text)
    except TextError:
        return None
    node: Node | None = roots[0].node if roots else None
    for name in path:
        node = find(node, name) if isinstance(node, Mapping) else None
    return node.value if isinstance(node, Scalar) else None
