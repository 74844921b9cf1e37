"""The options that say which cluster, as whom, and which of its Services; named as in kubectl."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kubectl_lbipmode.errors import NotFoundError
from kubectl_lbipmode.model import Service
from kubectl_lbipmode.selection import parse_selector

if TYPE_CHECKING:
    from kubectl_lbipmode.cluster import APIServer

Command = Callable[..., Any]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = r"(\d+(?:\.\d+)?)(ms|s|m|h)"


class Duration(click.ParamType[float]):
    """A time as kubectl takes it: ``1m30s``, ``500ms``; a number alone means seconds."""

    name = "duration"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's own signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        if value.isdecimal():
            return float(value)
        if re.fullmatch(f"(?:{_PART})+", value) is None:
            self.fail(f'"{value}" must be a time such as 1s, 2m or 3h', param, ctx)
        return sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, value))


@dataclass(frozen=True, slots=True)
class Scope:
    """Which of the live Services."""

    namespace: str | None
    all_namespaces: bool
    selector: str

    def choose_namespace(self, server: APIServer) -> str | None:
        """Return the namespace to look in; None for all of them."""
        return None if self.all_namespaces else self.namespace or server.namespace


_ACCESS = (
    click.option("--kubeconfig", metavar="FILE", help="The kubeconfig to use."),
    click.option("--context", metavar="NAME", help="The context of the kubeconfig to use."),
    click.option("--cluster", metavar="NAME", help="The cluster of the kubeconfig to use."),
    click.option("--user", metavar="NAME", help="The user of the kubeconfig to use."),
    click.option("--as", "as_user", metavar="USER", help="Act as this user."),
    click.option(
        "--as-group", "as_groups", metavar="GROUP", multiple=True, help="In this group; repeatable."
    ),
    click.option(
        "--request-timeout",
        "timeout",
        type=Duration(),
        metavar="TIME",
        help="Give up on a request after this time (5s, 2m); 0 for never.",
    ),
)
_SCOPE = (
    click.option("-n", "--namespace", metavar="NS", help="The namespace to look in."),
    click.option("-A", "--all-namespaces", is_flag=True, help="Look in all namespaces."),
    click.option("-l", "--selector", metavar="SELECTOR", help="Only Services with these labels."),
)


def access_options(command: Command) -> Command:
    """Add the options that say which cluster and as whom; the command gets them as *access*."""

    @functools.wraps(command)
    def wrapped(
        *,
        kubeconfig: str | None,
        context: str | None,
        cluster: str | None,
        user: str | None,
        as_user: str | None,
        as_groups: tuple[str, ...],
        timeout: float | None,
        **others: Any,  # noqa: ANN401 - the command's own
    ) -> Any:  # noqa: ANN401
        from kubectl_lbipmode.cluster import Access

        if as_groups and as_user is None:
            raise click.UsageError("--as-group goes with --as")
        access = Access(kubeconfig, context, cluster, user, as_user, as_groups, timeout)
        return command(access=access, **others)

    return _add(_ACCESS, wrapped)


def scope_options(command: Command) -> Command:
    """Add the options that say which live Services; the command gets them as *scope*."""

    @functools.wraps(command)
    def wrapped(
        *,
        names: tuple[str, ...],
        namespace: str | None,
        all_namespaces: bool,
        selector: str | None,
        **others: Any,  # noqa: ANN401 - the command's own
    ) -> Any:  # noqa: ANN401
        scope = make_scope(names, namespace, selector, all_namespaces=all_namespaces)
        return command(names=names, scope=scope, **others)

    return _add(_SCOPE, wrapped)


def make_scope(
    names: tuple[str, ...], namespace: str | None, selector: str | None, *, all_namespaces: bool
) -> Scope:
    """Return the scope that options and *names* describe.

    Raises:
        click.UsageError: they exclude each other.
        InputError: the selector cannot be read.
    """
    if names and all_namespaces:
        raise click.UsageError(
            "a Service's name says nothing without its namespace: use -n, not -A"
        )
    if names and selector:
        raise click.UsageError("names and -l exclude each other")
    parse_selector(selector or "")
    return Scope(namespace, all_namespaces, selector or "")


def find_services(server: APIServer, scope: Scope, names: tuple[str, ...]) -> Iterator[Service]:
    """Yield the Services of those names, or else all of type LoadBalancer in the scope.

    Raises:
        NotFoundError: there is none of such a name.
        ClusterError: any other refusal.
    """
    namespace = scope.choose_namespace(server)
    if not names:
        for page in server.list_services(namespace, scope.selector):
            yield from map(Service.from_mapping, page.items)
        return
    assert namespace is not None
    for name in names:
        try:
            yield Service.from_mapping(server.read_service(namespace, _strip_kind(name)))
        except NotFoundError as error:
            hint = "choose the namespace with -n"
            message = f'there is no Service "{name}" in namespace "{namespace}"'
            raise NotFoundError(message, hint=hint) from error


def say_nothing_found(server: APIServer, scope: Scope) -> None:
    """Say on stderr, as kubectl does, that there is nothing."""
    namespace = scope.choose_namespace(server)
    where = "" if namespace is None else f' in namespace "{namespace}"'
    click.echo(f"no Services of type LoadBalancer found{where}", err=True)


def _strip_kind(name: str) -> str:
    """Take ``service/web`` for ``web``, as kubectl prints it with ``-o name``."""
    kind, slash, rest = name.partition("/")
    return rest if slash and kind in ("service", "services", "svc") else name


def _add(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
