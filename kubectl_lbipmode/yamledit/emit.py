"""Objects as YAML, for what we print ourselves; a user's manifest never comes through here."""

from __future__ import annotations

import io
from typing import Any

from kubectl_lbipmode.yamledit.nodes import Scalar
from kubectl_lbipmode.yamledit.scalars import is_string


def emit(data: object) -> str:
    """Write plain *data* (mappings, lists, strings, numbers, None) as one YAML document."""
    from ruamel.yaml import YAML
    from ruamel.yaml.representer import SafeRepresenter

    class Representer(SafeRepresenter):
        """Quotes what the YAML readers of Kubernetes would not take for a string."""

    def represent_text(representer: SafeRepresenter, text: str) -> Any:  # noqa: ANN401 - a node
        plain = text.isprintable() and is_string(Scalar(0, 0, None, None, text, ""))
        return representer.represent_scalar("tag:yaml.org,2002:str", text, "" if plain else '"')

    Representer.add_representer(str, represent_text)
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = Representer
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment] # keep the order
    yaml.default_flow_style = False
    yaml.width = 1 << 30  # Never fold: a message stays on its line.
    stream = io.StringIO()
    yaml.dump(data, stream)
    return stream.getvalue()
