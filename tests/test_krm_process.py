"""The KRM function as a process: its streams, its exit status, and what it says to people."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.resource_lists import (
    BROKEN,
    HEAD,
    MIXED,
    REFUSED,
    RESULT,
    RESULTS,
    WEB,
    WEB_EDITED,
)

ROOT = Path(__file__).parents[1]


def call(data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "krm_function", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=False)


def test_the_process_writes_the_list_and_a_summary() -> None:
    done = call(f"{HEAD}items:\n{WEB}".encode())
    assert (done.returncode, done.stdout.decode()) == (0, f"{HEAD}items:\n{WEB_EDITED}{RESULTS}")
    assert done.stderr.decode() == f"info: {RESULT['message']}\n"


def test_the_process_fails_with_the_list_on_stdout() -> None:
    text = f"{HEAD}items:\n{WEB.replace('v2', 'v2 # x')}{BROKEN}"
    done = call(text.encode())
    assert done.returncode == 1
    assert done.stdout.decode().startswith(f"{text}results:\n- ")
    assert done.stderr.startswith(b"error: broken: ")


@pytest.mark.parametrize("data", [pytest.param(row[1], id=row[0]) for row in REFUSED])
def test_the_process_says_nothing_on_stdout_about_what_is_no_list(data: bytes) -> None:
    done = call(data)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: stdin")
    assert b"Traceback" not in done.stderr


def test_the_process_says_errors_first() -> None:
    done = call(f"{HEAD}items:\n{MIXED}{BROKEN}".encode())
    severities = [line.partition(":")[0] for line in done.stderr.decode().splitlines()]
    assert severities == ["error", "warning"]


def test_the_process_caps_what_it_says() -> None:
    done = call(f"{HEAD}items:\n{WEB * 150}".encode())
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 101
    assert lines[-1] == "… and 50 more"


def test_arguments_are_refused() -> None:
    done = call(b"", "--mode=VIP")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"usage: lbipmode-fn")


def test_a_terminal_is_answered_with_the_usage() -> None:
    master, slave = pty.openpty()
    try:
        command = [sys.executable, "-m", "krm_function"]
        done = subprocess.run(command, stdin=slave, capture_output=True, timeout=30, check=False)
    finally:
        os.close(master)
        os.close(slave)
    assert (done.returncode, done.stdout) == (1, b"")


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        pytest.param("<&-", "usage: lbipmode-fn", id="no stdin"),
        pytest.param("<list >/dev/full", "No space left on device", id="a full disk"),
        pytest.param("<list | true", "Broken pipe", id="a reader that has gone"),
    ],
)
def test_broken_streams_are_told(redirection: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"{HEAD}items:\n{WEB * 1000}")
    script = f"'{sys.executable}' -m krm_function {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
