"""``explain`` of manifests: what it says for people and as data, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.programs import PREFIX, plugin, service

KEYS = [
    "source",
    "index",
    "path",
    "line",
    "namespace",
    "name",
    "mode",
    "reason",
    "changed",
    "override",
    "ports",
    "findings",
]
CLUSTER_IP = service(name="inner").replace("LoadBalancer", "ClusterIP").replace(PREFIX, "x/")


def test_it_says_what_was_found_where_and_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = service(more="  namespace: shop\n").replace("[{port: 80}]", "[{port: 80}, {port: 443}]")
    Path("web.yaml").write_text(
        text.replace(f"    {PREFIX}default", f"    {PREFIX}port-443: '{{}}'\n    {PREFIX}default")
    )
    done = plugin("explain", "-f", "web.yaml")
    assert done.exit_code == 0
    head, *table = done.stdout.splitlines()
    assert head == "shop/web (web.yaml:1)"
    assert [line.split(maxsplit=1) for line in table[:3]] == [
        ["mode:", "Proxy"],
        ["reason:", "all ports use the PROXY protocol (AllPortsProxyProtocol)"],
        ["override:", "none"],
    ]
    rows = [line.split() for line in table[4:6]]
    assert [(row[0], row[2], row[3]) for row in rows] == [
        ("80", "v2", f"{PREFIX}default-proxy-protocol"),
        ("443", "v2", f"{PREFIX}default-proxy-protocol"),
    ]


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        pytest.param(service(), "Proxy", "AllPortsProxyProtocol", id="by the ports"),
        pytest.param(service(override="vip"), "VIP", "Override", id="by the override"),
        pytest.param(service(protocol="v3"), None, "InvalidPorts", id="an error"),
        pytest.param(service(override="x"), None, "InvalidOverride", id="an invalid override"),
        pytest.param(CLUSTER_IP, None, "NotLoadBalancer", id="out of scope"),
    ],
)
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_data_has_the_keys_that_are_promised(
    text: str, mode: str | None, reason: str, output: str
) -> None:
    done = plugin("explain", "-o", output, stdin=text)
    # An error finding is what was asked for: it is told, and nothing has failed.
    assert done.exit_code == 0
    (entry,) = json.loads(done.stdout) if output == "json" else yaml.safe_load(done.stdout)
    assert list(entry) == KEYS
    assert (entry["source"], entry["mode"], entry["reason"]) == ("-", mode, reason)


def test_findings_come_with_their_place_and_a_hint() -> None:
    done = plugin("explain", stdin=service(protocol="v3"))
    assert done.exit_code == 0
    assert f"  error: -:6:5: annotation `{PREFIX}default-proxy-protocol` must be" in done.stdout
    assert "  hint: " in done.stdout


def test_services_are_apart_and_in_order() -> None:
    done = plugin("explain", stdin=f"{service()}---\n{CLUSTER_IP}---\n{service(name='b')}")
    heads = [block.splitlines()[0] for block in done.stdout.split("\n\n")]
    assert heads == ["web (-:1)", "inner (-:9)", "b (-:17)"]


def test_options_narrow() -> None:
    done = plugin("explain", "-l", "a=b", "-o", "json", stdin=service())
    assert (done.exit_code, done.stdout) == (0, "[]\n")


@pytest.mark.parametrize("output", ["", "-o json", "-o yaml"])
def test_without_a_service_it_says_so(output: str) -> None:
    done = plugin("explain", *output.split(), stdin="kind: ConfigMap\n")
    assert done.exit_code == 0
    assert done.stdout == ("[]\n" if output else "")
    assert done.stderr == "no Services found\n"


def test_what_cannot_be_read_fails_and_the_rest_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(service())
    Path("b.yaml").write_text("kind: Service\ntype: LoadBalancer\na: [\n")
    done = plugin("explain", "-f", ".", "-o", "json")
    assert done.exit_code == 2
    assert [entry["name"] for entry in json.loads(done.stdout)] == ["web"]
    assert done.stderr.startswith("error: b.yaml:")
