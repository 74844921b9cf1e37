"""Fixtures for the tests that need a real control plane.

`control_plane` is shared by all tests of a session, who each work in a `namespace` of their own.
With pytest-xdist, each worker boots one for itself. That costs two seconds more than to share one
on two cores, and a quarter of a gigabyte; in return no two tests ever run on one control plane at
the same time. So a test may list all namespaces, or stop the server, if it starts it again.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cluster.cloud_controller import CloudController, make_ready_node
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace

RARE = ("control_plane_1_31", "control_plane_without_ipmode")


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Send the tests of a rarely used server to one worker (with `--dist loadgroup`)."""
    if not config.pluginmanager.has_plugin("xdist"):
        return
    for item in items:
        for name in RARE:
            if name in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group(name))


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give the newest Kubernetes in the table of programs."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as booted:
        yield booted


@pytest.fixture(scope="session")
def control_plane_1_31(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Give an old Kubernetes, which has ipMode, but could still be told otherwise."""
    folder = tmp_path_factory.mktemp("control-plane-1.31")
    with ControlPlane(folder, apiserver="kube-apiserver-1.31") as booted:
        yield booted


@pytest.fixture(scope="session")
def control_plane_without_ipmode(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ControlPlane]:
    """Give an old Kubernetes that drops ipMode: its feature gate is off."""
    folder = tmp_path_factory.mktemp("control-plane-without-ipmode")
    gates = "--feature-gates=LoadBalancerIPMode=false"
    with ControlPlane(folder, apiserver="kube-apiserver-1.31", flags=[gates]) as booted:
        yield booted


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Give the name of a namespace in `control_plane` for this test alone."""
    with temporary_namespace(control_plane.client) as name:
        yield name


@pytest.fixture
def cloud_controller(
    control_plane: ControlPlane,
    namespace: str,  # noqa: ARG001 -- the controller has to end before its Services are taken away
    tmp_path: Path,
) -> Iterator[CloudController]:
    """Give a running cloud controller that sets no ipMode, as Linode's."""
    make_ready_node(control_plane.client)
    log = tmp_path / "cloud-controller.log"
    with CloudController(control_plane.kubeconfig, log) as controller:
        yield controller
