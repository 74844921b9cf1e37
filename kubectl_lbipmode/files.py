"""Where manifests come from and go to: stdin, files, folders, kustomizations; atomic replacement.

The only module that opens files. Its errors are ours: what, where, and what to do.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Self

from kubectl_lbipmode.errors import InputError, Location

EXTENSIONS = (".yaml", ".yml", ".json")
STDIN = "-"
_CHUNK = 1 << 20
_KUSTOMIZERS = (("kustomize", "build"), ("kubectl", "kustomize"))


@dataclass(frozen=True, slots=True)
class Source:
    """One input: a file (*path*), stdin, or what kustomize printed (*data*)."""

    name: str
    path: Path | None = None
    data: bytes | None = None

    @property
    def size(self) -> int:
        """The number of bytes where it is known, else 0."""
        if self.data is not None:
            return len(self.data)
        return self.path.stat().st_size if self.path else 0

    def read(self) -> Iterator[bytes]:
        """Yield the content in chunks."""
        if self.data is not None:
            yield self.data
        elif self.path is None:
            yield from iter(lambda: sys.stdin.buffer.read(_CHUNK), b"")
        else:
            with _readable(self.name), self.path.open("rb") as file:
                yield from iter(lambda: file.read(_CHUNK), b"")


def find_sources(paths: Iterable[str], *, recursive: bool, exclude: Iterable[str]) -> list[Source]:
    """Return the inputs that *paths* stand for: ``-``, files, and folders (sorted by name).

    Raises:
        InputError: a path is missing, or a URL, or a folder without manifests; stdin is a terminal.
    """
    patterns = tuple(exclude)
    sources: list[Source] = []
    for path in _split(paths):
        sources += _find(path, recursive=recursive, exclude=patterns)
    if [source.name for source in sources].count(STDIN) > 1:
        raise InputError("stdin (-) is given twice", hint="give it once")
    return sources


def build_kustomization(folder: str) -> Source:
    """Run the external kustomize on *folder* and return what it prints.

    Raises:
        InputError: there is no kustomize, or it failed.
    """
    import shutil
    import subprocess

    for program, *arguments in _KUSTOMIZERS:
        if shutil.which(program):
            command = [program, *arguments, folder]
            break
    else:
        raise InputError(
            "-k needs kustomize, and neither `kustomize` nor `kubectl` is on PATH",
            hint="install kustomize, or build elsewhere and pipe the output in",
        )
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603
    if done.returncode:
        raise InputError(
            f"`{' '.join(command)}` failed with exit status {done.returncode}",
            hint="its own message stands above",
        )
    return Source(folder, data=done.stdout)


class Replacements:
    """Files to be replaced: all are written beside their targets first, then all are renamed."""

    def __init__(self) -> None:
        self._staged: list[tuple[Path, Path]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for temporary, _target in self._staged:
            temporary.unlink(missing_ok=True)

    def stage(self, path: Path, content: IO[bytes]) -> None:
        """Write *content* beside *path*, with its mode and, where we may, its owner.

        Raises:
            InputError: the file or its folder is not writable.
        """
        import shutil
        import tempfile

        target = Path(os.path.realpath(path))  # A link is followed, not replaced.
        with _writable(str(path)):
            if not os.access(target, os.W_OK):
                raise PermissionError(13, "Permission denied")
            status = target.stat()
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            self._staged.append((Path(name), target))
            with os.fdopen(handle, "wb") as file:
                shutil.copyfileobj(content, file)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(PermissionError, AttributeError):
                os.chown(name, status.st_uid, status.st_gid)
            Path(name).chmod(status.st_mode & 0o7777)

    def commit(self) -> None:
        """Put the written files in the place of their targets."""
        while self._staged:
            temporary, target = self._staged[0]
            with _writable(str(target)):
                temporary.replace(target)
            del self._staged[0]


def _split(paths: Iterable[str]) -> Iterator[str]:
    """Split at commas, as kubectl does, what is no file's name as it stands."""
    for path in paths:
        # os.path's takes a list that is too long for a name.
        if "," in path and not os.path.exists(path):  # noqa: PTH110
            yield from path.split(",")
        else:
            yield path


def _find(path: str, *, recursive: bool, exclude: tuple[str, ...]) -> list[Source]:
    if path == STDIN:
        # Where the caller has closed stdin (<&-), Python has none.
        if sys.stdin is None or sys.stdin.isatty():
            state = "closed" if sys.stdin is None else "a terminal"
            raise InputError(
                f"stdin is {state}, so there is nothing to read",
                hint="pipe manifests in, or name files: -f FILE, -f DIR, -k DIR",
            )
        return [Source(STDIN)]
    if path.startswith(("http://", "https://")):
        raise InputError(
            f'the URL "{path}" is not fetched', hint=f"curl -fsSL {path} | kubectl lbipmode …"
        )
    if not path:
        # pathlib takes it for the current folder, which an unset variable must not edit.
        raise InputError("a path is empty", hint="name a file or a folder; is a variable unset?")
    target = Path(path)
    with _readable(path):
        if target.is_dir():
            return _list_folder(target, recursive=recursive, exclude=exclude)
        if not target.exists():
            raise InputError(f'the path "{path}" does not exist', hint="check the spelling")
    return [] if _is_excluded(target, exclude) else [Source(path, path=target)]


def _list_folder(folder: Path, *, recursive: bool, exclude: tuple[str, ...]) -> list[Source]:
    with _readable(str(folder)):
        found = sorted(
            path
            for path in (folder.rglob("*") if recursive else folder.iterdir())
            if path.suffix in EXTENSIONS and path.is_file()
        )
    if not found:
        hint = "name a file, or descend into its folders with -R"
        kinds = ", ".join(f"*{extension}" for extension in EXTENSIONS)
        raise InputError(f'the folder "{folder}" holds no manifests ({kinds})', hint=hint)
    return [Source(str(path), path=path) for path in found if not _is_excluded(path, exclude)]


def _is_excluded(path: Path, exclude: tuple[str, ...]) -> bool:
    return any(fnmatch(path.name, glob) or fnmatch(path.as_posix(), glob) for glob in exclude)


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        at = Location(name)
        raise InputError(f"cannot be read: {problem.strerror}", at=at) from problem


@contextlib.contextmanager
def _writable(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        at = Location(name)
        hint = "nothing was written there; check the permissions of the file and its folder"
        raise InputError(f"cannot be written: {problem.strerror}", at=at, hint=hint) from problem
