"""Stands beside a rank that MPICH's `mpiexec` has started, as a script that needs nothing but Python: where the rank is
killed, `mpiexec` ends all ranks and exits with CODE.

    python guard.py LIFE CONNECTION CODE WORDS

LIFE is the reading end of a pipe whose other end is closed when the rank ends or is killed. Before, the rank writes
which processes are to end first, where they are on this machine (of rank 0, which holds the file), and `.` when all is
well. CONNECTION is the rank's own to `mpiexec`, which does not notice the death while somebody holds it, and takes the
request to abort of whoever does (PMI-1, the protocol of MPICH's launcher).
"""

import os
import select
import signal
import sys
from contextlib import suppress

_END_SECONDS = 10.0  # that a process which is killed takes at most to give its memory and its files back


def main(life: int, connection: int, code: int, words: str) -> None:
    """Wait for the end of the rank, whichever it is."""
    for asked in (signal.SIGINT, signal.SIGTERM):  # the rank decides what becomes of these
        signal.signal(asked, signal.SIG_IGN)
    told = b"".join(iter(lambda: os.read(life, 100), b""))
    if not told.endswith(b"."):
        os.write(sys.stderr.fileno(), f"{words}\n".encode())
        for process in told.split():
            _end(int(process))
        os.write(connection, f"cmd=abort exitcode={code}\n".encode())


def _end(process: int) -> None:
    with suppress(OSError):  # it has ended
        os.kill(process, signal.SIGKILL)
        if sys.platform == "linux":
            select.select([os.pidfd_open(process)], [], [], _END_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
