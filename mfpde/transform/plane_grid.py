"""Tensor grids of the plane: the plan of panels, and its evaluation in threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.transform.chebyshev import Panels, chebyshev_points, chebyshev_transform, cut
from mfpde.transform.plane_kernels import POINTS, PanelQueries, PanelRule, piece_room, transform_panel
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["CALL_NANOSECONDS", "MAX_EXPONENT", "GridPlan", "evaluate_plan", "make_plan"]

_CELLS_PER_PIECE = 1 << 14  # whose numbers stay in the cache
MAX_EXPONENT = 2.8  # half-width of a panel of w times the largest |y|: 20 points leave 1e-14, roundoff grows by e^5.6
CALL_NANOSECONDS = 4e3  # to start a piece of work
Axes = tuple[Float, Float]


class GridPlan(NamedTuple):
    """Which component of y is summed first and which of x is interpolated, and the panels of the first's w."""

    row: int
    column: int
    ratio: float
    shifts: Float  # w_row = pivot x_column + shifts(x_other)
    slopes: Float  # w_other = ratio (w_row - shifts(x_other)) + slopes(x_other)
    panels: Panels
    begin: Float  # (panels + 1, x_other): where the queries of a panel begin along x_column
    cost: float  # nanoseconds, roughly


def _plan(row: int, column: int, node_axes: Axes, query_axes: Axes, matrix: Float, offset: Float) -> GridPlan:
    other_row, other_column = 1 - row, 1 - column
    pivot = float(matrix[row, column])
    ratio = float(matrix[other_row, column]) / pivot if pivot != 0.0 else 0.0
    position, across = query_axes[column], query_axes[other_column]
    shifts = matrix[row, other_column] * across + offset[row]
    slopes = matrix[other_row, other_column] * across + offset[other_row]
    ends = pivot * position[[0, -1]]
    low, high = float(shifts.min() + ends.min()), float(shifts.max() + ends.max())
    extent = np.abs(node_axes[row]).max() + abs(ratio) * np.abs(node_axes[other_row]).max()
    panels = cut(low, high, float(extent), MAX_EXPONENT)
    first, second = node_axes[row].size, node_axes[other_row].size
    met = (float(np.ptp(ends)) + 2 * panels.half) / (high - low + 2 * panels.half)
    per_panel = second * (first * (0.9 + POINTS / 10) + across.size * met * (0.7 + 3 * POINTS / 20))
    cost = panels.number * (per_panel + CALL_NANOSECONDS) + 4.0 * position.size * across.size
    return GridPlan(row, column, ratio, shifts, slopes, panels, np.zeros(0), cost)


def make_plan(node_axes: Axes, query_axes: Axes, matrix: Float, offset: Float) -> GridPlan:
    """The cheapest order of the components; axes are ascending, about their middle."""
    largest = np.abs(matrix).max()
    orders = [(row, column) for row in (0, 1) for column in (1, 0) if abs(matrix[row, column]) >= 0.1 * largest]
    plans = [_plan(row, column, node_axes, query_axes, matrix, offset) for row, column in orders]
    # interpolating along the second axis writes the results in place
    return min(plans, key=lambda plan: plan.cost * (1.0 if plan.column == 1 else 1.1))


def _beginnings(plan: GridPlan, position: Float, pivot: float) -> tuple[Float, Float]:
    """(begin, end) of each panel's queries, `(panels, x_other)`."""
    edges = plan.panels.start + 2 * plan.panels.half * np.arange(1, plan.panels.number)
    bounds = np.zeros((plan.panels.number + 1, plan.shifts.size), dtype=np.int64)
    blocks = pieces(edges.size, max(1, (_CELLS_PER_PIECE >> 2) // plan.shifts.size))

    def work(piece: int) -> None:
        begin, end = blocks[piece]
        bounds[1 + begin : 1 + end] = np.searchsorted(position, (edges[begin:end, None] - plan.shifts) / pivot)

    if pivot != 0.0:
        run_pieces(work, len(blocks))
    bounds[0 if pivot < 0.0 else -1] = position.size
    return np.minimum(bounds[:-1], bounds[1:]), np.maximum(bounds[:-1], bounds[1:])


def evaluate_plan(plan: GridPlan, node_axes: Axes, query_axes: Axes, log_masses: Float, pivot: float) -> Float:
    """`(log M, mean_1, mean_2)`, `(3, x_other, x_column)`; log_masses with the component summed first as rows."""
    first, second = node_axes[plan.row], node_axes[1 - plan.row]
    position, panels = query_axes[plan.column], plan.panels
    begin, end = _beginnings(plan, position, pivot)
    offsets = panels.half * chebyshev_points(POINTS)[:, None]
    powers = np.exp(offsets * first)
    lean = np.exp(plan.ratio * offsets * second)
    rule = PanelRule(first, second, np.concatenate([powers, powers * first]), lean, chebyshev_transform(POINTS))
    queries = PanelQueries(position, pivot, plan.shifts, plan.ratio, plan.slopes, panels.half)
    out, centres = np.empty((3, plan.shifts.size, position.size)), panels.centres
    parts = (out[0], out[1 + plan.row], out[2 - plan.row])

    def work(panel: int) -> None:
        room = piece_room(first.size, second.size, plan.shifts.size)
        transform_panel(log_masses, rule, queries, float(centres[panel]), begin[panel], end[panel], room, parts)

    run_pieces(work, panels.number)
    return out
