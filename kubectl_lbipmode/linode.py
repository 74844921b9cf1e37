"""The effective PROXY protocol of a port, as the Linode cloud controller manager (CCM) reads it.

The CCM asks three places in turn: the port's own JSON annotation, the default annotation, the
deprecated one; and it refuses the whole Service where a value does not suit it. Facts from
``getPortProtocol``, ``getPortProxyProtocol`` (``cloud/linode/loadbalancers_helpers.go``) and
``getPortConfigAnnotation`` (``cloud/linode/loadbalancers.go``) of the CCM v0.9.8.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_lbipmode.findings import Code, Finding, annotation_field, error, join_quoted, quote
from kubectl_lbipmode.model import Annotation, AnnotationKind, Port, Service
from kubectl_lbipmode.portjson import FIELDS, PortJSONError, read_port_json

PREFIX = "service.beta.kubernetes.io/linode-loadbalancer-"
IP_MODE = f"{PREFIX}ip-mode"
DEFAULT_PROXY_PROTOCOL = f"{PREFIX}default-proxy-protocol"
DEPRECATED_PROXY_PROTOCOL = f"{PREFIX}proxy-protocol"
DEFAULT_PROTOCOL = f"{PREFIX}default-protocol"

PROXY_PROTOCOLS = ("none", "v1", "v2")
PROTOCOLS = ("tcp", "udp", "http", "https")

FROM_NOWHERE = "default"
"""The source of a value that no annotation gives."""

_DOMAINS = (".nodebalancer.linode.com", ".ip.linodeusercontent.com")
"""Where the hostnames of NodeBalancers are."""


@dataclass(frozen=True, slots=True)
class EffectivePort:
    """What the CCM makes of one port.

    *number* and *transport* are the Service's own, *protocol* is the NodeBalancer's. *source* is
    the annotation that *proxy_protocol* came from, or ``default``. *config* holds the six fields
    of the port's JSON. *faults* say why the CCM refuses the port; then *proxy_protocol* is None.
    """

    number: int | str | None
    transport: str
    protocol: str
    proxy_protocol: str | None
    source: str
    config: dict[str, str]
    faults: tuple[Finding, ...] = ()

    @property
    def label(self) -> str:
        """``443``, or ``443/UDP`` for what is not TCP."""
        return str(self.number) if self.transport == "TCP" else f"{self.number}/{self.transport}"

    @property
    def annotation(self) -> str:
        """The name of the annotation that holds this port's JSON."""
        return f"{PREFIX}port-{self.number}"


def read_ports(service: Service) -> tuple[EffectivePort, ...]:
    """Read every port of *service*, faults included."""
    return tuple(_read_port(service, port, index) for index, port in enumerate(service.ports))


def is_linode(service: Service) -> bool:
    """Whether the Service is recognisably Linode's: by an annotation or a live hostname."""
    return any(name.startswith(PREFIX) for name in service.annotations) or any(
        address.hostname.rstrip(".").lower().endswith(_DOMAINS) for address in service.addresses
    )


def check_kind(name: str, annotation: Annotation) -> list[Finding]:
    """Return the error of an annotation that holds a mapping or a list."""
    if annotation.kind is not AnnotationKind.COLLECTION:
        return []
    message = f"annotation `{name}` must be a string, not a mapping or a list"
    hint = "put the whole value in quotes"
    return [error(Code.ANNOTATION_NOT_SCALAR, message, hint, field=annotation_field(name))]


def _read_port(service: Service, port: Port, index: int) -> EffectivePort:
    own = f"{PREFIX}port-{port.number}"
    config, faults = _read_config(service, port, own, index)

    protocol, protocol_field = port.protocol, f"spec.ports[{index}].protocol"
    if config["protocol"]:
        protocol, protocol_field = config["protocol"], annotation_field(own)
    elif (default := service.annotations.get(DEFAULT_PROTOCOL)) is not None:
        protocol, protocol_field = default.text, annotation_field(DEFAULT_PROTOCOL)
        faults += check_kind(DEFAULT_PROTOCOL, default)

    proxy_protocol, source = config["proxy-protocol"], own
    if not proxy_protocol:
        proxy_protocol, source, kind_faults = _read_default(service)
        faults += kind_faults

    read = EffectivePort(
        number=port.number,
        transport=port.protocol.upper(),
        protocol=protocol.lower(),
        proxy_protocol=proxy_protocol.lower(),
        source=source,
        config=config,
    )
    faults = faults or [
        *_check_protocol(read, protocol, protocol_field),
        *_check_proxy_protocol(read, proxy_protocol),
    ]
    if not faults:
        return read
    return EffectivePort(
        read.number, read.transport, read.protocol, None, source, config, tuple(faults)
    )


def _read_config(
    service: Service, port: Port, own: str, index: int
) -> tuple[dict[str, str], list[Finding]]:
    """Return the fields of the port's JSON, all empty where there is none, and what is wrong."""
    nothing = dict.fromkeys(FIELDS, "")
    if port.number is None:
        message = f"`spec.ports[{index}]` must have a `port` number"
        hint = "the API server refuses the Service"
        field = f"spec.ports[{index}]"
        return nothing, [error(Code.MISSING_PORT_NUMBER, message, hint, field=field)]
    annotation = service.annotations.get(own)
    if annotation is None:
        return nothing, []
    if faults := check_kind(own, annotation):
        return nothing, faults
    try:
        return read_port_json(annotation.text), []
    except PortJSONError as problem:
        message = f"annotation `{own}` {problem}"
        hint = 'write it as {"proxy-protocol": "v2"}'
        return nothing, [error(Code.INVALID_PORT_JSON, message, hint, field=annotation_field(own))]


def _read_default(service: Service) -> tuple[str, str, list[Finding]]:
    """Return the PROXY protocol of all ports, the annotation that gives it and what is wrong."""
    for name in (DEFAULT_PROXY_PROTOCOL, DEPRECATED_PROXY_PROTOCOL):
        # Present is enough: the CCM takes an empty value too, and then refuses it.
        annotation = service.annotations.get(name)
        if annotation is not None:
            return annotation.text, name, check_kind(name, annotation)
    return "none", FROM_NOWHERE, []


def _check_protocol(port: EffectivePort, written: str, field: str) -> list[Finding]:
    if port.protocol in PROTOCOLS:
        return []
    message = (
        f"port {port.label} must have one of the protocols {join_quoted(PROTOCOLS)}, "
        f"not {quote(written)}"
    )
    if port.protocol != written:
        message += f" (read as {quote(port.protocol)})"
    hint = "the cloud controller manager refuses the Service until this is mended"
    return [error(Code.INVALID_PROTOCOL, message, hint, field=field)]


def _check_proxy_protocol(port: EffectivePort, written: str) -> list[Finding]:
    field = annotation_field(port.source)
    if port.proxy_protocol not in PROXY_PROTOCOLS:
        message = (
            f"annotation `{port.source}` must be one of {join_quoted(PROXY_PROTOCOLS)}, "
            f"not {quote(written)} (port {port.label})"
        )
        hint = "blanks around the value count; the cloud controller manager refuses anything else"
        return [error(Code.INVALID_PROXY_PROTOCOL, message, hint, field=field)]
    if port.protocol == "udp" and port.proxy_protocol != "none":
        message = (
            f"annotation `{port.source}` gives the PROXY protocol {port.proxy_protocol} to port "
            f"{port.number}/UDP, but a UDP port must not use it"
        )
        if port.source == port.annotation:
            hint = "take it out there; a TCP port of the same number needs a Service of its own"
        else:
            hint = (
                f'set `{port.annotation}` to {{"proxy-protocol": "none"}}, '
                "or move the port to a Service of its own"
            )
        return [error(Code.PROXY_PROTOCOL_ON_UDP, message, hint, field=field)]
    return []
