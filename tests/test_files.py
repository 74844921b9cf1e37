"""Where manifests come from and go to: what paths stand for, and files replaced whole or not."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

import pytest

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.files import Replacements, build_kustomization, find_sources
from tests.programs import SCRIPTS, link_programs, service

TREE = ["a.yaml", "b,c.yaml", "d/z.yaml", "d/m.yml", "d/k.json", "d/readme.txt", "d/deep/x.yaml"]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [*TREE, "docs/readme.txt"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: b\n")
    (tmp_path / "d" / "gone.yaml").symlink_to("nowhere")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*paths: str, recursive: bool = False, exclude: tuple[str, ...] = ()) -> list[str]:
    return [source.name for source in find_sources(paths, recursive=recursive, exclude=exclude)]


IN_D = ["d/k.json", "d/m.yml", "d/z.yaml"]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(lambda: names("a.yaml"), ["a.yaml"], id="a file"),
        pytest.param(lambda: names("./a.yaml"), ["./a.yaml"], id="named as it was given"),
        pytest.param(lambda: names("d"), IN_D, id="a folder, sorted"),
        pytest.param(
            lambda: names("d", recursive=True), ["d/deep/x.yaml", *IN_D], id="and its folders"
        ),
        pytest.param(lambda: names("d", "a.yaml"), [*IN_D, "a.yaml"], id="in the order given"),
        pytest.param(lambda: names("a.yaml,d"), ["a.yaml", *IN_D], id="a list with commas"),
        pytest.param(lambda: names("b,c.yaml"), ["b,c.yaml"], id="a comma in a name"),
        pytest.param(
            lambda: names(",".join(["a.yaml"] * 60)), ["a.yaml"] * 60, id="a list of any length"
        ),
        pytest.param(lambda: names("d/readme.txt"), ["d/readme.txt"], id="any file that is named"),
        pytest.param(lambda: names("d", exclude=("*.json",)), IN_D[1:], id="exclude by name"),
        pytest.param(lambda: names("d", exclude=("d/m*",)), ["d/k.json", "d/z.yaml"], id="by path"),
        pytest.param(lambda: names("d", exclude=("m.yml", "z*")), IN_D[:1], id="several"),
        pytest.param(lambda: names("a.yaml", "d", exclude=("*",)), [], id="exclude all"),
        pytest.param(lambda: names("-", "a.yaml"), ["-", "a.yaml"], id="stdin and a file"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_what_paths_stand_for(found: object, expected: list[str]) -> None:
    assert callable(found)
    assert found() == expected


@pytest.mark.parametrize(
    ("paths", "message", "hint"),
    [
        pytest.param(["-", "-"], "given twice", "once", id="stdin twice"),
        pytest.param(["-,-"], "given twice", "once", id="stdin twice, in a list"),
        pytest.param(["nope.yaml"], 'path "nope.yaml" does not exist', "spelling", id="missing"),
        pytest.param(["a.yaml,nope"], 'path "nope" does not exist', "spelling", id="in a list"),
        pytest.param(["docs"], 'folder "docs" holds no manifests', "-R", id="no manifests"),
        pytest.param([""], "a path is empty", "variable unset", id="an unset variable"),
        pytest.param(["x" * 300], "File name too long", None, id="no name at all"),
        pytest.param(
            ["https://example.com/a.yaml"],
            'the URL "https://example.com/a.yaml" is not fetched',
            "curl -fsSL https://example.com/a.yaml |",
            id="a URL",
        ),
    ],
)
@pytest.mark.usefixtures("tree")
def test_paths_that_are_refused(paths: list[str], message: str, hint: str | None) -> None:
    with pytest.raises(InputError) as refused:
        names(*paths)
    assert message in refused.value.message
    assert hint is None or hint in str(refused.value.hint)


def replace(*files: tuple[Path, bytes]) -> None:
    with Replacements() as replacements:
        for path, content in files:
            replacements.stage(path, io.BytesIO(content))
        replacements.commit()


def test_a_file_is_replaced_with_its_mode_and_owner(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")
    file.chmod(0o640)
    owner = 12345 if os.geteuid() == 0 else os.geteuid()
    os.chown(file, owner, -1)
    replace((file, b"new"))
    status = file.stat()
    assert file.read_bytes() == b"new"
    assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o640, owner)
    assert list(tmp_path.iterdir()) == [file]


def test_who_reads_a_file_reads_the_old_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        replace((file, b"new"))
        assert reader.read() == b"old"


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    file, link = tmp_path / "real" / "a.yaml", tmp_path / "link.yaml"
    file.write_bytes(b"old")
    link.symlink_to("real/a.yaml")
    replace((link, b"new"))
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_until_all_are_written_none_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")
    with pytest.raises(InputError, match="cannot be written"):
        replace((file, b"new"), (tmp_path / "gone" / "b.yaml", b"new"))
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_an_interrupt_leaves_no_file_behind(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"old")

    def interrupted() -> None:
        with Replacements() as replacements:
            replacements.stage(file, io.BytesIO(b"new"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.yaml", b"old")]


@pytest.fixture
def kustomization(tmp_path: Path) -> str:
    (tmp_path / "service.yaml").write_text(service())
    (tmp_path / "kustomization.yaml").write_text("resources: [service.yaml]\n")
    return str(tmp_path)


@pytest.mark.external
@pytest.mark.parametrize("programs", [["kustomize"], ["kubectl"], ["kustomize", "kubectl"]])
def test_kustomize_or_else_kubectl_builds(
    programs: list[str], kustomization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = link_programs(tmp_path / "bin", **{name: name for name in programs})
    monkeypatch.setenv("PATH", str(tools))
    built = build_kustomization(kustomization)
    assert built.name == kustomization
    assert b"kind: Service" in b"".join(built.read())


@pytest.mark.external
def test_a_failed_build_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tools = link_programs(tmp_path / "bin", kustomize="kustomize")
    monkeypatch.setenv("PATH", str(tools))
    with pytest.raises(InputError, match=r"`kustomize build .*` failed with exit status 1"):
        build_kustomization(str(tmp_path))
    assert "kustomization.yaml" in capfd.readouterr().err


def test_without_either_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(SCRIPTS))
    with pytest.raises(InputError, match="neither `kustomize` nor `kubectl` is on PATH"):
        build_kustomization(".")
