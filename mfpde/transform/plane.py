"""Queries and nodes anywhere in the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.ranks import shared
from mfpde.transform.chebyshev import Panels, chebyshev_points, cut, interpolation_weights
from mfpde.transform.direct import (
    MIN_PAIRS_TO_PLAN,
    PAIR_NANOSECONDS,
    bounds_of,
    counts_of,
    over_largest,
    plain,
    tilted_mean_directly,
)
from mfpde.transform.line import level_out, panel_indices
from mfpde.transform.plane_tilts import tilt_plane
from mfpde.transform.scattered_plane_kernels import collect_plane, interpolate_plane
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = [
    "PlanePlan",
    "collect_in_plane",
    "interpolate_in_plane",
    "plan_in_plane",
    "tilted_mean_in_plane",
]

# by degree of the moments: Chebyshev points along a side of a panel, and its half-width in w (y) times the largest |y|
# (|w|); all leave 1e-14 before roundoff. y^2 takes two degrees of the polynomials, so panels are smaller for degree 2
_ORDERS = {1: ((16, 1.7), (20, 2.8)), 2: ((16, 1.3), (20, 2.3))}
_POINTS_PER_PIECE = 1 << 14  # whose numbers stay in the cache


def tilted_mean_in_plane(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m, 2)` for nodes `(n, 2)`; time linear in m + n."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    log_factors, common = over_largest(log_factors)
    plan = plan_in_plane(queries, nodes)
    if plan is None:
        mean, log_mass = tilted_mean_directly(queries, nodes, masses, log_factors)
    else:
        mean, log_mass = plan.interpolate(queries, *plan.tilt(nodes, masses, log_factors))
    return mean, log_mass + common


class PlanePlan(NamedTuple):
    """Panels of nodes, about their centre, and of queries, about a common offset if that is large, and how many points
    they have along a side."""

    order: int
    centre: Float
    offset: Float
    nodes: tuple[Panels, Panels]
    queries: tuple[Panels, Panels]

    @classmethod
    def of(cls, queries: Float, nodes: Float, degree: int = 1) -> PlanePlan:
        """The cheapest for nodes and queries within the boxes of these."""
        (low, high), (least, most) = bounds_of(nodes), bounds_of(queries)
        centre, reach = 0.5 * (low + high), 0.5 * (high - low)
        middle, half = 0.5 * (least + most), 0.5 * (most - least)
        far = np.abs(middle) > half  # without an offset large w would need smaller panels of the nodes
        offset = middle if far.any() else np.zeros(2)
        least, most = least - offset, most - offset
        size = np.maximum(np.maximum(-least, most), 0.0)
        plans = []
        for order, extent in _ORDERS[degree]:
            sources = [cut(-reach[i], reach[i], size[i], extent) for i in range(2)]
            targets = [cut(least[i], most[i], reach[i], extent) for i in range(2)]
            plans.append(cls(order, centre, offset, (sources[0], sources[1]), (targets[0], targets[1])))
        points = sum(counts_of(queries, nodes))
        return min(plans, key=lambda plan: sum(plan.work(points)))

    def work(self, points: int) -> tuple[float, float]:
        """Nanoseconds, roughly: of the sums over Chebyshev points, and for so many nodes and queries."""
        order = self.order
        rows, columns = (order * panels.number for panels in self.nodes)
        there = order * self.queries[1].number
        per_column = rows * (0.3 + order / 10) + there * (0.2 + 3 * order / 20)
        return self.queries[0].number * columns * per_column + 1e5, (40.0 + 0.15 * order**2) * points

    def tilt(self, nodes: Float, masses: Float, log_factors: Float | None, degree: int = 1) -> tuple[Float, Float]:
        """Values of (M, grad M), of degree 2 second moments too, over e^level on the queries' panels, and level."""
        (y1, y2), common = self.nodes, np.zeros([panels.number for panels in self.nodes])
        if self.offset.any():
            own = (nodes - self.centre) @ self.offset
            log_factors = own if log_factors is None else own + log_factors
        if log_factors is not None:
            panel = [panel_indices(nodes[:, i] - self.centre[i], panels) for i, panels in enumerate((y1, y2))]
            masses, levels = level_out(masses, log_factors, panel[0] * y2.number + panel[1], common.size)
            common = levels.reshape(common.shape)
        moved = collect_in_plane(nodes, masses, self.centre, y1, y2, self.order)
        return tilt_plane(moved, common, (y1, y2), self.queries, self.order, degree)

    def parts(self, queries: Float, values: Float, level: Float) -> Float:
        """Log M and the means of y_1, y_2; of degree 2 of y_1, y_1^2, y_2, y_1 y_2, y_2^2. y is about the centre."""
        local, parts = queries - self.offset if self.offset.any() else queries, values.shape[2] // self.order
        return interpolate_in_plane(local, *self.queries, values, level, parts, self.order)

    def interpolate(self, queries: Float, values: Float, level: Float) -> tuple[Float, Float]:
        """`(grad log M, log M)`: `(m, 2)`, `(m,)`."""
        out = self.parts(queries, values, level)
        return out[1:].T + self.centre, out[0] + queries @ self.centre


def plan_in_plane(queries: Float, nodes: Float, degree: int = 1) -> PlanePlan | None:
    """How to sum by panels; None where the direct sum is cheaper."""
    counts = counts_of(queries, nodes)
    pairs = counts[0] * counts[1]
    if pairs < MIN_PAIRS_TO_PLAN:
        return None
    plan = PlanePlan.of(queries, nodes, degree)
    return plan if sum(plan.work(sum(counts))) < degree * PAIR_NANOSECONDS * pairs else None


def collect_in_plane(nodes: Float, masses: Float, centre: Float, y1: Panels, y2: Panels, order: int) -> Float:
    """Masses moved to the `order` Chebyshev points of each panel; panels are about the centre."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    batches = pieces(
        nodes.shape[0], max(_POINTS_PER_PIECE, -(-nodes.shape[0] // 16))
    )  # by size only: sums keep their order
    moved = np.zeros((len(batches), order * y1.number, order * y2.number))

    def work(piece: int) -> None:
        for begin, end in pieces(batches[piece][1] - batches[piece][0], _POINTS_PER_PIECE):
            here = slice(batches[piece][0] + begin, batches[piece][0] + end)
            first, second = np.ascontiguousarray((nodes[here] - centre).T)
            collect_plane(first, second, masses[here], y1, y2, points, weights, moved[piece])

    run_pieces(work, len(batches))
    return shared().sum(moved[0] if len(batches) == 1 else moved.sum(axis=0))


def interpolate_in_plane(
    queries: Float, w1: Panels, w2: Panels, values: Float, level: Float, parts: int, order: int
) -> Float:
    """(log M, mean) at the queries, `(parts, m)`, from values at the Chebyshev points of each panel."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    out, stretches = np.empty((parts, queries.shape[0])), pieces(queries.shape[0], _POINTS_PER_PIECE)
    tables = values.reshape(level.size, parts * order, order)

    def work(piece: int) -> None:
        here = slice(*stretches[piece])
        first, second = np.ascontiguousarray(queries[here].T)
        interpolate_plane(first, second, w1, w2, points, weights, tables, level.ravel(), out[:, here])

    run_pieces(work, len(stretches))
    return out
