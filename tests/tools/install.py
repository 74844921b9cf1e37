"""Install the programs that the tests need, and find them again.

    python tests/tools/install.py base                # what the quick tests need
    python tests/tools/install.py base cluster        # also a whole control plane: minutes
    python tests/tools/install.py etcd                # one program
    python tests/tools/install.py --path kustomize    # where is it?

What is installed stays in a cache outside the tree (see `cache.py`), so all but the first run
have nothing to do. Only the standard library is used: this runs before anything is installed.
"""

# ruff: noqa: T201 -- it reports to whoever runs make

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    # Started by its path, Python looks for modules here rather than at the root of the tree.
    sys.path[0] = str(Path(__file__).parents[2])

from tests.tools.build import BuildError, install
from tests.tools.cache import place
from tests.tools.programs import GO, PROGRAMS, Program


class NotInstalledError(LookupError):
    """A test asks for a program that is not there."""


def locate(name: str) -> Path:
    """The path of an installed program. Never builds: a test must not take minutes unasked."""
    program = _find(name)
    path = place(program) / program.binary
    if not path.exists():
        raise NotInstalledError(
            f"{program} is not installed: run `make tools`, "
            f"or `python tests/tools/install.py {name}` for it alone"
        )
    return path


def select(words: Sequence[str]) -> list[Program]:
    """The programs of the groups and names, each once, in the order of the table."""
    groups = {program.group for program in PROGRAMS}
    names = {_find(word).name for word in words if word not in groups}
    return [program for program in PROGRAMS if program.group in words or program.name in names]


def _find(name: str) -> Program:
    known = {program.name: program for program in (GO, *PROGRAMS)}
    if name not in known:
        raise LookupError(f"no program {name!r} in the table, only {', '.join(known)}")
    return known[name]


def main() -> int:
    parser = argparse.ArgumentParser(description="Install the programs that the tests need.")
    parser.add_argument("what", nargs="*", help="groups (base, cluster) or names of programs")
    parser.add_argument("--path", metavar="NAME", help="print where an installed program lies")
    arguments = parser.parse_args()
    if not arguments.what and not arguments.path:
        parser.error("name a group or a program")
    try:
        if arguments.path:
            print(locate(arguments.path))
            return 0
        programs = select(arguments.what)
        for program in programs:
            install(program)
    except (BuildError, LookupError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"programs: {len(programs)} ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
