"""The one door to ruamel.yaml's C parser: text in, events out, its errors turned into ours.

The C parser is required. ruamel.yaml's pure parser refuses valid tabs, counts other places and is
forty times slower, so there is no silent fall-back to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from kubectl_lbipmode.errors import LBIPModeError
from kubectl_lbipmode.yamledit.text import BOM, InvalidYAMLError

NextEvent = Callable[[], Any]

_JSON = re.compile(f"{BOM}?(?:---[ \t]*\r?\n)?[ \t\r\n]*{{")
_ESCAPE = re.compile(r"\\(?:(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL)


def open_events(text: str) -> NextEvent:
    """Return a function that gives the next parser event, and None after the last.

    Marks count code points from the start of *text*, but for a leading BOM, which they skip.

    Raises:
        LBIPModeError: the C parser is not installed.
    """
    try:
        from _ruamel_yaml import CParser
    except ImportError as error:
        message = "the C parser of ruamel.yaml is missing"
        hint = "install it with: python -m pip install ruamel.yaml.clib"
        raise LBIPModeError(message, hint=hint) from error
    next_event: NextEvent = CParser(_replace_surrogates(text)).get_event
    return next_event


def explain(error: Exception, text: str) -> InvalidYAMLError | None:
    """Turn an error of the parser into one of ours, with its place; None if it is no such error."""
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

    if isinstance(error, ReaderError):
        # The reader counts the bytes of the UTF-8 that it is given, a BOM too.
        offset = len(text.encode()[: error.position].decode(errors="ignore"))
        message = f"not valid YAML: the character U+{ord(text[offset]):04X} is not allowed"
        return InvalidYAMLError(message, offset)
    if isinstance(error, MarkedYAMLError):
        skipped = 1 if text.startswith(BOM) else 0
        mark = error.problem_mark or error.context_mark
        offset = skipped + mark.index if mark else 0
        context = f" {error.context}" if error.context else ""
        if error.context_mark and error.context_mark.line != getattr(mark, "line", None):
            context += f" that begins on line {error.context_mark.line + 1} of the document"
        return InvalidYAMLError(f"not valid YAML: {error.problem}{context}", offset)
    return None


def _replace_surrogates(text: str) -> str:
    r"""Let JSON's escaped surrogates pass, of which YAML knows nothing, without moving anything.

    JSON writes an emoji as two escapes (``\ud83d\ude00``), and kubectl reads a document that begins
    with a brace as JSON. For the places, a replacement character of the same length will do.
    """
    if "\\u" not in text or not _JSON.match(text):
        return text
    return _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)
