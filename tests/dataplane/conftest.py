"""Fixtures for the tests of the data path, and what a run says where they cannot be.

The network and the gateway are made once; kube-proxy runs once in each of its modes, and each test
that looks at its rules is run for each mode. A Service, its cloud controller and the load balancer
in front of it are a test's own.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.cloud_controller import CloudController
from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace
from tests.dataplane.kube_proxy import MODES, KubeProxy, running_kube_proxy
from tests.dataplane.machine import GO_ON, find_obstacle
from tests.dataplane.network import Network, made_network
from tests.dataplane.plugin import Plugin
from tests.dataplane.published import make_node
from tests.dataplane.scene import Scene
from tests.dataplane.servers import Gateway, running_gateway

OBSTACLE = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites what the picture in the docs is drawn from."""
    parser.addoption("--record", action="store_true", help="rewrite docs/diagrams/dataplane.json")


@pytest.fixture(scope="session")
def allowed(pytestconfig: pytest.Config) -> None:
    """Fail, or skip if told so, where the data path cannot be tested."""
    if OBSTACLE not in pytestconfig.stash:
        pytestconfig.stash[OBSTACLE] = find_obstacle()
    if obstacle := pytestconfig.stash[OBSTACLE]:
        end = pytest.skip if os.environ.get(GO_ON) else pytest.fail
        end(f"the data path cannot be tested here: {obstacle}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> Generator[None]:
    """Say below everything else that the data path was not tested, and why."""
    yield
    if obstacle := config.stash.get(OBSTACLE, None):
        terminalreporter.write_line(f"NOT TESTED: the data path; {obstacle}", red=True, bold=True)
        if not os.environ.get(GO_ON):
            terminalreporter.write_line(f"hint: {GO_ON}=1 lets the run go on without it")


@pytest.fixture(scope="session")
def network(allowed: None) -> Iterator[Network]:  # noqa: ARG001 -- it is asked first
    """Give the network, alike for all tests."""
    with made_network() as made:
        yield made


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, network: Network
) -> Iterator[ControlPlane]:
    """Give a control plane with the network's Node."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as booted:
        make_node(booted.client, network.node)
        yield booted


@pytest.fixture(scope="session")
def gateway(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Give the running gateway."""
    with running_gateway(network, tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture(scope="session", params=MODES)
def kube_proxy(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    network: Network,
    gateway: Gateway,  # noqa: ARG001 -- what kube-proxy leads to
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KubeProxy]:
    """Give a running kube-proxy of each mode."""
    folder = tmp_path_factory.mktemp(request.param)
    with running_kube_proxy(control_plane, network.node.netns, request.param, folder) as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """Give the name of a namespace for this test alone."""
    with temporary_namespace(control_plane.client) as name:
        yield name


@pytest.fixture
def cloud_controller(
    control_plane: ControlPlane,
    namespace: str,  # noqa: ARG001 -- the controller has to end before its Services are taken away
    tmp_path: Path,
) -> Iterator[CloudController]:
    """Give a running cloud controller that sets no ipMode, as Linode's."""
    log = tmp_path / "cloud-controller.log"
    with CloudController(control_plane.kubeconfig, log) as controller:
        yield controller


@pytest.fixture
def plugin(control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    """Give the plugin as a user of this cluster has it."""
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    return Plugin(tmp_path / "lbipmode.log")


@pytest.fixture
def scene(
    control_plane: ControlPlane,
    namespace: str,
    network: Network,
    gateway: Gateway,
    kube_proxy: KubeProxy,
    plugin: Plugin,
    tmp_path: Path,
) -> Iterator[Scene]:
    """Give all that there is before a Service is."""
    with ExitStack() as cleanup:
        yield Scene(
            control_plane.client,
            namespace,
            network,
            gateway,
            kube_proxy,
            plugin,
            tmp_path,
            cleanup,
        )
