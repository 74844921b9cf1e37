"""`examples/in-cluster` on a real API server: what it applies is enough, and nothing is spare.

No node runs here, so no pod does. The container's very arguments are run as a program, as the
ServiceAccount that the Deployment names.
"""

import json
import re
import shutil
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.cluster import services
from tests.cluster.accounts import RBAC, create_account
from tests.cluster.client import ApiError, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.ports import ReservedPort
from tests.cluster.test_sync import IP, PROXIED, create
from tests.cluster.test_watch_faults import make, reset, wait_until_proxy
from tests.cluster.waiting import wait_for
from tests.cluster.watching import Watch, watching

EXAMPLE = Path(__file__).parents[2] / "examples" / "in-cluster"
OWN = "lbipmode"
ROLE = f"{RBAC}/clusterroles/lbipmode-controller"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/kubectl-lbipmode"


@pytest.fixture
def deployed(control_plane: ControlPlane) -> Iterator[Object]:
    """Apply the example and give its Deployment, as the server has it."""
    applied = control_plane.kubectl("apply", "-k", EXAMPLE)
    assert applied.returncode == 0, applied.stderr
    client = control_plane.client
    path = f"/apis/apps/v1/namespaces/{OWN}/deployments/lbipmode"
    try:
        yield client.get(path)
    finally:
        removed = control_plane.kubectl("delete", "-k", EXAMPLE, "--wait=false")
        assert removed.returncode == 0, removed.stderr
        client.delete(f"/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases")
        # Nobody runs who would end it.
        namespace = client.get(f"/api/v1/namespaces/{OWN}")
        namespace["spec"] = {"finalizers": []}
        client.put(f"/api/v1/namespaces/{OWN}/finalize", namespace)


@contextmanager
def running(
    control_plane: ControlPlane, deployment: Object, folder: Path, *, started: bool = True
) -> Iterator[tuple[Watch, dict[str, int]]]:
    """Run the arguments of the Deployment; the two ports are the only thing that is changed."""
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    account = pod["serviceAccountName"]
    path = f"/api/v1/namespaces/{OWN}/serviceaccounts/{account}/token"
    token = control_plane.client.post(path, {"spec": {}})["status"]["token"]
    kubeconfig = folder / "kubeconfig"
    control_plane.write_kubeconfig(kubeconfig, token=token, namespace=OWN)
    ports = {port["name"]: _free_port() for port in container["ports"]}
    by_number = {port["containerPort"]: ports[port["name"]] for port in container["ports"]}
    command, *arguments = [
        re.sub(r"=:(\d+)$", lambda found: f"=:{by_number[int(found[1])]}", argument)
        for argument in container["args"]
    ]
    assert (command, arguments[0]) == ("sync", "--watch")
    with watching(folder, kubeconfig, *arguments[1:], started=started) as watch:
        yield watch, ports


def _free_port() -> int:
    port = ReservedPort()
    port.close()
    return port.number


def get(port: int, path: str) -> tuple[int, str]:
    """Return the status and the content of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metric(text: str, name: str) -> float:
    """Return the value of a metric; 0 where it is not there yet."""
    values = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(f"{name} ")]
    return float(values[0]) if values else 0


def test_it_is_applied_and_does_its_work(
    control_plane: ControlPlane, namespace: str, deployed: Object, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with running(control_plane, deployed, tmp_path) as (watch, ports):
        wait_until_proxy(client, namespace)
        for _ in range(3):
            reset(client, namespace)
            wait_until_proxy(client, namespace)
        assert client.get(LEASE)["spec"]["holderIdentity"]

        for probe in ("livenessProbe", "readinessProbe"):
            (container,) = deployed["spec"]["template"]["spec"]["containers"]
            asked = container[probe]["httpGet"]
            assert get(ports[asked["port"]], asked["path"]) == (200, "ok\n")
        assert get(ports["health"], "/metrics")[0] == 404

        def metrics() -> str:
            status, text = get(ports["metrics"], "/metrics")
            assert status == 200
            return text

        wait_for(lambda: metric(metrics(), 'lbipmode_patches_total{result="set"}') == 4, "counts")
        assert metric(metrics(), "lbipmode_drift_found_total") == 4
        assert metric(metrics(), "lbipmode_repair_seconds_count") == 4
        assert metric(metrics(), "lbipmode_watch_restarts_total") == 0
        assert watch.end() == 0

    (event,) = events(control_plane, namespace)
    assert event["message"] == (
        f"Set ipMode of {IP} from VIP to Proxy: all ports use the PROXY protocol"
    )
    assert (event["type"], event["reason"], event["count"]) == ("Normal", "IPModeSet", 4)
    described = control_plane.kubectl("describe", "service", "web", "-n", namespace).stdout
    assert re.search(r"Normal +IPModeSet +\S+ \(x4 over .+\) +kubectl-lbipmode +Set", described)
    # JSON to the last line, on both streams.
    lines = [json.loads(line) for line in [*watch.repairs(), *watch.said().splitlines()]]
    assert {line["level"] for line in lines} == {"info"}
    first = lines[0]
    assert first.pop("time").endswith("+00:00")
    assert 0 <= first.pop("seconds") < 10
    assert first == {
        "level": "info",
        "message": f"{namespace}/web: {IP}: VIP -> Proxy (all ports use the PROXY protocol)",
        "namespace": namespace,
        "name": "web",
        "ip": IP,
        "from": "VIP",
        "to": "Proxy",
        "reason": "AllPortsProxyProtocol",
    }


def events(control_plane: ControlPlane, namespace: str) -> list[Object]:
    """Return the Events of our reason."""
    path = f"/api/v1/namespaces/{namespace}/events"
    items: list[Object] = control_plane.client.get(path, fieldSelector="reason=IPModeSet")["items"]
    return items


@pytest.mark.parametrize(
    ("resource", "verb", "is_fatal"),
    [
        ("services", "list", True),
        ("services", "watch", False),
        ("services/status", "patch", False),
        ("events", "create", False),
        ("events", "patch", False),
        ("services", "get", False),
    ],
)
def test_a_verb_that_is_missing_is_named(
    control_plane: ControlPlane,
    namespace: str,
    deployed: Object,
    tmp_path: Path,
    resource: str,
    verb: str,
    is_fatal: bool,
) -> None:
    client = control_plane.client
    make(client, namespace)
    role = client.get(ROLE)
    for rule in role["rules"]:
        if resource in rule["resources"]:
            rule["verbs"].remove(verb)
    role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    client.put(ROLE, role)
    _wait_until_refused(control_plane, namespace, resource, verb)
    with running(control_plane, deployed, tmp_path, started=False) as (watch, _):
        if verb == "get":
            _change_while_patching(control_plane, namespace, watch)
        elif resource == "events" and verb == "patch":
            wait_until_proxy(client, namespace)
            wait_for(lambda: events(control_plane, namespace), "an Event")
            reset(client, namespace)
        where = (
            "in the whole cluster"
            if resource == "services" and verb != "get"
            else f'in namespace \\"{namespace}\\"'
        )
        watch.expect(f'must allow \\"{verb}\\" on `{resource}` {where}')
        if verb == "watch":
            # The Lease is renewed meanwhile, which is no sign that the watch works.
            time.sleep(4)
            assert watch.said().count("must allow") == 1
        if is_fatal:
            assert watch.wait() == 3
            assert json.loads(watch.said().splitlines()[-1])["level"] == "error"
        else:
            assert watch.is_running()
            assert watch.end() == 0
    if resource == "events":
        wait_until_proxy(client, namespace)
        assert "--no-events" in watch.said()


def _wait_until_refused(
    control_plane: ControlPlane, namespace: str, resource: str, verb: str
) -> None:
    """Wait until the API server goes by the changed role."""
    name, _, subresource = resource.partition("/")
    attributes = {"verb": verb, "resource": name, "namespace": namespace}
    review = {
        "spec": {
            "user": f"system:serviceaccount:{OWN}:lbipmode",
            "resourceAttributes": {**attributes, "subresource": subresource},
        }
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    wait_for(lambda: not control_plane.client.post(path, review)["status"]["allowed"], "a refusal")


def _change_while_patching(control_plane: ControlPlane, namespace: str, watch: Watch) -> None:
    """Let an address move until a patch does not fit, so that the Service is to be read again."""
    client = control_plane.client
    watch.expect("watching")
    status = services.path(namespace, "web", "status")
    for number in range(2000):
        moved = {"ip": f"198.51.100.{number % 250 + 1}"}
        client.patch(status, services.with_addresses(moved))
        if "must allow" in watch.said():
            return


def test_the_pod_may_run_where_only_restricted_ones_may(
    control_plane: ControlPlane, deployed: Object
) -> None:
    pod = deployed["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["resources"]["limits"]["memory"]
    path = f"/api/v1/namespaces/{OWN}/pods"

    def try_to_create(spec: Object) -> None:
        body = {"metadata": {"generateName": "lbipmode-"}, "spec": spec}
        control_plane.client.post(path, body, dryRun="All")

    try_to_create(pod)
    with pytest.raises(ApiError, match='violates PodSecurity "restricted'):
        try_to_create({**pod, "securityContext": {}})


def test_the_overlay_of_the_readme_names_the_image(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "in-cluster")
    (overlay,) = re.findall(
        r"^```yaml\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.M | re.S
    )
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "kustomization.yaml").write_text(overlay)
    built = control_plane.kubectl("kustomize", tmp_path / "overlay")
    assert built.returncode == 0, built.stderr
    images = re.findall(r"image: (.+)", built.stdout)
    assert images == ["registry.example.com/kubectl-lbipmode:1"]


def test_no_rule_is_wider_than_it_says() -> None:
    documents = list(yaml.safe_load_all((EXAMPLE / "rights.yaml").read_text()))
    granted = {
        (document["kind"], resource, verb)
        for document in documents
        for rule in document.get("rules", [])
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert granted == {
        ("ClusterRole", "services", "get"),
        ("ClusterRole", "services", "list"),
        ("ClusterRole", "services", "watch"),
        ("ClusterRole", "services/status", "patch"),
        ("ClusterRole", "events", "create"),
        ("ClusterRole", "events", "patch"),
        ("Role", "leases", "create"),
        ("Role", "leases", "get"),
        ("Role", "leases", "update"),
    }


def test_many_repairs_are_told_in_few_events(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    make(client, namespace)
    with watching(tmp_path, control_plane.kubeconfig, "-n", namespace) as watch:
        wait_until_proxy(client, namespace)
        for _ in range(15):
            reset(client, namespace)
            wait_until_proxy(client, namespace)
        assert watch.end() == 0
    assert len(watch.repairs()) == 16
    (event,) = events(control_plane, namespace)
    # Ten in a row, and then one a minute.
    assert event["count"] == 10


def test_no_events_where_none_are_wanted(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    make(control_plane.client, namespace)
    with watching(tmp_path, control_plane.kubeconfig, "-n", namespace, "--no-events") as watch:
        wait_until_proxy(control_plane.client, namespace)
        assert watch.end() == 0
    assert events(control_plane, namespace) == []


def test_it_is_not_ready_before_it_has_heard_of_the_server(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    del namespace
    port = _free_port()
    with watching(
        tmp_path, control_plane.kubeconfig, "-A", f"--health-address=127.0.0.1:{port}"
    ) as watch:
        assert get(port, "/readyz") == (200, "ok\n")
        assert get(port, "/other")[0] == 404
        assert watch.end() == 0


def test_what_is_left_alone_and_what_is_wrong_is_said_once(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    client = control_plane.client
    wrong = services.load_balancer("wrong", ip_mode="Bogus")
    create(client, namespace, wrong, {"ip": IP})
    announced = services.load_balancer("announced", **PROXIED)
    announced["metadata"]["annotations"]["metallb.io/address-pool"] = "pool"
    create(client, namespace, announced, {"ip": IP})
    with watching(tmp_path, control_plane.kubeconfig, "-n", namespace) as watch:
        watch.expect("(AnnouncedByNodes)")
        watch.expect("ip-mode")
        for name in ("wrong", "announced"):
            for number in range(3):
                note = {"metadata": {"labels": {"note": str(number)}}}
                client.patch(services.path(namespace, name), note)
        reset(client, namespace, "wrong")
        assert watch.end() == 0
    assert watch.repairs() == []
    assert watch.said().count("(AnnouncedByNodes)") == 1
    assert watch.said().count(f"error: {namespace}/wrong") == 1


def test_metrics_without_their_library_name_the_command(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder without it, before the one where it is installed.
    hidden = tmp_path / "prometheus_client.py"
    hidden.write_text("raise ImportError('hidden')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    arguments = ("-A", "--metrics-address=127.0.0.1:0")
    with watching(tmp_path, control_plane.kubeconfig, *arguments, started=False) as watch:
        assert watch.wait() == 2
    assert watch.said() == (
        "error: metrics need the Python package `prometheus-client`\n"
        "hint: pip install 'kubectl-lbipmode[controller]'\n"
    )


def test_events_are_not_waited_for(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["services/status"], "verbs": ["patch"]},
    ]
    account = create_account(control_plane, namespace, rules)
    make(control_plane.client, namespace)
    with watching(tmp_path, account.kubeconfig) as watch:
        wait_until_proxy(control_plane.client, namespace)
        watch.expect("an Event was refused")
        reset(control_plane.client, namespace)
        wait_until_proxy(control_plane.client, namespace)
        assert watch.end() == 0
    assert watch.said().count("an Event was refused") == 1
