"""Sums of distances over all pairs of points."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["sum_of_distances"]

_ROWS = 64  # points whose sums are one piece of work


@kernel
def _sums(points: Float, nodes: Float, charges: Float, squares: Float, out: Float) -> None:
    """`sum_j q_j |x_i - y_j|` for nodes `(d, m)` and points `(n, d)`; coordinate by coordinate, no digits cancel."""
    for i in range(points.shape[0]):
        total = 0.0
        for j in range(nodes.shape[1]):
            squares[j] = 0.0
        for k in range(points.shape[1]):
            x, row = points[i, k], nodes[k]
            for j in range(row.size):
                away = x - row[j]
                squares[j] += away * away
        for j in range(nodes.shape[1]):
            squares[j] = charges[j] * np.sqrt(squares[j])
        for j in range(nodes.shape[1]):
            total += squares[j]
        out[i] = total


def sum_of_distances(points: Float, charges: Float) -> float:
    """`sum_ij q_i q_j |x_i - x_j|`, charges of any sign."""
    columns, potential = np.ascontiguousarray(points.T), np.empty(len(points))
    rows, blocks = np.ascontiguousarray(points), pieces(len(points), _ROWS)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        _sums(rows[here], columns, charges, np.empty(len(points)), potential[here])

    run_pieces(work, len(blocks), len(points) ** 2)
    return float(charges @ potential)
