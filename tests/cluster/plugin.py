"""The plugin's commands, run against a control plane of the tests."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from kubectl_lbipmode.cli import main
from kubectl_lbipmode.cluster import Access, APIServer, connect


def run(kubeconfig: Path, *arguments: str) -> Result:
    """Run a command to its end, as the user of the kubeconfig; a bug is raised."""
    command, *others = arguments
    return CliRunner().invoke(
        main, [command, f"--kubeconfig={kubeconfig}", *others], catch_exceptions=False
    )


def run_json(kubeconfig: Path, *arguments: str) -> list[dict[str, Any]]:
    """Run a command that must succeed, and return its data."""
    result = run(kubeconfig, *arguments, "-o", "json")
    assert result.exit_code == 0, result.output
    data: list[dict[str, Any]] = json.loads(result.stdout)
    return data


def api_server(kubeconfig: Path) -> APIServer:
    """Return the plugin's own client."""
    return connect(Access(kubeconfig=str(kubeconfig)))


def rows(table: str) -> list[list[str]]:
    """Return the cells of a table, without its header."""
    return [line.split() for line in table.splitlines()[1:]]
