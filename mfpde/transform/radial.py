"""Sums over all pairs of a function of their distance, from its table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.transform.piecewise import Piecewise
from mfpde.transform.radial_kernels import CIRCLE, EUCLIDEAN, SPHERE, radial_forces, radial_values
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["CIRCLE", "EUCLIDEAN", "SPHERE", "forces_by_pairs", "values_by_pairs"]

_PAIRS_PER_PIECE = 1 << 16  # half a millisecond


def forces_by_pairs(
    space: int, points: Float, keys: Float, weights: Float, tables: tuple[Piecewise, Piecewise]
) -> Float:
    """`sum_j w_j f(|x - y_j|) (x - y_j) / |x - y_j|`, `(m, d)`: as `radial_forces`."""
    rows, columns, out = np.ascontiguousarray(points.T), np.ascontiguousarray(keys.T), np.empty(points.shape[::-1])

    def work(here: slice) -> None:
        found = np.empty((rows.shape[0], here.stop - here.start))
        radial_forces(space, np.ascontiguousarray(rows[:, here]), columns, weights, *tables, found)
        out[:, here] = found

    _run(work, points.shape[0], weights.size)
    return np.ascontiguousarray(out.T)


def values_by_pairs(
    space: int, points: Float, keys: Float, weights: Float, tables: tuple[Piecewise, Piecewise]
) -> Float:
    """`sum_j w_j f(|x - y_j|)`, `(m,)`: as `radial_values`."""
    rows, columns, out = np.ascontiguousarray(points.T), np.ascontiguousarray(keys.T), np.empty(points.shape[0])

    def work(here: slice) -> None:
        radial_values(space, np.ascontiguousarray(rows[:, here]), columns, weights, *tables, out[here])

    _run(work, points.shape[0], weights.size)
    return out


def _run(work: Callable[[slice], None], points: int, keys: int) -> None:
    blocks = pieces(points, max(1, _PAIRS_PER_PIECE // keys))
    run_pieces(lambda piece: work(slice(*blocks[piece])), len(blocks), points * keys)
