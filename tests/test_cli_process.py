"""The plugin as a process: its streams, signals, memory, and the rights that it lacks."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import select

import pytest

from tests.programs import SCRIPTS, environment, service

PLUGIN = str(SCRIPTS / "kubectl-lbipmode")
EDITED = service(override="Proxy")
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  key: value\n---\n"


@pytest.fixture(autouse=True)
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    return environment(tmp_path)


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Open a terminal: its near end to read, its far end for the process."""
    near, far = pty.openpty()
    try:
        yield near, far
    finally:
        os.close(near)
        os.close(far)


@pytest.mark.parametrize("command", ["annotate", "explain"])
@pytest.mark.parametrize("arguments", [[], ["-f", "-"]])
def test_a_terminal_as_stdin_is_told_what_to_do(
    command: str, arguments: list[str], env: dict[str, str]
) -> None:
    with terminal() as (_, far):
        done = subprocess.run(
            [PLUGIN, command, *arguments],
            stdin=far,
            capture_output=True,
            text=True,
            env=env,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: stdin is a terminal")
    assert "hint: pipe manifests in, or name files" in done.stderr


def test_a_closed_stdin_is_told_what_to_do(env: dict[str, str]) -> None:
    command = ["bash", "-c", f"'{PLUGIN}' annotate <&-"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: stdin is closed")


def test_an_interrupt_says_so_and_leaves_nothing(env: dict[str, str]) -> None:
    with subprocess.Popen(
        [PLUGIN, "annotate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: once it is written, the process is reading.
        process.stdin.write(CONFIG_MAP.encode() * 40_000)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, b"")
    assert stderr.decode().split() == ["interrupted"]


@pytest.mark.parametrize(
    "arguments", ["annotate", "annotate --diff", "annotate --check -o json", "explain"]
)
def test_a_reader_that_goes_away_is_no_bug(arguments: str, env: dict[str, str]) -> None:
    Path("many.yaml").write_text("---\n".join([service()] * 3000))
    with subprocess.Popen(
        [PLUGIN, *arguments.split(), "-f", "many.yaml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        stderr = process.stderr.read()
        status = process.wait(timeout=60)
    assert status != 0
    assert b"Traceback" not in stderr
    assert b"Exception" not in stderr


def test_memory_stays_flat(env: dict[str, str]) -> None:
    # A hundred megabytes of small documents, here and there with a Service.
    block = (CONFIG_MAP * 12_000 + service() + "---\n").encode()
    measured = (
        "import sys; from kubectl_lbipmode.cli import main\n"
        "try: main()\n"
        "finally: sys.stderr.write(open('/proc/self/status').read())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", measured, "annotate", "-q"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for _ in range(100_000_000 // len(block)):
            process.stdin.write(block)
        process.stdin.close()
        status = process.stderr.read().decode()
    assert process.returncode == 0
    (peak,) = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    assert int(peak) < 60_000, f"{peak} kB at its peak"


def read_terminal(command: list[str], stream: str, env: dict[str, str]) -> bytes:
    """Run a command with one of its streams on a terminal, and return what that shows."""
    shown = b""
    with terminal() as (near, far):
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: far}
        process = subprocess.Popen(
            command, stdout=streams["stdout"], stderr=streams["stderr"], env=env
        )
        os.set_blocking(near, False)
        while select([near], [], [], 0.1)[0] or process.poll() is None:
            with suppress(BlockingIOError):
                shown += os.read(near, 1 << 16)
    return shown


@pytest.mark.parametrize(("count", "shown"), [(60, True), (3, False)])
def test_long_work_shows_its_progress_on_a_terminal(
    count: int, shown: bool, env: dict[str, str]
) -> None:
    for number in range(count):
        Path(f"{number}.yaml").write_text(service())
    command = [PLUGIN, "annotate", "-q", "-f", "."]
    assert (b"Reading" in read_terminal(command, "stderr", env)) is shown


def test_a_pipe_shows_no_progress(env: dict[str, str]) -> None:
    for number in range(60):
        Path(f"{number}.yaml").write_text(service())
    command = [PLUGIN, "annotate", "-q", "-f", "."]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_diff_is_in_colour_on_a_terminal_only(env: dict[str, str]) -> None:
    Path("a.yaml").write_text(service())
    command = [PLUGIN, "annotate", "-q", "--diff", "a.yaml"]
    assert b"\x1b[32m+    service" in read_terminal(command, "stdout", env)
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert b"\x1b" not in done.stdout


def without_privileges(command: list[str]) -> list[str]:
    """Make a command that may write only where file modes let it, for root too."""
    if os.geteuid() != 0:
        return command
    rights = "-dac_override,-dac_read_search,-fowner"
    return ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *command]


@pytest.mark.parametrize(
    ("protect", "mode"),
    [pytest.param("a.yaml", 0o444, id="file"), pytest.param(".", 0o555, id="folder")],
)
def test_what_may_not_be_written_stays(protect: str, mode: int, env: dict[str, str]) -> None:
    Path("a.yaml").write_text(service())
    Path("free").mkdir()
    Path("free/b.yaml").write_text(service())
    Path(protect).chmod(mode)
    try:
        command = without_privileges([PLUGIN, "annotate", "-i", "-f", "free", "-f", "a.yaml"])
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    finally:
        Path(protect).chmod(0o755)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: a.yaml: cannot be written: Permission denied\nhint: " in done.stderr
    assert Path("a.yaml").read_text() == service()
    assert Path("free/b.yaml").read_text() == service()
    assert sorted(path.name for path in Path().rglob("*")) == ["a.yaml", "b.yaml", "free"]


def test_what_may_not_be_read_is_an_error(env: dict[str, str]) -> None:
    Path("a.yaml").write_text(service())
    Path("a.yaml").chmod(0)
    command = without_privileges([PLUGIN, "annotate", "a.yaml"])
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: a.yaml: cannot be read: Permission denied\n")


def test_a_pipe_can_be_named(env: dict[str, str]) -> None:
    Path("a.yaml").write_text(service())
    command = ["bash", "-c", f"'{PLUGIN}' annotate -f <(cat a.yaml)"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stdout) == (0, EDITED)


def test_the_locale_does_not_matter(env: dict[str, str]) -> None:
    text = f"# é 🚀\n{service()}".encode()
    done = subprocess.run(
        [PLUGIN, "annotate"],
        input=text,
        capture_output=True,
        env={**env, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"# é 🚀\n{EDITED}".encode())
