r"""Which documents are worth parsing.

A document is not parsed when it cannot hold a LoadBalancer Service: when the letters
``LoadBalancer`` or ``Service`` do not stand in it. That is sound: of YAML's escapes only ``\x``,
``\u`` and ``\U`` yield a letter and only a backslash before a line end joins two halves of a word
(folding puts a space between them), so a document with one of those is parsed; and an anchor is
known in its own document only. A ``!!binary`` scalar could spell a word too; it is left out
knowingly, since no reader of Kubernetes takes one there.
"""

from __future__ import annotations

import re

from kubectl_lbipmode.linode import IP_MODE, PREFIX

_HIDES_LETTERS = re.compile(rb"\\(?:[xuU]|[ \t]*(?:[\r\n]|\xc2\x85|\xe2\x80[\xa8\xa9]))")


def could_hold_target(raw: bytes, *, removing: bool) -> bool:
    """Whether a Service that we may edit could be in *raw*; see the module's docstring."""
    word = IP_MODE.encode() if removing else b"LoadBalancer"
    return (word in raw and b"Service" in raw) or _HIDES_LETTERS.search(raw) is not None


def could_hold_finding(raw: bytes, *, everything: bool) -> bool:
    """Whether there may be something to say about *raw*, though nothing to edit."""
    return PREFIX.encode() in raw or (everything and b"Service" in raw)
