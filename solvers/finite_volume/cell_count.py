"""The number of cells, extrapolated from the errors of pilot runs with fewer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mfpde.activity import doing
from mfpde.contracts.solver import State
from mfpde.errors import ProblemError
from mfpde.solvers.finite_volume.diagnostics import LEAST_WIDTH, narrowest_cluster
from mfpde.solvers.finite_volume.initial import Discretised
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration

__all__ = [
    "PILOT_TOLERANCE",
    "Range",
    "Start",
    "TooFewCellsError",
    "cells_over_tails",
    "check_resolution",
    "enough_cells",
]

#: relative error of a time step of pilot runs; at 1e-4 steps already leave waves that look like errors of cells
PILOT_TOLERANCE = 1e-5
#: cells of the run over those of the pilot run whose error is extrapolated
MAX_EXTRAPOLATION = 2.5

_CELL_MULTIPLE = 4  # counts are multiples of it
_PILOT_RATIO = math.sqrt(2.0)  # cells of a pilot run over those of the one before, at least
_PILOT_SHARE = 0.6  # of the cells that the error asks for at the order of the scheme: those of the next pilot run
_MIN_ORDER = 2.0  # observed orders below it: the data are not smooth
_MAX_ORDER = 9.0  # of the scheme
_ERROR_SHARE = 0.3  # of the allowed error; pilot runs take other time steps
_TAIL_FACTOR = 4.0  # times the density at the ends of the cells, relative to the peak: what tails beyond them leave out
_PILOT_MICROSECONDS = 4_000_000  # work of a pilot run, by operation count
_SLICE_MICROSECONDS = 50_000  # work between two reports
_LOST_PEAK_ERROR = 0.9  # averaging error of the initial data, over the peak: only a peak between cells makes more


#: a run with so many cells a side
Start: TypeAlias = Callable[[int], FiniteVolumeIntegration]


class TooFewCellsError(ProblemError):
    """Cells do not hold the initial data."""


@dataclass(frozen=True)
class Range:
    """Cells a side: of the first pilot run and the fewest of a run, as many as pay where something is not smooth, the
    most, and those from which on they cover all that they should: fewer cover less, and become narrower only like the
    square root of their number."""

    fewest: int
    rough: int
    most: int
    covering: int = 1

    def fineness(self, cells: float) -> float:
        """In cells, were all to cover as much."""
        return max(cells, math.sqrt(cells * self.covering))

    def cells(self, fineness: float) -> float:
        """Those of that fineness."""
        return min(fineness, fineness**2 / self.covering)


@dataclass(frozen=True)
class _Pilot:
    """The error of a pilot run; infinite where its cells do not resolve the solution."""

    within: Range
    cells: int
    missed: float
    finished: bool = True
    ran: bool = True  # otherwise the error is that of the initial data alone

    def order(self, coarse: _Pilot) -> float:
        """Observed from this one and one on fewer cells; 0 where that has resolved nothing."""
        if not coarse.missed < math.inf:
            return 0.0
        finer = self.within.fineness(self.cells) / self.within.fineness(coarse.cells)
        return math.log(coarse.missed / self.missed) / math.log(finer)

    def needed(self, wanted: float, order: float) -> float:
        """Cells with which the error is as wanted, at that order."""
        return self.within.cells(self.within.fineness(self.cells) * (self.missed / wanted) ** (1 / order))

    def enough(self, wanted: float, coarse: _Pilot | None) -> int:
        """The cells that do, of those between a pilot with which the error was too large and this one."""
        if coarse is None or not self.finished or not 0.0 < self.missed < coarse.missed < math.inf:
            return self.cells
        order = max(self.order(coarse), _MAX_ORDER)  # the higher, the fewer are spared
        return min(self.cells, _rounded(max(self.needed(wanted, order), coarse.cells)))


def enough_cells(
    start: Start, within: Range, until: float, wanted: float, most_extrapolated: float = MAX_EXTRAPOLATION
) -> int:
    """Cells a side with which a run to `until` leaves an error of `wanted`, found from pilots with as many or fewer.

    Two pilot runs give the observed order. Where it is below two (edges, kinks) a fixed number is taken, and where a
    pilot run takes too long its own; the run estimates its error at its end.
    """
    wanted *= _ERROR_SHARE
    slow = False
    last: _Pilot | None = None
    cells = within.fewest
    while True:
        pilot = _Pilot(within, cells, *_pilot_run(start, cells, until, wanted))
        if pilot.missed <= wanted or not pilot.finished:
            return pilot.enough(wanted, last)
        if last is not None and pilot.missed < math.inf:
            power = pilot.order(last)
            if power < _MIN_ORDER and slow:
                return max(cells, within.rough)
            slow = power < _MIN_ORDER
            needed = pilot.needed(wanted, min(max(power, 1.0), _MAX_ORDER))
            needed = min(max(needed, within.fewest), within.most)
            if needed <= most_extrapolated * cells and (pilot.ran or needed == within.most):
                return _rounded(needed)
            if needed <= most_extrapolated * cells:
                last, cells = pilot, _rounded(needed)
                continue
        if cells >= within.most / _PILOT_RATIO:
            return within.most
        more = _PILOT_SHARE * pilot.needed(wanted, _MAX_ORDER) if pilot.missed < math.inf else 0.0
        last, cells = pilot, min(_rounded(max(_PILOT_RATIO * cells, more)), within.most)


def cells_over_tails(wanted: float, growth: float) -> int:
    """A side, so many that Gaussian tails beyond them leave out what pilots may, where half the square of the
    deviations that they cover grows so much with each cell: errors of fewer would say nothing of the order of more."""
    return _rounded(math.log(_TAIL_FACTOR / (_ERROR_SHARE * wanted)) / growth)


def _rounded(cells: float) -> int:
    return _CELL_MULTIPLE * math.ceil(cells / _CELL_MULTIPLE)


def _pilot_run(start: Start, cells: int, until: float, wanted: float) -> tuple[float, bool, bool]:
    """The error, whether the run has come to its end, and whether it has begun."""
    doing(f"pilot on {cells} cells a side")
    try:
        run = start(cells)
    except TooFewCellsError:
        return math.inf, True, True
    if run.missed > wanted:
        return run.missed, True, False
    state = State.UNDER_WAY
    for _ in range(_PILOT_MICROSECONDS // _SLICE_MICROSECONDS):
        state = run.advance(until, _SLICE_MICROSECONDS).state
        if state is not State.UNDER_WAY:
            break
        doing(f"pilot on {cells} cells a side, t = {run.time:.4g} of {until:.4g}")
    if state is State.RESOLUTION_LOST:
        return math.inf, True, True
    if state is State.UNDER_WAY:
        return (run.missed * until / run.time if run.time > 0 else math.inf), False, True
    return run.missed, True, True


def check_resolution(cells: tuple[int, ...], pieces: list[Discretised], moving: bool) -> None:
    """Fail when cells, in frames that are `moving` or at rest, do not hold the initial data."""
    width = _least_width(pieces)
    if width < LEAST_WIDTH:
        needed = [math.ceil(1.5 * LEAST_WIDTH / max(width, 0.5) * count) for count in cells]
        instead = "" if moving else ", or frame: moving"
        raise TooFewCellsError.at(
            "solver.cells",
            f"{list(cells)} are too few for the initial data, whose narrowest cluster is {width:.2g} cells wide; "
            f"take {'about' if width > 1 else 'more than'} {needed}{instead}",
        )


def _least_width(pieces: list[Discretised]) -> float:
    """Of the narrowest cluster, in cells; at most one where a peak lies between cells."""
    if not all(np.isfinite(piece.density).all() and piece.density.any() for piece in pieces):
        return 0.0
    width = narrowest_cluster(np.stack([piece.density for piece in pieces]))
    return min(width, 1.0) if max(piece.missed for piece in pieces) > _LOST_PEAK_ERROR else width
