"""What may the caller do? One check a command, by the server's own word.

A SelfSubjectAccessReview asks the server whether it would allow a request. Everybody may ask that
(the ClusterRole ``system:basic-user``).
"""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_lbipmode.doctor.check import Check, Status
from kubectl_lbipmode.doctor.keeping import find_kind
from kubectl_lbipmode.doctor.view import View

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource; the group of the core resources is the empty one."""

    verb: str
    resource: str
    group: str = ""

    def __str__(self) -> str:
        """Write it as the messages about a refused request do."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f'"{self.verb}" on `{resource}`'


_LOOK = [Right("get", "services"), Right("list", "services")]


def check_right_to_look(view: View) -> Check:
    """Say whether the caller may run `status` and `explain`."""
    return _check(view, "right-to-look", "run `status` and `explain`", _LOOK, Status.FAIL)


def check_right_to_set(view: View) -> Check:
    """Say whether the caller may run `sync`, which the stock roles do not allow."""
    rights = [*_LOOK, Right("patch", "services/status")]
    return _check(view, "right-to-set", "run `sync`", rights, Status.FAIL)


def check_right_to_watch(view: View) -> Check:
    """Say whether the caller may run `sync --watch`; mostly, a ServiceAccount does."""
    rights = [*_LOOK, Right("watch", "services"), Right("patch", "services/status")]
    return _check(view, "right-to-watch", "run `sync --watch`", rights, Status.WARN)


def check_right_to_install(view: View) -> Check:
    """Say whether the caller may apply what `policy` prints; it takes rights on the cluster."""
    kind = find_kind(view)
    if kind is None:
        message = "the server takes none of the policies that `policy` prints"
        return Check("right-to-install", Status.OK, message)
    rights = [
        Right(verb, resource, kind.group)
        for resource in kind.resources
        for verb in ("get", "create", "patch")
    ]
    deed = f"apply what `{kind.command}` prints"
    return _check(view, "right-to-install", deed, rights, Status.WARN, everywhere=True)


def _check(
    view: View,
    name: str,
    deed: str,
    rights: list[Right],
    severity: Status,
    *,
    everywhere: bool = False,
) -> Check:
    """Ask for each right; a missing one is of that severity."""
    namespace = None if everywhere else view.namespace
    missing = [right for right in rights if not _may(view, right, namespace)]
    where = "" if everywhere else " in the whole cluster"
    if namespace:
        where = f' in namespace "{namespace}"'
    if not missing:
        return Check(name, Status.OK, f"you may {deed}{where}")
    listed = ", ".join(map(str, missing))
    hint = "add the rights to a Role or ClusterRole that is bound to you"
    if namespace is None and not everywhere:
        hint += "; for one namespace alone, see `doctor -n NAMESPACE`"
    return Check(name, severity, f"to {deed}{where}, you lack {listed}", hint)


def _may(view: View, right: Right, namespace: str | None) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        # Empty means all namespaces, to which a role in one of them does not reach.
        "namespace": namespace or "",
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    review = view.cluster.request("POST", _REVIEWS, None, body)
    return bool(review["status"]["allowed"])
