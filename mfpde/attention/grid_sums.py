"""Sums of smooth interactions on the line and the plane, in time linear in the number of tokens."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.attention.pair_tables import tables_of
from mfpde.geometry import Geometry
from mfpde.ranks import shared
from mfpde.transform.direct import common_bounds, counts_of
from mfpde.transform.piecewise import values_of
from mfpde.transform.radial import TABLE_PAIR_NANOSECONDS
from mfpde.transform.regular_grid import STENCIL, RegularGrid, interpolated, lagrange_basis, spread
from mfpde.typing import Float

__all__ = ["GridPlan", "actions", "grid_plan", "spacing_of"]

#: of interpolation, relative to the largest force (value, Laplacian), by dimension: a finer grid of the plane is large
_ERROR_MAX = {1: 1e-12, 2: 1e-11}
_NODES_MAX = {1: 2**17, 2: 1280}  # along an axis, by dimension: 40 MB, and a second for the transforms
_INTERVALS_FIRST = 16.0  # of the reach, at least, of the coarsest grid tried; others are finer by factors of sqrt(2)
#: of the largest polynomial: panels with more are no wider than the coarsest spacing, so that no structure is between
#: nodes
_SIGNIFICANT_SHARE = 1e-8
_STRIP_NODES = 600  # along the axis, of the differences at which a spacing is judged: the finest structure is near 0
#: of spreading and interpolating a point, by dimension
_POINT_NANOSECONDS = {1: 50.0, 2: 150.0}
_TRANSFORM_NANOSECONDS = 60.0  # of each node, for all transforms


class GridPlan(NamedTuple):
    """A grid over the box of points and keys, and the transform of what acts between its nodes."""

    grid: RegularGrid
    spectra: Float

    def sums(self, points: Float, keys: Float, weights: Float) -> Float:
        """`sum_j w_j F(x_i - y_j)`, `(parts, m)`: components of forces, or values."""
        shape, axes = self.grid.shape, tuple(range(1, 1 + len(self.grid.shape)))
        padded = _padded(shape)
        masses = shared().sum(spread(keys, weights, self.grid))
        moved = np.fft.rfftn(masses, padded, axes=tuple(range(len(shape))))
        fields = np.fft.irfftn(self.spectra * moved, padded, axes=axes)
        return interpolated(points, fields[(slice(None), *(slice(count) for count in shape))], self.grid)


def grid_plan(
    potential: PairPotential, space: Geometry, what: str, reach: float, points: Float, keys: Float
) -> GridPlan | None:
    """How to sum by a grid; None where all pairs are cheaper, or W is not smooth enough."""
    dimension = space.ambient_dimension
    sizes = counts_of(points, keys)
    count, pairs = sum(sizes), float(sizes[0]) * sizes[1]
    if not space.flat or dimension > 2 or TABLE_PAIR_NANOSECONDS * pairs < _POINT_NANOSECONDS[dimension] * count:
        return None
    spacing = spacing_of(potential, space, what, reach)
    if spacing is None:
        return None
    low, high = common_bounds(points, keys)
    intervals = np.ceil((high - low) / spacing)
    if intervals.max() + STENCIL > _NODES_MAX[dimension]:
        return None
    shape = tuple(_rounded_up(int(each) + STENCIL + 1) for each in intervals)
    work = _POINT_NANOSECONDS[dimension] * count + _TRANSFORM_NANOSECONDS * math.prod(_padded(shape))
    if work > TABLE_PAIR_NANOSECONDS * pairs:
        return None
    spectra = _spectra(potential, space, what, spacing, shape)
    if spectra is None:
        return None
    middle = 0.5 * (np.array(shape) - 1) * spacing
    return GridPlan(RegularGrid(0.5 * (low + high) - middle, spacing, shape), spectra)


def _rounded_up(count: int) -> int:
    """So that a grid lasts while tokens move, and transforms are fast: 2^k, 5 2^(k-2), 3 2^(k-1), 7 2^(k-2)."""
    power = 2 ** max(2, math.floor(math.log2(count)))
    return next(size for size in (power, 5 * power // 4, 3 * power // 2, 7 * power // 4, 2 * power) if size >= count)


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """So that no sum runs around."""
    return tuple(2 * count for count in shape)


def actions(potential: PairPotential, space: Geometry, what: str, differences: tuple[Float, ...]) -> Float | None:
    """What acts over differences, given along each axis (they broadcast): `(parts, *shape)`."""
    distances = np.sqrt(sum(part * part for part in differences))
    reach = 2.0 ** math.ceil(math.log2(1.01 * float(distances.max())))
    tables = tables_of(potential, space, reach, what)
    if tables is None:
        return None
    found = np.empty(distances.size)
    values_of(tables[0], distances.ravel(), found)
    values = found.reshape(distances.shape)
    if what != "slopes":
        return values[None]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(distances > 0, values / distances, 0.0)
    return np.stack([ratio * part for part in differences])


@lru_cache(maxsize=8)
def _spectra(
    potential: PairPotential, space: Geometry, what: str, spacing: float, shape: tuple[int, ...]
) -> Float | None:
    steps = [np.fft.fftfreq(count, 1.0 / count) * spacing for count in _padded(shape)]
    forces = actions(potential, space, what, tuple(np.meshgrid(*steps, indexing="ij", sparse=True)))
    if forces is None:
        return None
    return np.asarray(np.fft.rfftn(forces, axes=tuple(range(1, forces.ndim))))


@lru_cache(maxsize=64)
def spacing_of(potential: PairPotential, space: Geometry, what: str, reach: float) -> float | None:
    """The widest spacing on which interpolation, of points and of keys in the middle between nodes, leaves no more than
    the error allowed."""
    tables = tables_of(potential, space, reach, what)
    if tables is None or kinks_of(potential, reach).size:
        return None
    half = lagrange_basis(np.array([0.5]))[:, 0]
    both = np.convolve(half, half[::-1])  # of differences, from - 15 to 15 steps
    sizes = np.abs(tables[0].coefficients).sum(axis=1)
    narrowest = 2.0 / float(tables[0].scales[sizes >= _SIGNIFICANT_SHARE * sizes.max()].max())
    spacing = min(reach / _INTERVALS_FIRST, narrowest)
    while reach / spacing < _NODES_MAX[space.ambient_dimension]:
        error = _interpolation_error(potential, space, what, reach, spacing, both)
        if error is None:
            return None
        if error <= _ERROR_MAX[space.ambient_dimension]:
            return spacing
        spacing /= math.sqrt(2.0)
    return None


def _interpolation_error(
    potential: PairPotential, space: Geometry, what: str, reach: float, spacing: float, weights: Float
) -> float | None:
    """Along an axis of the plane, beside it where forces across are not 0."""
    count, rim = min(int(reach / spacing) + 1, _STRIP_NODES), STENCIL - 1
    along: Float = spacing * np.arange(-rim, count + rim, dtype=float)
    if space.ambient_dimension == 1:
        forces = actions(potential, space, what, (along,))
        if forces is None:
            return None
        found = np.array([np.convolve(part, weights, mode="valid") for part in forces])
        exact = forces[:, rim:-rim]
    else:
        across: Float = spacing * np.arange(2 - rim, 3 + rim, dtype=float)
        forces = actions(potential, space, what, (along[:, None], across[None, :]))
        if forces is None:
            return None
        found = np.array([np.convolve(part @ weights, weights, mode="valid") for part in forces])
        exact = forces[:, rim:-rim, rim]
    largest = float(np.abs(exact).max())
    return float(np.abs(found - exact).max()) / largest if largest > 0 else 0.0
