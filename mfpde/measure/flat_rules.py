"""Rules for written densities of the line and the plane that have edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.measure.adaptive_plane_quadrature import OfTwo, Rectangles, graded_twice, outer_extent
from mfpde.measure.adaptive_quadrature import POINTS, OfItems, graded, split
from mfpde.measure.edge_search import crossings
from mfpde.measure.support_search import Support
from mfpde.measure.written_density import WrittenDensity
from mfpde.typing import Float

__all__ = ["edges_on_line", "extent", "of_two", "rule_with_edges"]

_EDGE_SAMPLES = {1: 4096, 2: 256}  # along a side, by dimension, between which edges are searched


def rule_with_edges(density: WrittenDensity, support: Support, accuracy: float, finer: float) -> tuple[Float, Float]:
    """Points `(n, d)` and masses; `finer`, or 1 / `finer`, is a whole number."""
    cuts = [_finer(breaks, finer) for breaks in support.breaks]
    if len(cuts) == 1:
        edges = edges_on_line(density, support)
        every = np.concatenate([edges, cuts[0]])
        one = np.zeros(every.size, dtype=np.intp)
        panels = split(support.low, support.high, one, every, np.arange(every.size) < edges.size)
        _, x, masses = graded(_of_one(density), panels, accuracy, POINTS, support.floor)
        return x[:, None], masses
    kinks = [of_two(kink) for kink in density.kinks]
    _, x, y, masses = graded_twice(of_two(density), kinks, _rectangle(support, cuts), accuracy, POINTS, support.floor)
    return np.column_stack([x, y]), masses


def _finer(breaks: Float, finer: float) -> Float:
    """The starts of panels that are cut, or joined."""
    if finer < 1:
        return breaks[: -1 : round(1 / finer)]
    parts = round(finer)
    steps = np.arange(parts) / parts
    return (breaks[:-1, None] + np.diff(breaks)[:, None] * steps).ravel()


def edges_on_line(density: WrittenDensity, support: Support) -> Float:
    """Where there may be an edge or a kink, ascending."""
    return crossings([_of_one(kink) for kink in density.kinks], support.low, support.high, _EDGE_SAMPLES[1])[1]


def _of_one(function: Callable[[Float], Float]) -> OfItems:
    return lambda _item, t: function(t[:, None])


def of_two(function: Callable[[Float], Float]) -> OfTwo:
    """A function of points as one of (item, x, y)."""
    return lambda _item, x, y: function(np.column_stack([x, y]))


def _rectangle(support: Support, cuts: list[Float]) -> Rectangles:
    (x_low, y_low), (x_high, y_high) = support.low[:, None], support.high[:, None]
    return Rectangles(x_low, x_high, y_low, y_high, _EDGE_SAMPLES[2], cuts[0], cuts[1])


def extent(density: WrittenDensity, support: Support) -> tuple[Float, Float]:
    """The corners of the smallest box that holds a bounded support."""
    if support.low.size == 1:
        ends = np.concatenate([support.low, edges_on_line(density, support), support.high])
        there = density((0.5 * (ends[1:] + ends[:-1]))[:, None]) > 0
        return ends[:-1][there][:1], ends[1:][there][-1:]
    function, kinks = of_two(density), [of_two(kink) for kink in density.kinks]
    where = _rectangle(support, list(support.breaks))
    x = outer_extent(function, kinks, where)
    y = outer_extent(_swapped(function), [_swapped(kink) for kink in kinks], where.swapped())
    return np.array([x[0], y[0]]), np.array([x[1], y[1]])


def _swapped(function: OfTwo) -> OfTwo:
    return lambda item, t, u: function(item, u, t)
