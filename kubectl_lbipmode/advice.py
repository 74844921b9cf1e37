"""Warnings worth having: what an operator would want to know before the mode takes effect.

Advice never changes the mode. Each piece is one small function that yields findings; the sources
are the cloud controller manager's own checks, KEP-1860, and what a real kube-proxy did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_lbipmode.findings import (
    Code,
    Finding,
    annotation_field,
    join_quoted,
    quote,
    warning,
)
from kubectl_lbipmode.linode import (
    DEFAULT_PROXY_PROTOCOL,
    DEPRECATED_PROXY_PROTOCOL,
    IP_MODE,
    PREFIX,
    EffectivePort,
    check_kind,
)
from kubectl_lbipmode.model import AnnotationKind, IPMode, Service

ALGORITHMS = ("roundrobin", "leastconn", "source")
UDP_ALGORITHMS = ("roundrobin", "leastconn", "ring_hash")
CHECK_TYPES = ("none", "connection", "http", "http_body")
# What Go's strconv.ParseBool takes for true.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_PORT_ANNOTATION = re.compile(re.escape(PREFIX) + r"port-(\d+)")

Ports = tuple[EffectivePort, ...]


def advise(service: Service, mode: IPMode | None, ports: Ports) -> Iterator[Finding]:
    """Yield what is worth saying about a Service in scope."""
    yield from _annotations_must_be_strings(service)
    yield from _deprecated(service, ports)
    yield from _unused_port_annotations(service, ports)
    if mode is None:
        return
    yield from _hostname_only(service)
    yield from _refused_by_the_ccm(service, ports)
    if mode is IPMode.PROXY:
        yield from _changes_with_proxy(service)
        yield from _no_header_on_http(ports)
    else:
        yield from _tls_terminated(ports)


def advise_out_of_scope(service: Service) -> Iterator[Finding]:
    """Yield what is worth saying about anything else: an annotation that nothing reads there."""
    if service.load_balancer_class == "" and service.type == "LoadBalancer":
        message = '`spec.loadBalancerClass` must not be empty ("")'
        hint = "the API server refuses it; leave the field out"
        field = "spec.loadBalancerClass"
        yield warning(Code.EMPTY_LOAD_BALANCER_CLASS, message, hint, field=field)
    names = [name for name in service.annotations if name.startswith(PREFIX)]
    if not names:
        return
    field = annotation_field(names[0])
    if service.api_version == "v1" and service.kind == "Service" and not service.type:
        message = "no mode can be told without `spec.type`"
        hint = "if this is a patch for kustomize, run on the built output"
        yield warning(Code.MISSING_TYPE, message, hint, field=field)
        return
    what = "a Service of type LoadBalancer"
    if service.load_balancer_class:
        what += " without a `loadBalancerClass`"
    message = f"annotation `{names[0]}` has no effect here"
    hint = f"the cloud controller manager reads it on {what} only"
    yield warning(Code.ANNOTATION_WITHOUT_EFFECT, message, hint, field=field)


def _annotations_must_be_strings(service: Service) -> Iterator[Finding]:
    for name, annotation in service.annotations.items():
        field = annotation_field(name)
        if annotation.kind is AnnotationKind.SCALAR:
            message = f"annotation `{name}` must be a string, not {annotation.text}"
            hint = "the API server refuses the object; put the value in quotes"
            yield warning(Code.ANNOTATION_NOT_STRING, message, hint, field=field)
        else:
            yield from check_kind(name, annotation)


def _deprecated(service: Service, ports: Ports) -> Iterator[Finding]:
    if DEPRECATED_PROXY_PROTOCOL not in service.annotations:
        return
    field = annotation_field(DEPRECATED_PROXY_PROTOCOL)
    if DEFAULT_PROXY_PROTOCOL in service.annotations:
        message = f"annotation `{DEPRECATED_PROXY_PROTOCOL}` is deprecated, and ignored here"
        hint = f"`{DEFAULT_PROXY_PROTOCOL}` stands beside it and wins; remove the old one"
        yield warning(Code.DEPRECATED_ANNOTATION_IGNORED, message, hint, field=field)
    elif any(port.source == DEPRECATED_PROXY_PROTOCOL for port in ports):
        message = f"annotation `{DEPRECATED_PROXY_PROTOCOL}` is deprecated"
        hint = f"call it `{DEFAULT_PROXY_PROTOCOL}`"
        yield warning(Code.DEPRECATED_ANNOTATION, message, hint, field=field)


def _unused_port_annotations(service: Service, ports: Ports) -> Iterator[Finding]:
    numbers = {port.number for port in ports}
    if not numbers or any(isinstance(number, str) for number in numbers):
        return  # A patch or a template: the ports are not known yet.
    for name in service.annotations:
        match = _PORT_ANNOTATION.fullmatch(name)
        if match and int(match[1]) not in numbers:
            message = f"annotation `{name}` has no effect: the Service has no port {match[1]}"
            hint = "annotations go by `spec.ports[].port`, not by nodePort or targetPort"
            field = annotation_field(name)
            yield warning(Code.UNUSED_PORT_ANNOTATION, message, hint, field=field)


def _hostname_only(service: Service) -> Iterator[Finding]:
    name = f"{PREFIX}hostname-only-ingress"
    annotation = service.annotations.get(name)
    if annotation is not None and annotation.text in _TRUE:
        message = f"annotation `{name}` leaves no address that a mode could apply to"
        hint = (
            "the status holds a hostname alone, so traffic from inside the cluster "
            "goes to the load balancer anyway"
        )
        field = annotation_field(name)
        yield warning(Code.HOSTNAME_ONLY_INGRESS, message, hint, field=field)


def _refused_by_the_ccm(service: Service, ports: Ports) -> Iterator[Finding]:
    hint = "the cloud controller manager refuses the Service until this is mended"
    check_type = f"{PREFIX}check-type"
    annotation = service.annotations.get(check_type)
    if annotation is not None and annotation.text not in CHECK_TYPES:
        message = (
            f"annotation `{check_type}` must be one of {join_quoted(CHECK_TYPES)}, "
            f"not {quote(annotation.text)}"
        )
        yield warning(Code.INVALID_CHECK_TYPE, message, hint, field=annotation_field(check_type))
    default_algorithm = f"{PREFIX}default-algorithm"
    default = service.annotations.get(default_algorithm)
    for port in ports:
        if port.faults:
            continue
        source = port.annotation if port.config["algorithm"] else default_algorithm
        algorithm = port.config["algorithm"] or (default.text if default else "roundrobin")
        allowed = UDP_ALGORITHMS if port.protocol == "udp" else ALGORITHMS
        if algorithm.lower() not in allowed:
            message = (
                f"port {port.label} must have one of the algorithms {join_quoted(allowed)}, "
                f"not {quote(algorithm)}"
            )
            yield warning(Code.INVALID_ALGORITHM, message, hint, field=annotation_field(source))
        secret, field = port.config["tls-secret-name"], annotation_field(port.annotation)
        if port.protocol == "https" and not secret:
            message = (
                f"port {port.label} is https, so `{port.annotation}` must name a `tls-secret-name`"
            )
            yield warning(Code.TLS_SECRET_MISSING, message, hint, field=field)
        elif port.protocol == "udp" and secret:
            message = f"port {port.label} is udp, so it must not have a `tls-secret-name`"
            yield warning(Code.TLS_SECRET_ON_UDP, message, hint, field=field)


def _changes_with_proxy(service: Service) -> Iterator[Finding]:
    if service.external_traffic_policy == "Local":
        message = "`externalTrafficPolicy: Local` together with Proxy is not defined by Kubernetes"
        hint = "see kubernetes/kubernetes#123714; try it before you rely on it"
        field = "spec.externalTrafficPolicy"
        yield warning(Code.TRAFFIC_POLICY_LOCAL, message, hint, field=field)
    if service.source_ranges:
        message = (
            "`loadBalancerSourceRanges` is not enforced by kube-proxy on an address with mode Proxy"
        )
        hint = "let the load balancer's own firewall enforce it"
        field = "spec.loadBalancerSourceRanges"
        yield warning(Code.SOURCE_RANGES_NOT_ENFORCED, message, hint, field=field)
    for name in ("firewall-id", "firewall-acl"):
        if f"{PREFIX}{name}" in service.annotations:
            message = (
                f"annotation `{PREFIX}{name}`: with Proxy, clients inside the cluster "
                "reach the firewall from the nodes' own addresses"
            )
            hint = "an allow list must hold them, else their requests time out"
            field = annotation_field(f"{PREFIX}{name}")
            yield warning(Code.FIREWALL_SEES_NODES, message, hint, field=field)
    throttle = service.annotations.get(f"{PREFIX}throttle")
    if throttle is not None and throttle.text != "0":
        message = (
            f"annotation `{PREFIX}throttle`: with Proxy, all clients on one node "
            "count as one client"
        )
        hint = "raise it, or set it to 0, where requests from inside the cluster are many"
        field = annotation_field(f"{PREFIX}throttle")
        yield warning(Code.THROTTLE_SEES_NODES, message, hint, field=field)


def _no_header_on_http(ports: Ports) -> Iterator[Finding]:
    for port in ports:
        if port.protocol in ("http", "https") and port.proxy_protocol not in (None, "none"):
            message = (
                f"port {port.label} is {port.protocol}, and a NodeBalancer adds "
                "the PROXY header on tcp only"
            )
            hint = "use protocol tcp, or leave the PROXY protocol off on this port"
            field = annotation_field(port.source)
            yield warning(Code.PROXY_PROTOCOL_ON_HTTP, message, hint, field=field)


def _tls_terminated(ports: Ports) -> Iterator[Finding]:
    for port in ports:
        if port.protocol == "https":
            message = (
                f"port {port.label} ends TLS at the load balancer, which clients inside the "
                "cluster bypass under VIP"
            )
            hint = f"set `{IP_MODE}: Proxy` (--mode Proxy) if they use the public address"
            yield warning(Code.TLS_TERMINATED, message, hint, field="spec.ports")
