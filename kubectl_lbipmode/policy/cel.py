"""The rules in CEL, the language of admission policies, from the constants of the rules core.

CEL has no reader for JSON. What it has is regular expressions (RE2, as in Go), and they are enough
for the JSON that people write into ``port-<port>``: one object of strings and nulls, no escapes.
In such a text a quote can only begin or end a string, so ``"proxy-protocol":`` can only be a key,
and the last one that a string follows is the one that counts, as in Go. RE2 also ignores case as
Go's JSON reader does, by Unicode's simple folding. Whatever else a port annotation may hold, valid
or not, makes the whole Service *left alone*: then the mode stays the one that was written.

No expression may fail, whatever a Service holds: under ``failurePolicy: Fail`` a failure refuses
the write. That includes the price of evaluation, which the server limits for each expression.
"""

from __future__ import annotations

import json
import re

from kubectl_lbipmode.linode import (
    DEFAULT_PROTOCOL,
    DEFAULT_PROXY_PROTOCOL,
    DEPRECATED_PROXY_PROTOCOL,
    IP_MODE,
    PREFIX,
    PROTOCOLS,
    PROXY_PROTOCOLS,
)
from kubectl_lbipmode.model import IPMode

_BLANK = r"[ \t\n\r]*"
_STRING = r'"[^"\\\x00-\x1f]*"'
_ENTRY = f"{_STRING}{_BLANK}:{_BLANK}({_STRING}|null)"
_PLAIN_JSON = (
    rf"{_BLANK}(null|\{{{_BLANK}({_ENTRY}({_BLANK},{_BLANK}{_ENTRY})*{_BLANK})?\}}){_BLANK}"
)
# The server stops an expression at a cost of 1,000,000 (PerCallLimit in k8s.io/apiserver), and a
# match costs about a fortieth of the text's length times the pattern's: these bounds are well
# below it, and far above what a NodeBalancer can have.
_LONGEST_JSON = 1024
_MOST_PORTS = 100


def can_read(port_annotations: list[str], ports: int) -> bool:
    """Whether the policy can read *ports* that have these ``port-<port>`` annotations."""
    return ports <= _MOST_PORTS and all(
        len(text) <= _LONGEST_JSON and re.fullmatch(_PLAIN_JSON, text) for text in port_annotations
    )


def conditions(*, override_only: bool) -> dict[str, str]:
    """Return when there may be something to do, by name. They can use no variables in Kyverno.

    On a write of the status, the server keeps the old spec whatever is sent (PrepareForUpdate in
    pkg/registry/core/service/strategy.go), while annotations may change. So the spec is read from
    the old object: a client may leave it out of what it sends.
    """
    annotations = "object.metadata.?annotations.orValue({})"
    return {
        "in-scope": "oldObject.spec.type == 'LoadBalancer' "
        "&& !has(oldObject.spec.loadBalancerClass)",
        "has-addresses": "object.?status.?loadBalancer.?ingress.orValue([]).size() > 0",
        "is-annotated": f"{_literal(IP_MODE)} in {annotations}"
        if override_only
        else f"{annotations}.exists(name, name.startsWith({_literal(PREFIX)}))",
    }


def variables(*, override_only: bool) -> dict[str, str]:
    """Return the expressions that lead to ``wanted``, a mode or ``""``, each using those before."""
    modes = _literal({mode.lower(): str(mode) for mode in IPMode})
    found = {
        "annotations": "object.metadata.?annotations.orValue({})",
        "override": f"{_annotation(IP_MODE)}.orValue('').trim().lowerAscii()",
        "declared": f"{modes}[?variables.override].orValue('')",
    }
    if override_only:
        return {**found, "wanted": "variables.declared"}
    wanted = (
        f"{_literal(IP_MODE)} in variables.annotations ? variables.declared : variables.byPorts"
    )
    return {**found, **_port_variables(), "wanted": wanted}


def mutation() -> str:
    """Return the expression that yields the JSON Patch: a mode for each address that differs."""
    known = _literal([str(mode) for mode in IPMode])
    mode = f"address.?ipMode.orValue('{IPMode.VIP}')"
    return (
        "object.status.loadBalancer.ingress.transformList(i, address, "
        f"variables.wanted != '' && address.?ip.orValue('') != '' && {mode} in {known} "
        f"&& {mode} != variables.wanted, "
        "JSONPatch{op: 'add', path: '/status/loadBalancer/ingress/' + string(i) + '/ipMode', "
        "value: variables.wanted})"
    )


def _port_variables() -> dict[str, str]:
    """Return the expressions that lead to ``byPorts``: ``Proxy``, or ``""`` for anything else.

    ``VIP`` is never asked for: it is what the server fills in, and a ``Proxy`` that a cloud
    controller has written of itself is not ours to undo.
    """
    using = _literal([value for value in PROXY_PROTOCOLS if value != "none"])
    able = _literal([value for value in PROTOCOLS if value != "udp"])
    default = f"{_annotation(DEFAULT_PROXY_PROTOCOL)}.or({_annotation(DEPRECATED_PROXY_PROTOCOL)})"
    return {
        "ports": "oldObject.spec.?ports.orValue([])",
        "portJSON": "variables.ports.map(port, variables.annotations"
        f"[?{_literal(f'{PREFIX}port-')} + string(port.port)].orValue('null'))",
        "isPlainJSON": f"variables.ports.size() <= {_MOST_PORTS} && variables.portJSON.all(text, "
        f"text.size() <= {_LONGEST_JSON} && text.matches({_pattern(f'^{_PLAIN_JSON}$')}))",
        "ownProtocol": _last_value("protocol"),
        "ownProxyProtocol": _last_value("proxy-protocol"),
        "defaultProxyProtocol": f"{default}.orValue('none')",
        "byPorts": "variables.ports.size() > 0 && variables.isPlainJSON && variables.ports.all("
        "i, port, (variables.ownProxyProtocol[i] != '' ? variables.ownProxyProtocol[i] : "
        f"variables.defaultProxyProtocol).lowerAscii() in {using} && "
        "(variables.ownProtocol[i] != '' ? variables.ownProtocol[i] : "
        f"{_annotation(DEFAULT_PROTOCOL)}.orValue(port.?protocol.orValue('TCP'))).lowerAscii() "
        f"in {able}) ? '{IPMode.PROXY}' : ''",
    }


def _last_value(field: str) -> str:
    """Return the expression for a field of each port's JSON: the last string that it is given.

    The match ends with that string, so its text is the last but one of the parts between quotes;
    the two quotes in front stand for an empty one where there is no match.
    """
    pattern = _pattern(rf'(?is)^.*"{field}"\s*:\s*"[^"]*"')
    return (
        f"variables.portJSON.map(text, ('\"\"' + text.find({pattern})).split('\"'))"
        ".map(parts, parts[parts.size() - 2])"
    )


def _annotation(name: str) -> str:
    """Return the expression for an annotation, as an optional."""
    return f"variables.annotations[?{_literal(name)}]"


def _literal(value: object) -> str:
    """Write *value* for CEL, which reads JSON but for the quotes that YAML would like better."""
    return json.dumps(value).replace('"', "'")


def _pattern(pattern: str) -> str:
    """Write a regular expression for CEL, as a raw string: there is no apostrophe in ours."""
    return f"r'{pattern}'"
