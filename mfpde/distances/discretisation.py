"""Measures as points, for sums over pairs and for projections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.measure.rules import of_sphere
from mfpde.typing import Float

__all__ = ["as_points", "box_lattice"]

#: cells a side for a density in the plane
_CELLS = 128
_OUTSIDE = 1e-15  # mass that may lie outside of the cells
_DEGREE = 127  # of a rule for the sphere S^2: 8192 nodes


def as_points(measures: Sequence[Measure]) -> list[tuple[Float, Float]]:
    """Points in the ambient space and weights of each measure: its own, the cells of its grid, or nodes that all other
    densities share, so that what nodes leave out is the same for all: the cells of the only grid, 128 x 128 even cells
    in the plane, Gauss nodes on S^2. Along characteristics it is the nodes that are carried (tracing densities back
    takes seconds), elsewhere quadrature nodes."""
    dense = [each for each in measures if not each.pointlike and each.point_masses() is None]
    grids = [each for each in dense if each.lattices]
    written = [each for each in dense if not each.lattices]
    shared = _shared(written, grids) if written else None
    found = []
    for each in measures:
        if shared is None or each not in written:
            found.append(each.embedded_nodes())
        else:
            found.append(_weighted(each, *shared))
    return found


def _shared(written: Sequence[Measure], grids: Sequence[Measure]) -> tuple[Float, Float] | None:
    """Points, and the volumes these stand for."""
    space = written[0].space
    if space.flat and space.ambient_dimension == 2:
        lattices = [lattice for each in grids for lattice in each.lattices]
        points = (lattices[0] if len(lattices) == 1 else box_lattice(written, _CELLS)).points()
        return points, np.ones(len(points))
    return of_sphere(3, _DEGREE) if space.counts_as("sphere") and space.ambient_dimension == 3 else None


def _weighted(measure: Measure, points: Float, volumes: Float) -> tuple[Float, Float]:
    weights = volumes * np.maximum(measure.evaluate(points), 0.0)
    there = weights > 0
    return points[there], weights[there] / weights.sum()


def box_lattice(measures: Sequence[Measure], count: int) -> Lattice:
    """Even cells, so many a side, that hold all of these measures."""
    ends = [each.reach(_OUTSIDE) for each in measures]
    low, high = np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    return Lattice.of([a + (b - a) * (np.arange(count) + 0.5) / count for a, b in zip(low, high, strict=True)])
