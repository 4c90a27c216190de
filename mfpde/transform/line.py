"""Queries and nodes anywhere on the line."""

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
    log_masses_of,
    over_largest,
    plain,
    tilted_mean_directly,
)
from mfpde.transform.line_tilts import tilt_line
from mfpde.transform.scattered_kernels import POINTS, collect_line, find_panels, interpolate_line
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = [
    "MAX_EXPONENT",
    "LinePlan",
    "collect",
    "interpolate_on_line",
    "level_out",
    "panel_indices",
    "plan_on_line",
    "tilted_mean_on_line",
]

#: half-width of a panel of w (or y) times the largest |y| (or |w|): 16 points leave 1e-14, roundoff grows by e^3.4
MAX_EXPONENT = 1.7
_POINTS_PER_PIECE = 1 << 14  # whose numbers stay in the cache


def tilted_mean_on_line(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m,)` for nodes and masses `(n,)`; time linear in m + n."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    log_factors, common = over_largest(log_factors)
    plan = plan_on_line(queries, nodes)
    if plan is None:
        mean, log_mass = tilted_mean_directly(queries[:, None], nodes[:, None], masses, log_factors)
    else:
        mean, log_mass = plan.interpolate(queries, *plan.tilt(nodes, masses, log_factors))
    return mean[:, 0], log_mass + common


class LinePlan(NamedTuple):
    """Panels of nodes, about their centre, and of queries, about a common offset if that is large."""

    centre: float
    offset: float
    nodes: Panels
    queries: Panels

    @classmethod
    def of(cls, queries: Float, nodes: Float, extent: float = MAX_EXPONENT) -> LinePlan:
        """For nodes and queries within the boxes of these."""
        (low, high), (least, most) = ((float(end[0]) for end in bounds_of(each[:, None])) for each in (nodes, queries))
        centre, reach = 0.5 * (low + high), 0.5 * (high - low)
        # without it large w would need smaller panels of the nodes
        offset = 0.5 * (least + most) if abs(least + most) > most - least else 0.0
        least, most = least - offset, most - offset
        sources = cut(-reach, reach, max(-least, most, 0.0), extent)
        return cls(centre, offset, sources, cut(least, most, reach, extent))

    def work(self, points: int) -> tuple[float, float]:
        """Nanoseconds, roughly: of the sums over Chebyshev points, and for so many nodes and queries."""
        return 40.0 * self.nodes.number * self.queries.number + 5e4, 15.0 * points

    def collect(self, nodes: Float, masses: Float, log_factors: Float | None) -> tuple[Float, Float]:
        """The masses at Chebyshev points, the queries' common offset folded in."""
        nodes = nodes.reshape(-1)
        if self.offset != 0.0:
            own = self.offset * (nodes - self.centre)
            log_factors = own if log_factors is None else own + log_factors
        return collect(nodes, masses, log_factors, self.centre, self.nodes)

    def tilt(self, nodes: Float, masses: Float, log_factors: Float | None) -> tuple[Float, Float]:
        """Values of (M, M') over e^level on the queries' panels, and level."""
        return tilt_line(*self.collect(nodes, masses, log_factors), self.nodes, self.queries)

    def interpolate(self, queries: Float, values: Float, level: Float) -> tuple[Float, Float]:
        """`(grad log M, log M)`: `(m, 1)`, `(m,)`."""
        queries = queries.reshape(-1)
        out = interpolate_on_line(queries - self.offset, self.queries, values, level)
        return out[1][:, None] + self.centre, out[0] + self.centre * queries


def plan_on_line(queries: Float, nodes: Float, extent: float = MAX_EXPONENT) -> LinePlan | None:
    """How to sum by panels; None where the direct sum is cheaper."""
    counts = counts_of(queries, nodes)
    pairs = counts[0] * counts[1]
    if pairs < MIN_PAIRS_TO_PLAN:
        return None
    plan = LinePlan.of(queries, nodes, extent)
    return plan if sum(plan.work(sum(counts))) < PAIR_NANOSECONDS * pairs else None


def interpolate_on_line(queries: Float, panels: Panels, values: Float, level: Float) -> Float:
    """`(parts, m)`: the logarithm of the first of the values `(panels, parts, POINTS)`, the others divided by it."""
    points, weights = chebyshev_points(POINTS), interpolation_weights(POINTS)
    out, stretches = np.empty((values.shape[1], queries.size)), pieces(queries.size, _POINTS_PER_PIECE)

    def interpolate(piece: int) -> None:
        here = slice(*stretches[piece])
        interpolate_line(queries[here], panels, points, weights, values, level, out[:, here])

    run_pieces(interpolate, len(stretches))
    return out


def collect(
    nodes: Float, masses: Float, log_factors: Float | None, centre: float, panels: Panels
) -> tuple[Float, Float]:
    """Masses moved to the Chebyshev points of the panels, `(panels, POINTS)`, over e^level, and level `(panels,)`.

    Panels are about the centre. Within a panel 1e-16 of its largest mass is negligible under any tilt, but not beside
    another panel: each has a level of its own.
    """
    points, weights = chebyshev_points(POINTS), interpolation_weights(POINTS)
    local, level = nodes - centre, np.zeros(panels.number)
    if log_factors is not None:
        masses, level = level_out(masses, log_factors, panel_indices(local, panels), panels.number)
    batches = pieces(nodes.size, max(_POINTS_PER_PIECE, -(-nodes.size // 64)))  # by size only: sums keep their order
    moved = np.zeros((len(batches), panels.number, POINTS))

    def work(piece: int) -> None:
        here = slice(*batches[piece])
        collect_line(local[here], masses[here], panels, points, weights, moved[piece])

    run_pieces(work, len(batches))
    return shared().sum(moved.sum(axis=0)), level


def panel_indices(x: Float, panels: Panels) -> AnyArray:
    """The panel that each x lies on."""
    indices = np.empty(x.size, dtype=np.int64)
    find_panels(x, panels, indices)
    return indices


def level_out(masses: Float, log_factors: Float, panel: AnyArray, count: int) -> tuple[Float, Float]:
    """Masses over e^level of their panel, and the panels' levels, the largest `log m + f`."""
    log_masses = log_masses_of(masses, log_factors)
    level = np.full(count, -np.inf)
    np.maximum.at(level, panel, log_masses)
    level = shared().most(level)
    level[level == -np.inf] = 0.0  # no mass there
    return np.exp(log_masses - level[panel]), level
