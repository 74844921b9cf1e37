"""Make the decided modes real: read, decide, patch, and check what the server made of it.

A cloud controller may rewrite the status between our read and our patch; the patch then fails its
own test, and the Service is read and decided about again. An API server that does not know
``ipMode`` (Kubernetes before 1.29, or with its gate off) takes the patch, leaves the field out and
reports success, so each reply is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from kubectl_lbipmode.errors import (
    ClusterError,
    ConflictError,
    NotFoundError,
    UnauthorizedError,
    UnreachableError,
)
from kubectl_lbipmode.model import IPMode, Service
from kubectl_lbipmode.plan import AddressPlan, AddressReason, Patch, Plan, is_same_ip, make_plan
from kubectl_lbipmode.rules import Wish

_ATTEMPTS = 10


class Cluster(Protocol):
    """What is asked of a cluster; `APIServer` says what is raised."""

    def read_service(self, namespace: str, name: str) -> dict[str, Any]:
        """Return a Service."""

    def patch_status(
        self, namespace: str, name: str, patch: Patch, *, dry_run: bool
    ) -> dict[str, Any]:
        """Send a JSON Patch of a Service's status and return the Service as it is then."""


class DroppedByServerError(ClusterError):
    """The API server took the patch and left the mode out."""


class OverruledError(ClusterError):
    """Something in the API server replaced the mode: an admission policy or a webhook."""


# What holds for one Service then holds for all: asking again would only take time.
_FINAL = (DroppedByServerError, UnauthorizedError, UnreachableError)


class DryRun(StrEnum):
    """How far to go, in kubectl's words."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Change:
    """What was, or in a dry run would be, set on one address."""

    ip: str
    before: str
    after: IPMode


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one Service.

    *plan* holds the reasons as they are by now: an address that was set is in sync, in a dry run
    it still drifts. *after* is the Service as the server answered, None where nothing was sent.
    """

    plan: Plan
    changes: tuple[Change, ...] = ()
    problem: ClusterError | None = None
    after: Service | None = None


@dataclass(frozen=True, slots=True)
class Syncer:
    """Syncs one Service at a time, in the way that the fields say."""

    cluster: Cluster
    wish: Wish = Wish()  # noqa: RUF009 - it is frozen
    force: bool = False
    dry_run: DryRun = DryRun.NONE

    def plan(self, service: Service) -> Plan:
        """Compare *service* with what is decided about it."""
        return make_plan(service, self.wish, force=self.force)

    def sync(self, service: Service) -> Outcome:
        """Set the modes of *service* that drift; a refusal is a part of the outcome."""
        from tenacity import (
            Retrying,
            retry_if_exception_type,
            stop_after_attempt,
            wait_random_exponential,
        )

        plan = self.plan(service)
        attempts = Retrying(
            retry=retry_if_exception_type(ConflictError),
            wait=wait_random_exponential(multiplier=0.05, max=2),
            stop=stop_after_attempt(_ATTEMPTS),
            reraise=True,
        )
        try:
            for attempt in attempts:
                with attempt:
                    if attempt.retry_state.attempt_number > 1:
                        plan = self.plan(self._read_again(service))
                    return self._apply(plan)
        except NotFoundError:
            return Outcome(_mark(plan, plan.addresses, AddressReason.GONE))
        except DroppedByServerError as error:
            dropped = _mark(plan, plan.drifting, AddressReason.DROPPED_BY_SERVER)
            return Outcome(dropped, problem=error)
        except ClusterError as error:
            return Outcome(plan, problem=error)
        raise AssertionError("the last attempt raises")

    def sync_all(self, services: Iterable[Service], *, concurrency: int) -> Iterator[Outcome]:
        """Sync *services*, some of them at the same time, and yield the outcomes in their order.

        A problem that all of them have is met once, and left to the rest as theirs.
        """
        final: ClusterError | None = None

        def sync(service: Service) -> Outcome:
            nonlocal final
            plan = self.plan(service)
            if final is not None and plan.drifting:
                if isinstance(final, DroppedByServerError):
                    plan = _mark(plan, plan.drifting, AddressReason.DROPPED_BY_SERVER)
                return Outcome(plan, problem=final)
            outcome = self.sync(service)
            if isinstance(outcome.problem, _FINAL):
                final = outcome.problem
            return outcome

        if concurrency == 1:
            yield from map(sync, services)
            return
        with ThreadPoolExecutor(concurrency) as executor:
            try:
                yield from executor.map(sync, services)
            finally:
                executor.shutdown(cancel_futures=True)

    def _read_again(self, service: Service) -> Service:
        return Service.from_mapping(self.cluster.read_service(service.namespace, service.name))

    def _apply(self, plan: Plan) -> Outcome:
        mode = plan.decision.mode
        if not plan.drifting or mode is None:
            return Outcome(plan)
        changes = tuple(
            Change(drifting.address.ip, drifting.mode, mode) for drifting in plan.drifting
        )
        if self.dry_run is DryRun.CLIENT:
            return Outcome(plan, changes)
        is_dry = self.dry_run is DryRun.SERVER
        namespace, name = plan.service.namespace, plan.service.name
        reply = self.cluster.patch_status(namespace, name, plan.patch, dry_run=is_dry)
        after = Service.from_mapping(reply)
        _check(plan, after)
        return Outcome(plan if is_dry else self.plan(after), changes, after=after)


def _check(plan: Plan, after: Service) -> None:
    """Make sure that each address that was to change has changed.

    Raises:
        DroppedByServerError: the server does not keep modes.
        OverruledError: the mode is another one.
        ConflictError: the address is not where it was.
    """
    for drifting in plan.drifting:
        index, ip = drifting.index, drifting.address.ip
        if index >= len(after.addresses) or not is_same_ip(after.addresses[index].ip, ip):
            raise ConflictError(f"the address {ip} moved while its mode was set")
        mode = after.addresses[index].ip_mode
        if not mode:
            raise DroppedByServerError(
                "the API server accepts `ipMode` and does not store it",
                hint="Kubernetes stores it from 1.30 on, unless the feature gate "
                "`LoadBalancerIPMode` is off",
            )
        if mode != plan.decision.mode:
            raise OverruledError(
                f"the mode of {ip} was set to {plan.decision.mode}, and something in the API "
                f"server made it {mode}",
                hint="look for an admission policy or a webhook on `services/status`",
            )


def _mark(plan: Plan, addresses: tuple[AddressPlan, ...], reason: AddressReason) -> Plan:
    """Return *plan* with that reason on those of its addresses."""
    return replace(
        plan,
        addresses=tuple(
            replace(address, reason=reason) if address in addresses else address
            for address in plan.addresses
        ),
    )
