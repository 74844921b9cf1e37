"""A run imports what it needs and nothing else: start-up is most of a short run's time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: edge
  annotations:
    service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol: v2
spec:
  type: LoadBalancer
  ports:
  - port: 80
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n"
RESOURCE_LIST = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

ANNOTATE = "from kubectl_lbipmode.cli import main; main(['annotate', '-'])"
CHECK = "from kubectl_lbipmode.cli import main; main(['annotate', '--check', '-o', 'json', '-'])"
FUNCTION = "from krm_function.__main__ import main; main()"
VERSION = "from kubectl_lbipmode.cli import main; main(['version'])"

CASES = [
    pytest.param(ANNOTATE, SERVICE, {"kubernetes", "subprocess", "tabulate", "yaml"}, id="edit"),
    pytest.param(
        ANNOTATE, CONFIG_MAP, {"kubernetes", "_ruamel_yaml", "ruamel.yaml"}, id="no-candidate"
    ),
    pytest.param(CHECK, SERVICE, {"kubernetes", "tabulate", "kubectl_lbipmode.diff"}, id="check"),
    pytest.param(FUNCTION, RESOURCE_LIST, {"kubernetes", "click", "tabulate"}, id="function"),
    pytest.param(VERSION, "", {"kubernetes", "ruamel.yaml", "tempfile"}, id="version"),
]


@pytest.mark.parametrize(("code", "stdin", "unwanted"), CASES)
def test_a_run_does_not_import(code: str, stdin: str, unwanted: set[str], tmp_path: Path) -> None:
    found = tmp_path / "modules.json"
    program = (
        "import atexit, json, sys\n"
        f"atexit.register(lambda: open({str(found)!r}, 'w').write(json.dumps([*sys.modules])))\n"
        f"sys.argv = ['program']\n{code}"
    )

    subprocess.run(
        [sys.executable, "-c", program], input=stdin.encode(), capture_output=True, check=False
    )

    assert unwanted.isdisjoint(json.loads(found.read_text()))
