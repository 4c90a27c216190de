"""Interactions of a density on a lattice, by convolution with what acts between its nodes.

Where W is smooth on the scale of the cells, `sum_j m_j F(x - y_j)` is as accurate as the nodes are. On the line a W
with kinks, or structure between the nodes, is integrated against the polynomials that interpolate the density,

    int F(x_i - y) rho(y) dy = sum_j m_j F_{i-j},      F_n = sum_k int_0^1 F(h (n + k - t)) l_k(t) dt,

with Gauss points on both sides of every kink: of order sixteen wherever the kinks are. In the plane the plain sum over
nodes is of order two where the force has kinks, of order one where it jumps.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mfpde.attention.grid_sums import actions, spacing_of
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_quadrature import kinks_of
from mfpde.geometry import Geometry, Lattice, Queries
from mfpde.geometry.gauss import gauss_legendre
from mfpde.transform.regular_grid import STENCIL, STENCIL_NODES, RegularGrid, interpolated, lagrange_basis
from mfpde.typing import AnyArray, Float

__all__ = ["sums_over_lattice"]

_SAME_PLACE = 1e-9  # of a cell: points of the lattice itself, but for rounding
_RESOLVED_SPACINGS = 2.0  # of those that interpolation needs: the plain sum over nodes is then right to rounding
_NODES_MAX = {1: 2**17, 2: 2**22}  # of both windows together, by dimension: 100 MB
_GAUSS_POINTS = 12  # between neighbouring nodes and kinks: l_k has degree 15, F is smooth

Window = tuple[tuple[int, int], ...]


def sums_over_lattice(
    potential: PairPotential, space: Geometry, what: str, lattice: Lattice, masses: Float, queries: Queries
) -> Float | None:
    """`sum_j m_j F(x_i - y_j)`, `(parts, m)`: components of forces, values or Laplacians; None where tables, or
    windows, do not do."""
    widths = np.array([axis[1] - axis[0] for axis in lattice.axes])
    steps = lattice.matrix * widths
    corner = lattice.origin + lattice.matrix @ np.array([axis[0] for axis in lattice.axes])
    places = np.linalg.solve(steps, (queries.points() - corner).T).T
    own = places.shape[0] == masses.size and _is_grid(places, lattice.shape)
    if own:
        window: Window = tuple((0, count) for count in lattice.shape)
    else:
        low = np.floor(places.min(axis=0)).astype(int) - STENCIL // 2
        high = np.ceil(places.max(axis=0)).astype(int) + STENCIL // 2 + 1
        window = tuple(zip(low.tolist(), high.tolist(), strict=True))
    found = _convolved(potential, space, what, steps, lattice.shape, masses, window)
    if found is None:
        return None
    if own:
        return found.reshape(found.shape[0], -1)
    starts = np.array([start for start, _ in window], dtype=float)
    return interpolated(places, found, RegularGrid(starts, 1.0, found.shape[1:]))


def _is_grid(places: Float, shape: tuple[int, ...]) -> bool:
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, len(shape))
    return float(np.abs(places - grid).max()) < _SAME_PLACE


def _convolved(
    potential: PairPotential,
    space: Geometry,
    what: str,
    steps: Float,
    shape: tuple[int, ...],
    masses: Float,
    window: Window,
) -> Float | None:
    """At the nodes of the window, `(parts, *window)`, which are counted from the first of the lattice."""
    sizes = tuple(count + stop - start - 1 for count, (start, stop) in zip(shape, window, strict=True))
    if math.prod(sizes) > _NODES_MAX[len(shape)]:
        return None
    spectra = _spectra(potential, space, what, steps.tobytes(), shape, window)
    if spectra is None:
        return None
    padded, axes = tuple(map(_padded, sizes)), tuple(range(len(shape)))
    moved = np.fft.rfftn(masses.reshape(shape), padded, axes=axes)
    found = np.fft.irfftn(spectra * moved, padded, axes=tuple(axis + 1 for axis in axes))
    kept = tuple(slice(count - 1, size) for count, size in zip(shape, sizes, strict=True))
    return np.ascontiguousarray(found[(slice(None), *kept)])


def _padded(size: int) -> int:
    """The next size that transforms are fast for."""
    from scipy.fft import next_fast_len

    return int(next_fast_len(size, real=True))


@lru_cache(maxsize=16)
def _spectra(
    potential: PairPotential, space: Geometry, what: str, steps: bytes, shape: tuple[int, ...], window: Window
) -> Float | None:
    matrix = np.frombuffer(steps).reshape(len(shape), len(shape))
    offsets = [
        np.arange(start - count + 1, stop, dtype=float) for count, (start, stop) in zip(shape, window, strict=True)
    ]
    acting = None
    if len(shape) == 1 and not _resolved(potential, space, what, abs(matrix[0, 0]), offsets[0]):
        acting = _product_weights(potential, space, what, float(matrix[0, 0]), offsets[0])
    if acting is None:
        grid = np.meshgrid(*offsets, indexing="ij")
        acting = actions(potential, space, what, tuple(np.tensordot(matrix, np.stack(grid), axes=1)))
    if acting is None:
        return None
    axes = tuple(range(1, acting.ndim))
    return np.asarray(np.fft.rfftn(acting, tuple(map(_padded, acting.shape[1:])), axes=axes))


def _resolved(potential: PairPotential, space: Geometry, what: str, width: float, offsets: Float) -> bool:
    spacing = spacing_of(potential, space, what, _reach(width, offsets))
    return spacing is not None and width <= _RESOLVED_SPACINGS * spacing


def _reach(width: float, offsets: Float) -> float:
    return 2.0 ** math.ceil(math.log2(1.01 * width * float(np.abs(offsets).max() + STENCIL)))


def _product_weights(
    potential: PairPotential, space: Geometry, what: str, width: float, offsets: Float
) -> Float | None:
    """`F_n` for these n, consecutive, `(1, n)`."""
    rim = STENCIL // 2
    cells = np.arange(offsets[0] - rim + 1, offsets[-1] + rim + 1)  # F is asked on [q - 1, q] h
    kinks = kinks_of(potential, _reach(abs(width), offsets)) / abs(width)
    cell, t, shares = _gauss_points(cells, np.concatenate([-kinks, [0.0], kinks]))
    acting = actions(potential, space, what, (width * (cells[cell] - t),))
    if acting is None:
        return None
    moments = np.zeros((STENCIL, cells.size))
    for row, basis in zip(moments, lagrange_basis(t), strict=True):
        np.add.at(row, cell, acting[0] * shares * basis)
    found = np.zeros(offsets.size)
    for row, node in zip(moments, STENCIL_NODES.astype(int), strict=True):
        first = node + rim - 1
        found += row[first : first + offsets.size]
    return found[None]


def _gauss_points(cells: Float, kinks: Float) -> tuple[AnyArray, Float, Float]:
    """Of t in [0, 1] in each cell: which cell, t, and the weight; on either side of a kink, which is at `q - t`."""
    points, weights = gauss_legendre(_GAUSS_POINTS)
    inside = kinks[(kinks > cells[0] - 1) & (kinks < cells[-1])]
    ends = np.unique(np.concatenate([[cells[0] - 1], cells, inside]))
    cell = np.clip(np.ceil(ends[1:]) - cells[0], 0, cells.size - 1).astype(np.int64)
    length = np.diff(ends)
    places = ends[:-1, None] + 0.5 * length[:, None] * (1 + points)
    every = np.repeat(cell, _GAUSS_POINTS)
    return every, cells[every] - places.ravel(), (length[:, None] * weights).ravel()
