"""An API server, as far as we need it: its Services, their status, and plain requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kubectl_lbipmode.cluster.kubeconfig import Access, load
from kubectl_lbipmode.cluster.refusals import read_refusal
from kubectl_lbipmode.cluster.transport import JSON_PATCH, Transport
from kubectl_lbipmode.errors import ExpiredError

FIELD_MANAGER = "kubectl-lbipmode"

# What the API server returns at once; kubectl's own number.
_PAGE = 500
_LOAD_BALANCERS = "spec.type=LoadBalancer"

JSONObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, and the version of the cluster's state that it shows."""

    items: list[JSONObject]
    resource_version: str


def connect(access: Access, *, field_manager: str = FIELD_MANAGER) -> APIServer:
    """Return the API server that *access* names; nothing is sent yet.

    Raises:
        KubeconfigError: there is no kubeconfig, or it cannot be read.
    """
    configuration, namespace = load(access)
    return APIServer(Transport(configuration, access), namespace, field_manager)


class APIServer:
    """One API server, as one user. May be used by several threads at once.

    *namespace* is the current one; *request* sends anything that has no method of its own.
    """

    def __init__(self, transport: Transport, namespace: str, field_manager: str) -> None:
        self.namespace = namespace
        self.request = transport.request
        self._stream = transport.stream
        self._field_manager = field_manager

    def read_service(self, namespace: str, name: str) -> JSONObject:
        """Return a Service.

        Raises:
            NotFoundError: there is none of that name.
            ClusterError: any other refusal.
        """
        return self.request("GET", _service_path(namespace, name))

    def list_services(self, namespace: str | None, selector: str = "") -> Iterator[Page]:
        """Yield the Services of type LoadBalancer by pages; of all namespaces for None.

        The version to watch from is the first page's: what changed since then is seen again.

        Raises:
            ClusterError: the server refuses.
        """
        query = {"fieldSelector": _LOAD_BALANCERS, "labelSelector": selector, "limit": str(_PAGE)}
        while True:
            try:
                reply = self.request("GET", _services_path(namespace), query)
            except ExpiredError as error:
                # The page is too old. What the server offers is the rest as it is by now.
                if error.continue_token in ("", query.get("continue")):
                    raise
                query["continue"] = error.continue_token
                continue
            metadata = reply["metadata"]
            # The items of a list do not say what they are.
            items = [{"apiVersion": "v1", "kind": "Service", **item} for item in reply["items"]]
            yield Page(items, metadata["resourceVersion"])
            query["continue"] = metadata.get("continue", "")
            if not query["continue"]:
                return

    def watch_services(
        self,
        namespace: str | None,
        selector: str,
        resource_version: str,
        *,
        seconds: int,
        silence: float,
    ) -> Iterator[JSONObject]:
        """Yield watch events, bookmarks among them, until the server ends the watch.

        Args:
            namespace: which one; None for all.
            selector: a label selector, or empty.
            resource_version: what happened after it is told.
            seconds: how long the server shall go on.
            silence: seconds without any event, after which the connection counts as broken.

        Raises:
            ExpiredError: the version is too old: list again.
            UnavailableError: the connection broke, or went silent.
            ClusterError: any other refusal.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "fieldSelector": _LOAD_BALANCERS,
            "labelSelector": selector,
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        for line in self._stream(_services_path(namespace), query, silence=silence):
            event: JSONObject = json.loads(line)
            if event["type"] == "ERROR":
                status = event["object"]
                raise read_refusal(status["code"], json.dumps(status).encode())
            yield event

    def patch_status(
        self, namespace: str, name: str, patch: list[dict[str, str]], *, dry_run: bool
    ) -> JSONObject:
        """Send a JSON Patch of a Service's status and return the Service as it is then.

        Raises:
            ConflictError: a test failed, or the Service was changed at the same time.
            NotFoundError: it is gone.
            ClusterError: any other refusal.
        """
        path = f"{_service_path(namespace, name)}/status"
        query = {"fieldManager": self._field_manager, "dryRun": "All" if dry_run else ""}
        return self.request("PATCH", path, query, patch, content_type=JSON_PATCH)


def _services_path(namespace: str | None) -> str:
    where = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"/api/v1{where}/services"


def _service_path(namespace: str, name: str) -> str:
    return f"{_services_path(namespace)}/{quote(name, safe='')}"
