"""Whether this process is one of several that a launcher of MPI has started."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mfpde.errors import MfpdeError
from mfpde.ranks.base import ALONE, Ranks, working

__all__ = ["launched", "launched_number", "launched_size"]

#: variables in which launchers say how many processes they have started: MPICH and Intel MPI, Open MPI, MVAPICH, srun
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
#: and the number of this one
_NUMBERS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")
#: which libraries take the number of their threads from
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
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
    from mpi4py import MPI

    from mfpde.ranks.mpi import MpiRanks

    world = MPI.COMM_WORLD
    if world.size != size:
        raise MfpdeError(
            f"{size} processes were started together, and mpi4py sees {world.size}: it belongs to another MPI than the "
            "launcher; start them with the mpiexec that is installed beside it"
        )
    _divide_threads(world.Split_type(MPI.COMM_TYPE_SHARED).size)
    ranks = MpiRanks(world)
    try:
        with working(ranks):
            yield ranks
    except BaseException as error:
        # all have failed alike where the problem is at fault; where this process is, the others wait for it in vain
        if not ranks.meets(_MEETING_SECONDS):
            print(f"rank {ranks.number}: {type(error).__name__}: {error}", file=sys.__stderr__, flush=True)
            ranks.abort(_ENDED_EARLY)
        raise


def _divide_threads(neighbours: int) -> None:
    """Among the processes on one machine, unless somebody has said how many there are to be."""
    threads = max(
        1, (os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count() or 1) // neighbours
    )
    for name in _THREADS:
        os.environ.setdefault(name, str(threads))
