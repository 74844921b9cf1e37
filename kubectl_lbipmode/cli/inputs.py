"""The options that say which manifests and which Services a command is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kubectl_lbipmode.errors import InputError
from kubectl_lbipmode.files import STDIN, Source, build_kustomization, find_sources
from kubectl_lbipmode.selection import Selection, parse_selector

Command = Callable[..., Any]

_OPTIONS = (
    click.option(
        "-f",
        "--filename",
        "filenames",
        multiple=True,
        metavar="FILE|DIR|-",
        help="Manifests to read; repeatable. A folder stands for its *.yaml, *.yml and *.json.",
    ),
    click.option("-R", "--recursive", is_flag=True, help="Descend into the folders of -f."),
    click.option(
        "-k", "--kustomize", metavar="DIR", help="Build DIR with kustomize and read the output."
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="GLOB",
        help="Leave out files whose name or path matches; repeatable.",
    ),
    click.option(
        "-n",
        "--namespace",
        metavar="NS",
        help="Only Services that are written with this namespace.",
    ),
    click.option("-l", "--selector", metavar="SELECTOR", help="Only Services with these labels."),
    click.option(
        "--name", "names", multiple=True, metavar="NAME", help="Only this Service; repeatable."
    ),
)


def input_options(command: Command) -> Command:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_inputs(
    files: tuple[str, ...],
    filenames: tuple[str, ...],
    kustomize: str | None,
    *,
    recursive: bool,
    exclude: tuple[str, ...],
) -> list[Source]:
    """Return the inputs; stdin where none is named.

    Raises:
        InputError: there is nothing to read, or -k stands beside files.
    """
    paths = (*files, *filenames)
    if kustomize is not None:
        if paths:
            raise InputError("-k and files exclude each other", hint="give one of them")
        return [build_kustomization(kustomize)]
    return find_sources(paths or (STDIN,), recursive=recursive, exclude=exclude)


def read_selection(
    namespace: str | None, selector: str | None, names: tuple[str, ...]
) -> Selection:
    """Return what to narrow to."""
    requirements = parse_selector(selector) if selector else ()
    return Selection(namespace, frozenset(names), requirements)
