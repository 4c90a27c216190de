"""Cells of the first two coordinates in which points find the keys within some distance: a function that is 0 beyond
needs no other pairs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["Neighbours", "neighbours"]

_CELLS_PER_DISTANCE = 4  # finer cells follow the disc more closely, and hold fewer points each
_CELLS_MAX = 256  # along an axis
_ROUNDING = 1e-9  # of the distance, by which places in cells may be wrong


class Neighbours(NamedTuple):
    """Points and keys in the order of their cells, and for each cell with points the stretches of keys near it."""

    points: AnyArray  # numbers of the points, cell after cell
    keys: AnyArray  # numbers of the keys
    cells: AnyArray  # (cells, 2): the stretch of points in each
    stretches: AnyArray  # (cells, rows of cells, 2): of keys

    @property
    def pairs(self) -> float:
        """How many there are."""
        near = (self.stretches[..., 1] - self.stretches[..., 0]).sum(axis=1)
        return float(((self.cells[:, 1] - self.cells[:, 0]) * near.astype(float)).sum())

    def near(self, cell: int, rows: Float) -> Float:
        """Of rows `(d, keys)` in the order of cells those near the points of a cell."""
        return np.concatenate([rows[:, start:stop] for start, stop in self.stretches[cell]], axis=1)


def neighbours(points: Float, keys: Float, distance: float) -> Neighbours:
    """Of points `(m, d)` the keys `(n, d)` within a distance, and some that are farther."""
    low = np.minimum(points.min(axis=0), keys.min(axis=0))[:2]
    high = np.maximum(points.max(axis=0), keys.max(axis=0))[:2]
    distance *= 1 + _ROUNDING
    side = max(distance / _CELLS_PER_DISTANCE, float((high - low).max()) / _CELLS_MAX)
    shape = np.array([1, 1])
    shape[: low.size] = np.floor((high - low) / side).astype(np.int64) + 1
    places, homes = (_cells(x[:, :2], low, side, shape) for x in (points, keys))
    queue, order = (np.argsort(cells, kind="stable") for cells in (places, homes))
    ends = np.searchsorted(homes[order], np.arange(shape.prod() + 1))
    occupied, first, count = np.unique(places[queue], return_index=True, return_counts=True)
    row, column = np.divmod(occupied, shape[1])
    reach = math.ceil(distance / side)
    stretches = np.zeros((occupied.size, 2 * reach + 1, 2), dtype=np.int64)
    for number, step in enumerate(range(-reach, reach + 1)):
        # points and keys of rows so far apart differ by no less than the rows between them
        across = math.sqrt(max(distance**2 - (max(abs(step) - 1, 0) * side) ** 2, 0.0))
        width = math.ceil(across / side)
        there = (row + step >= 0) & (row + step < shape[0])
        start = np.where(there, row + step, 0) * shape[1]
        stretches[:, number, 0] = ends[start + np.maximum(column - width, 0)]
        stretches[:, number, 1] = ends[start + np.minimum(column + width + 1, shape[1])]
        stretches[~there, number] = 0
    return Neighbours(queue, order, np.stack([first, first + count], axis=1), stretches)


def _cells(x: Float, low: Float, side: float, shape: AnyArray) -> AnyArray:
    """The number of the cell that each point is in."""
    along = np.minimum(np.floor((x - low) / side).astype(np.int64), shape[: low.size] - 1)
    numbers: AnyArray = along[:, 0] * shape[1] + (along[:, 1] if low.size == 2 else 0)
    return numbers
