"""Each folder in ``golden/annotate/`` is one run of ``annotate``, compared byte for byte.

The folder's name is the claim. ``input.yaml`` goes in on stdin, with the options in ``args``;
``expected.yaml`` is stdout and ``expected.err`` is stderr (a missing file stands for no output at
all). To accept a change run ``pytest --update-golden tests/test_golden.py`` and read the diff line
by line before you commit it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kubectl_lbipmode.cli import main

CASES = sorted(path.parent for path in Path(__file__).parent.glob("golden/annotate/*/input.yaml"))


def annotate(case: Path, manifests: bytes) -> Result:
    options = shlex.split((case / "args").read_text())
    return CliRunner().invoke(main, ["annotate", *options, "-"], input=manifests)


def check(golden: Path, actual: bytes, *, update: bool) -> None:
    if update:
        golden.unlink(missing_ok=True)
        if actual:
            golden.write_bytes(actual)

    assert actual == (golden.read_bytes() if golden.exists() else b"")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_output_is_the_expected(case: Path, pytestconfig: pytest.Config) -> None:
    update = pytestconfig.getoption("--update-golden")

    result = annotate(case, (case / "input.yaml").read_bytes())

    check(case / "expected.err", result.stderr_bytes, update=update)
    check(case / "expected.yaml", result.stdout_bytes, update=update)
    # Either all goes out, or nothing does and the status says so.
    assert result.exit_code == (0 if result.stdout_bytes else 2)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_second_run_changes_nothing(case: Path) -> None:
    once = annotate(case, (case / "input.yaml").read_bytes()).stdout_bytes

    assert annotate(case, once).stdout_bytes == once
