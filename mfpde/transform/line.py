"""Queries and nodes anywhere on the line."""

from __future__ import annotations

import numpy as np

from mfpde.transform.chebyshev import Panels, chebyshev_points, cut, interpolation_weights
from mfpde.transform.direct import FEW_PAIRS, plain, tilted_mean_directly
from mfpde.transform.scattered_kernels import POINTS, collect_line, interpolate_line
from mfpde.transform.threads import pieces, run_pieces
from mfpde.transform.tilts import tilt_line
from mfpde.typing import Float

__all__ = ["EXTENT", "collect", "tilted_mean_on_line"]

#: of w or y on a panel times the other's reach: 16 points leave 1e-14, and roundoff grows by e^3.4
EXTENT = 1.7
_BATCH = 1 << 14


def tilted_mean_on_line(queries: Float, nodes: Float, masses: Float) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m,)` for nodes and masses `(n,)`; time linear in m + n."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    if queries.size * nodes.size < FEW_PAIRS:
        mean, log_mass = tilted_mean_directly(queries[:, None], nodes[:, None], masses)
        return mean[:, 0], log_mass
    low, high = float(nodes.min()), float(nodes.max())
    centre, reach = 0.5 * (low + high), 0.5 * (high - low)
    least, most = float(queries.min()), float(queries.max())
    sources = cut(-reach, reach, max(-least, most, 0.0), EXTENT)
    targets = cut(least, most, reach, EXTENT)
    work = POINTS * sources.number * targets.number * 2.5 + 25.0 * (nodes.size + queries.size) + 2e4
    if work > 1.0 * queries.size * nodes.size:
        mean, log_mass = tilted_mean_directly(queries[:, None], nodes[:, None], masses)
        return mean[:, 0], log_mass
    moved = collect(nodes, masses, centre, sources)
    values, level = tilt_line(moved.ravel(), sources, targets)
    points, weights = chebyshev_points(POINTS), interpolation_weights(POINTS)
    out, stretches = np.empty((2, queries.size)), pieces(queries.size, _BATCH)

    def interpolate(piece: int) -> None:
        here = slice(*stretches[piece])
        interpolate_line(queries[here], targets.start, targets.half, points, weights, values, level, out[:, here])

    run_pieces(interpolate, len(stretches))
    return out[1] + centre, out[0] + centre * queries


def collect(nodes: Float, masses: Float, centre: float, panels: Panels) -> Float:
    """Masses moved to the Chebyshev points of the panels, `(panels, POINTS)`; panels are about the centre."""
    points, weights = chebyshev_points(POINTS), interpolation_weights(POINTS)
    batches = pieces(nodes.size, max(_BATCH, -(-nodes.size // 64)))  # by size only: sums keep their order
    moved = np.zeros((len(batches), panels.number, POINTS))

    def work(piece: int) -> None:
        here = slice(*batches[piece])
        local = nodes[here] - centre
        collect_line(local, masses[here], panels.start, panels.half, panels.number, points, weights, moved[piece])

    run_pieces(work, len(batches))
    return moved.sum(axis=0)
