"""Run a program for as long as somebody wants it to run.

    python supervisor.py PROGRAM ARGUMENT...

That somebody holds the other end of this process's standard input. A byte there asks the program
to end in an orderly way. And should its holder end, by itself or killed with no chance to clean
up, the kernel closes the pipe: then nobody is left to wait, and the program is killed too.

Linux could do the latter alone, with PR_SET_PDEATHSIG. But that goes by the *thread* that started
the program, so a test that restarts a server from a thread would lose it when the thread ends.

It runs as a script, on nothing but the standard library, so that it starts at once.
"""

import os
import subprocess
import sys
import threading
from contextlib import suppress

GRACE = 10.0  # seconds for an orderly end


def main() -> int:
    """Return the program's exit status, once it has ended."""
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_when_told, args=(program,), daemon=True).start()
    return program.wait()


def _end_when_told(program: subprocess.Popen[bytes]) -> None:
    # Not sys.stdin: its lock, held here, would be in the way when the interpreter shuts down.
    if os.read(0, 1):
        program.terminate()
        with suppress(subprocess.TimeoutExpired):
            program.wait(GRACE)
    program.kill()


if __name__ == "__main__":
    sys.exit(main())
