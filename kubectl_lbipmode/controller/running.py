"""Put together what a run wants, and run it until a signal comes."""

from __future__ import annotations

import socket
import sys
import threading
import uuid
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_lbipmode.controller.election import Election
from kubectl_lbipmode.controller.events import EventRecorder
from kubectl_lbipmode.controller.journal import Journal, Level
from kubectl_lbipmode.controller.keeper import Keeper
from kubectl_lbipmode.controller.metrics import Metrics
from kubectl_lbipmode.controller.observer import Observer
from kubectl_lbipmode.controller.probes import Page, Probes, serving
from kubectl_lbipmode.controller.settings import Address, LogFormat, Settings
from kubectl_lbipmode.controller.signals import stopped_by_signals
from kubectl_lbipmode.errors import LBIPModeError
from kubectl_lbipmode.sync import Syncer

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import Access, APIServer

# A request for the Lease that takes a third of its duration has failed: two fit into the time.
_LEASE_TIMEOUT = 1 / 3


def run(
    server: APIServer,
    access: Access,
    syncer: Syncer,
    namespace: str | None,
    selector: str,
    settings: Settings,
    *,
    workers: int,
) -> int:
    """Keep the modes of the Services in *namespace* (None: in all) until a signal comes.

    Returns the exit status. Where lines are JSON, an error is one of them and not raised.

    Raises:
        ClusterError: it could not begin, or the Lease was lost.
        InputError: an address cannot be had.
        MissingExtraError: metrics are wanted, and their library is not there.
        KeyboardInterrupt: it was ended by ^C.
    """
    journal = Journal(settings.log_format, sys.stdout, sys.stderr)
    try:
        _keep(server, access, syncer, namespace, selector, settings, journal, workers)
    except LBIPModeError as error:
        if settings.log_format is LogFormat.TEXT:
            raise
        journal.say(Level.ERROR, str(error), error.hint)
        return error.exit_code
    return 0


def _keep(
    server: APIServer,
    access: Access,
    syncer: Syncer,
    namespace: str | None,
    selector: str,
    settings: Settings,
    journal: Journal,
    workers: int,
) -> None:
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    stop, probes = threading.Event(), Probes()
    observers: list[Observer] = [journal, probes]
    pages: dict[Address, dict[str, Page]] = {}
    if settings.health_address is not None:
        pages[settings.health_address] = probes.pages()
    if settings.metrics_address is not None:
        metrics = Metrics()
        observers.append(metrics)
        pages.setdefault(settings.metrics_address, {})["/metrics"] = metrics.show

    with ExitStack() as stack:
        stack.enter_context(stopped_by_signals(stop))
        for address, served in pages.items():
            stack.enter_context(serving(address, served))
        if settings.events:
            recorder = EventRecorder(server.request, identity, journal.refused_event)
            # Not where an error ends it: who has lost the Lease must be gone at once.
            stack.push(lambda kind, *_: recorder.close() if kind is None else None)
            observers.append(recorder)
        checks = [probes.turned]
        if settings.lease_name is not None:
            election = _stand(server, access, identity, settings, observers)
            lease = f'the Lease "{election.namespace}/{election.name}"'
            journal.say(Level.INFO, f"waiting for {lease}")
            if not election.acquire(stop, probes.turned):
                return
            journal.say(Level.INFO, f"leading by {lease}")
            stack.enter_context(election.led())
            checks.append(election.check)
        Keeper(server, syncer, observers, checks, stop, namespace, selector, workers).run()


def _stand(
    server: APIServer,
    access: Access,
    identity: str,
    settings: Settings,
    observers: list[Observer],
) -> Election:
    from kubectl_lbipmode.cluster import connect

    assert settings.lease_name is not None
    # On a connection of its own, so that no other request can hold up a renewal.
    impatient = connect(replace(access, timeout=settings.lease_duration * _LEASE_TIMEOUT))
    return Election(
        impatient.request,
        server.namespace,
        settings.lease_name,
        identity,
        settings.lease_duration,
        observers,
    )
