"""The installer of the tests' programs: what it decides, without building anything."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.tools import build, cache, install, programs
from tests.tools.programs import GO, PROGRAMS, GoProgram, Program

EXAMPLE = GoProgram(name="example", version="1.2.3", group="", folder="example", binary="example")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LBIPMODE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a program whose pins a test may change."""
    folder = tmp_path / "tools" / EXAMPLE.folder
    folder.mkdir(parents=True)
    for pin in ("go.mod", "go.sum", "main.go", "requirements.txt", "notes.txt"):
        (folder / pin).write_text("as committed\n")
    monkeypatch.setattr(programs, "FOLDER", folder.parent)
    return folder


def put_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    """Make the script the only `go` there is."""
    folder.mkdir()
    go = folder / "go"
    go.write_text(f"#!/bin/sh\n{script}\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return go


PINNED_BY_VERSION = [program for program in PROGRAMS if program.name != "gojson"]


@pytest.mark.parametrize("program", PINNED_BY_VERSION, ids=str)
def test_the_table_says_what_the_pins_say(program: Program) -> None:
    pins = "".join(pin.read_text() for pin in program.pins())
    assert program.version in pins


@pytest.mark.parametrize("pin", ["go.mod", "go.sum", "main.go", "requirements.txt"])
def test_a_changed_pin_is_another_place(example: Path, pin: str) -> None:
    before = cache.place(EXAMPLE)
    assert cache.place(EXAMPLE) == before
    (example / pin).write_text("changed\n")
    assert cache.place(EXAMPLE) != before


def test_what_does_not_go_into_a_program_does_not_move_it(example: Path) -> None:
    before = cache.place(EXAMPLE)
    (example / "notes.txt").write_text("changed\n")
    assert cache.place(EXAMPLE) == before


def test_locate_says_what_installs_a_program() -> None:
    with pytest.raises(install.NotInstalledError) as error:
        install.locate("etcd")
    assert "`make tools`" in str(error.value)
    assert "install.py etcd`" in str(error.value)


def test_locate_finds_what_is_installed() -> None:
    kubectl = next(program for program in PROGRAMS if program.name == "kubectl")
    binary = cache.place(kubectl) / "bin" / "kubectl"
    binary.parent.mkdir(parents=True)
    binary.touch()
    assert install.locate("kubectl") == binary


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match=r"'kubctl'.*kubectl"):
        install.locate("kubctl")


def test_groups_and_names_select_each_program_once() -> None:
    assert [str(p) for p in install.select(["gojson", "etcd", "base"])] == [
        str(p) for p in PROGRAMS if p.group == "base" or p.name == "etcd"
    ]


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "example" / "1.2.3"

    def interrupted(partial: Path) -> None:
        (partial / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.fill(folder, interrupted)
    assert [path.name for path in folder.parent.iterdir()] == ["1.2.3.lock"]

    cache.fill(folder, lambda partial: (partial / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_what_a_killed_build_left_is_not_built_upon(tmp_path: Path) -> None:
    folder = tmp_path / "example" / "1.2.3"
    left = folder.with_name("1.2.3.partial-1") / "half"
    left.parent.mkdir(parents=True)
    left.touch()
    cache.fill(folder, lambda partial: (partial / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]
    assert not left.exists()


def test_of_runs_at_once_one_builds(tmp_path: Path) -> None:
    builds: list[Path] = []
    with ThreadPoolExecutor() as runs:
        for _ in range(4):
            runs.submit(cache.fill, tmp_path / "example" / "1.2.3", builds.append)
    assert len(builds) == 1


@pytest.mark.parametrize(
    ("version", "before", "fits"),
    [
        ("go1.25.9", None, False),
        ("go1.26.0", None, True),
        ("go1.26.8", (1, 27), True),
        ("go1.27.1", None, True),
        ("go1.27.1", (1, 27), False),
        ("devel", None, False),
    ],
)
def test_a_go_that_does_not_fit_is_replaced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    before: tuple[int, int] | None,
    *,
    fits: bool,
) -> None:
    found = put_on_path(monkeypatch, tmp_path / "bin", f"echo {version}")
    fetched = cache.place(GO) / GO.binary
    fetched.parent.mkdir(parents=True)
    assert build.find_go(before) == (found if fits else fetched)


@pytest.mark.usefixtures("example")
def test_a_failed_build_shows_what_go_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = 'case "$1" in env) echo go1.26.0 ;; *) echo "checksum mismatch" >&2; exit 1 ;; esac'
    put_on_path(monkeypatch, tmp_path / "bin", script)
    with pytest.raises(build.BuildError, match=r"checksum mismatch\nhint: "):
        build.install(EXAMPLE)
    assert not cache.place(EXAMPLE).exists()
