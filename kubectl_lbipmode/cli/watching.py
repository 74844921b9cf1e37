"""The options that ``sync --watch`` has besides those of ``sync``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from kubectl_lbipmode.cli.cluster_options import Duration
from kubectl_lbipmode.controller.settings import Address, LogFormat, Settings

Command = Callable[..., Any]


class _Address(click.ParamType[Address]):
    """``HOST:PORT`` or ``:PORT``, as Go's ``net.Listen`` takes it; IPv6 in brackets."""

    name = "address"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Address:
        """Return host and port."""
        if isinstance(value, tuple):
            return value
        host, colon, port = value.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004 - a port
            self.fail(f'"{value}" must be HOST:PORT or :PORT', param, ctx)
        return host.strip("[]"), int(port)


_OPTIONS = (
    click.option(
        "--log-format",
        type=click.Choice([choice.value for choice in LogFormat]),
        default=LogFormat.TEXT.value,
        show_default=True,
        help="With --watch: how to write what happens.",
    ),
    click.option(
        "--events/--no-events",
        default=True,
        help="With --watch: write an Event on a Service for each repair, or do not.",
    ),
    click.option(
        "--leader-elect", is_flag=True, help="With --watch: of several copies let one work."
    ),
    click.option(
        "--lease-name",
        default="kubectl-lbipmode",
        show_default=True,
        metavar="NAME",
        help="The Lease of --leader-elect, in the current namespace.",
    ),
    click.option(
        "--lease-duration",
        type=Duration(),
        default="15s",
        show_default=True,
        metavar="TIME",
        help="After how long another copy takes over.",
    ),
    click.option(
        "--health-address",
        type=_Address(),
        metavar="[HOST]:PORT",
        help="With --watch: serve /healthz and /readyz there.",
    ),
    click.option(
        "--metrics-address",
        type=_Address(),
        metavar="[HOST]:PORT",
        help="With --watch: serve /metrics there, for Prometheus.",
    ),
)


def watch_options(command: Command) -> Command:
    """Add the options that --watch has besides; the command gets them as *settings*."""

    @functools.wraps(command)
    def wrapped(
        *,
        log_format: str,
        events: bool,
        leader_elect: bool,
        lease_name: str,
        lease_duration: float,
        health_address: Address | None,
        metrics_address: Address | None,
        **others: Any,  # noqa: ANN401 - the command's own
    ) -> Any:  # noqa: ANN401
        settings = Settings(
            LogFormat(log_format),
            events,
            lease_name if leader_elect else None,
            max(1, round(lease_duration)),
            health_address,
            metrics_address,
        )
        return command(settings=settings, **others)

    return functools.reduce(lambda command, option: option(command), reversed(_OPTIONS), wrapped)
