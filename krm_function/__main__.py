"""``lbipmode-fn``: stdin to stdout; what is said to people goes to stderr, errors first.

Exit status: 0 done, 130 interrupted, 1 anything else. kpt shows the first lines of stderr only.
"""

from __future__ import annotations

import sys

from kubectl_lbipmode.errors import LBIPModeError

_USAGE = """\
usage: lbipmode-fn < RESOURCE_LIST

A KRM function: reads a ResourceList on stdin, sets the ip-mode override on its LoadBalancer
Services and writes the list on stdout. It takes no arguments; its options are the list's
functionConfig: mode (auto, Proxy, VIP), overwrite, writeVIP, remove.
"""

_ORDER = {"error": 0, "warning": 1, "info": 2}
# Orchestrators keep stderr in memory, and Argo CD loses the message where it is megabytes.
_MOST = 100
_INTERRUPTED = 130


def main() -> None:
    """Run once, and exit."""
    try:
        status = _run(sys.argv[1:])
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except OSError as problem:
        # The reader has gone, or the disk is full: Python must not try again at its exit.
        sys.stdout = None
        _say(f"error: the list cannot be read or written: {problem.strerror}")
        status = 1
    sys.exit(status)


def _run(arguments: list[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(_USAGE)
        return 0
    # Where the caller has closed stdin, Python has none.
    if arguments or sys.stdin is None or sys.stdin.isatty():
        sys.stderr.write(_USAGE)
        return 1
    from krm_function.function import process

    try:
        processed = process(sys.stdin.buffer.read())
    except LBIPModeError as problem:
        _say(f"error: {problem}", f"hint: {problem.hint}" if problem.hint else None)
        return 1
    sys.stdout.buffer.write(processed.output)
    sys.stdout.flush()
    results = sorted(processed.results, key=lambda result: _ORDER[result["severity"]])
    for result in results[:_MOST]:
        _say(f"{result['severity']}: {result['message']}")
    if len(results) > _MOST:
        _say(f"… and {len(results) - _MOST} more")
    return 1 if processed.failed else 0


def _say(*lines: str | None) -> None:
    for line in lines:
        if line is not None:
            sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
