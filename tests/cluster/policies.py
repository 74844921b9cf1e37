"""Policies of the cluster, as the plugin prints them, each for one namespace alone.

A policy is of the whole cluster. By its namespace selector, it leaves all other tests alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster import services
from tests.cluster.client import ApiError, Client
from tests.cluster.control_plane import ControlPlane
from tests.cluster.plugin import run
from tests.cluster.waiting import wait_for

PROBE_IP = "203.0.113.254"
SECONDS = 30.0  # for the server to go by a policy; mostly it takes half of one


def options(namespace: str) -> list[str]:
    """Return the options of a policy for that namespace, which has the policy's name too."""
    selector = f"kubernetes.io/metadata.name={namespace}"
    return [f"--name={namespace}", f"--namespace-selector={selector}"]


@contextmanager
def installed(control_plane: ControlPlane, namespace: str, *more: str) -> Iterator[None]:
    """Apply what `kubectl lbipmode policy` prints, wait until it acts, and take it away again."""
    apply(control_plane, namespace, *more)
    try:
        wait_until_active(control_plane.client, namespace)
        yield
    finally:
        remove(control_plane, namespace, *more)


def apply(control_plane: ControlPlane, namespace: str, *more: str) -> None:
    """Print a policy and apply it with kubectl."""
    printed = run(control_plane.kubeconfig, "policy", *options(namespace), *more)
    assert (printed.exit_code, printed.stderr) == (0, "")
    applied = control_plane.kubectl("apply", "-f", "-", stdin=printed.stdout)
    assert applied.returncode == 0, applied.stderr


def remove(control_plane: ControlPlane, namespace: str, *more: str) -> None:
    """Delete what `kubectl lbipmode policy --remove` prints."""
    printed = run(control_plane.kubeconfig, "policy", *options(namespace), *more, "--remove")
    deleted = control_plane.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=printed.stdout)
    assert deleted.returncode == 0, deleted.stderr


def wait_until_active(client: Client, namespace: str) -> None:
    """Wait until a policy that sets modes acts, on a Service of its own."""
    _wait_for_mode(client, namespace, "Proxy")


def wait_until_inactive(client: Client, namespace: str) -> None:
    """Wait until it does not act any more."""
    _wait_for_mode(client, namespace, "VIP")


def wait_until_refused(client: Client, namespace: str) -> None:
    """Wait until a policy that validates refuses an override."""

    def is_refused() -> bool:
        probe = services.load_balancer("probe", ip_mode="probe")
        try:
            client.post(services.path(namespace), probe, dryRun="All")
        except ApiError as error:
            return error.reason == "Invalid"
        return False

    wait_for(is_refused, "the policy to act", seconds=SECONDS)


def _wait_for_mode(client: Client, namespace: str, mode: str) -> None:
    client.post(services.path(namespace), services.load_balancer("probe", ip_mode="Proxy"))
    status = services.path(namespace, "probe", "status")
    written = services.with_addresses({"ip": PROBE_IP, "ipMode": "VIP"})
    wait_for(
        lambda: services.modes(client.patch(status, written)) == [mode],
        f"{mode} to come of a write",
        seconds=SECONDS,
    )
    client.delete(services.path(namespace, "probe"))
