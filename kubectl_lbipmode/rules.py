"""Decide which ``ipMode`` a Service should have, and why.

Pure: no files, no cluster, no clock. Every branch returns a `Decision`, so a caller can always say
why nothing happened. The order is a promise: out of scope, then the override annotation, then the
mode that was asked for, then the ports. ``docs/rules.md`` tells it with examples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kubectl_lbipmode.advice import advise, advise_out_of_scope
from kubectl_lbipmode.findings import (
    Code,
    Finding,
    Severity,
    annotation_field,
    error,
    quote,
    warning,
)
from kubectl_lbipmode.linode import IP_MODE, EffectivePort, check_kind, read_ports
from kubectl_lbipmode.model import Annotation, IPMode, Service


class Reason(StrEnum):
    """Why we decided so. Part of the JSON output: add, never rename."""

    OVERRIDE = "Override"
    FLAG = "Flag"
    ALL_PORTS_PROXY_PROTOCOL = "AllPortsProxyProtocol"
    SOME_PORTS_PROXY_PROTOCOL = "SomePortsProxyProtocol"
    NO_PORTS_PROXY_PROTOCOL = "NoPortsProxyProtocol"
    NO_PORTS = "NoPorts"
    INVALID_OVERRIDE = "InvalidOverride"
    INVALID_PORTS = "InvalidPorts"
    NOT_LOAD_BALANCER = "NotLoadBalancer"
    OTHER_LOAD_BALANCER_CLASS = "OtherLoadBalancerClass"
    NOT_A_SERVICE = "NotAService"
    NO_METADATA = "NoMetadata"


OUT_OF_SCOPE = frozenset(
    {Reason.NOT_A_SERVICE, Reason.NOT_LOAD_BALANCER, Reason.OTHER_LOAD_BALANCER_CLASS}
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What the caller asks for besides the rules: a mode, and whether it beats an override."""

    mode: IPMode | None = None
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """The mode (None: there is none), the reason, and what is worth saying."""

    mode: IPMode | None
    reason: Reason
    findings: tuple[Finding, ...] = ()
    ports: tuple[EffectivePort, ...] = ()

    @property
    def in_scope(self) -> bool:
        """Whether the Service is one that we decide about."""
        return self.reason not in OUT_OF_SCOPE


def decide(service: Service, wish: Wish = Wish()) -> Decision:
    """Decide the mode of *service*; never raises."""
    reason = _leave_out(service)
    if reason is not None:
        return Decision(None, reason, tuple(advise_out_of_scope(service)))
    if not service.has_metadata:
        message = "a Service must have `metadata` with a name"
        hint = "nothing can deploy it as it is"
        return Decision(
            None,
            Reason.NO_METADATA,
            (error(Code.MISSING_METADATA, message, hint, field="metadata"),),
        )
    ports = read_ports(service)
    decision = _choose(service, wish, _decide_by_ports(ports))
    findings = (*decision.findings, *advise(service, decision.mode, ports))
    return replace(decision, findings=tuple(dict.fromkeys(findings)), ports=ports)


def read_mode(text: str) -> IPMode | None:
    """Read a mode without regard to case and surrounding white space; None if it is no mode."""
    return {mode.lower(): mode for mode in IPMode}.get(text.strip().lower())


def is_service(service: Service) -> bool:
    """Whether this is the core API's Service (Knative has another of that kind)."""
    return service.api_version == "v1" and service.kind == "Service"


def _leave_out(service: Service) -> Reason | None:
    if not is_service(service):
        return Reason.NOT_A_SERVICE
    if service.type != "LoadBalancer":
        return Reason.NOT_LOAD_BALANCER
    # With a class, the cloud provider's service controller leaves the Service to another one.
    if service.load_balancer_class is not None:
        return Reason.OTHER_LOAD_BALANCER_CLASS
    return None


def _choose(service: Service, wish: Wish, by_ports: Decision) -> Decision:
    """Let the override win, then the wish, then the ports."""
    override = service.annotations.get(IP_MODE)
    if override is not None and not wish.overwrite:
        return _take_override(override, wish, by_ports)
    if wish.mode is not None:
        return Decision(wish.mode, Reason.FLAG, _as_warnings(by_ports))
    return by_ports


def _take_override(override: Annotation, wish: Wish, by_ports: Decision) -> Decision:
    field = annotation_field(IP_MODE)
    if faults := check_kind(IP_MODE, override):
        return Decision(None, Reason.INVALID_OVERRIDE, tuple(faults))
    mode = read_mode(override.text)
    if mode is None:
        message = f'annotation `{IP_MODE}` must be "VIP" or "Proxy", not {quote(override.text)}'
        hint = "remove it to let the ports decide, or replace it with --overwrite"
        finding = error(Code.INVALID_OVERRIDE, message, hint, field=field)
        return Decision(None, Reason.INVALID_OVERRIDE, (finding,))

    findings = list(_as_warnings(by_ports))
    if wish.mode not in (None, mode):
        message = f"the override says {mode}, so --mode {wish.mode} is not applied"
        hint = "use --overwrite to replace the override"
        findings.append(warning(Code.OVERRIDE_DIFFERS, message, hint, field=field))
    elif by_ports.mode not in (None, mode):
        message = f"the override says {mode}, but the ports say {by_ports.mode}"
        hint = "the override wins; remove it (--remove) to let the ports decide"
        findings.append(warning(Code.OVERRIDE_DIFFERS, message, hint, field=field))
    return Decision(mode, Reason.OVERRIDE, tuple(findings))


def _as_warnings(by_ports: Decision) -> tuple[Finding, ...]:
    """Keep the errors of the ports, which do not cancel a mode from elsewhere, as warnings."""
    return tuple(
        replace(finding, severity=Severity.WARNING)
        for finding in by_ports.findings
        if finding.severity is Severity.ERROR
    )


def _decide_by_ports(ports: tuple[EffectivePort, ...]) -> Decision:
    faults = tuple(fault for port in ports for fault in port.faults)
    if faults:
        return Decision(None, Reason.INVALID_PORTS, tuple(dict.fromkeys(faults)))
    if not ports:
        message = "no mode can be told without `spec.ports`"
        hint = (
            "if this is a patch for kustomize, run on the built output; "
            "or set the override with --mode"
        )
        finding = warning(Code.NO_PORTS, message, hint, field="spec.ports")
        return Decision(None, Reason.NO_PORTS, (finding,))

    using = [port.label for port in ports if port.proxy_protocol != "none"]
    others = [port.label for port in ports if port.proxy_protocol == "none"]
    if not others:
        return Decision(IPMode.PROXY, Reason.ALL_PORTS_PROXY_PROTOCOL)
    if not using:
        return Decision(IPMode.VIP, Reason.NO_PORTS_PROXY_PROTOCOL)
    users = ", ".join(using)
    message = (
        f"some ports use the PROXY protocol ({users}) and some do not ({', '.join(others)}): "
        f"requests from inside the cluster to port {users} still fail"
    )
    hint = "use it on all ports, split the Service in two, or set the override with --mode Proxy"
    finding = warning(Code.MIXED_PORTS, message, hint, field="spec.ports")
    return Decision(IPMode.VIP, Reason.SOME_PORTS_PROXY_PROTOCOL, (finding,))
