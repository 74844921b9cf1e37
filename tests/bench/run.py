"""Measure the tool beside its peers, all in one run: ``make bench``.

Every figure is the median of interleaved runs of whole processes; the machine's speed cancels out
in the ratios, which are what counts. A peer that does not finish in time is printed as such. The
peers do less than the tool (they do not decide which Service to touch) and more (they rewrite
the whole text); they are what an operator would reach for otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from statistics import median
from threading import Timer
from time import monotonic

from tabulate import tabulate

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.bench import inputs
from tests.tools.install import locate

ANNOTATION = f"{inputs.PREFIX}ip-mode"
_BIN = Path(sys.executable).parent


@dataclass
class Contestant:
    """One command on one input, and its figures: wall and CPU seconds, peak memory in MiB."""

    name: str
    command: list[str]
    stdin: Path | None = None
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    ending: str = ""

    def run(self, timeout: float) -> None:
        """Run once, unless a run before has failed."""
        if self.ending:
            return
        with (self.stdin or Path(os.devnull)).open("rb") as stdin:
            start = monotonic()
            process = subprocess.Popen(
                self.command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            timer = Timer(timeout, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = status
        if status == SIGKILL:
            self.ending = f"not done in {timeout:.0f} s"
        elif status:
            self.ending = "failed"
        else:
            self.wall.append(monotonic() - start)
            self.cpu.append(usage.ru_utime + usage.ru_stime)
            self.memory.append(usage.ru_maxrss / 1024)

    def row(self, ours: Contestant) -> tuple[str, ...]:
        """Return the figures, and how many times as long as *ours* it took."""
        if self.ending:
            return (self.name, self.ending)
        ratio = f"{median(self.wall) / median(ours.wall):.2f} x" if ours.wall else ""
        figures = (
            f"{median(self.wall) * 1000:.0f} ms",
            f"{median(self.cpu) * 1000:.0f} ms",
            f"{median(self.memory):.0f} MiB",
        )
        return (self.name, *figures, ratio)


def main() -> None:
    """Measure each input in turn and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5, help="counted runs of each command")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    parser.add_argument("inputs", nargs="*", help="only these inputs (all)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for title, contestants in _contests(Path(folder), arguments.inputs):
            # The first round warms the caches and is not counted.
            for _ in range(arguments.runs + 1):
                for contestant in contestants:
                    contestant.run(arguments.timeout)
            for contestant in contestants:
                del contestant.wall[:1], contestant.cpu[:1], contestant.memory[:1]
            headers = ("", "wall", "cpu", "memory", "wall / ours")
            rows = [contestant.row(contestants[0]) for contestant in contestants]
            _say(f"\n{title}, median of {arguments.runs}")
            _say(tabulate(rows, headers, tablefmt="plain", disable_numparse=True))


def _contests(folder: Path, wanted: list[str]) -> Iterator[tuple[str, list[Contestant]]]:
    """Write the inputs and yield who runs on each; the first is ours."""
    for name, count in (("10 documents", 10), ("1000 documents", 1000), ("20000 documents", 20000)):
        if not wanted or name in wanted:
            path = folder / f"{count}.yaml"
            inputs.write_stream(path, count)
            yield f"{name} ({path.stat().st_size // 1000} kB)", _on_manifests(path)
    if not wanted or "ConfigMap" in wanted:
        path = folder / "configmap.yaml"
        inputs.write_big_config_map(path, 5_000_000)
        yield f"one ConfigMap ({path.stat().st_size // 1000} kB)", _on_manifests(path)
    if not wanted or "ResourceList" in wanted:
        path = folder / "list.yaml"
        inputs.write_resource_list(path, 5000)
        title = f"a ResourceList of 5000 items ({path.stat().st_size // 1000} kB)"
        function = Contestant("lbipmode-fn", [str(_BIN / "lbipmode-fn")], stdin=path)
        yield title, [function, _plain_copy(path)]


def _on_manifests(path: Path) -> list[Contestant]:
    kubectl, kustomize = str(locate("kubectl")), str(locate("kustomize"))
    base = path.parent / f"kustomize-{path.stem}"
    base.mkdir()
    (base / path.name).write_bytes(path.read_bytes())
    patch = f"metadata: {{annotations: {{{ANNOTATION}: Proxy}}, name: any}}"
    (base / "kustomization.yaml").write_text(
        f"resources: [{path.name}]\n"
        "patches:\n"
        "- target: {kind: Service}\n"
        f'  patch: "{{apiVersion: v1, kind: Service, {patch}}}"\n'
    )
    ours = [str(_BIN / "kubectl-lbipmode"), "annotate", "--quiet", str(path)]
    annotate = [
        kubectl,
        "annotate",
        "--local",
        "-o",
        "yaml",
        "-f",
        str(path),
        f"{ANNOTATION}=Proxy",
    ]
    return [
        Contestant("kubectl lbipmode annotate", ours),
        Contestant("kubectl annotate --local", annotate),
        Contestant("kustomize build with a patch", [kustomize, "build", str(base)]),
        _plain_copy(path),
    ]


def _plain_copy(path: Path) -> Contestant:
    """Read and write in Python, the floor for a program in this language."""
    code = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
    return Contestant("python: read and write", [sys.executable, "-c", code, str(path)])


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
