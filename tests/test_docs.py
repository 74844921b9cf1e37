"""The docs hold what they say: commands run, links lead somewhere, nothing generated is stale.

What a comment before a fenced block means:

* ``<!-- not run: WHY -->``: it stays a text;
* ``<!-- needs: PROGRAM -->``: it is run where the program is on PATH;
* ``<!-- file: NAME -->``: it is written to a file that the commands below find.

Any other ``sh`` block is run. After a line that begins with ``$ `` stands what it prints, compared
to the letter; a block without such a line must succeed. A page is one session, in a folder that
holds a copy of ``examples/``.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from docs import generate
from kubectl_lbipmode.cli import main
from kubectl_lbipmode.findings import Code
from kubectl_lbipmode.plan import AddressReason
from kubectl_lbipmode.rules import Reason
from tests.cluster.control_plane import ControlPlane
from tests.programs import environment, link_programs

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
CLUSTER = ROOT / "docs/cluster.md"
RULES = (ROOT / "docs/rules.md").read_text(encoding="utf-8")

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[\w ]+): (?P<value>[^\n]+?) -->\n+)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_LINK = re.compile(r"(?<!`)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_END = "end of the command, status"


class Command(NamedTuple):
    """A command of a page, and what it prints; None: it must succeed."""

    text: str
    printed: str | None


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _read_session(page: Path) -> Iterator[Command]:
    """Yield the commands of *page*; those that write its files are among them."""
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        mark, value, text = block["mark"], block["value"], block["text"]
        if mark == "file":
            yield Command(f"cat >{value} <<'END OF FILE'\n{text}END OF FILE", "")
        if block["kind"] != "sh" or mark == "not run":
            continue
        if mark == "needs" and not shutil.which(value):
            continue
        if not text.startswith("$ "):
            yield Command(text, None)
            continue
        for step in text.removeprefix("$ ").split("\n$ "):
            command, _, printed = step.partition("\n")
            yield Command(
                command, printed if printed.endswith("\n") or not printed else f"{printed}\n"
            )


def _run(commands: list[Command], folder: Path, **env: str) -> list[tuple[str, int]]:
    """Run them in one shell; return what each printed and its exit status."""
    home = folder / "home"
    home.mkdir()
    shutil.copytree(ROOT / "examples", home / "examples")
    programs = link_programs(folder / "bin", kubectl="kubectl", kustomize="kustomize")
    if kpt := shutil.which("kpt"):
        (programs / "kpt").symlink_to(kpt)
    script = "status=0\n" + "".join(
        f"(exit $status)\n{text}\nstatus=$?; echo '{_END}' $status\n" for text, _ in commands
    )
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=home,
        env=environment(home, programs) | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    pieces = re.split(rf"{_END} (\d+)\n", done.stdout)
    return [(pieces[i], int(pieces[i + 1])) for i in range(0, len(pieces) - 1, 2)]


def _check(commands: list[Command], results: list[tuple[str, int]]) -> None:
    assert len(results) == len(commands)
    for command, (printed, status) in zip(commands, results, strict=True):
        if command.printed is None:
            assert status == 0, f"{command.text}\n{printed}"
        else:
            assert printed == command.printed, command.text


@pytest.mark.external
@pytest.mark.parametrize("page", [page for page in PAGES if page != CLUSTER], ids=_name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    commands = list(_read_session(page))

    _check(commands, _run(commands, tmp_path))


@pytest.mark.external
def test_commands_print_what_the_page_says_of_a_cluster(tmp_path: Path) -> None:
    address = {"ip": "192.0.2.10", "hostname": "192-0-2-10.ip.linodeusercontent.com"}
    status = json.dumps({"status": {"loadBalancer": {"ingress": [address]}}})
    commands = [
        Command("kubectl create namespace gateway >/dev/null", None),
        Command("kubectl apply -f examples/gateway >/dev/null", None),
        # What the cloud controller manager does.
        Command(
            "kubectl patch service traefik -n gateway --subresource=status --type=merge "
            f"-p '{status}' >/dev/null",
            None,
        ),
        *_read_session(CLUSTER),
    ]

    (tmp_path / "control-plane").mkdir()
    with ControlPlane(tmp_path / "control-plane") as booted:
        _check(commands, _run(commands, tmp_path, KUBECONFIG=str(booted.kubeconfig)))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_shell_blocks_are_run_or_say_why_not(page: Path) -> None:
    marks = {block["mark"] for block in _BLOCK.finditer(page.read_text(encoding="utf-8"))}

    assert marks <= {None, "not run", "needs", "file", "run"}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))

    for link in _LINK.finditer(text):
        target, _, anchor = link["target"].partition("#")
        if target.startswith(("http://", "https://")):
            continue
        path = (page.parent / target) if target else page
        assert path.exists(), link[0]
        if anchor:
            assert anchor in _anchors(path), link[0]


def test_every_page_is_linked_from_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    linked = {link["target"] for link in _LINK.finditer(index)}

    assert {page.name for page in ROOT.glob("docs/*.md")} - {"index.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")

    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_what_is_not_yet_there_is_not_there(page: Path) -> None:
    context = click.Context(main)
    there = set()
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        there |= {name} | {f"{name} {option}" for item in command.params for option in item.opts}

    for names in re.findall(r"<!-- not yet: (.+?) -->", page.read_text(encoding="utf-8")):
        assert not set(names.split(", ")) & there, "it is there now: say so"


def test_generated_text_is_fresh() -> None:
    for path, text in generate.generate().items():
        assert path.read_text(encoding="utf-8") == text, "run: make docs"


@pytest.mark.parametrize("source", generate.sources(), ids=lambda source: source.name)
def test_drawings_are_fresh(source: Path) -> None:
    assert source.with_suffix(".svg").read_bytes() == generate.draw(source), "run: make docs"


@pytest.mark.parametrize(
    ("page", "heading", "names"),
    [
        (RULES, "Reasons", list(Reason)),
        (RULES, "Findings", list(Code)),
        (CLUSTER.read_text(encoding="utf-8"), "Reasons", list(AddressReason)),
    ],
    ids=["reasons", "findings", "reasons of addresses"],
)
def test_tables_list_every_name_once(page: str, heading: str, names: list[str]) -> None:
    section = page.split(f"\n## {heading}\n")[1].split("\n#", maxsplit=1)[0]

    assert sorted(re.findall(r"^\| \[?`([\w-]+)`", section, re.MULTILINE)) == sorted(names)


def test_every_module_is_told_of() -> None:
    architecture = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = "".join(re.findall(r"^\| (`.+?) \|", architecture, re.MULTILINE))

    assert set(generate.find_modules()) <= set(re.findall(r"`(\w+)`", table))


@pytest.mark.parametrize("name", [*Reason, *Code])
def test_example_gives_what_it_is_an_example_of(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = RULES.split(f"\n### `{name}`\n")[1].split("\n## ")[0].split("\n### ")[0]
    if "<!-- not run: " in section:
        return
    manifest, shown = (block["text"] for block in _BLOCK.finditer(section))
    arguments = re.search(r"<!-- run: (.+) -->", section)
    command = [*(arguments[1].split() if arguments else ["explain"]), "-f", "service.yaml"]
    monkeypatch.chdir(tmp_path)
    Path("service.yaml").write_text(manifest, encoding="utf-8")

    text = CliRunner().invoke(main, command).output
    data = json.loads(CliRunner().invoke(main, [*command, "-o", "json"]).stdout)

    assert shown in text
    codes = {finding["code"] for entry in data for finding in entry["findings"]}
    assert name in codes | {entry["reason"] for entry in data}


def _anchors(page: Path) -> set[str]:
    """Return what GitHub makes of the headings."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }
