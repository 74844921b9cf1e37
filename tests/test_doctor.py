"""What ``doctor`` reads out of texts: versions, images, settings; what it makes of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kubectl_lbipmode.doctor.check import Status
from kubectl_lbipmode.doctor.cloud import CLOUDS, describe_lke, find_scheme
from kubectl_lbipmode.doctor.dataplane import is_k3s, judge_version, read_gate
from kubectl_lbipmode.doctor.diagnosis import CHECKS
from kubectl_lbipmode.doctor.leftovers import find_pooled
from kubectl_lbipmode.doctor.server import guess
from kubectl_lbipmode.doctor.settings import find_setting
from kubectl_lbipmode.doctor.versions import (
    Version,
    image_version,
    parse_version,
    show_version,
    split_image,
)
from kubectl_lbipmode.doctor.view import JSONObject, Workload

PAGE = Path(__file__).parents[1] / "docs/doctor.md"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.36.3", (1, 36, 3)),
        ("v1.31.4+rke2r1", (1, 31, 4)),
        ("v1.31.8+lke5", (1, 31, 8)),
        ("v1.30.5-eks-ce1d5eb", (1, 30, 5)),
        ("v1.29.0-gke.1381000", (1, 29, 0)),
        ("v1.37.0-alpha.1.123+0123456789abcd", (1, 37, 0)),
        ("1.29", (1, 29, 0)),
        ("v2.0.0", (2, 0, 0)),
        ("1.16.5-eksbuild.1", (1, 16, 5)),
        ("", None),
        ("latest", None),
        ("main-0123456", None),
        ("20260101", None),
        ("1.2.3.4", None),
        ("v1", None),
    ],
)
def test_version(text: str, version: Version | None) -> None:
    assert parse_version(text) == version


def test_version_is_written_in_full() -> None:
    assert show_version((1, 29, 0)) == "1.29.0"


@pytest.mark.parametrize(
    ("image", "name", "version"),
    [
        ("registry.k8s.io/kube-proxy:v1.31.4", "kube-proxy", (1, 31, 4)),
        ("kube-proxy:v1.31.4", "kube-proxy", (1, 31, 4)),
        ("registry:5000/kube-proxy:v1.31.4", "kube-proxy", (1, 31, 4)),
        ("registry:5000/kube-proxy", "kube-proxy", None),
        (
            "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy:v1.31.2-minimal-eksbuild.3",
            "kube-proxy",
            (1, 31, 2),
        ),
        (
            "index.docker.io/rancher/hardened-kubernetes:v1.31.4-rke2r1-build20241212",
            "hardened-kubernetes",
            (1, 31, 4),
        ),
        (f"quay.io/cilium/cilium:v1.17.1@sha256:{'0' * 64}", "cilium", (1, 17, 1)),
        (f"quay.io/cilium/cilium@sha256:{'0' * 64}", "cilium", None),
        ("quay.io/cilium/cilium-ci:latest", "cilium-ci", None),
        ("", "", None),
    ],
)
def test_image(image: str, name: str, version: Version | None) -> None:
    assert split_image(image)[0] == name
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mode: nftables\n", "nftables"),
        ('mode: ""\n', ""),
        ('{"mode": "iptables"}', "iptables"),
        ("featureGates:\n  LoadBalancerIPMode: false\n", None),
        ("mode: [a]\n", None),
        ("mode\n", None),
        ("", None),
        ("mode: 'not closed\n", None),
    ],
)
def test_setting(text: str, value: str | None) -> None:
    assert find_setting(text, "mode") == value


def test_setting_below_another() -> None:
    text = "featureGates:\n  LoadBalancerIPMode: false\n"

    assert find_setting(text, "featureGates", "LoadBalancerIPMode") == "false"
    assert find_setting(text, "featureGates", "Other") is None
    assert find_setting(text, "mode", "LoadBalancerIPMode") is None


@pytest.mark.parametrize(
    ("flag", "gate"),
    [
        (None, None),
        ("", None),
        ("Other=true", None),
        ("Other=true,LoadBalancerIPMode=false", "false"),
        ("LoadBalancerIPMode=true", "true"),
    ],
)
def test_gate(flag: str | None, gate: str | None) -> None:
    assert read_gate(flag) == gate


@pytest.mark.parametrize(
    ("version", "gate", "status"),
    [
        ((1, 28, 15), None, Status.FAIL),
        ((1, 28, 15), "true", Status.FAIL),
        ((1, 29, 3), None, Status.FAIL),
        ((1, 29, 3), "true", Status.OK),
        ((1, 30, 0), None, Status.OK),
        ((1, 30, 0), "false", Status.FAIL),
        ((1, 31, 14), "False", Status.FAIL),
        ((1, 31, 14), "true", Status.OK),
        # From here on, the gate is without effect, and at last unknown.
        ((1, 32, 0), "false", Status.OK),
        ((2, 0, 0), None, Status.OK),
        (None, None, Status.UNKNOWN),
    ],
)
def test_kube_proxy(version: Version | None, gate: str | None, status: Status) -> None:
    check = judge_version(version, gate, "kube-system/kube-proxy")

    assert check.status is status
    assert (check.hint is None) == (status is Status.OK)
    assert ("hostname-only-ingress" in (check.hint or "")) == (status is Status.FAIL)


@pytest.mark.parametrize(
    ("text", "status", "said", "hinted"),
    [
        ("v1.28.15", Status.FAIL, "came with Kubernetes 1.29", "upgrade Kubernetes to 1.30.0"),
        ("v1.29.3", Status.WARN, "unless the feature gate", "switch `LoadBalancerIPMode` on"),
        ("v1.31.4+rke2r1", Status.OK, "unless its feature gate", None),
        ("v1.36.3", Status.OK, "stores `ipMode` by its version; ", None),
        ("v2.0.0", Status.OK, "stores `ipMode` by its version; ", None),
        ("devel", Status.UNKNOWN, "no known form", None),
    ],
)
def test_server_by_its_version(text: str, status: Status, said: str, hinted: str | None) -> None:
    check = guess(f"the API server ({text})", parse_version(text), "nothing to try it on")

    assert check.status is status
    assert said in check.message
    assert check.message.endswith("nothing to try it on") or status is Status.FAIL
    assert (hinted or "") in (check.hint or "")
    assert (hinted is None) == (check.hint is None)


@pytest.mark.parametrize(
    ("provider_id", "scheme"),
    [
        ("linode://12345", "linode"),
        ("aws:///eu-west-1a/i-0123456789", "aws"),
        ("ocid1.instance.oc1.eu-zurich-1.abc", "oci"),
        ("anything-else", ""),
        ("", ""),
    ],
)
def test_scheme(provider_id: str, scheme: str) -> None:
    assert find_scheme(provider_id) == scheme
    assert scheme in {"", "linode", *CLOUDS}


def test_lke_enterprise_is_told_by_the_servers_version() -> None:
    enterprise, standard = describe_lke("v1.31.8+lke5"), describe_lke("v1.33.4")

    assert (enterprise.status, standard.status) == (Status.WARN, Status.OK)
    assert "cannot reach its own NodeBalancers" in enterprise.message
    assert "try one Service first" in (enterprise.hint or "")
    assert "upgrade" not in (enterprise.hint or "")
    assert standard.hint is None


@pytest.mark.parametrize(
    ("version", "expected"), [("v1.31.4+k3s1", True), ("v1.31.4+rke2r1", False), ("v1.31.4", False)]
)
def test_k3s(version: str, *, expected: bool) -> None:
    assert is_k3s(version) == expected


@pytest.mark.parametrize(
    ("name", "labels", "selected", "service"),
    [
        ("shop-web-pool", {}, ("shop", "web"), "shop/web"),
        ("any", {"app.kubernetes.io/managed-by": "linode-ccm"}, ("shop", "web"), "shop/web"),
        ("any", {"app.kubernetes.io/managed-by": "linode-ccm"}, None, "any"),
        ("any", {}, ("shop", "web"), None),
        ("--pool", {}, None, None),
    ],
)
def test_pool_of_linodes_controller(
    name: str, labels: dict[str, str], selected: tuple[str, str] | None, service: str | None
) -> None:
    pool: JSONObject = {"metadata": {"name": name, "labels": labels}, "spec": {}}
    if selected:
        keys = ("io.kubernetes.service.namespace", "io.kubernetes.service.name")
        pool["spec"]["serviceSelector"] = {"matchLabels": dict(zip(keys, selected, strict=True))}

    assert find_pooled(pool) == service


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([], None),
        (["kube-router", "--run-service-proxy=false"], "false"),
        (["--run-service-proxy"], "true"),
        (["--run-service-proxy=true", "--run-service-proxy=false"], "false"),
        (["sh", "-c", "exec kube-router --run-service-proxy=false --v=2"], "false"),
        (["--run-service-proxy-later=false"], None),
    ],
)
def test_flag(words: list[str], value: str | None) -> None:
    container = {"name": "main", "command": words}
    metadata = {"namespace": "kube-system", "name": "kube-router"}
    workload = Workload.from_object({"metadata": metadata, "spec": {"containers": [container]}})

    assert workload.find_flag("run-service-proxy") == value


def test_page_tells_of_every_check_in_its_order() -> None:
    headings = re.findall(r"^### `([\w-]+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert headings == list(CHECKS)
