"""How many cells: as many as keep what coarser ones are seen to leave below the tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from mfpde.activity import doing
from mfpde.contracts.solver import State
from mfpde.errors import ProblemError
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration

__all__ = ["PILOT_TOLERANCE", "Range", "Start", "TooFewCellsError", "enough_cells"]

#: of the time steps of pilots
PILOT_TOLERANCE = 1e-6

_MULTIPLE = 16
_CLOSER = math.sqrt(2.0)  # times the cells of the pilot before
_SLOW, _FAST = 2.0, 9.0  # powers of the cells: of what is not smooth, and the best that the estimate can do
_FARTHEST = 2.5  # times the cells of a pilot that its error is carried over to
_SAFETY = 0.3  # pilots take other steps
_AFFORDABLE = 4_000_000  # microseconds of work, by count, that a pilot may take
_SLICE = 50_000  # of it between two words of life


#: a run with so many cells a side
Start: TypeAlias = Callable[[int], FiniteVolumeIntegration]


class TooFewCellsError(ProblemError):
    """Cells do not hold the initial data."""


@dataclass(frozen=True)
class Range:
    """Cells a side: the fewest, as many as pay where something is not smooth, and the most."""

    fewest: int
    rough: int
    most: int


@dataclass(frozen=True)
class _Pilot:
    """What a run with so many cells leaves; infinite where they do not hold it."""

    cells: int
    missed: float
    finished: bool = True


def enough_cells(start: Start, within: Range, until: float, wanted: float) -> int:
    """Cells a side with which a run to `until` leaves an error of `wanted`, found from pilots with fewer.

    Two pilots tell the power with which the error falls. Where it hardly does (edges, kinks) the number is a
    compromise, and where a pilot takes too long its own; the run says in the end what its cells have left.
    """
    wanted *= _SAFETY
    slow = False
    last: _Pilot | None = None
    cells = within.fewest // 2
    while True:
        pilot = _flown(start, cells, until, wanted)
        if pilot.missed <= wanted or not pilot.finished:
            return max(cells, within.fewest)
        if last is not None and pilot.missed < math.inf:
            power = math.log(last.missed / pilot.missed) / math.log(cells / last.cells) if last.missed < math.inf else 0
            if power < _SLOW and slow:
                return max(cells, within.rough)
            slow = power < _SLOW
            needed = cells * (pilot.missed / wanted) ** (1 / min(max(power, 1.0), _FAST))
            if needed <= _FARTHEST * cells:
                return _rounded(min(max(needed, within.fewest), within.most))
        if cells >= within.most / _CLOSER:
            return within.most
        last, cells = pilot, min(_rounded(_CLOSER * cells), within.most)


def _rounded(cells: float) -> int:
    return _MULTIPLE * math.ceil(cells / _MULTIPLE)


def _flown(start: Start, cells: int, until: float, wanted: float) -> _Pilot:
    doing(f"pilot on {cells} cells a side")
    try:
        run = start(cells)
    except TooFewCellsError:
        return _Pilot(cells, math.inf)
    if run.missed > wanted:
        return _Pilot(cells, run.missed)
    state = State.UNDER_WAY
    for _ in range(_AFFORDABLE // _SLICE):
        state = run.advance(until, _SLICE).state
        if state is not State.UNDER_WAY:
            break
        doing(f"pilot on {cells} cells a side, t = {run.time:.4g} of {until:.4g}")
    if state is State.RESOLUTION_LOST:
        return _Pilot(cells, math.inf)
    if state is State.UNDER_WAY:
        return _Pilot(cells, run.missed * until / run.time if run.time > 0 else math.inf, finished=False)
    return _Pilot(cells, run.missed)
