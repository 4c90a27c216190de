"""Sums of the logistic function in one and two dimensions by panels.

`1 / (1 + e^{-<w, y>})` is analytic in both arguments for `|Im <w, y>| < pi`. On panels of half-width at most 1.1 over
the other's reach the nearest pole is so far away that 20 Chebyshev points leave 1e-15: masses move to such points of
y, the sum over pairs of points is direct, queries interpolate between such points of w.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mfpde.transform.chebyshev import Panels, cut
from mfpde.transform.direct import MIN_PAIRS_TO_PLAN, bounds_of, counts_of, gathered
from mfpde.transform.plane import collect_in_plane, interpolate_in_plane
from mfpde.typing import Float

__all__ = ["sum_by_panels"]

_ORDER = 20  # Chebyshev points of a panel
_MAX_EXPONENT = 1.1  # half-width of a panel of w times the largest |y|: the poles are at i pi
_PAIRS_PER_POINT = 300.0  # pairs whose sum costs as much as moving a node or interpolating a query

#: queries (m, d), nodes (n, d), masses (n,) -> sums (m, c) over all pairs
Pairs = Callable[[Float, Float, Float], Float]
Box = tuple[Float, Float]


def sum_by_panels(queries: Float, nodes: Float, masses: Float, pairs: Pairs) -> Float:
    """`pairs(queries, nodes, masses)` through Chebyshev points where that costs less; masses of any sign."""
    dimension = nodes.shape[1]
    counts = counts_of(queries, nodes)
    direct = counts[0] * counts[1]
    if direct < MIN_PAIRS_TO_PLAN or dimension > 2:
        return pairs(queries, *gathered(nodes, masses))
    w, y = _in_plane(queries), _in_plane(nodes)
    box, range_ = bounds_of(y), bounds_of(w)
    centre, middle = (0.5 * (low + high) for low, high in (box, range_))
    sources, targets = _panels(box, centre, range_), _panels(range_, middle, box)
    between = math.prod(float(_ORDER * panels.number) for panels in (*sources, *targets))  # more than an int64 holds
    if between + _PAIRS_PER_POINT * sum(counts) > direct:
        return pairs(queries, *gathered(nodes, masses))
    moved = collect_in_plane(y, masses, centre, *sources, _ORDER).ravel()
    sums = pairs(_points(targets, middle)[:, :dimension], _points(sources, centre)[:, :dimension], moved)
    first, second = (panels.number for panels in targets)
    tables = sums.reshape(first, _ORDER, second, _ORDER, -1).transpose(0, 2, 4, 1, 3)
    ones = np.ones((first, second, 1, _ORDER, _ORDER))  # what is interpolated comes relative to its first part
    values = np.concatenate([ones, tables], axis=2).reshape(first, second, -1)
    level, parts = np.zeros((first, second)), 1 + sums.shape[1]
    return np.ascontiguousarray(interpolate_in_plane(w - middle, *targets, values, level, parts, _ORDER)[1:].T)


def _in_plane(points: Float) -> Float:
    """Points of the line as points of an axis of the plane."""
    return points if points.shape[1] == 2 else np.column_stack([points, np.zeros(points.shape[0])])


def _panels(box: Box, centre: Float, other: Box) -> tuple[Panels, Panels]:
    """Of a box about its centre, for the reach of the other argument."""
    (low, high), reach = (end - centre for end in box), np.maximum(-other[0], other[1])
    first, second = (cut(float(low[i]), float(high[i]), float(reach[i]), _MAX_EXPONENT) for i in range(2))
    return first, second


def _points(panels: tuple[Panels, Panels], about: Float) -> Float:
    grid = np.meshgrid(*(one.points(_ORDER) for one in panels), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1) + about
