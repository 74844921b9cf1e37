"""What earlier cures have left behind, and what the Linode controller does by way of Cilium.

hairpin-proxy and ouroboros have CoreDNS answer with an address of their own for the names of
Ingresses, so that pods never call the load balancer at all. Both leave marks in CoreDNS'
configuration (``hairpin-proxy-controller/src/main.rb``, ``internal/coredns/corefile.go``), where
they may outlive the program.
"""

from __future__ import annotations

from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.versions import split_image
from kubectl_lbipmode.doctor.view import JSONObject, View, Workload
from kubectl_lbipmode.errors import ForbiddenError, NotFoundError
from kubectl_lbipmode.linode import IP_MODE

_CURES = ("hairpin-proxy", "ouroboros")
_MARKS = ("# Added by hairpin-proxy", "# === BEGIN ouroboros")
_DNS_CONFIGS = "/api/v1/namespaces/kube-system/configmaps"

_POOLS = "ciliumloadbalancerippools"
_MANAGED_BY = "app.kubernetes.io/managed-by"
_SELECTED = ("io.kubernetes.service.namespace", "io.kubernetes.service.name")


def check_leftovers(view: View) -> Check:
    """Look for hairpin-proxy and ouroboros, and for what they wrote into CoreDNS' configuration."""
    workloads = [*view.deployments, *view.daemon_sets]
    found = [workload.full_name for workload in workloads if _is_cure(workload)]
    unseen = ""
    try:
        configs = list(view.list_objects(_DNS_CONFIGS))
    except ForbiddenError as error:
        configs, unseen = [], str(error)
    marked = [config["metadata"]["name"] for config in configs if _is_marked(config)]
    if not found and not marked:
        if unseen:
            message = (
                f"neither hairpin-proxy nor ouroboros runs; what CoreDNS does is unseen: {unseen}"
            )
            return Check("leftovers", Status.UNKNOWN, message)
        return Check("leftovers", Status.OK, "neither hairpin-proxy nor ouroboros is there")
    parts = []
    if found:
        parts.append(f"{', '.join(found)} rewrites DNS, so that pods do not call the load balancer")
    if marked:
        names = ", ".join(f"kube-system/{name}" for name in marked)
        parts.append(f"the ConfigMap {names} still holds such rewrites")
    hint = "once modes are kept it is not needed: delete it, then its lines in CoreDNS' ConfigMap"
    return Check("leftovers", Status.WARN, "; ".join(parts), hint)


def check_linode_pools(view: View) -> Check:
    """Look for Services without a NodeBalancer, which Linode's controller has Cilium announce."""
    found = [name for pool in _list_pools(view) if (name := find_pooled(pool))]
    if not found:
        message = "no Service has its address from Linode's controller by way of Cilium"
        return Check("linode-pools", Status.OK, message)
    message = (
        f"Linode's controller has Cilium announce {', '.join(found)} from the nodes "
        "(CiliumLoadBalancerIPPool): a true VIP, though no class says so"
    )
    hint = f"never set Proxy there: `{IP_MODE}: VIP` keeps it from being set"
    return Check("linode-pools", Status.WARN, message, hint)


def find_pooled(pool: JSONObject) -> str | None:
    """Return the Service that Linode's controller made *pool* for; None if it did not make it.

    It names the pool after the Service, and newer releases label it (``createCiliumLBIPPool`` in
    ``cloud/linode/cilium_loadbalancers.go``).
    """
    metadata = pool["metadata"]
    selector = (pool.get("spec") or {}).get("serviceSelector") or {}
    labels = selector.get("matchLabels") or {}
    namespace, name = (labels.get(key, "") for key in _SELECTED)
    is_ours = metadata.get("labels", {}).get(_MANAGED_BY) == "linode-ccm"
    if is_ours or (namespace and metadata["name"] == f"{namespace}-{name}-pool"):
        return f"{namespace}/{name}" if namespace else str(metadata["name"])
    return None


def _list_pools(view: View) -> list[JSONObject]:
    """Return Cilium's pools, in whichever version the server prefers; none without Cilium."""
    try:
        group = view.cluster.request("GET", "/apis/cilium.io")
        path = f"/apis/{group['preferredVersion']['groupVersion']}/{_POOLS}"
        return list(view.list_objects(path))
    except NotFoundError:
        return []


def _is_cure(workload: Workload) -> bool:
    names = (workload.namespace, workload.name, workload.app, *_image_names(workload))
    return any(name.startswith(cure) for name in names for cure in _CURES)


def _image_names(workload: Workload) -> list[str]:
    return [split_image(image)[0] for image in workload.images]


def _is_marked(config: JSONObject) -> bool:
    texts = (config.get("data") or {}).values()
    return any(mark in text for text in texts for mark in _MARKS)
