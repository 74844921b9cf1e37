"""`sync --watch` on a real server that does not store modes."""

import time
from pathlib import Path

from tests.cluster.control_plane import ControlPlane
from tests.cluster.namespaces import temporary_namespace
from tests.cluster.streaming_proxy import streaming_proxy
from tests.cluster.test_watch_faults import make
from tests.cluster.watching import watching

TEXT = "the API server accepts `ipMode` and does not store it"
WORKERS = 4


def test_a_server_that_drops_modes_is_asked_ever_more_rarely(
    control_plane_without_ipmode: ControlPlane, tmp_path: Path
) -> None:
    control_plane = control_plane_without_ipmode
    kubeconfig = tmp_path / "kubeconfig"
    with (
        temporary_namespace(control_plane.client) as namespace,
        streaming_proxy(control_plane, kubeconfig) as record,
    ):
        for number in range(50):
            make(control_plane.client, namespace, f"web-{number}")
        with watching(tmp_path, kubeconfig, "-n", namespace) as watch:
            watch.expect(TEXT)
            time.sleep(6)
            # All workers at once, and again after 1, 2 and 4 seconds: not 50 Services each time.
            assert WORKERS <= len(record.of("PATCH")) <= 4 * WORKERS
            assert watch.end() == 0
    assert watch.repairs() == []
    assert watch.said().count(TEXT) == 1
    assert "hint: Kubernetes stores it from 1.30 on" in watch.said()
