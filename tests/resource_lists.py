"""ResourceLists as orchestrators write them, for the tests of the KRM function."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from krm_function.function import process

PREFIX = "service.beta.kubernetes.io/linode-loadbalancer-"
KEY = f"{PREFIX}ip-mode"
FIELD = f"metadata.annotations[{KEY}]"
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
PORTS = "  spec: {type: LoadBalancer, ports: [{port: 80}]}\n"
WEB = f"""\
- apiVersion: v1
  kind: Service
  metadata:
    name: web
    annotations:
      {PREFIX}default-proxy-protocol: v2
{PORTS}"""
OVERRIDE = f"      {KEY}: Proxy\n"
WEB_EDITED = WEB.replace("v2\n", f"v2\n{OVERRIDE}")
# The same object, its keys in another order.
ENDING = f"- {PORTS.strip()}\n  " + WEB.removesuffix(PORTS).removeprefix("- ")
MIXED = f"""\
- apiVersion: v1
  kind: Service
  metadata: {{name: mixed, annotations: {{{PREFIX}port-80: '{{"proxy-protocol": "v2"}}'}}}}
  spec: {{type: LoadBalancer, ports: [{{port: 80}}, {{port: 443}}]}}
"""
BROKEN = WEB.replace("v2", "v3").replace("web", "broken")
RESULT = {
    "message": "web: the override is set to Proxy: all ports use the PROXY protocol",
    "severity": "info",
    "resourceRef": {"apiVersion": "v1", "kind": "Service", "name": "web"},
    "field": {"path": FIELD, "proposedValue": "Proxy"},
}
RESULTS = f"results:\n- {json.dumps(RESULT)}\n"


def annotated(last: str, *more: str) -> str:
    """Write a Service whose annotations end in *last*, with *more* lines after them."""
    return WEB.replace("v2\n", "v2\n" + last) + "".join(more)


def as_json(items: list[object], **more: object) -> str:
    """Write a list as JSON."""
    return json.dumps({**yaml.safe_load(HEAD), "items": items, **more})


def run(text: str) -> str:
    """Run the function on what it must be able to do."""
    processed = process(text.encode())
    assert not processed.failed
    return processed.output.decode()


def results_of(rest: str) -> list[dict[str, Any]]:
    """Return the results that the function puts into the list, for the list of which *rest* is."""
    processed = process((HEAD + rest).encode())
    results: list[dict[str, Any]] = yaml.safe_load(processed.output)["results"]
    assert results == processed.results
    return results


def without_results(text: str) -> str:
    """Take the results out of a list, by its lines: the editor has no part in it."""
    return re.sub(r"^(results:|- \{\"message\").*\r?\n", "", text, flags=re.M)


REFUSED = [
    ("nothing", b"", "must be one ResourceList"),
    ("plain manifests", WEB.encode(), "must be one ResourceList"),
    ("another group's list", HEAD.replace("config.k", "x.k").encode(), "must be one ResourceList"),
    ("two lists", f"{HEAD}---\n{HEAD}".encode(), "must be one ResourceList"),
    ("no YAML", f"{HEAD}items: [\n".encode(), "not valid YAML"),
    ("Latin-1", f"{HEAD}# \xe9\n".encode("latin-1"), "not UTF-8"),
    ("UTF-16", HEAD.encode("utf-16"), "UTF-16"),
    ("two items", f"{HEAD}items: []\nitems:\n{WEB}".encode(), "`items` of the list stands twice"),
    (
        "an alias into the results",
        f"results: [{{message: &m x}}]\n{HEAD}items: [{{a: *m}}]\n".encode(),
        "the anchor of",
    ),
]
