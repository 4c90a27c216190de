"""Sums over all pairs of a function of their distance, from its table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.activity import doing
from mfpde.transform.neighbour_cells import neighbours
from mfpde.transform.piecewise import Piecewise
from mfpde.transform.radial_kernels import CIRCLE, EUCLIDEAN, SPHERE, radial_forces, radial_values
from mfpde.transform.threads import pieces, run_pieces, thread_count
from mfpde.typing import Float

__all__ = ["CIRCLE", "EUCLIDEAN", "SPHERE", "TABLE_PAIR_NANOSECONDS", "forces_by_pairs", "values_by_pairs"]

#: of a pair whose force is read from tables; exponentials (`direct`) take a tenth of it
TABLE_PAIR_NANOSECONDS = 6.0
_PAIRS_PER_PIECE = 1 << 16  # half a millisecond
_PAIRS_SORTED_MIN = 1 << 18  # two milliseconds; sorting into cells takes some tenths of one
_NEAR_SHARE_MAX = 0.7  # of all pairs, that are near each other: with more, sorting and copying cost what it saves
_TOLD_SECONDS = 2.0  # sums that take longer are told

Tables = tuple[Piecewise, Piecewise]
#: points `(d, m)`, keys `(d, n)`, weights `(n,)`, out `(parts, m)`
Sum = Callable[[Float, Float, Float, Float], None]


def forces_by_pairs(space: int, points: Float, keys: Float, weights: Float, tables: Tables) -> Float:
    """`sum_j w_j f(|x - y_j|) (x - y_j) / |x - y_j|`, `(m, d)`: as `radial_forces`."""

    def add(rows: Float, columns: Float, masses: Float, out: Float) -> None:
        radial_forces(space, rows, columns, masses, *tables, out)

    return np.ascontiguousarray(_sums(add, points.shape[1], space, points, keys, weights, tables).T)


def values_by_pairs(space: int, points: Float, keys: Float, weights: Float, tables: Tables) -> Float:
    """`sum_j w_j f(|x - y_j|)`, `(m,)`: as `radial_values`."""

    def add(rows: Float, columns: Float, masses: Float, out: Float) -> None:
        radial_values(space, rows, columns, masses, *tables, out[0])

    return _sums(add, 1, space, points, keys, weights, tables)[0]


def _sums(add: Sum, parts: int, space: int, points: Float, keys: Float, weights: Float, tables: Tables) -> Float:
    """`(parts, m)`; of a function of compact support in R^d over pairs in cells near each other."""
    out = np.empty((parts, points.shape[0]))
    support = _support(tables[0])
    if space == EUCLIDEAN and support > 0 and points.shape[0] * weights.size >= _PAIRS_SORTED_MIN:
        near = neighbours(points, keys, support)
        if near.pairs <= _NEAR_SHARE_MAX * points.shape[0] * weights.size:
            _tell(near.pairs)
            rows = np.ascontiguousarray(points[near.points].T)
            columns = np.ascontiguousarray(np.column_stack([keys, weights])[near.keys].T)

            def work_near(cell: int) -> None:
                here = slice(*near.cells[cell])
                found, around = np.zeros((parts, here.stop - here.start)), near.near(cell, columns)
                add(np.ascontiguousarray(rows[:, here]), around[:-1], around[-1], found)
                out[:, near.points[here]] = found

            run_pieces(work_near, len(near.cells), int(near.pairs))
            return out
    _tell(float(points.shape[0]) * weights.size)
    rows, columns = np.ascontiguousarray(points.T), np.ascontiguousarray(keys.T)
    blocks = pieces(points.shape[0], max(1, _PAIRS_PER_PIECE // weights.size))

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        found = np.empty((parts, here.stop - here.start))
        add(np.ascontiguousarray(rows[:, here]), columns, weights, found)
        out[:, here] = found

    run_pieces(work, len(blocks), points.shape[0] * weights.size)
    return out


def _support(table: Piecewise) -> float:
    """The distance beyond which the function is 0."""
    return float(table.ends[table.coefficients.any(axis=1)].max(initial=0.0))


def _tell(pairs: float) -> None:
    """Say how long sums over so many pairs take, where that is long."""
    seconds = 1e-9 * TABLE_PAIR_NANOSECONDS * pairs / thread_count()
    if seconds > _TOLD_SECONDS:
        doing(f"summing {pairs:.2g} pairs of tokens, some {seconds:.2g} s for each evaluation of the force")
