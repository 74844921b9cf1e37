"""Which cloud is it, and what does its controller do about modes?

A Node says by the scheme of its ``spec.providerID`` who made it. What the controllers do was read
in their public sources, of which ``docs/doctor.md`` has the list. Linode's sets no mode up to
v0.9.8. On LKE it runs on Linode's side, out of sight and out of reach.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kubectl_lbipmode.doctor.check import TRY, Check, Status
from kubectl_lbipmode.doctor.versions import split_image
from kubectl_lbipmode.doctor.view import View
from kubectl_lbipmode.errors import ForbiddenError
from kubectl_lbipmode.linode import IP_MODE, is_linode

_LINODE = "linode"
_LKE_LABEL = "lke.linode.com/pool-id"
# LKE Enterprise alone adds to the version: v1.31.8+lke5.
_LKE_ENTERPRISE = "+lke"
_CCM_IMAGE = "linode-cloud-controller-manager"

_SELF = "its controller sets modes itself"
_NONE = "its controller sets no modes"
_HOSTNAME = "its controller publishes hostnames, which can have no mode"
_PASSES = "its load balancer passes packets on with their address, so VIP is right"


@dataclass(frozen=True, slots=True)
class Cloud:
    """A cloud, what its controller does, and the setting of its own that has to do with it."""

    name: str
    does: str
    setting: str = ""


# A Node of Oracle's cloud has an identifier of that cloud for its providerID, without a scheme.
_ORACLE = "ocid1"
CLOUDS = {
    "aws": Cloud("AWS", _HOSTNAME),
    "azure": Cloud("Azure", _PASSES),
    "civo": Cloud("Civo", _NONE),
    "cloudscale": Cloud("cloudscale.ch", _SELF, "k8s.cloudscale.ch/loadbalancer-ip-mode"),
    "digitalocean": Cloud("DigitalOcean", _NONE),
    "exoscale": Cloud("Exoscale", _NONE),
    "gce": Cloud("Google Cloud", _PASSES),
    "hcloud": Cloud("Hetzner", _SELF, "load-balancer.hetzner.cloud/uses-proxyprotocol"),
    "kind": Cloud("kind", _SELF),
    "oci": Cloud("Oracle Cloud", _SELF, "oci.oraclecloud.com/ingress-ip-mode"),
    "openstack": Cloud("OpenStack", _SELF, "loadbalancer.openstack.org/proxy-protocol"),
    "scaleway": Cloud("Scaleway", _SELF, "service.beta.kubernetes.io/scw-loadbalancer-ip-mode"),
    "upcloud": Cloud("UpCloud", _HOSTNAME),
    "vultr": Cloud("Vultr", _NONE),
}
"""By the scheme of the providerID."""

_HINTS = {
    _SELF: "leave it to that controller",
    _NONE: "only Linode's annotations are read here: declare a mode by the override "
    f"`{IP_MODE}`, or by `sync --mode`",
    _HOSTNAME: "there is nothing to do: traffic from inside leaves for the load balancer already",
    _PASSES: "do not set Proxy",
}


def check_cloud(view: View) -> Check:
    """Say which cloud it is, and what follows."""
    schemes = Counter(
        scheme for node in view.nodes if (scheme := find_scheme(node["spec"].get("providerID", "")))
    )
    if not schemes and any(is_linode(plan.service) for plan in view.plans):
        schemes[_LINODE] = 0  # No Node says so, but the Services do.
    if not schemes:
        message = "no Node says by `spec.providerID` which cloud it is"
        hint = "find out whether your load balancers' controller sets `ipMode` itself"
        return Check("cloud", Status.UNKNOWN, message, hint)
    if len(schemes) > 1:
        names = ", ".join(f"{scheme} ({number})" for scheme, number in schemes.most_common())
        hint = "see to each of them: a Service is served by the controller of one"
        return Check("cloud", Status.UNKNOWN, f"the Nodes are of several clouds: {names}", hint)
    [scheme] = schemes
    return _describe_linode(view) if scheme == _LINODE else _describe(scheme)


def find_scheme(provider_id: str) -> str:
    """Return the scheme of a providerID, empty if there is none."""
    scheme, separator, _ = provider_id.partition("://")
    if separator:
        return scheme
    return "oci" if provider_id.startswith(_ORACLE) else ""


def _describe(scheme: str) -> Check:
    cloud = CLOUDS.get(scheme)
    if cloud is None:
        message = f'nothing is known here of the cloud "{scheme}"'
        hint = "find out whether its controller sets `ipMode` itself"
        return Check("cloud", Status.UNKNOWN, message, hint)
    hint = _HINTS[cloud.does]
    if cloud.setting:
        hint += f", and to its annotation `{cloud.setting}`"
    status = Status.OK if cloud.does == _HOSTNAME else Status.WARN
    return Check("cloud", status, f"{cloud.name}: {cloud.does}", hint)


def _describe_linode(view: View) -> Check:
    if any(_LKE_LABEL in node["metadata"].get("labels", {}) for node in view.nodes):
        return describe_lke(view.version)
    return Check("cloud", Status.OK, f"Linode: {_NONE}{_find_controller(view)}")


def describe_lke(server_version: str) -> Check:
    """Describe Linode's managed Kubernetes, by its server's version as written."""
    if _LKE_ENTERPRISE not in server_version:
        message = f"LKE: {_NONE}; it runs on Linode's side, so that there is nothing to upgrade"
        return Check("cloud", Status.OK, message)
    message = (
        f"LKE Enterprise: {_NONE}; others report that a cluster cannot reach its own NodeBalancers "
        "there, which Proxy needs (not verified)"
    )
    hint = f"{TRY}; `{IP_MODE}: VIP` puts it back"
    return Check("cloud", Status.WARN, message, hint)


def _find_controller(view: View) -> str:
    """Say which image of Linode's controller runs here, as far as it can be seen."""
    try:
        workloads = [*view.daemon_sets, *view.deployments]
    except ForbiddenError:
        return " (up to v0.9.8)"
    for workload in workloads:
        for image in workload.images:
            name, tag = split_image(image)
            if name == _CCM_IMAGE:
                return f" (up to v0.9.8; here it is {tag or 'of no named version'})"
    return " (up to v0.9.8)"
