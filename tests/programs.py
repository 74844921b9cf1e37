"""The programs that tests run: ours in this process, the real ones by `PATH`; and what they read.

kpt is in no registry: a test that needs it is skipped where the machine has none. Every other
program is pinned, and its absence fails the run (see ``tests/tools``).
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kubectl_lbipmode.cli import main
from tests.tools.install import locate

PREFIX = "service.beta.kubernetes.io/linode-loadbalancer-"
OVERRIDE = f"{PREFIX}ip-mode"

SCRIPTS = Path(sysconfig.get_path("scripts"))
"""Where the package's own programs are installed."""


def service(name: str = "web", protocol: str = "v2", override: str = "", more: str = "") -> str:
    """Write a LoadBalancer Service; *more* goes into its metadata."""
    return f"""\
apiVersion: v1
kind: Service
metadata:
  name: {name}
{more}\
  annotations:
    {PREFIX}default-proxy-protocol: {protocol}
{f"    {OVERRIDE}: {override}" + chr(10) if override else ""}\
spec: {{type: LoadBalancer, ports: [{{port: 80}}]}}
"""


def plugin(*arguments: str | Path, stdin: str | bytes = b"") -> Result:
    """Run the plugin in this process."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


def link_programs(folder: Path, **programs: str) -> Path:
    """Make a folder of links, by the names that users call the *programs* by."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, row in programs.items():
        (folder / name).symlink_to(locate(row))
    return folder


def link_kpt(folder: Path) -> None:
    """Add kpt to a folder of links, or skip the test."""
    kpt = shutil.which("kpt")
    if kpt is None:
        pytest.skip("kpt is in no package registry, and this machine has none on PATH")
    (folder / "kpt").symlink_to(kpt)


def environment(home: Path, *folders: Path) -> dict[str, str]:
    """Return an environment with *folders* first on `PATH`, and nothing to be configured by."""
    path = [*map(str, folders), str(SCRIPTS), "/usr/bin", "/bin"]
    return {"HOME": str(home), "LC_ALL": "C.UTF-8", "PATH": ":".join(path), "TZ": "UTC"}
