"""Where a sweep is refined: cells of the grid over which a collected value changes.

All points lie on the finest grid. An axis that is a range is refined; `stride` is how many of its finest places make
one of the coarse grid. Along other axes, lists and seeds, every value has cells of its own.
"""

from __future__ import annotations

import itertools

import numpy as np

from mfpde.sweeping.plan import Plan
from mfpde.typing import Float, Integers, Truths

__all__ = ["coarse_points", "halved_cells"]


def coarse_points(plan: Plan) -> Truths:
    """The points of the grid before refinement."""
    found = np.zeros(plan.shape, bool)
    found[tuple(slice(None, None, axis.stride) for axis in plan.axes)] = True
    return found


def halved_cells(plan: Plan, values: Float, finished: Truths, level: int) -> Integers:
    """Numbers of the points that are missing after the cells of that level, 0 the coarse one, are halved where the
    value changes."""
    refinement = plan.refinement
    assert refinement is not None  # noqa: S101  there is one where cells are halved
    coarse = values[coarse_points(plan)]
    there = coarse[np.isfinite(coarse)]
    if not there.size or np.ptp(there) == 0:
        return np.zeros(0, np.int64)
    refined = [place for place, axis in enumerate(plan.axes) if axis.stride > 1]
    steps = [axis.stride >> level if place in refined else 1 for place, axis in enumerate(plan.axes)]
    corners = np.where(finished, values, np.nan)[tuple(slice(None, None, step) for step in steps)]
    cells = _spread(corners, refined) > refinement.change * np.ptp(there)
    wanted = np.zeros(plan.shape, bool)
    half = wanted[tuple(slice(None, None, max(step // 2, 1)) for step in steps)]
    for offsets in itertools.product(range(3), repeat=len(refined)):
        place = [slice(None)] * len(plan.shape)
        for axis, offset in zip(refined, offsets, strict=True):
            place[axis] = slice(offset, offset + 2 * cells.shape[axis] - 1, 2)
        half[tuple(place)] |= cells
    return np.flatnonzero(wanted & ~finished)


def _spread(corners: Float, refined: list[int]) -> Float:
    """Largest minus smallest value at the corners of each cell; NaN where one is not known."""
    high = low = corners
    for axis in refined:
        first = np.arange(corners.shape[axis] - 1)
        high = np.maximum(high.take(first, axis), high.take(first + 1, axis))
        low = np.minimum(low.take(first, axis), low.take(first + 1, axis))
    spread: Float = high - low
    return spread
