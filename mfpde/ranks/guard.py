"""Stands beside a rank that MPICH's `mpiexec` has started, as a script that needs nothing but Python: where the rank is
killed, `mpiexec` ends all ranks and exits with CODE.

    python guard.py LIFE CONNECTION CODE WORDS

LIFE is the reading end of a pipe whose other end is closed when the rank ends or is killed. Before, the rank writes `.`
when all is well and, where it shares a machine with rank 0, which holds the file, the numbers of the processes of that
one's guard and of that one: it is to have let go of the file when `mpiexec` ends. CONNECTION is the rank's own to
`mpiexec`, which does not notice a death while somebody holds the connection of the dead, and takes the request to abort
of whoever does (PMI-1, the protocol of MPICH's launcher).
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
    said: list[int] = []  # what another guard has said for all, which ends this rank
    signal.signal(signal.SIGUSR1, lambda number, _: said.append(number))
    told = b"".join(iter(lambda: os.read(life, 100), b""))
    if told.endswith(b"."):
        return
    if not said:
        os.write(sys.stderr.fileno(), f"{words}\n".encode())
    if told:
        _end(*map(int, told.split()))
    os.write(connection, f"cmd=abort exitcode={code}\n".encode())


def _end(guard: int, rank: int) -> None:
    with suppress(OSError):  # it has ended
        os.kill(guard, signal.SIGUSR1)
        os.kill(rank, signal.SIGKILL)
        if sys.platform == "linux":
            select.select([os.pidfd_open(rank)], [], [], _END_SECONDS)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
