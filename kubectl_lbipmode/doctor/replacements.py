"""What takes the place of kube-proxy, and since when it honours ``ipMode``.

Each is known by its DaemonSet, and each can be set up to leave Services to kube-proxy. Where the
facts come from: Cilium: PR #34780 (1.17.0), issue #40913 (1.18.0), mended by #40915 (1.18.1).
kube-router: ``network_services_controller.go`` and ``ecmp_vip.go`` of August 2026.
OVN-Kubernetes: ``GetExternalAndLBIPs`` in ``go-controller/pkg/util/kube.go`` of December 2024.
Calico: ``felix/bpf/proxy/syncer.go``. Antrea: ``docs/antrea-proxy.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubectl_lbipmode.doctor.check import HOSTNAME_ONLY, TRY, Check, Status
from kubectl_lbipmode.doctor.settings import find_setting
from kubectl_lbipmode.doctor.versions import Version, image_version, show_version
from kubectl_lbipmode.doctor.view import View, Workload
from kubectl_lbipmode.errors import ForbiddenError, NotFoundError

NAME = "data-plane"

_CILIUM, _CILIUM_BROKEN, _ANTREA = (1, 17, 0), (1, 18, 0), (2, 0, 0)
# "strict", "partial" and "probe" are those of Cilium before 1.15.
_CILIUM_REPLACES = ("true", "strict", "partial", "probe")
_FELIX = (
    "/apis/crd.projectcalico.org/v1/felixconfigurations/default",
    "/apis/projectcalico.org/v3/felixconfigurations/default",
)


@dataclass(frozen=True, slots=True)
class _Found:
    """The DaemonSet of one of them, and what surrounds it."""

    view: View
    workload: Workload
    has_kube_proxy: bool

    def read_config(self, name: str) -> tuple[Mapping[str, str], str]:
        """Return the data of a ConfigMap beside it; where it may not be read, none, and why."""
        return self.view.peek_config(self.workload.namespace, name)

    @property
    def version(self) -> Version | None:
        """The version that its images tell; None if none does."""
        return next(filter(None, map(image_version, self.workload.images)), None)


def judge(view: View, *, has_kube_proxy: bool) -> Iterator[Check]:
    """Yield a check for each of them that is there and moves the packets of Services."""
    for workload in view.daemon_sets:
        judge_one = _JUDGES.get(workload.name) or _JUDGES.get(workload.app)
        check = judge_one(_Found(view, workload, has_kube_proxy)) if judge_one else None
        if check is not None:
            yield check


def _judge_dataplane_v2(_: _Found) -> Check:
    message = "GKE Dataplane V2 moves the packets; whether it honours `ipMode` is not known"
    return Check(NAME, Status.UNKNOWN, message, TRY)


def _judge_cilium(found: _Found) -> Check | None:
    config, unseen = found.read_config("cilium-config")
    setting = config.get("kube-proxy-replacement")
    replaces = not found.has_kube_proxy if setting is None else setting in _CILIUM_REPLACES
    if not replaces:
        return None
    version = found.version
    detail = f"{found.workload.full_name}, in the place of kube-proxy"
    if unseen:
        detail += f", as it seems: {unseen}"
    if version is None:
        message = f"Cilium ({detail}): its version cannot be seen"
        hint = "it honours `ipMode` from 1.17.0 on, but for 1.18.0"
        return Check(NAME, Status.UNKNOWN, message, hint)
    who = f"Cilium {show_version(version)} ({detail})"
    if version < _CILIUM or version == _CILIUM_BROKEN:
        hint = f"upgrade it to 1.18.1 or newer (cilium#40915); {HOSTNAME_ONLY}"
        return Check(NAME, Status.FAIL, f"{who} ignores `ipMode`", hint)
    return Check(NAME, Status.OK, f"{who} honours `ipMode`")


def _judge_kube_router(found: _Found) -> Check | None:
    # Off by name alone: it is on by default. k3s and k0s switch it off.
    if found.workload.find_flag("run-service-proxy") == "false":
        return None
    message = (
        f"kube-router ({found.workload.full_name}) honours `ipMode` in its newest source, "
        "and no longer announces an address with Proxy over BGP"
    )
    return Check(NAME, Status.WARN, message, TRY)


def _judge_ovn_kubernetes(_: _Found) -> Check:
    message = "OVN-Kubernetes ignores `ipMode` (its source of December 2024; newer was not read)"
    return Check(NAME, Status.FAIL, message, HOSTNAME_ONLY)


def _judge_calico(found: _Found) -> Check | None:
    try:
        is_on = _has_ebpf(found)
    except ForbiddenError as error:
        message = f"whether Calico moves packets by eBPF cannot be seen: {error}"
        return Check(NAME, Status.UNKNOWN, message, error.hint)
    if not is_on:
        return None
    message = "Calico's eBPF data plane should honour `ipMode`, as it builds on kube-proxy's code"
    return Check(NAME, Status.WARN, message, TRY)


def _has_ebpf(found: _Found) -> bool:
    # The environment beats the object (Felix' order of configuration).
    variable = found.workload.environment.get("FELIX_BPFENABLED", "")
    if variable:
        return variable.lower() == "true"
    for path in _FELIX:
        try:
            spec = found.view.cluster.request("GET", path).get("spec") or {}
        except NotFoundError:
            continue
        return spec.get("bpfEnabled") is True
    return False


def _judge_antrea(found: _Found) -> Check | None:
    # The name of its ConfigMap ends in a hash in older releases.
    mounted = found.workload.config_maps
    name = next((name for name in mounted if name.startswith("antrea-config")), "")
    config, unseen = found.read_config(name) if name else ({}, "")
    text = config.get("antrea-agent.conf", "")
    name = found.workload.full_name
    if "false" in (
        find_setting(text, "featureGates", "AntreaProxy"),
        find_setting(text, "antreaProxy", "enable"),
    ):
        return None
    if find_setting(text, "antreaProxy", "proxyLoadBalancerIPs") == "false":
        message = (
            f"Antrea ({name}) leaves the addresses of load balancers alone (`proxyLoadBalancerIPs`)"
        )
        return Check(NAME, Status.OK, message)
    if unseen or found.version is None:
        what = f"how it is set up ({unseen})" if unseen else "its version"
        message = f"Antrea ({name}): {what} cannot be seen"
        hint = "it honours `ipMode` from 2.0 on, with `proxyAll` and without kube-proxy"
        return Check(NAME, Status.UNKNOWN, message, hint)
    replaces = find_setting(text, "antreaProxy", "proxyAll") == "true" and not found.has_kube_proxy
    who = f"Antrea {show_version(found.version)} ({name})"
    return _judge_antrea_version(who, found.version, replaces=replaces)


def _judge_antrea_version(who: str, version: Version, *, replaces: bool) -> Check:
    if version < _ANTREA:
        hint = (
            "upgrade it to 2.0 or newer, or set `antreaProxy.proxyLoadBalancerIPs: false`; "
            f"{HOSTNAME_ONLY}"
        )
        return Check(NAME, Status.FAIL, f"{who} ignores `ipMode`", hint)
    if replaces:
        return Check(NAME, Status.OK, f"{who}, in the place of kube-proxy, honours `ipMode`")
    message = f"{who} honours `ipMode` only with `proxyAll` and without kube-proxy"
    return Check(NAME, Status.WARN, message, f"see docs/antrea-proxy.md of Antrea; {TRY}")


_JUDGES: dict[str, Callable[[_Found], Check | None]] = {
    "anetd": _judge_dataplane_v2,
    "antrea-agent": _judge_antrea,
    "calico-node": _judge_calico,
    "cilium": _judge_cilium,
    "kube-router": _judge_kube_router,
    "ovnkube-node": _judge_ovn_kubernetes,
    "ovnkube-single-node-zone": _judge_ovn_kubernetes,
}
"""By the name of the DaemonSet, or else by its label."""
