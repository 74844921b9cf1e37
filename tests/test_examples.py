"""Every folder of ``examples/`` does what its README says, twice: the README is the script.

A fence ``sh`` must print ``expected.yaml``, a fence ``sh WORD`` ``expected-WORD.yaml``; where WORD
is a program of ``tests/tools`` (``helm-3``), it is the one that the commands call.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.programs import environment, link_kpt, link_programs

pytestmark = pytest.mark.external

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
OF_OTHER_TESTS = {"gateway", "in-cluster"}
FENCE = re.compile(r"^```sh(?: (?P<word>\S+))?\n(?P<script>.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = "service.beta.kubernetes.io/linode-loadbalancer-ip-mode"


class Example(NamedTuple):
    """The commands of one fence, and what they print."""

    folder: str
    script: str
    expected: str
    helm: str


def read_readmes() -> list[Example]:
    examples = []
    for readme in sorted(EXAMPLES.glob("*/README.md")):
        if readme.parent.name in OF_OTHER_TESTS:
            continue
        fences = list(FENCE.finditer(readme.read_text()))
        assert fences, f"{readme} shows no command"
        for fence in fences:
            word = fence["word"] or ""
            expected = f"expected-{word}.yaml" if word else "expected.yaml"
            helm = word if word.startswith("helm-") else "helm-3"
            examples.append(Example(readme.parent.name, fence["script"], expected, helm))
    return examples


def run(script: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", "-eu", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    tools = link_programs(tmp_path / "bin", kubectl="kubectl", kustomize="kustomize")
    return environment(tmp_path, tools)


def copy(example: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / example, tmp_path / "work" / example))


def name(example: Example) -> str:
    return f"{example.folder}: {example.script.splitlines()[0][:40]}"


@pytest.mark.parametrize("example", read_readmes(), ids=name)
def test_the_readme_does_what_it_says(
    example: Example, tmp_path: Path, env: dict[str, str]
) -> None:
    if "helm" in example.script:
        link_programs(tmp_path / "bin", helm=example.helm)
    if "kpt" in example.script:
        link_kpt(tmp_path / "bin")
    folder = copy(example.folder, tmp_path)
    expected = (EXAMPLES / example.folder / example.expected).read_text()
    for _ in ("first", "second"):
        done = run(example.script, folder, env)
        assert done.returncode == 0, done.stderr
        assert done.stdout == expected


def test_every_example_is_a_folder_with_a_readme() -> None:
    folders = {path.name for path in EXAMPLES.iterdir()} - OF_OTHER_TESTS
    assert folders == {example.folder for example in read_readmes()}


OWN_KIND = """\
apiVersion: kubectl-lbipmode.github.io/v1alpha1
kind: LoadBalancerIPMode
metadata:
  name: lbipmode
  annotations:
    config.kubernetes.io/function: |
      exec: {path: PROGRAM}
spec: {mode: auto}
"""
CONFIG_MAP = OWN_KIND.replace("kubectl-lbipmode.github.io/v1alpha1", "v1").replace(
    "kind: LoadBalancerIPMode", "kind: ConfigMap"
).replace("spec:", "data:")  # fmt: skip
BUILD = "kustomize build --enable-alpha-plugins --enable-exec"


@pytest.mark.parametrize(
    ("config", "program", "inline", "where"),
    [
        pytest.param(OWN_KIND, "lbipmode-fn", False, "base", id="a bare name, in the base"),
        pytest.param(OWN_KIND, "../fn", False, "base", id="a relative path, in the base"),
        pytest.param(OWN_KIND, "../fn", False, "overlay", id="a relative path, in the overlay"),
        pytest.param(OWN_KIND, "lbipmode-fn", True, "overlay", id="inline"),
        pytest.param(CONFIG_MAP, "lbipmode-fn", True, "overlay", id="a ConfigMap, inline"),
        pytest.param(CONFIG_MAP, "../fn", False, "overlay", id="a ConfigMap, in a file"),
    ],
)
def test_kustomize_takes_the_function_in_every_form(
    config: str, program: str, inline: bool, where: str, tmp_path: Path, env: dict[str, str]
) -> None:
    folder = copy("kustomize-exec", tmp_path)
    fn = shutil.which("lbipmode-fn", path=env["PATH"])
    assert fn is not None
    (folder / "fn").symlink_to(fn)
    config = config.replace("PROGRAM", program)
    (folder / where / "function.yaml").write_text(config)
    kustomization = yaml.safe_load((folder / where / "kustomization.yaml").read_text())
    kustomization["transformers"] = [config if inline else "function.yaml"]
    (folder / where / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    if where == "base":
        overlay = {"namespace": "prod", "resources": ["../base"]}
        (folder / "overlay" / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    done = run(f"{BUILD} overlay", folder, env)
    assert done.stdout == (folder / "expected.yaml").read_text(), done.stderr


def test_kubectl_skips_the_function_in_silence(tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("kustomize-exec", tmp_path)
    done = run("kubectl kustomize --enable-alpha-plugins overlay", folder, env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "kind: Service" in done.stdout
    assert KEY not in done.stdout


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        ("kustomize-fn-run", "kustomize fn run . --enable-exec --exec-path lbipmode-fn"),
        ("kpt", "kpt fn eval . --exec lbipmode-fn"),
    ],
)
def test_options_follow_two_dashes(
    folder: str, command: str, tmp_path: Path, env: dict[str, str]
) -> None:
    if folder == "kpt":
        link_kpt(tmp_path / "bin")
    where = copy(folder, tmp_path)
    for options, value in (
        ("", "Proxy"),
        ("-- mode=VIP", "Proxy"),
        ("-- overwrite=true mode=VIP", "VIP"),
    ):
        done = run(f"{command} {options}; cat service.yaml", where, env)
        assert f"    {KEY}: {value}\n" in done.stdout, done.stderr


def test_an_error_stops_the_build(tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("kustomize-exec", tmp_path)
    service = folder / "base" / "service.yaml"
    service.write_text(service.read_text().replace(": v2", ": v3"))
    done = run(f"{BUILD} overlay", folder, env)
    assert (done.returncode, done.stdout) == (1, "")
    assert "must be one of" in done.stderr


def test_an_empty_build_is_refused_behind_a_pipe(tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("ci", tmp_path)
    (folder / "kustomization.yaml").write_text("resources: []\n")
    done = run("bash render.sh", folder, env)
    assert done.returncode != 0
    assert not (folder / "rendered" / "manifests.yaml").exists()


def test_a_head_comment_stays_in_one_place(tmp_path: Path, env: dict[str, str]) -> None:
    # kpt hands a file's head comment over as the item's first line, `- # …`. A function that writes
    # the list anew moves it into the item before, once more on every run.
    link_kpt(tmp_path / "bin")
    folder = copy("kpt", tmp_path)
    service = (folder / "service.yaml").read_text()
    other = service.replace("front door", "back door").replace("name: web", "name: back")
    (folder / "back.yaml").write_text(other)
    for _ in ("first", "second"):
        assert run("kpt fn render . --allow-exec", folder, env).returncode == 0
        for file, door in (("service.yaml", "front door"), ("back.yaml", "back door")):
            text = (folder / file).read_text()
            assert text.startswith(f"# The {door}")
            assert text.count("#") == 1
            assert text.count(KEY) == 1


def test_kpt_shows_the_results_of_a_failure(tmp_path: Path, env: dict[str, str]) -> None:
    link_kpt(tmp_path / "bin")
    folder = copy("kpt", tmp_path)
    service = folder / "service.yaml"
    service.write_text(service.read_text().replace(": v2", ": v3"))
    before = service.read_bytes()
    done = run("kpt fn eval . --exec lbipmode-fn --results-dir ../results", folder, env)
    assert done.returncode == 1
    assert service.read_bytes() == before
    (result,) = yaml.safe_load((tmp_path / "work/results/results.yaml").read_text())["items"]
    (finding,) = result["results"]
    assert finding["severity"] == "error"
    assert finding["file"]["path"] == "service.yaml"


def read_hooks() -> list[dict[str, object]]:
    hooks: list[dict[str, object]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return hooks


@pytest.mark.parametrize(
    ("hook", "status", "edits"),
    [
        pytest.param("lbipmode", 0, True, id="edit"),
        pytest.param("lbipmode-check", 1, False, id="check"),
    ],
)
def test_a_hook_does_what_it_says(
    hook: str, status: int, edits: bool, tmp_path: Path, env: dict[str, str]
) -> None:
    folder = copy("pre-commit", tmp_path)
    (entry,) = [entry["entry"] for entry in read_hooks() if entry["id"] == hook]
    # pre-commit adds the files of the commit to the entry, and compares them before and after.
    command = f"{entry} service.yaml .pre-commit-config.yaml"
    done = run(command, folder, env)
    assert done.returncode == status, done.stderr
    after = "expected.yaml" if edits else "service.yaml"
    expected = (EXAMPLES / "pre-commit" / after).read_text()
    assert (folder / "service.yaml").read_text() == expected
    if edits:
        assert run(command, folder, env).returncode == 0
        assert (folder / "service.yaml").read_text() == expected


def test_the_example_runs_the_hook_that_is_shipped() -> None:
    config = yaml.safe_load((EXAMPLES / "pre-commit" / ".pre-commit-config.yaml").read_text())
    (hook,) = config["repos"][0]["hooks"]
    (shipped,) = [entry for entry in read_hooks() if entry["id"] == hook["id"]]
    assert {**shipped, "language": "system"} == hook


def test_the_hooks_of_this_tree_run_what_make_lint_runs() -> None:
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\nlint:")[2].partition("\n\n")[0].splitlines()[1:]
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe]
    assert [hook["entry"] for hook in repo["hooks"]] == commands


def test_argocd_is_given_the_manifests(tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("argocd", tmp_path)
    generate = yaml.safe_load((folder / "plugin.yaml").read_text())["spec"]["generate"]
    command = shlex.join([*generate["command"], *generate["args"]])
    done = run(command, folder / "app", {**env, "ARGOCD_APP_NAME": "web", "PARAM_X": "y"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == (folder / "expected.yaml").read_text()

    (folder / "app" / "kustomization.yaml").write_text("resources: [missing.yaml]\n")
    done = run(command, folder / "app", env)
    assert (done.returncode != 0, done.stdout) == (True, "")


HOOK = """\
apiVersion: v1
kind: Service
metadata:
  name: hook
  annotations:
    helm.sh/hook: pre-install
    service.beta.kubernetes.io/linode-loadbalancer-default-proxy-protocol: v2
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""


@pytest.fixture(params=["helm-3", "helm-4"])
def helm(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    version: str = request.param
    link_programs(tmp_path / "bin", helm=version)
    return version


def render(
    helm: str, folder: Path, env: dict[str, str], options: str = ""
) -> subprocess.CompletedProcess[str]:
    """Render the chart as the README does with this Helm."""
    (script,) = [example.script for example in read_readmes() if helm in example.expected]
    return run(f"{script.rstrip()} {options}", folder, env)


def test_helm_3_keeps_hooks_to_itself(helm: str, tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("helm", tmp_path)
    (folder / "chart" / "templates" / "hook.yaml").write_text(HOOK)
    annotated = 1 if helm == "helm-3" else 2
    assert render(helm, folder, env).stdout.count(KEY) == annotated


def test_helm_4_keeps_reasons_to_itself(helm: str, tmp_path: Path, env: dict[str, str]) -> None:
    folder = copy("helm", tmp_path)
    (folder / "chart" / "values.yaml").write_text("proxyProtocol: v3\n")
    done = render(helm, folder, env)
    assert (done.returncode, done.stdout) == (1, "")
    assert ("must be one of" in done.stderr) is (helm == "helm-3")


def test_helm_hands_options_over(helm: str, tmp_path: Path, env: dict[str, str]) -> None:
    done = render(helm, copy("helm", tmp_path), env, "--post-renderer-args --mode=VIP")
    assert f"    {KEY}: VIP\n" in done.stdout, done.stderr
