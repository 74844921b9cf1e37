"""ServiceAccounts with chosen rights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.client import Client, Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import wait_for

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@dataclass(frozen=True)
class Account:
    """A ServiceAccount, and what one needs to act as it."""

    name: str
    token: str
    kubeconfig: Path
    client: Client


def rule(group: str, resource: str, *verbs: str) -> Object:
    """Return a rule of RBAC; the group of the core resources is the empty one."""
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def create_account(
    control_plane: ControlPlane,
    namespace: str,
    rules: Sequence[Object],
    *,
    name: str = "tester",
    cluster_wide: bool = False,
) -> Account:
    """Create a ServiceAccount with these rights, in its namespace or everywhere, in effect now."""
    admin = control_plane.client
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    admin.post(accounts, {"metadata": {"name": name}})
    _grant(admin, namespace, name, rules, cluster_wide=cluster_wide)

    token: str = admin.post(f"{accounts}/{name}/token", {"spec": {}})["status"]["token"]
    path = control_plane.folder / f"{namespace}-{name}.kubeconfig"
    control_plane.write_kubeconfig(path, token=token, namespace=namespace)
    client = control_plane.connect(token)
    # The server that has stored a role goes by it a moment later.
    wait_for(lambda: _has(client, namespace, rules), f"the rights of {name}")
    return Account(name, token, path, client)


def _grant(
    admin: Client, namespace: str, name: str, rules: Sequence[Object], *, cluster_wide: bool
) -> None:
    kind = "ClusterRole" if cluster_wide else "Role"
    base = RBAC if cluster_wide else f"{RBAC}/namespaces/{namespace}"
    metadata = {"name": f"{namespace}-{name}"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, **metadata}
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": name}
    admin.post(f"{base}/{kind.lower()}s", {"metadata": metadata, "rules": list(rules)})
    admin.post(
        f"{base}/{kind.lower()}bindings",
        {"metadata": metadata, "roleRef": role, "subjects": [subject]},
    )


def _has(client: Client, namespace: str, rules: Sequence[Object]) -> bool:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    review = client.post(path, {"spec": {"namespace": namespace}})
    return all(rule in review["status"]["resourceRules"] for rule in rules)
