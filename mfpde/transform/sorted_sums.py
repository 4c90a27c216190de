"""Sums on the line of a function of the distance that is a polynomial on each of a few panels, kinks between them.

Keys are sorted, and cut into blocks with running sums of their powers. The keys at distances within a panel are a
stretch of neighbours, whose sum of polynomials follows from differences of running sums: time linear in points, keys
and panels, once they are sorted.
"""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.fused import fused
from mfpde.transform.piecewise import Piecewise
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = ["SortedPlan", "sorted_plan"]

_BLOCKS_PER_PANEL_MAX = 64  # of the widest panel; where the narrowest is much narrower, pairs are as fast
_POINTS_PER_PIECE = 1 << 13  # whose places among the keys are found once, and then move on
_PANEL_NANOSECONDS = 12.0  # of a point and a block of a panel
_PRODUCT_NANOSECONDS = 0.6  # more for each product of powers
_SORT_NANOSECONDS = 200.0  # of a point or key


class SortedPlan:
    """Panels that are not 0, and the length of blocks."""

    def __init__(self, table: Piecewise) -> None:
        kept = table.coefficients.any(axis=1)
        self._coefficients = table.coefficients[kept]
        self._degrees = np.array([int(np.flatnonzero(row).max()) for row in self._coefficients], dtype=np.int64)
        self._middles, self._scales = table.middles[kept], table.scales[kept]
        self._ends = np.stack([table.middles[kept] - 1 / self._scales, table.ends[kept]])
        lengths = 2.0 / self._scales
        self._block = float(lengths.min())
        self._blocks = lengths / self._block + 1.0

    @property
    def point_nanoseconds(self) -> float:
        """Of one point, roughly."""
        products = _PRODUCT_NANOSECONDS * (self._degrees + 1.0) ** 2
        return float(2 * np.sum(self._blocks * (_PANEL_NANOSECONDS + products)) + _SORT_NANOSECONDS)

    @property
    def fits(self) -> bool:
        """Whether panels are of like lengths."""
        return bool(self._blocks.max() <= _BLOCKS_PER_PANEL_MAX)

    def sums(self, points: Float, keys: Float, weights: Float, odd: bool) -> Float:
        """`sum_j w_j f(|x - y_j|)`, `(m,)`; with `odd` times the sign of x - y, 0 for keys in the place of a point."""
        order, queue = np.argsort(keys, kind="stable"), np.argsort(points, kind="stable")
        y, x = keys[order], points[queue]
        block = ((y - y[0]) / self._block).astype(np.int64)
        running = np.empty((y.size, int(self._degrees.max()) + 1))
        _run_up(y, weights[order], block, y[0] + 0.5 * self._block, self._block, running)
        stretches, found = pieces(x.size, _POINTS_PER_PIECE), np.empty(x.size)

        def work(piece: int) -> None:
            here = slice(*stretches[piece])
            panels = self._ends, self._middles, self._scales, self._coefficients, self._degrees
            _sum_panels(x[here], y, block, running, self._block, panels, odd, found[here])

        run_pieces(work, len(stretches), x.size * len(self._degrees))
        out = np.empty(x.size)
        out[queue] = found
        return out


def sorted_plan(table: Piecewise) -> SortedPlan | None:
    """How to sum by sorting; None where panels are of too different lengths."""
    if not table.coefficients.any():
        return None
    plan = SortedPlan(table)
    return plan if plan.fits else None


@kernel
def _run_up(y: Float, weights: Float, block: AnyArray, first: float, length: float, running: Float) -> None:
    """running[i, m] = sum of w_j v_j^m over the keys of i's block up to i, v from -1/2 to 1/2 across the block."""
    for i in range(y.size):
        v, term = (y[i] - (first + length * block[i])) / length, weights[i]
        goes_on = i > 0 and block[i] == block[i - 1]
        for m in range(running.shape[1]):
            running[i, m] = term + (running[i - 1, m] if goes_on else 0.0)
            term *= v


@kernel
def _place(y: Float, x: float, after: bool) -> int:
    """How many keys are below x; with `after`, below or at it."""
    low, high = 0, y.size
    while low < high:
        middle = (low + high) // 2
        if y[middle] < x or (after and y[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _moved(y: Float, x: float, after: bool, place: int) -> int:
    """The same for an x a little beyond one whose place is known."""
    while place < y.size and (y[place] < x or (after and y[place] == x)):
        place += 1
    return place


@kernel
def _stretch(
    start: int, stop: int, block: AnyArray, running: Float, about: Float, slope: float, row: Float, room: Float
) -> float:
    """`sum_j w_j p(t_j)` over the keys from start to stop, `t = about[0] + slope (block + v)` with coefficients row."""
    total, i = 0.0, start
    while i < stop:
        here = block[i]
        low, high = i, stop
        if block[stop - 1] != here:  # the end of the block
            while low < high:
                middle = (low + high) // 2
                if block[middle] == here:
                    low = middle + 1
                else:
                    high = middle
        end = high
        shift = about[0] + slope * here
        for k in range(row.size):
            room[k] = row[k]
        for k in range(row.size - 1):  # Taylor's shift: coefficients about t = shift
            for m in range(row.size - 2, k - 1, -1):
                room[m] = fused(room[m + 1], shift, room[m])
        power, goes_on = 1.0, i > 0 and block[i - 1] == here
        for m in range(row.size):
            moment = running[end - 1, m] - (running[i - 1, m] if goes_on else 0.0)
            total = fused(room[m] * power, moment, total)
            power *= slope
        i = end
    return total


@allocating_kernel
def _sum_panels(
    x: Float,
    y: Float,
    block: AnyArray,
    running: Float,
    length: float,
    panels: tuple[Float, Float, Float, Float, AnyArray],
    odd: bool,
    out: Float,
) -> None:
    """out = the sums at ascending points."""
    ends, middles, scales, coefficients, degrees = panels
    first = y[0] + 0.5 * length
    room, about = np.empty(coefficients.shape[1]), np.empty(1)
    places = np.empty((2, 2, degrees.size), dtype=np.int64)
    for q in range(x.size):
        total = 0.0
        for p in range(degrees.size):
            row, degree = coefficients[p], degrees[p]
            for side in range(2):  # keys below the point, r = x - y, and above it
                sign = 1.0 if side == 0 else -1.0
                low = x[q] - ends[1, p] if side == 0 else x[q] + ends[0, p]
                high = x[q] - ends[0, p] if side == 0 else x[q] + ends[1, p]
                touching = ends[0, p] == 0.0  # keys in the place of the point are below it, or left out
                for end in range(2):
                    edge, after = low, touching or side == 0
                    if end == 1:
                        edge, after = high, touching and side == 0 and not odd
                    if q == 0:
                        places[side, end, p] = _place(y, edge, after)
                    else:
                        places[side, end, p] = _moved(y, edge, after, places[side, end, p])
                about[0] = (sign * (x[q] - first) - middles[p]) * scales[p]
                slope = -sign * length * scales[p]
                start, stop = places[side, 0, p], places[side, 1, p]
                value = _stretch(start, stop, block, running, about, slope, row[: degree + 1], room[: degree + 1])
                total += sign * value if odd else value
        out[q] = total
