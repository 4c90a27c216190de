"""From scattered points to the nodes of a regular grid and back, by local polynomials of degree 15.

A sum of a smooth function of differences, `sum_j m_j F(x_i - y_j)`, is then a convolution on the grid, which Fourier
transforms do: masses are spread to nodes by the transpose of interpolation, convolved, and interpolated. Time linear in
points, and N log N in nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.fused import fused
from mfpde.transform.lanes import LANES, add_multiple, load, store
from mfpde.transform.scattered_kernels import POINTS_PER_BLOCK, lagrange_rows
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = [
    "STENCIL",
    "STENCIL_NODES",
    "STENCIL_WEIGHTS",
    "RegularGrid",
    "interpolated",
    "interpolated_on_lattice",
    "lagrange_basis",
    "places",
    "spread",
]

STENCIL = 2 * LANES  # nodes along an axis that a point is interpolated from
_BEFORE = STENCIL // 2 - 1  # of them, up to the one before the point
_POINTS_PER_PIECE = 1 << 14  # whose numbers stay in the cache
_BATCHES = 8  # of masses, each with a grid of its own, whatever the number of threads

#: of a stencil, where its two middle ones are 0 and 1
STENCIL_NODES: Float = np.arange(-_BEFORE, STENCIL - _BEFORE, dtype=float)
#: of their Lagrange polynomials
STENCIL_WEIGHTS: Float = np.array([1.0 / np.prod([x - y for y in STENCIL_NODES if y != x]) for x in STENCIL_NODES])


class RegularGrid(NamedTuple):
    """Nodes `start + spacing k` along each axis, `shape` of them."""

    start: Float
    spacing: float
    shape: tuple[int, ...]


def lagrange_basis(t: Float) -> Float:
    """Values `(STENCIL, n)` of the polynomials of a stencil's nodes, at places t in [0, 1] between its middle ones."""
    away = t - STENCIL_NODES[:, None]
    others = np.array([np.delete(away, node, axis=0).prod(axis=0) for node in range(STENCIL)])
    return np.asarray(STENCIL_WEIGHTS[:, None] * others)


@kernel
def places(x: Float, start: float, spacing: float, count: int, first: AnyArray, t: Float) -> None:
    """The first node of each point's stencil, and the place of the point in it."""
    for q in range(x.size):
        u = (x[q] - start) / spacing
        cell = min(max(int(np.floor(u)), _BEFORE), count - 1 - STENCIL + _BEFORE)
        first[q], t[q] = cell - _BEFORE, u - cell


@allocating_kernel
def _spread(
    points: Float, masses: Float, start: Float, spacing: float, nodes: Float, weights: Float, out: Float
) -> None:
    """out `(n_1, n_2)` += masses at points `(2, m)`; where n_1 = 1 those of the first axis count for nothing."""
    size, columns, flat = nodes.size, out.shape[1], out.reshape(out.size)
    first, t = np.zeros((2, POINTS_PER_BLOCK), dtype=np.int64), np.empty(POINTS_PER_BLOCK)
    ahead, basis = np.empty(POINTS_PER_BLOCK), np.ones((2, size, POINTS_PER_BLOCK))
    row, factors = np.empty(size), np.ones(1 if out.shape[0] == 1 else size)
    for low in range(0, masses.size, POINTS_PER_BLOCK):
        width = min(POINTS_PER_BLOCK, masses.size - low)
        for k in range(1 if out.shape[0] == 1 else 0, 2):
            places(points[k, low : low + width], start[k], spacing, out.shape[k], first[k], t)
            lagrange_rows(t[:width], nodes, weights, ahead, basis[k])
        for q in range(width):
            for k in range(size):
                row[k] = masses[low + q] * basis[1, k, q]
            for i in range(factors.size):
                factors[i] = basis[0, i, q]
            at = first[0, q] * columns + first[1, q]
            left, right = load(row, 0), load(row, LANES)
            for i in range(factors.size):
                store(flat, at, add_multiple(factors, i, left, load(flat, at)))
                store(flat, at + LANES, add_multiple(factors, i, right, load(flat, at + LANES)))
                at += columns


class _Room(NamedTuple):
    """Of what interpolates at a block of points."""

    first: AnyArray  # nodes of their stencils
    t: Float
    ahead: Float
    basis: Float
    row: Float
    factors: Float
    nothing: Float


@kernel
def _interpolate_block(points: Float, fields: Float, start: Float, spacing: float, nodes: Float, weights: Float,
                       room: _Room, low: int, out: Float) -> None:  # fmt: skip
    """out `(parts, m)`, from low on, = fields `(parts, n_1, n_2)` at a block of points `(2, width)`."""
    size, width, (parts, rows, columns) = nodes.size, points.shape[1], fields.shape
    first, basis, flat = room.first, room.basis, fields.reshape(fields.size)
    for k in range(1 if rows == 1 else 0, 2):
        places(points[k], start[k], spacing, fields.shape[k + 1], first[k], room.t)
        lagrange_rows(room.t[:width], nodes, weights, room.ahead, basis[k])
    for q in range(width):
        for i in range(room.factors.size):
            room.factors[i] = basis[0, i, q]
        for part in range(parts):
            at = (part * rows + first[0, q]) * columns + first[1, q]
            left, right = load(room.nothing, 0), load(room.nothing, 0)
            for i in range(room.factors.size):
                left = add_multiple(room.factors, i, load(flat, at), left)
                right = add_multiple(room.factors, i, load(flat, at + LANES), right)
                at += columns
            store(room.row, 0, left)
            store(room.row, LANES, right)
            total = 0.0
            for k in range(size):
                total = fused(room.row[k], basis[1, k, q], total)
            out[part, low + q] = total


@allocating_kernel
def _room(size: int, rows: int) -> _Room:
    """For stencils of that size, on so many rows."""
    first, t, ahead = np.zeros((2, POINTS_PER_BLOCK), np.int64), np.empty(POINTS_PER_BLOCK), np.empty(POINTS_PER_BLOCK)
    basis, factors = np.ones((2, size, POINTS_PER_BLOCK)), np.ones(1 if rows == 1 else size)
    return _Room(first, t, ahead, basis, np.empty(size), factors, np.zeros(LANES))


@allocating_kernel
def _interpolate(
    points: Float, fields: Float, start: Float, spacing: float, nodes: Float, weights: Float, out: Float
) -> None:
    """out `(parts, m)` = fields `(parts, n_1, n_2)` at points `(2, m)`."""
    room = _room(nodes.size, fields.shape[1])
    for low in range(0, points.shape[1], POINTS_PER_BLOCK):
        block = points[:, low : low + POINTS_PER_BLOCK]
        _interpolate_block(block, fields, start, spacing, nodes, weights, room, low, out)


@allocating_kernel
def _interpolate_lattice(
    axes: tuple[Float, Float],
    frame: tuple[Float, Float],
    fields: Float,
    start: Float,
    nodes: Float,
    weights: Float,
    out: Float,
) -> None:
    """out `(parts, rows * columns)` = fields on nodes one apart at the points `origin + matrix z`, z on a grid of two
    axes."""
    (rows, columns), (origin, matrix) = axes, frame
    room, points = _room(nodes.size, fields.shape[1]), np.empty((2, POINTS_PER_BLOCK))
    for i in range(rows.size):
        for low in range(0, columns.size, POINTS_PER_BLOCK):
            width = min(POINTS_PER_BLOCK, columns.size - low)
            for k in range(2):
                begun = origin[k] + matrix[k, 0] * rows[i]
                for j in range(width):
                    points[k, j] = begun + matrix[k, 1] * columns[low + j]
            at = i * columns.size + low
            _interpolate_block(points[:, :width], fields, start, 1.0, nodes, weights, room, at, out)


def _columns(points: Float, grid: RegularGrid) -> tuple[Float, Float]:
    """Points `(2, m)` and start of the grid `(2,)`, the line as the second axis."""
    if len(grid.shape) == 2:
        return np.ascontiguousarray(points.T), grid.start
    return np.ascontiguousarray(np.broadcast_to(points.T, (2, points.shape[0]))), np.repeat(grid.start, 2)


def spread(points: Float, masses: Float, grid: RegularGrid) -> Float:
    """Masses at points `(m, d)` moved to the nodes, in the grid's shape; d is 1 or 2."""
    batches = pieces(masses.size, max(_POINTS_PER_PIECE, -(-masses.size // _BATCHES)))
    moved = np.zeros((len(batches), *_matrix_shape(grid)))

    def work(piece: int) -> None:
        here = slice(*batches[piece])
        columns, start = _columns(points[here], grid)
        _spread(columns, masses[here], start, grid.spacing, STENCIL_NODES, STENCIL_WEIGHTS, moved[piece])

    run_pieces(work, len(batches))
    return moved.sum(axis=0).reshape(grid.shape)


def interpolated(points: Float, fields: Float, grid: RegularGrid) -> Float:
    """Fields `(parts, *shape)` at points `(m, d)`: `(parts, m)`."""
    stretches, out = pieces(points.shape[0], _POINTS_PER_PIECE), np.empty((fields.shape[0], points.shape[0]))
    tables = np.ascontiguousarray(fields).reshape(-1, *_matrix_shape(grid))

    def work(piece: int) -> None:
        here = slice(*stretches[piece])
        columns, start = _columns(points[here], grid)
        _interpolate(columns, tables, start, grid.spacing, STENCIL_NODES, STENCIL_WEIGHTS, out[:, here])

    run_pieces(work, len(stretches))
    return out


def interpolated_on_lattice(
    axes: tuple[Float, Float], frame: tuple[Float, Float], fields: Float, start: Float
) -> Float:
    """Fields `(parts, n_1, n_2)` on nodes one apart, from `start` on, at the points `origin + matrix z`, z on the grid
    of these axes: `(parts, m)`."""
    columns = axes[1].size
    stretches = pieces(axes[0].size, max(1, _POINTS_PER_PIECE // columns))
    out = np.empty((fields.shape[0], axes[0].size * columns))

    def work(piece: int) -> None:
        low, high = stretches[piece]
        here = out[:, low * columns : high * columns]
        rows = axes[0][low:high], axes[1]
        _interpolate_lattice(rows, frame, fields, start, STENCIL_NODES, STENCIL_WEIGHTS, here)

    run_pieces(work, len(stretches))
    return out


def _matrix_shape(grid: RegularGrid) -> tuple[int, int]:
    return (1, grid.shape[0]) if len(grid.shape) == 1 else (grid.shape[0], grid.shape[1])
