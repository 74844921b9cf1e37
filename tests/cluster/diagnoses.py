"""What ``doctor`` says, for tests to look at."""

import json
from pathlib import Path
from typing import NamedTuple

from tests.cluster.plugin import run


class Found(NamedTuple):
    """One check of a diagnosis."""

    status: str
    message: str
    hint: str | None


def diagnose(kubeconfig: Path, *arguments: str) -> dict[str, Found]:
    """Run ``doctor``, and return its checks by name, in its order."""
    result = run(kubeconfig, "doctor", *arguments, "-o", "json")
    checks = json.loads(result.stdout)
    assert result.exit_code == any(check["status"] == "fail" for check in checks), result.stdout
    return {check.pop("name"): Found(**check) for check in checks}
