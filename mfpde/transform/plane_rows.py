"""Tensor grids of the plane, row by row of the queries: for nearly triangular matrices of any size.

Along a row `w = A x + b` has one component that hardly varies, `w_1 = c + a x_2` with `|a x_2 y_1|` small: the sum over
y_1 is then needed at a few Chebyshev points of x_2, and the sum over y_2 at each x_2. Costs n^3 on n^2
cells, whatever the size of A; where |A| is not large, panels of many rows cost less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.transform.chebyshev import Panels, chebyshev_points, cut, interpolation_matrix
from mfpde.transform.plane_grid import CALL_NANOSECONDS
from mfpde.transform.plane_kernels import RowRule, piece_room, transform_rows
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["ROWS_PER_PIECE", "ROW_POINTS", "RowPlan", "evaluate_rows", "make_row_plan"]

# Chebyshev points, and the largest exponent on a panel for which they leave 1e-14 of the smallest value
ROW_POINTS = ((4, 2e-4), (8, 0.1), (12, 0.6), (16, 1.5), (20, 2.8))
ROWS_PER_PIECE = 4  # of the queries' grid
Axes = tuple[Float, Float]


class RowPlan(NamedTuple):
    """Which component of y is summed first, which of x runs along a row, and its panels."""

    row: int
    column: int
    points: int
    panels: Panels
    cost: float  # nanoseconds, roughly


def _plan(row: int, column: int, node_axes: Axes, query_axes: Axes, matrix: Float) -> RowPlan:
    along, across = query_axes[column], query_axes[1 - column]
    first, second = node_axes[row].size, node_axes[1 - row].size
    extent = abs(float(matrix[row, column])) * float(np.abs(node_axes[row]).max())
    panels = cut(float(along[0]), float(along[-1]), extent, ROW_POINTS[-1][1])
    points = next(points for points, most in ROW_POINTS if panels.half * extent <= most * (1 + 1e-12))
    met = along.size / panels.number
    per_panel = second * (first * (0.9 + points / 10) + met * (0.7 + 3 * points / 20))
    per_row = panels.number * (per_panel + CALL_NANOSECONDS / ROWS_PER_PIECE) + 4.0 * along.size
    return RowPlan(row, column, points, panels, across.size * per_row)


def make_row_plan(node_axes: Axes, query_axes: Axes, matrix: Float) -> RowPlan:
    """The cheapest order of the components; axes are ascending, about their middle."""
    plans = [_plan(row, column, node_axes, query_axes, matrix) for row in (0, 1) for column in (1, 0)]
    return min(plans, key=lambda plan: plan.cost)


def evaluate_rows(
    plan: RowPlan, node_axes: Axes, query_axes: Axes, log_masses: Float, matrix: Float, offset: Float
) -> Float:
    """`(log M, mean_1, mean_2)`, `(3, rows, along a row)`; log_masses with the component summed first as rows."""
    row, column, points, panels, _ = plan
    first, second = node_axes[row], node_axes[1 - row]
    along, across = query_axes[column], query_axes[1 - column]
    pushes = matrix[row, 1 - column] * across + offset[row]
    slopes = matrix[1 - row, 1 - column] * across + offset[1 - row]
    spread = panels.half * chebyshev_points(points)[:, None]
    powers = np.exp(float(matrix[row, column]) * spread * first)
    powers = np.concatenate([powers, powers * first])
    panel_of = np.minimum(((along - panels.start) / (2 * panels.half)).astype(np.int64), panels.number - 1)
    ends = np.searchsorted(panel_of, np.arange(panels.number + 1))
    rules = [
        RowRule(first, second, powers, interpolation_matrix(points, (along[begin:end] - centre) / panels.half).T.copy())
        for centre, begin, end in zip(panels.centres, ends[:-1], ends[1:], strict=True)
    ]
    out, blocks = np.empty((3, across.size, along.size)), pieces(across.size, ROWS_PER_PIECE)
    parts, other = (out[0], out[1 + row], out[2 - row]), float(matrix[1 - row, column])

    def work(piece: int) -> None:
        for centre, begin, rule in zip(panels.centres, ends, rules, strict=False):
            moved, beside = pushes + float(matrix[row, column]) * centre, along[begin : begin + rule.basis.shape[1]]
            room = piece_room(first.size, second.size, beside.size)
            transform_rows(log_masses, rule, moved, slopes, other * beside, blocks[piece], begin, room, parts)

    run_pieces(work, len(blocks))
    return out
