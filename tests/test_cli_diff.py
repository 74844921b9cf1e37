"""``annotate --diff``: what it prints, `patch` applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kubectl_lbipmode.diff import unified_diff
from tests.programs import plugin, service

EDITED = service(override="Proxy")


# The same object with its annotations last.
ENDING = "spec:" + service().partition("spec:")[2] + service().partition("spec:")[0]


def many(count: int) -> str:
    """Write Services with room between them, so that a diff has hunks of its own for each."""
    filler = "".join(f"# line {number}\n" for number in range(10))
    return "---\n".join(f"{filler}{service(name=f'web{number}')}" for number in range(count))


CASES = [
    ("one change", "web.yaml", service()),
    ("many hunks", "web.yaml", many(3)),
    ("hunks that touch", "web.yaml", service() + "---\n" + service(name="b")),
    ("no line break at the end", "web.yaml", service()[:-1]),
    ("the change is in the last line", "web.yaml", ENDING[:-1]),
    ("CRLF", "web.yaml", service().replace("\n", "\r\n")),
    ("mixed line breaks", "web.yaml", service().replace("\n", "\r\n", 3)),
    ("a lone CR in a line", "web.yaml", "# a\r# b\n" + service()),
    ("a byte order mark", "web.yaml", "\ufeff" + service()),
    ("a line separator in a comment", "web.yaml", "# \u2028\n" + service()),
    ("a blank in the name", "a web.yaml", service()),
    ("a letter beyond ASCII in the name", "wéb.yaml", service()),
    ("a name that is not UTF-8", "w\udce9b.yaml", service()),
    ("a file in a folder", "a/b/web.yaml", service()),
    ("JSON in one line", "web.json", '{"apiVersion": "v1", "kind": "Service", "metadata": {'
     '"name": "web"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}}'),
]  # fmt: skip


@pytest.mark.external
@pytest.mark.parametrize(("name", "text"), [pytest.param(*row[1:], id=row[0]) for row in CASES])
def test_patch_applies_it(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    done = plugin("annotate", "--diff", "-q", "--mode", "Proxy", name)
    assert done.exit_code == 1
    edited = plugin("annotate", "-q", "--mode", "Proxy", name).stdout_bytes
    assert file.read_bytes() == text.encode()

    patch = ["patch", "--binary", "-p0"]
    applied = subprocess.run(patch, input=done.stdout_bytes, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stdout
    # It found every place at once, without searching around.
    assert b"fuzz" not in applied.stdout
    assert b"offset" not in applied.stdout
    assert file.read_bytes() == edited


def test_the_diff_of_nothing_is_empty() -> None:
    done = plugin("annotate", "--diff", stdin=EDITED)
    assert (done.exit_code, done.stdout) == (0, "")


def test_a_missing_line_break_is_marked() -> None:
    old, new = b"a: 1", b"a: 1\nb: 2"
    assert b"".join(unified_diff("x", [(old, new)])) == (
        b"--- x\n+++ x\n@@ -1 +1,2 @@\n-a: 1\n\\ No newline at end of file\n"
        b"+a: 1\n+b: 2\n\\ No newline at end of file\n"
    )


def test_the_range_of_no_lines_begins_before_them() -> None:
    assert b"@@ -0,0 +1,2 @@\n" in b"".join(unified_diff("x", [(b"", b"a\nb\n")]))


def test_parts_that_stayed_are_context() -> None:
    kept = b"".join(b"%d\n" % number for number in range(9))
    diff = b"".join(unified_diff("x", [(kept, kept), (b"old\n", b"new\n"), (kept, kept)]))
    assert diff == (b"--- x\n+++ x\n@@ -7,7 +7,7 @@\n 6\n 7\n 8\n-old\n+new\n 0\n 1\n 2\n")


def test_several_files_are_one_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        Path(name).write_text(EDITED if name == "b.yaml" else service())
    heads = [
        line for line in plugin("annotate", "--diff", "-f", ".").stdout.split("\n") if "+++" in line
    ]
    assert heads == ["+++ a.yaml", "+++ c.yaml"]


def test_an_error_prints_no_diff_and_keep_going_that_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(service())
    Path("b.yaml").write_text(service(protocol="v3"))
    done = plugin("annotate", "--diff", "-f", ".")
    assert (done.exit_code, done.stdout) == (2, "")
    done = plugin("annotate", "--diff", "--keep-going", "-f", ".")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (2, "--- a.yaml")
