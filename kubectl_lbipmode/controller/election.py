"""One leader among several copies, by a Lease that only its holder renews.

The Lease says who holds it and for how long. Who finds it unchanged for that long, by its own clock
(no two clocks need agree), takes it. Each write carries the ``resourceVersion`` that was read, so
of two that try at once the API server lets one through. The holder stops to work when two thirds of
the time have gone by without a renewal, well before another may begin. These are the rules of
client-go's ``leaderelection``, and the Lease looks the same.

The client library has a ``leaderelection`` too. It was tried on a real API server (kubernetes
37.0.2, a Lease of 4 s) and does not hold up: it looks at the clock between requests alone, so a
holder whose request took 12 s led on for 9 s beside its successor; a candidate ended with an
exception when the server was away; and it can neither be stopped nor give up its Lease.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.requests import Request
from kubectl_lbipmode.errors import ClusterError, ConflictError, NotFoundError, UnavailableError

# Parts of the Lease's duration: client-go's 10 s and 2 s of 15 s.
_RENEW_WITHIN, _TRY_EVERY = 2 / 3, 2 / 15


class LostLeaseError(ClusterError):
    """The Lease could not be renewed in time: another copy may lead soon."""


@dataclass
class Election:
    """One candidate. *identity* must be nobody else's; *duration* is in whole seconds."""

    request: Request
    namespace: str
    name: str
    identity: str
    duration: int
    observers: Sequence[Observer]
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _lease: dict[str, Any] = field(default_factory=dict, init=False)
    _observed: tuple[object, ...] = field(default=(), init=False)
    _observed_at: float = field(default=0.0, init=False)
    _held_until: float = field(default=0.0, init=False)

    def acquire(self, stop: threading.Event, turned: Callable[[], None]) -> bool:
        """Wait for the Lease; return whether it was had before *stop*.

        *turned* is called for each try: a candidate is alive, too.

        Raises:
            ClusterError: the first request was refused: waiting would only hide it.
        """
        has_worked = False
        while not stop.is_set():
            turned()
            try:
                is_ours = self._try()
                has_worked = True
                # Not at each renewal: that the Lease can be had says nothing of the watch.
                for observer in self.observers:
                    observer.heard()
                if is_ours:
                    return True
            except ClusterError as error:
                if not has_worked and not isinstance(error, UnavailableError):
                    raise
                self._tell(error)
            stop.wait(self.duration * _TRY_EVERY)
        return False

    @contextmanager
    def led(self) -> Iterator[None]:
        """Renew the Lease for the time of the block, then give it up for another to take."""
        done = threading.Event()
        threading.Thread(target=self._renew, args=(done,), daemon=True).start()
        try:
            yield
        finally:
            done.set()
            self._release()

    def check(self) -> None:
        """Make sure that the Lease is still ours.

        Raises:
            LostLeaseError: it may not be for much longer.
        """
        if time.monotonic() >= self._held_until:
            raise LostLeaseError(
                f'the Lease "{self.namespace}/{self.name}" could not be renewed in time',
                hint="another copy takes over; this one has to be started again",
            )

    def _renew(self, done: threading.Event) -> None:
        while not done.wait(self.duration * _TRY_EVERY):
            try:
                if not done.is_set() and not self._try():
                    # Somebody took it while we were not looking: a suspended machine, say.
                    self._held_until = 0.0
                    return
            except ClusterError as error:
                self._tell(error)

    def _try(self) -> bool:
        """Take the Lease, or renew it; return whether it is ours."""
        with self._lock:
            begun = time.monotonic()
            try:
                lease = self.request("GET", self._path(self.name))
            except NotFoundError:
                lease = {}
            spec = lease.get("spec") or {}
            if self._is_held_by_another(spec):
                return False
            try:
                self._write(lease, spec)
            except ConflictError:
                return False
            # Not from when the reply came: others count from when they see the change.
            self._held_until = begun + self.duration * _RENEW_WITHIN
            return True

    def _is_held_by_another(self, spec: dict[str, Any]) -> bool:
        now = time.monotonic()
        observed = (spec.get("holderIdentity"), spec.get("renewTime"), spec.get("acquireTime"))
        if observed != self._observed:
            self._observed, self._observed_at = observed, now
        holder = spec.get("holderIdentity")
        until = self._observed_at + (spec.get("leaseDurationSeconds") or self.duration)
        return bool(holder) and holder != self.identity and now < until

    def _write(self, lease: dict[str, Any], before: dict[str, Any]) -> None:
        now = _now()
        is_renewal = before.get("holderIdentity") == self.identity
        transitions = before.get("leaseTransitions") or 0
        spec = {
            **before,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.duration,
            "acquireTime": before.get("acquireTime") if is_renewal else now,
            "renewTime": now,
            "leaseTransitions": transitions + (bool(lease) and not is_renewal),
        }
        metadata = lease.get("metadata") or {"name": self.name, "namespace": self.namespace}
        method, path = ("PUT", self._path(self.name)) if lease else ("POST", self._path())
        self._lease = self.request(method, path, None, _lease(metadata, spec))

    def _release(self) -> None:
        """Leave the Lease without a holder, if it is still ours: nobody then has to wait."""
        # Before the lock: a renewal that hangs may have it, and must not hold up the end.
        if time.monotonic() >= self._held_until:
            return
        with self._lock, suppress(ClusterError):
            if time.monotonic() < self._held_until:
                self._held_until = 0.0
                spec = {**self._lease["spec"], "holderIdentity": "", "renewTime": _now()}
                body = _lease(self._lease["metadata"], spec)
                self.request("PUT", self._path(self.name), None, body)

    def _path(self, name: str = "") -> str:
        base = f"/apis/coordination.k8s.io/v1/namespaces/{quote(self.namespace, safe='')}/leases"
        return f"{base}/{quote(name, safe='')}" if name else base

    def _tell(self, error: ClusterError) -> None:
        for observer in self.observers:
            observer.troubled(error)


def _lease(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
