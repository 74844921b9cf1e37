"""``annotate``: what each option does, what is refused, and with which exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.programs import OVERRIDE, PREFIX, plugin, service

EDITED = service(override="Proxy")
HINT_OF_EMPTY = "an empty render is refused, since deploying it could delete what is deployed"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**files: str | bytes) -> None:
    """Write files: the name's last underscore stands for a dot."""
    for name, content in files.items():
        path = Path(".".join(name.rsplit("_", 1)))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def vip(text: str) -> str:
    return text.replace(": v2", ": none")


WISHES = [
    # name, options, before, after; an override that is there is called Proxy or VIP
    ("by the ports", "", service(), EDITED),
    ("by the ports, the default", "", vip(service()), vip(service())),
    ("write the default too", "--write-vip", vip(service()), vip(service(override="VIP"))),
    ("a mode", "--mode VIP", service(), service(override="VIP")),
    ("a mode, the one of the ports", "--mode Proxy", vip(service()), vip(EDITED)),
    ("auto is the default", "--mode auto", service(), EDITED),
    ("an override is kept", "", service(override="VIP"), service(override="VIP")),
    ("whatever the mode", "--mode Proxy", service(override="VIP"), service(override="VIP")),
    ("unless told otherwise", "--overwrite", service(override="VIP"), EDITED),
    ("with a mode", "--overwrite --mode VIP", EDITED, service(override="VIP")),
    ("by the ports, back to the default", "--overwrite", vip(EDITED), vip(service(override="VIP"))),
    ("an invalid override is replaced", "--overwrite", service(override="x"), EDITED),
    ("quotes stay", "--overwrite", service(override="'VIP'"), service(override="'Proxy'")),
    ("taken away", "--remove", EDITED, service()),
    ("an invalid one is taken away", "--remove", service(override="x"), service()),
    ("nothing to take away", "--remove", service(), service()),
    ("comments alone at the end", "", f"{service()}---\n# c\n", f"{EDITED}---\n# c\n"),
]


@pytest.mark.parametrize(
    ("options", "before", "after"), [pytest.param(*row[1:], id=row[0]) for row in WISHES]
)
def test_what_is_written(options: str, before: str, after: str) -> None:
    for text in (before, after):
        done = plugin("annotate", *options.split(), stdin=text)
        assert (done.exit_code, done.stdout) == (0, after), done.stderr


SHOP = "  namespace: shop\n  labels: {app: web, tier: front}\n"
NARROWED = [
    ("-n shop", SHOP, True),
    ("-n other", SHOP, False),
    ("-n shop", "", False),
    ("-l app=web", SHOP, True),
    ("-l app!=web", SHOP, False),
    ("-l tier", SHOP, True),
    ("-l !tier", SHOP, False),
    ("-l !tier", "", True),
    ("-l app=web,tier=back", SHOP, False),
    ("--name web", SHOP, True),
    ("--name other --name web", SHOP, True),
    ("--name other", SHOP, False),
    ("-n shop -l app=web --name web", SHOP, True),
]


@pytest.mark.parametrize(("options", "metadata", "taken"), NARROWED)
def test_options_narrow(options: str, metadata: str, taken: bool) -> None:
    text = service(more=metadata)
    done = plugin("annotate", *options.split(), stdin=text)
    assert (done.exit_code, done.stdout != text) == (0, taken)


@pytest.mark.parametrize(
    ("selector", "taken"),
    [("tier in (front, back)", True), ("tier notin (front)", False), ("a notin (b), app", True)],
)
def test_selectors_may_be_sets(selector: str, taken: bool) -> None:
    text = service(more=SHOP)
    assert (plugin("annotate", "-l", selector, stdin=text).stdout != text) == taken


USAGE = [
    ("--in-place --diff", "exclude each other"),
    ("--diff --check", "exclude each other"),
    ("--in-place --check", "exclude each other"),
    ("--strict", "--strict goes with --check"),
    ("-o json", "-o goes with --check"),
    ("-o json --diff", "-o goes with --check"),
    ("--remove --mode VIP", "--remove excludes"),
    ("--remove --overwrite", "--remove excludes"),
    ("--remove --write-vip", "--remove excludes"),
    ("--mode vip", "'vip' is not one of"),
    ("--in-place", "--in-place needs files"),
    ("--in-place -", "--in-place needs files"),
    ("-k . web.yaml", "-k and files exclude each other"),
    ("-l a=b=c", "the label selector"),
    ("- -f -", "stdin (-) is given twice"),
    ("-f https://x.y/z.yaml", "curl -fsSL https://x.y/z.yaml |"),
    ("nope.yaml", 'the path "nope.yaml" does not exist'),
    ("--nope", "No such option"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_what_cannot_be_asked_for(arguments: str, message: str) -> None:
    done = plugin("annotate", *arguments.split(), stdin=service())
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert "hint: " in done.stderr


UNREADABLE = [
    ("nothing", b"", HINT_OF_EMPTY),
    ("blank lines", b"\n \n", HINT_OF_EMPTY),
    ("comments alone", b"# a\n---\n# b\n", HINT_OF_EMPTY),
    ("no YAML", service().replace("spec: {", "spec: {{").encode(), "not valid YAML"),
    ("UTF-16", service().encode("utf-16"), "UTF-16"),
    ("UTF-16 without a mark", service().encode("utf-16-le"), "UTF-16"),
    ("Latin-1", f"# \xe9\n{service()}".encode("latin-1"), "-:1:3: not UTF-8"),
    ("a NUL", f"{service()}# \0\n".encode(), "not valid YAML"),
    ("twice the key", service().replace("spec:", "kind: x\nspec:").encode(), "stands twice"),
    ("an error", service(protocol="v3").encode(), "must be one of"),
    ("an invalid override", service(override="x").encode(), 'must be "VIP" or "Proxy"'),
]


@pytest.mark.parametrize(
    ("content", "message"), [pytest.param(*row[1:], id=row[0]) for row in UNREADABLE]
)
@pytest.mark.parametrize("mode", ["", "--check", "--diff", "-q"])
def test_on_an_error_nothing_is_written(content: bytes, message: str, mode: str) -> None:
    done = plugin("annotate", *mode.split(), stdin=content)
    assert (done.exit_code, done.stdout_bytes) == (2, b"")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_hold_a_service_passes_through() -> None:
    text = b"a: [\n\xff\n---\nkind: ConfigMap\n\tdata: \0\n"
    assert plugin("annotate", stdin=text).stdout_bytes == text


BOM = b"\xef\xbb\xbf"
JOINED = [
    ("as they are", b"a: 1\n", b"---\nb: 2\n", b"a: 1\n---\nb: 2\n"),
    ("a missing marker", b"a: 1\n", b"b: 2\n", b"a: 1\n---\nb: 2\n"),
    ("a missing line break", b"a: 1", b"b: 2", b"a: 1\n---\nb: 2"),
    ("the file's own line break", b"a: 1", b"b: 2\r\n", b"a: 1\r\n---\r\nb: 2\r\n"),
    ("byte order marks", BOM + b"a: 1\n", BOM + b"b: 2\n", BOM + b"a: 1\n---\nb: 2\n"),
    ("directives", b"a: 1\n", b"%YAML 1.1\n---\nb: 2\n", b"a: 1\n...\n%YAML 1.1\n---\nb: 2\n"),
    ("comments alone", b"a: 1\n", b"# c\n", b"a: 1\n# c\n"),
    ("an empty file", b"", b"b: 2\n", b"b: 2\n"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "joined"), [pytest.param(*row[1:], id=row[0]) for row in JOINED]
)
def test_inputs_are_joined(first: bytes, second: bytes, joined: bytes) -> None:
    write(a_yaml=first, b_yaml=second)
    assert plugin("annotate", "-f", "a.yaml", "-f", "b.yaml").stdout_bytes == joined
    # Comments alone are fine in a file; a stream of them is an empty render.
    if not second.startswith(b"#"):
        assert plugin("annotate", "a.yaml", "-", stdin=second).stdout_bytes == joined
    assert plugin("annotate", "-f", ".").stdout_bytes == joined


def test_files_are_edited_in_place() -> None:
    crlf = service().replace("\n", "\r\n")
    write(web_yaml=service(), other_yaml="kind: ConfigMap\n", crlf_json=crlf)
    untouched = Path("other.yaml").stat().st_mtime_ns
    done = plugin("annotate", "-i", "web.yaml", "-f", ".", "--exclude", "web.y?ml")
    assert (done.exit_code, done.stdout) == (0, "")
    assert Path("crlf.json").read_bytes() == EDITED.replace("\n", "\r\n").encode()
    assert Path("web.yaml").read_text() == service()
    assert Path("other.yaml").stat().st_mtime_ns == untouched
    assert len(list(Path().iterdir())) == 3


def three_files() -> None:
    write(a_yaml=service(), b_yaml=service(protocol="v3"), c_yaml=service())


def test_one_error_leaves_all_files_as_they_were() -> None:
    three_files()
    done = plugin("annotate", "-i", "-f", ".")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("nothing was written\n")
    assert [path.read_text() for path in sorted(Path().iterdir())] == [
        service(),
        service(protocol="v3"),
        service(),
    ]


def test_keep_going_writes_the_good_files() -> None:
    three_files()
    assert plugin("annotate", "-i", "--keep-going", "-f", ".").exit_code == 2
    assert [path.read_text() for path in sorted(Path().iterdir())] == [
        EDITED,
        service(protocol="v3"),
        EDITED,
    ]


def test_keep_going_counts_what_was_written() -> None:
    write(a_yaml=service(), b_yaml=f"{service()}---\n{service(protocol='v3')}")
    done = plugin("annotate", "-i", "--keep-going", "-f", ".")
    assert done.stderr.endswith("3 services: 1 annotated, 1 unchanged, 1 in error\n")
    done = plugin("annotate", "-i", "-f", ".")
    assert done.stderr.endswith(
        "3 services: 1 to annotate, 1 unchanged, 1 in error\nnothing was written\n"
    )


def test_keep_going_prints_the_good_files() -> None:
    three_files()
    done = plugin("annotate", "--keep-going", "-f", ".")
    assert (done.exit_code, done.stdout) == (2, f"{EDITED}---\n{EDITED}")
    assert "must be one of" in done.stderr


def test_keep_going_says_what_is_wrong_where_nothing_is_good() -> None:
    done = plugin("annotate", "--keep-going", stdin=service(protocol="v3"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "must be one of" in done.stderr
    assert HINT_OF_EMPTY not in done.stderr


@pytest.mark.parametrize(
    ("options", "content", "status", "output"),
    [
        pytest.param("", service(), 1, "a.yaml\n", id="would change"),
        pytest.param("", EDITED, 0, "", id="would not"),
        pytest.param("", "# nothing\n", 0, "", id="nothing in it"),
        pytest.param("--overwrite", service(override="VIP"), 1, "a.yaml\n", id="with options"),
        pytest.param("", service(override="VIP"), 0, "", id="a warning does not count"),
        pytest.param("--strict", service(override="VIP"), 1, "", id="unless strict"),
        pytest.param("--strict", EDITED, 0, "", id="strict, without a warning"),
        pytest.param("--remove", EDITED, 1, "a.yaml\n", id="to be removed"),
        pytest.param("", service(protocol="v3"), 2, "", id="an error"),
        pytest.param("", f"{service()}---\na: b\n", 1, "a.yaml\n", id="the first document"),
        pytest.param(
            "", f"{service()}---\n{service(protocol='v3')}", 2, "", id="one would, one is in error"
        ),
    ],
)
def test_check_names_the_files(options: str, content: str, status: int, output: str) -> None:
    write(a_yaml=content)
    done = plugin("annotate", "--check", *options.split(), "a.yaml")
    assert (done.exit_code, done.stdout) == (status, output), done.stderr
    assert Path("a.yaml").read_text() == content


KEYS = {
    "source": "a.yaml",
    "index": 0,
    "path": "items[0]",
    "line": 4,
    "namespace": "shop",
    "name": "web",
    "mode": "Proxy",
    "reason": "AllPortsProxyProtocol",
    "changed": True,
    "override": None,
}
FINDING = ["severity", "code", "message", "hint", "field", "line", "column"]


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_data_has_the_keys_that_are_promised(output: str) -> None:
    item = service(more="  namespace: shop\n").replace("\n", "\n  ").strip()
    write(
        a_yaml=f"apiVersion: v1\nkind: List\nitems:\n- {item}\n- kind: Service\n  apiVersion: v1\n"
    )
    done = plugin("annotate", "--check", "-o", output, "a.yaml")
    assert done.exit_code == 1
    entry, other = yaml.safe_load(done.stdout)
    if output == "json":
        assert json.loads(done.stdout) == [entry, other]
    rest = {key: entry.pop(key) for key in ("ports", "findings")}
    assert entry == KEYS
    assert list(entry) == list(KEYS)
    source = f"{PREFIX}default-proxy-protocol"
    assert rest["ports"] == [{"port": 80, "protocol": "TCP", "proxyProtocol": "v2", "from": source}]
    assert rest["findings"] == []
    assert (other["path"], other["mode"], other["reason"]) == ("items[1]", None, "NotLoadBalancer")


def test_what_is_out_of_scope_is_in_the_data_too() -> None:
    done = plugin("annotate", "--check", "-o", "json", stdin="apiVersion: v1\nkind: Service\n")
    assert [entry["reason"] for entry in json.loads(done.stdout)] == ["NotLoadBalancer"]


def test_the_data_is_printed_with_an_error_too() -> None:
    write(a_yaml=service(protocol="v3"), b_yaml="kind: Service\ntype: LoadBalancer\na: [\n")
    done = plugin("annotate", "--check", "-o", "json", "a.yaml", "b.yaml")
    assert done.exit_code == 2
    (entry,) = json.loads(done.stdout)
    (finding,) = entry["findings"]
    assert list(finding) == FINDING
    assert (finding["severity"], finding["line"], finding["column"]) == ("error", 6, 5)
    assert finding["field"] == f"metadata.annotations[{PREFIX}default-proxy-protocol]"
    assert "error: b.yaml:" in done.stderr


def test_the_report_is_on_stderr() -> None:
    write(web_yaml=service(more="  namespace: shop\n"))
    done = plugin("annotate", "web.yaml")
    assert done.stderr == (
        "web.yaml: shop/web: Proxy (all ports use the PROXY protocol)\n"
        "1 service: 1 annotated, 0 unchanged\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [(service(), ""), (service(override="VIP"), ""), (service(protocol="v3"), "error: -:6:5: ")],
)
def test_quiet_says_errors_alone(text: str, said: str) -> None:
    stderr = plugin("annotate", "-q", stdin=text).stderr
    assert stderr.startswith(said)
    assert bool(stderr) == bool(said)


def test_nothing_left_after_exclude_is_no_error_in_place() -> None:
    # Hooks pass files and exclude some; a stream without a document is another matter.
    write(a_yaml=service())
    assert plugin("annotate", "-i", "a.yaml", "--exclude", "a.*").exit_code == 0
    done = plugin("annotate", "a.yaml", "--exclude", "a.*")
    assert (done.exit_code, done.stdout) == (2, "")
    assert HINT_OF_EMPTY in done.stderr


def test_the_override_is_the_one_of_linode() -> None:
    assert f"    {OVERRIDE}: Proxy\n" in plugin("annotate", stdin=service()).stdout
