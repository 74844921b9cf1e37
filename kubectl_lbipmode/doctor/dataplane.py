"""What moves the packets of Services, and does it honour ``ipMode``?

That is kube-proxy, unless something stands in its place (`replacements`), and sometimes both.
kube-proxy leaves an address with another mode than VIP alone (``IsVIPMode`` in
``pkg/proxy/util/utils.go``), under the same feature gate as the API server. How it runs is seen in
its DaemonSet and in the ConfigMap that it mounts, in static pods, or, in k3s, nowhere: there it is
a part of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_lbipmode.doctor import replacements
from kubectl_lbipmode.doctor.check import HOSTNAME_ONLY, TRY, Check, Status
from kubectl_lbipmode.doctor.replacements import NAME
from kubectl_lbipmode.doctor.server import ALWAYS, GATE, GATED, ON
from kubectl_lbipmode.doctor.settings import find_setting
from kubectl_lbipmode.doctor.versions import (
    Version,
    image_version,
    parse_version,
    show_version,
    split_image,
)
from kubectl_lbipmode.doctor.view import View, Workload
from kubectl_lbipmode.errors import ForbiddenError

_KUBE_PROXY = "kube-proxy"
# Static pods have the label that kubeadm gives to those of the control plane (GKE, RKE2).
_POD_LABELS = (f"component={_KUBE_PROXY}", f"k8s-app={_KUBE_PROXY}")


def check_data_plane(view: View) -> Check:
    """Say what moves the packets of Services, and whether it honours modes: the worst counts."""
    found = sorted(_judge_all(view), key=lambda check: check.urgency)
    if not found:
        message = "neither kube-proxy nor anything known to replace it is to be seen"
        return Check(NAME, Status.UNKNOWN, message, TRY)
    return replace(found[0], message="; ".join(check.message for check in found))


def _judge_all(view: View) -> Iterator[Check]:
    kube_proxies = [workload for workload in view.daemon_sets if _is_kube_proxy(workload)]
    try:
        kube_proxies = kube_proxies or _find_oldest_pod(view)
    except ForbiddenError as error:
        message = f"whether kube-proxy runs in static pods cannot be seen: {error}"
        yield Check(NAME, Status.UNKNOWN, message, error.hint)
    replaced = list(replacements.judge(view, has_kube_proxy=bool(kube_proxies)))
    yield from replaced
    for workload in kube_proxies:
        yield _judge_kube_proxy(view, workload)
    if not kube_proxies and not replaced and is_k3s(view.version):
        yield judge_version(parse_version(view.version), None, "a part of k3s")


def _find_oldest_pod(view: View) -> list[Workload]:
    """Return that of kube-proxy's pods with the oldest image; none if there are no pods."""
    pods = [pod for selector in _POD_LABELS for pod in view.list_pods(selector)]
    return sorted(pods, key=lambda pod: image_version(_image(pod)) or (0, 0, 0))[:1]


def _is_kube_proxy(workload: Workload) -> bool:
    names = (workload.name, workload.app, *(split_image(image)[0] for image in workload.images))
    return any(name.startswith(_KUBE_PROXY) for name in names)


def _image(workload: Workload) -> str:
    """Return the image of kube-proxy: by its name, else the first one."""
    named = (image for image in workload.images if _KUBE_PROXY in split_image(image)[0])
    return next(named, workload.images[0])


def _judge_kube_proxy(view: View, workload: Workload) -> Check:
    config, unseen = _read_config(view, workload)
    mode = find_setting(config, "mode") or workload.find_flag("proxy-mode")
    if mode or config:
        how = f"{mode or 'default'} mode"
    else:
        how = "mode not seen" + (f": {unseen}" if unseen else "")
    gate = find_setting(config, "featureGates", GATE)
    if gate is None:
        gate = read_gate(workload.find_flag("feature-gates"))
    version = image_version(_image(workload)) or _find_node_version(view)
    return judge_version(version, gate, f"{workload.full_name}, {how}")


def judge_version(version: Version | None, gate: str | None, detail: str) -> Check:
    """Judge a kube-proxy by its version and by the text of its feature gate, None if not set."""
    if version is None:
        message = f"kube-proxy ({detail}): its version cannot be seen"
        hint = f"it honours `ipMode` from {show_version(ON)} on"
        return Check(NAME, Status.UNKNOWN, message, hint)
    who = f"kube-proxy {show_version(version)} ({detail})"
    is_on = version >= ON if gate is None or version >= ALWAYS else gate.lower() == "true"
    if is_on and version >= GATED:
        return Check(NAME, Status.OK, f"{who} honours `ipMode`")
    message = f"{who} ignores `ipMode`"
    if version >= ON:
        message += f": its feature gate `{GATE}` is off"
        hint = f"switch `{GATE}` on, or upgrade it to {show_version(ALWAYS)} or newer"
    else:
        hint = f"upgrade it to {show_version(ON)} or newer"
    return Check(NAME, Status.FAIL, message, f"{hint}; {HOSTNAME_ONLY}")


def is_k3s(server_version: str) -> bool:
    """Whether the server is k3s, by its version: there, kube-proxy is no program of its own."""
    return "+k3s" in server_version


def read_gate(flag: str | None) -> str | None:
    """Return what ``--feature-gates=A=true,B=false`` says of ours; None if nothing."""
    gates = dict(entry.partition("=")[::2] for entry in (flag or "").split(","))
    return gates.get(GATE)


def _read_config(view: View, workload: Workload) -> tuple[str, str]:
    """Return the configuration file that is mounted; where it cannot be read, none, and why."""
    unseen = ""
    for name in workload.config_maps:
        data, unseen = view.peek_config(workload.namespace, name)
        for text in data.values():
            if find_setting(text, "kind") == "KubeProxyConfiguration":
                return text, ""
    return "", unseen


def _find_node_version(view: View) -> Version | None:
    """Return the oldest version that Nodes report; newer ones report none (KEP-4004)."""
    try:
        reported = [node["status"]["nodeInfo"].get("kubeProxyVersion", "") for node in view.nodes]
    except ForbiddenError:
        return None
    return min(filter(None, map(parse_version, reported)), default=None)
