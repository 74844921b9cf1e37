"""Plain requests to an API server, as the controller sends them for Leases and Events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"


class Request(Protocol):
    """Sends one request; ``APIServer.request`` does."""

    def __call__(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: object = None,
        *,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        """Return the reply.

        Raises:
            ClusterError: the server refuses, or does not answer.
        """
