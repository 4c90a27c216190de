"""Averages of written densities over cells: edges may cut the cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure.adaptive_plane_quadrature import OfTwo, Rectangles, graded_twice
from mfpde.measure.adaptive_quadrature import Items, OfItems, graded, split, sum_by
from mfpde.measure.cells import averages_by_gauss
from mfpde.measure.edge_search import crossings
from mfpde.measure.support_search import beside
from mfpde.measure.written_density import WrittenDensity
from mfpde.typing import Float, Truths

__all__ = ["averages_with_edges"]


_ACCURACY = 1e-14  # of averages, relative
_POINTS = 10  # Gauss points along a side of a cell
_CHECK_POINTS = 7  # of the rule that it is compared with
_AGREEMENT = 1e-9  # relative difference of rules with ten and seven points: ten are then right to roundoff
_EDGE_SAMPLES = 8  # along a side, between which edges are searched
_CELLS_PER_BATCH = 200  # bounds memory


def averages_with_edges(density: WrittenDensity, lattice: Lattice, floor: float) -> Float:
    """Averages over the cells about a lattice's points, per unit volume. The density is not known better than to
    `floor`."""
    if lattice.dimension == 1:
        return _on_line(density, lattice, floor)
    averages, fewer = (
        averages_by_gauss(lambda finer: density(finer.points()), lattice, points) for points in (_POINTS, _CHECK_POINTS)
    )
    rough = np.abs(averages - fewer) > _AGREEMENT * averages
    rough |= _cut(density, lattice) & beside(averages > 0)
    cells = np.argwhere(rough)
    for start in range(0, len(cells), _CELLS_PER_BATCH):
        some = cells[start : start + _CELLS_PER_BATCH]
        averages[some[:, 0], some[:, 1]] = _averages_of(density, lattice, some, floor)
    return averages


def _halves(lattice: Lattice) -> list[float]:
    return [0.5 * (axis[-1] - axis[0]) / (axis.size - 1) for axis in lattice.axes]


def _on_line(density: WrittenDensity, lattice: Lattice, floor: float) -> Float:
    def along(function: Callable[[Float], Float]) -> OfItems:
        return lambda _item, z: function((lattice.origin + lattice.matrix[0, 0] * z)[:, None])

    (half,), (axis,) = _halves(lattice), lattice.axes
    low, high = axis - half, axis + half
    item, edges, _, _ = crossings([along(kink) for kink in density.kinks], low, high, _EDGE_SAMPLES)
    panels = split(low, high, item, edges, np.ones(edges.size, dtype=bool))
    cell, _, masses = graded(along(density), panels, _ACCURACY, _POINTS, floor)
    return sum_by(cell, masses, axis.size) / (2 * half)


def _cut(density: WrittenDensity, lattice: Lattice) -> Truths:
    """Cells whose faces are cut by an edge."""
    cut = np.zeros(lattice.shape, dtype=bool)
    for axis, view in enumerate((cut, cut.T)):
        _mark(view, density, lattice, axis)
    return cut


def _mark(cut: Truths, density: WrittenDensity, lattice: Lattice, axis: int) -> None:
    """The cells `(across, along)` beside the faces across one axis where an edge crosses these."""
    order = [axis, 1 - axis]
    (across, along), (width, step) = (lattice.axes[k] for k in order), (2 * _halves(lattice)[k] for k in order)
    faces = np.append(across - 0.5 * width, across[-1] + 0.5 * width)
    low, high = np.full(faces.size, along[0] - 0.5 * step), np.full(faces.size, along[-1] + 0.5 * step)

    def on_faces(kink: Callable[[Float], Float]) -> OfItems:
        return lambda face, t: kink(np.column_stack([faces[face], t])[:, order] @ lattice.matrix.T + lattice.origin)

    face, t, _, _ = crossings([on_faces(kink) for kink in density.kinks], low, high, 4 * along.size)
    place = np.clip((t - low[0]) // step, 0, along.size - 1).astype(int)
    for side in (face - 1, face):
        inside = (side >= 0) & (side < across.size)
        cut[side[inside], place[inside]] = True


def _averages_of(density: WrittenDensity, lattice: Lattice, cells: Items, floor: float) -> Float:
    def across(function: Callable[[Float], Float]) -> OfTwo:
        return lambda _item, t, u: function(np.column_stack([t, u]) @ lattice.matrix.T + lattice.origin)

    middles = [axis[cells[:, i]] for i, axis in enumerate(lattice.axes)]
    (t, u), (t_half, u_half) = middles, _halves(lattice)
    where = Rectangles(t - t_half, t + t_half, u - u_half, u + u_half, _EDGE_SAMPLES)
    kinks = [across(kink) for kink in density.kinks]
    item, _, _, masses = graded_twice(across(density), kinks, where, 10 * _ACCURACY, _POINTS, floor)
    return sum_by(item, masses, len(cells)) / (4 * t_half * u_half)
