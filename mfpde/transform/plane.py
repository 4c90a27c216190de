"""Queries and nodes anywhere in the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.transform.chebyshev import Panels, chebyshev_points, cut, interpolation_weights
from mfpde.transform.direct import FEW_PAIRS, PAIR, plain, tilted_mean_directly
from mfpde.transform.line import level_out, panel_indices
from mfpde.transform.plane_tilts import tilt_plane
from mfpde.transform.scattered_plane_kernels import collect_plane, interpolate_plane
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["PlanePlan", "collect_in_plane", "interpolate_in_plane", "plan_in_plane", "tilted_mean_in_plane"]

# points along a panel's side and its extent in w or y times the other's reach; both leave 1e-14 before roundoff
_LAYOUTS = ((16, 1.7), (20, 2.8))
_BATCH = 1 << 14


class PlanePlan(NamedTuple):
    """Panels of nodes (about `centre`) and of queries (about `offset`), and how many points they have along a side."""

    order: int
    centre: Float
    offset: Float
    nodes: tuple[Panels, Panels]
    queries: tuple[Panels, Panels]
    work: float  # nanoseconds, roughly

    def factors(self, nodes: Float, log_factors: Float | None) -> Float | None:
        """What multiplies the masses, the queries' common offset included."""
        if not self.offset.any():
            return log_factors
        own: Float = (nodes - self.centre) @ self.offset
        return own if log_factors is None else own + log_factors


def tilted_mean_in_plane(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m, 2)` for nodes `(n, 2)`; time linear in m + n."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    plan = plan_in_plane(queries, nodes)
    if plan is None:
        return tilted_mean_directly(queries, nodes, masses, log_factors)
    order, centre, offset = plan.order, plan.centre, plan.offset
    log_factors = plan.factors(nodes, log_factors)
    y1, y2 = plan.nodes
    common = np.zeros((y1.number, y2.number))
    if log_factors is not None:
        panel = [panel_indices(nodes[:, i] - centre[i], panels) for i, panels in enumerate((y1, y2))]
        masses, levels = level_out(masses, log_factors, panel[0] * y2.number + panel[1], common.size)
        common = levels.reshape(common.shape)
    moved = collect_in_plane(nodes, masses, centre, y1, y2, order)
    values, level = tilt_plane(moved, common, (y1, y2), plan.queries, order)
    out = interpolate_in_plane(queries - offset if offset.any() else queries, *plan.queries, values, level, 3, order)
    return out[1:].T + centre, out[0] + queries @ centre


def plan_in_plane(queries: Float, nodes: Float) -> PlanePlan | None:
    """How to sum by panels; None where the direct sum is cheaper."""
    pairs = float(queries.shape[0]) * nodes.shape[0]
    if pairs < FEW_PAIRS:
        return None
    low, high = _box(nodes)
    least, most = _box(queries)
    centre, reach = 0.5 * (low + high), 0.5 * (high - low)
    middle, half = 0.5 * (least + most), 0.5 * (most - least)
    far = np.abs(middle) > half  # a common offset would only cut the nodes' panels smaller
    offset = middle if far.any() else np.zeros(2)
    least, most = least - offset, most - offset
    size = np.maximum(np.maximum(-least, most), 0.0)
    plans = []
    for order, extent in _LAYOUTS:
        sources = [cut(-reach[i], reach[i], size[i], extent) for i in range(2)]
        targets = [cut(least[i], most[i], reach[i], extent) for i in range(2)]
        work = _work(sources, targets, order) + (40.0 + 0.15 * order**2) * (queries.shape[0] + nodes.shape[0])
        plans.append(PlanePlan(order, centre, offset, (sources[0], sources[1]), (targets[0], targets[1]), work))
    best = min(plans, key=lambda plan: plan.work)
    return best if best.work < PAIR * pairs else None


def _box(points: Float) -> tuple[Float, Float]:
    columns = points[:, 0], points[:, 1]  # numpy is ten times slower along the first axis
    return np.array([column.min() for column in columns]), np.array([column.max() for column in columns])


def _work(sources: list[Panels], targets: list[Panels], order: int) -> float:
    """Nanoseconds of the sums over Chebyshev points, roughly."""
    rows, columns = (order * panels.number for panels in sources)
    there = order * targets[1].number
    return targets[0].number * columns * (rows * (0.3 + order / 10) + there * (0.2 + 3 * order / 20)) + 3e4


def collect_in_plane(nodes: Float, masses: Float, centre: Float, y1: Panels, y2: Panels, order: int) -> Float:
    """Masses moved to the `order` Chebyshev points of each panel; panels are about the centre."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    batches = pieces(nodes.shape[0], max(_BATCH, -(-nodes.shape[0] // 16)))  # by size only: sums keep their order
    moved = np.zeros((len(batches), order * y1.number, order * y2.number))
    sides = np.array([y1.number, y2.number])

    def work(piece: int) -> None:
        for begin, end in pieces(batches[piece][1] - batches[piece][0], _BATCH):
            here = slice(batches[piece][0] + begin, batches[piece][0] + end)
            first, second = np.ascontiguousarray((nodes[here] - centre).T)
            place = (y1.start, y1.half, y2.start, y2.half, sides)
            collect_plane(first, second, masses[here], *place, points, weights, moved[piece])

    run_pieces(work, len(batches))
    return moved[0] if len(batches) == 1 else moved.sum(axis=0)


def interpolate_in_plane(
    queries: Float, w1: Panels, w2: Panels, values: Float, level: Float, parts: int, order: int
) -> Float:
    """(log M, mean) at the queries, `(parts, m)`, from values at the Chebyshev points of each panel."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    out, stretches = np.empty((parts, queries.shape[0])), pieces(queries.shape[0], _BATCH)
    tables, sides = values.reshape(level.size, parts * order, order), np.array(level.shape)

    def work(piece: int) -> None:
        here = slice(*stretches[piece])
        first, second = np.ascontiguousarray(queries[here].T)
        place = (w1.start, w1.half, w2.start, w2.half, sides)
        interpolate_plane(first, second, *place, points, weights, tables, level.ravel(), out[:, here])

    run_pieces(work, len(stretches))
    return out
