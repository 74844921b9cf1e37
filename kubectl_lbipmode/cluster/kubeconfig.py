"""Find out which cluster to talk to, and as whom, as kubectl does.

The client library reads the files and the credentials. What is done here besides: ``--cluster``
and ``--user``, which it does not know; messages of our own, since its own may quote the entry of a
user with the token in it; and the errors of a credential plugin, which it logs and then goes on
without credentials.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubectl_lbipmode.errors import KubeconfigError

if TYPE_CHECKING:
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import ConfigNode

_IN_CLUSTER_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT_NAMESPACE = "default"
_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, as whom, and how patiently; the default is what kubectl would take.

    *timeout* is in seconds and holds for a single request; 0 means none at all, None the default.
    """

    kubeconfig: str | None = None
    context: str | None = None
    cluster: str | None = None
    user: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()
    timeout: float | None = None


def load(access: Access) -> tuple[Configuration, str]:
    """Return the client library's configuration and the current namespace.

    Raises:
        KubeconfigError: there is none, or it cannot be read.
    """
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION

    configuration = Configuration()
    path = access.kubeconfig or KUBE_CONFIG_DEFAULT_LOCATION
    files = [Path(part).expanduser() for part in path.split(os.pathsep) if part]
    if not any(file.exists() for file in files):
        if access.kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
            return configuration, _load_in_cluster(configuration)
        raise KubeconfigError(
            f'there is no kubeconfig at "{path}"',
            hint="name one with --kubeconfig or in the environment variable KUBECONFIG",
        )
    with _translated(path):
        return configuration, _load_files(configuration, path, access)


def _load_in_cluster(configuration: Configuration) -> str:
    from kubernetes.config import ConfigException, load_incluster_config

    try:
        load_incluster_config(client_configuration=configuration)
        return _IN_CLUSTER_NAMESPACE.read_text().strip() or _DEFAULT_NAMESPACE
    except (ConfigException, OSError) as error:
        raise KubeconfigError(
            "this looks like a pod, but its service account cannot be read",
            hint="set automountServiceAccountToken, or name a kubeconfig",
        ) from error


def _load_files(configuration: Configuration, path: str, access: Access) -> str:
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    merger = KubeConfigMerger(path)
    merged = merger.config
    name = access.context or merged.safe_get("current-context")
    if not name:
        raise KubeconfigError(
            "the kubeconfig has no current context",
            hint="choose one with --context, or for good with `kubectl config use-context`",
        )
    context = _find(merged, "context", name)["context"]
    overrides = {"cluster": access.cluster, "user": access.user}
    for kind, override in overrides.items():
        if override is not None:
            _find(merged, kind, override)
            context[kind] = override
    # Renewed credentials are written back as kubectl does, but not together with an override.
    is_overridden = any(override is not None for override in overrides.values())
    loader = KubeConfigLoader(
        config_dict=merged,
        active_context=name,
        config_base_path=None,
        config_persister=None if is_overridden else merger.save_changes,
    )
    with _raised() as failures:
        loader.load_and_set(configuration)
    if failures:
        raise KubeconfigError(
            f"the credential plugin of the kubeconfig failed: {failures[0][:_LONGEST_MESSAGE]}",
            hint="see whether `kubectl get namespaces` works",
        )
    return str(context.get("namespace") or _DEFAULT_NAMESPACE)


def _find(merged: ConfigNode, kind: str, name: str) -> dict[str, Any]:
    """Return the entry of that name, of the kind ``context``, ``cluster`` or ``user``."""
    entries = [entry.value for entry in merged.value.get(f"{kind}s") or []]
    for entry in entries:
        if entry.get("name") == name:
            found: dict[str, Any] = entry
            return found
    names = ", ".join(sorted(str(entry.get("name")) for entry in entries)) or "none"
    raise KubeconfigError(
        f'the kubeconfig has no {kind} "{name}"', hint=f"there are these: {names}"
    )


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except KubeconfigError:
        raise
    except PermissionError as error:
        raise KubeconfigError(f'the kubeconfig "{error.filename}" may not be read') from error
    # The library raises whatever a malformed file leads to, from AttributeError to its own errors.
    except Exception as error:
        raise KubeconfigError(
            f'the kubeconfig "{path}" cannot be read',
            hint="`kubectl config view` says what is wrong with it",
        ) from error


@contextmanager
def _raised() -> Iterator[list[str]]:
    """Collect what is logged as an error, so that it can be raised instead."""
    messages: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: messages.extend(record.getMessage().splitlines()[:1])  # type: ignore[method-assign]
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield messages
    finally:
        root.removeHandler(handler)
