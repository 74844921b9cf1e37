"""Draw what a test recorded: the way of a request to a load balancer's address, in each mode.

    pytest tests/dataplane/test_record.py --record    # as root: live through it, write the record
    python tests/dataplane/picture.py                 # write docs/diagrams/dataplane.d2 from it

`make docs` then makes an image of it, as of the other drawings there.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

DIAGRAMS = Path(__file__).parents[2] / "docs" / "diagrams"
RECORD = DIAGRAMS / "dataplane.json"
DRAWING = DIAGRAMS / "dataplane.d2"


@dataclass(frozen=True)
class Passage:
    """One request, and what became of it."""

    mode: str  # of the address
    origin: str  # outside, pod or node
    client: str  # its own address
    address: str  # that was asked
    through_balancer: bool
    refused_by_gateway: bool
    told: str  # the client, as the gateway was told; empty without an answer


_HEAD = """\
# What became of requests to a load balancer's addresses under each ipMode, as a test of the data
# path recorded it. Generated from dataplane.json by tests/dataplane/picture.py.
...@theme

classes: {
  panel: {style: {font-size: 28; border-radius: 8}}
  box: {style: {font-size: 22; border-radius: 6; bold: false}; width: 260; height: 96}
  works: {style: {stroke: "#2f9e5b"; stroke-width: 3; font-size: 20; italic: false}}
  fails: {style: {stroke: "#e0524a"; stroke-width: 3; stroke-dash: 4; font-size: 20; italic: false}}
}

grid-columns: 1
grid-gap: 24
"""

_ORIGINS = {"outside": "client outside", "pod": "pod", "node": "node"}


def draw(passages: Iterable[Passage]) -> str:
    """Return the drawing as text for d2: a panel for each mode, a way for each origin."""
    panels = (_panel(mode, list(those)) for mode, those in groupby(passages, lambda p: p.mode))
    return "\n".join([_HEAD, *("\n".join(panel) for panel in panels)])


def _panel(mode: str, passages: list[Passage]) -> Iterator[str]:
    addresses = _join(passage.address for passage in passages)
    yield f'{mode.lower()}: "ipMode: {mode}" {{'
    yield "  class: panel"
    yield "  direction: right"
    if any(passage.through_balancer for passage in passages):
        yield f'  balancer: "load balancer\\n{addresses}" {{class: box}}'
    if not all(passage.through_balancer for passage in passages):
        yield f'  rules: "kube-proxy\'s rules\\n{addresses}" {{class: box}}'
    yield '  gateway: "gateway, demands\\nthe PROXY header" {class: box}'
    for origin, group in groupby(passages, lambda passage: passage.origin):
        those = list(group)
        clients = _join(passage.client for passage in those)
        yield f'  {origin}: "{_ORIGINS[origin]}\\n{clients}" {{class: box}}'
        yield from _way(origin, those)
    yield "}\n"


def _way(origin: str, passages: list[Passage]) -> Iterator[str]:
    ways = {(passage.through_balancer, passage.refused_by_gateway) for passage in passages}
    ((through_balancer, refused),) = ways  # IPv4 and IPv6 alike, or there is no such picture
    hop = "balancer" if through_balancer else "rules"
    told = _join(passage.told for passage in passages)
    outcome = "no header: refused" if refused else f"answered\\nclient: {told}"
    kind = "fails" if refused else "works"
    yield f"  {origin} -> {hop} {{class: {kind}}}"
    yield f'  {hop} -> gateway: "{outcome}" {{class: {kind}}}'


def _join(words: Iterable[str]) -> str:
    """Return each word once, one a line."""
    return "\\n".join(dict.fromkeys(words))


if __name__ == "__main__":
    record = json.loads(RECORD.read_text())
    DRAWING.write_text(draw(Passage(**passage) for passage in record))
