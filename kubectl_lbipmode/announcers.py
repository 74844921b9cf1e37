"""Who announces a Service's addresses from the nodes of the cluster.

MetalLB and its like make a node answer for the address (by ARP, NDP or BGP), so that traffic from
outside arrives at kube-proxy with the address still on it. Such an address is a true VIP: with
``Proxy``, kube-proxy no longer knows it, and traffic from outside is lost. These controllers leave
marks on the Services that they serve, and those marks are what we go by; what runs in the cluster
is no proof, since a cloud's load balancers may stand beside it.
"""

from __future__ import annotations

from kubectl_lbipmode.model import Service

_ANNOTATIONS = {
    "metallb.io/": "MetalLB",
    "metallb.universe.tf/": "MetalLB",
    "kube-vip.io/": "kube-vip",
    # Not all of Cilium's annotations: the others go with any load balancer.
    "lbipam.cilium.io/": "Cilium",
    "io.cilium/lb-ipam-": "Cilium",
    "purelb.io/": "PureLB",
    "lb.kubesphere.io/": "OpenELB",
    "eip.openelb.kubesphere.io/": "OpenELB",
    "protocol.openelb.kubesphere.io/": "OpenELB",
    "service.antrea.io/external-ip-pool": "Antrea",
    "projectcalico.org/loadBalancerIPs": "Calico",
    "projectcalico.org/ipv4pools": "Calico",
    "projectcalico.org/ipv6pools": "Calico",
    "kube-router.io/service.advertise.loadbalancer": "kube-router",
}
_LABELS = {"svccontroller.k3s.cattle.io/lbpool": "k3s ServiceLB"}
# Cilium's LB IPAM sets it on each Service that it gave an address, annotated or not.
_CONDITIONS = {"cilium.io/IPAMRequestSatisfied": "Cilium"}


def find_announcer(service: Service) -> str | None:
    """Return the name of the controller that announces the addresses from nodes, None if none."""
    for name, annotation in service.annotations.items():
        for prefix, announcer in _ANNOTATIONS.items():
            # "false" switches kube-router's announcement off.
            if name.startswith(prefix) and annotation.text != "false":
                return announcer
    for marks, known in ((service.labels, _LABELS), (service.conditions, _CONDITIONS)):
        for mark, announcer in known.items():
            if mark in marks:
                return announcer
    return None
