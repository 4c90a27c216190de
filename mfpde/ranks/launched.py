"""Whether this process is one of several that a launcher of MPI has started."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from mfpde.errors import MfpdeError
from mfpde.ranks import guard
from mfpde.ranks.base import ALONE, Ranks, working

if TYPE_CHECKING:
    from mfpde.ranks.mpi import MpiRanks

__all__ = ["launched", "launched_number", "launched_size"]

#: variables in which launchers say how many processes they have started: MPICH and Intel MPI, Open MPI, MVAPICH, srun
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
#: and the number of this one
_NUMBERS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
#: which libraries take the number of their threads from
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: what MPICH's mpiexec gives its processes: the second one no other launcher does, whose protocols differ
_CONNECTIONS = ("PMI_FD", "HYDI_CONTROL_FD")
_MEETING_SECONDS = 10.0  # that a rank which has failed waits for the others to fail alike
_ENDED_EARLY = 3  # the exit code of a run that could not go on


def launched_size() -> int:
    """How many processes were started together, by what their launcher says; 1 without one."""
    return max([1, *_said(_SIZES)])


def launched_number() -> int:
    """Which of them this one is; 0 without a launcher."""
    return next(iter(_said(_NUMBERS)), 0) if launched_size() > 1 else 0


def _said(names: Sequence[str]) -> list[int]:
    return [int(said) for name in names if (said := os.environ.get(name, "")).isdecimal()]


@contextmanager
def launched() -> Iterator[Ranks]:
    """Runs in this context are spread over the processes that `mpiexec` (or `srun`) has started; nothing of MPI is
    loaded where there is one."""
    size = launched_size()
    if size == 1:
        yield ALONE
        return
    if importlib.util.find_spec("mpi4py") is None:
        raise MfpdeError(
            f"{size} processes were started together, and mpi4py is not installed: each would solve all of it, and "
            "write the same file; pip install 'mfpde[mpi]', or start one"
        )
    guarded = _Guard(size)
    try:
        ranks = _met(size, guarded)
    except MfpdeError:
        guarded.end()
        raise
    try:
        with working(ranks):
            yield ranks
    except BaseException as error:
        # all have failed alike where the problem is at fault; where this process is, the others wait for it in vain
        if not ranks.meets(_MEETING_SECONDS):
            print(f"rank {ranks.number}: {type(error).__name__}: {error}", file=sys.__stderr__, flush=True)
            guarded.end_run(ranks)
        raise
    finally:
        guarded.end()


def _met(size: int, guarded: _Guard) -> MpiRanks:
    from mpi4py import MPI

    from mfpde.ranks.mpi import MpiRanks

    world = MPI.COMM_WORLD
    if world.size != size:
        raise MfpdeError(
            f"{size} processes were started together, and mpi4py sees {world.size}: it belongs to another MPI than the "
            "launcher; start them with the mpiexec that is installed beside it"
        )
    neighbours = world.Split_type(MPI.COMM_TYPE_SHARED)
    _divide_threads(neighbours.size)
    leads, *processes = neighbours.bcast((world.rank == 0, guarded.pid, os.getpid()))
    if leads and world.rank:
        guarded.before(*processes)
    return MpiRanks(world)


class _Guard:
    """What ends the run as one that ended early where this process is killed: without it, `mpiexec` exits with the
    number of the signal. Only where the launcher is MPICH's."""

    def __init__(self, size: int) -> None:
        self.pid = 0
        if not all(name in os.environ for name in _CONNECTIONS):
            return
        life, self._own = os.pipe()
        connection = int(os.environ["PMI_FD"])
        words = f"rank {launched_number()} of {size} died; what is in the file stays, --resume continues it"
        told = map(str, (life, connection, _ENDED_EARLY, words))
        line = [sys.executable, "-I", "-S", guard.__file__, *told]
        others = {name: value for name, value in os.environ.items() if name not in (*_SIZES, *_NUMBERS)}
        self._process = subprocess.Popen(line, env=others, pass_fds=(life, connection))  # noqa: S603 - our own
        self.pid = self._process.pid
        os.close(life)

    def before(self, guard: int, rank: int) -> None:
        """That rank, with that guard, is to end before all others are told to."""
        self._tell(f"{guard} {rank} ")

    def end_run(self, ranks: MpiRanks) -> NoReturn:
        """Of all ranks, where one has failed and others have not."""
        if not self.pid:
            ranks.abort(_ENDED_EARLY)
        os._exit(_ENDED_EARLY)

    def end(self) -> None:
        """All is well."""
        self._tell(".")
        if self.pid:
            os.close(self._own)
            self._process.wait()

    def _tell(self, words: str) -> None:
        if self.pid:
            with suppress(BrokenPipeError):  # somebody has killed it
                os.write(self._own, words.encode())


def _divide_threads(neighbours: int) -> None:
    """Among the processes on one machine, unless somebody has said how many there are to be."""
    threads = max(
        1, (os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count() or 1) // neighbours
    )
    for name in _THREADS:
        os.environ.setdefault(name, str(threads))
