"""Queries and nodes anywhere in the plane."""

from __future__ import annotations

import numpy as np

from mfpde.transform.chebyshev import Panels, chebyshev_points, cut, interpolation_weights
from mfpde.transform.direct import FEW_PAIRS, plain, tilted_mean_directly
from mfpde.transform.line import EXTENT, level_out, panel_indices
from mfpde.transform.scattered_kernels import POINTS, collect_plane, interpolate_plane
from mfpde.transform.threads import pieces, run_pieces
from mfpde.transform.tilts import tilt_plane
from mfpde.typing import Float

__all__ = ["collect_in_plane", "interpolate_in_plane", "tilted_mean_in_plane"]

_BATCH = 1 << 12


def tilted_mean_in_plane(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`(grad log M, log M)` at queries `(m, 2)` for nodes `(n, 2)`; time linear in m + n."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    if queries.shape[0] * nodes.shape[0] < FEW_PAIRS:
        return tilted_mean_directly(queries, nodes, masses, log_factors)
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    centre, reach = 0.5 * (low + high), 0.5 * (high - low)
    least, most = queries.min(axis=0), queries.max(axis=0)
    size = np.maximum(np.maximum(-least, most), 0.0)
    y1, y2 = (cut(-reach[i], reach[i], size[i], EXTENT) for i in range(2))
    w1, w2 = (cut(least[i], most[i], reach[i], EXTENT) for i in range(2))
    if _work(y1, y2, w1, w2) + 80.0 * (queries.shape[0] + nodes.shape[0]) > 1.0 * queries.shape[0] * nodes.shape[0]:
        return tilted_mean_directly(queries, nodes, masses, log_factors)
    common = np.zeros((y1.number, y2.number))
    if log_factors is not None:
        panel = [panel_indices(nodes[:, i] - centre[i], panels) for i, panels in enumerate((y1, y2))]
        masses, levels = level_out(masses, log_factors, panel[0] * y2.number + panel[1], common.size)
        common = levels.reshape(common.shape)
    moved = collect_in_plane(nodes, masses, centre, y1, y2, POINTS)
    values, level = tilt_plane(moved, common, (y1, y2), (w1, w2))
    out = interpolate_in_plane(queries, w1, w2, values, level, 3, POINTS)
    return np.ascontiguousarray(out[1:].T) + centre, out[0] + queries @ centre


def _work(y1: Panels, y2: Panels, w1: Panels, w2: Panels) -> float:
    """Nanoseconds of the sums over Chebyshev points, roughly."""
    rows, columns = POINTS * y1.number, POINTS * y2.number
    return w1.number * columns * (rows * (0.9 + POINTS / 10) + POINTS * w2.number * (0.2 + 3 * POINTS / 20)) + 3e4


def collect_in_plane(nodes: Float, masses: Float, centre: Float, y1: Panels, y2: Panels, order: int) -> Float:
    """Masses moved to the `order` Chebyshev points of each panel; panels are about the centre."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    batches = pieces(nodes.shape[0], max(_BATCH, -(-nodes.shape[0] // 16)))  # by size only: sums keep their order
    moved = np.zeros((len(batches), order * y1.number, order * y2.number))

    def work(piece: int) -> None:
        for begin, end in pieces(batches[piece][1] - batches[piece][0], _BATCH):
            here = slice(batches[piece][0] + begin, batches[piece][0] + end)
            local = np.ascontiguousarray((nodes[here] - centre).T)
            collect_plane(
                local[0],
                local[1],
                masses[here],
                y1.start,
                y1.half,
                y1.number,
                y2.start,
                y2.half,
                y2.number,
                points,
                weights,
                moved[piece],
            )

    run_pieces(work, len(batches))
    return moved.sum(axis=0)


def interpolate_in_plane(
    queries: Float, w1: Panels, w2: Panels, values: Float, level: Float, parts: int, order: int
) -> Float:
    """(log M, mean) at the queries, `(parts, m)`, from values at the Chebyshev points of each panel."""
    points, weights = chebyshev_points(order), interpolation_weights(order)
    out, stretches = np.empty((parts, queries.shape[0])), pieces(queries.shape[0], _BATCH)

    def work(piece: int) -> None:
        here = slice(*stretches[piece])
        local = np.ascontiguousarray(queries[here].T)
        interpolate_plane(
            local[0],
            local[1],
            w1.start,
            w1.half,
            w2.start,
            w2.half,
            points,
            weights,
            values,
            level,
            out[:, here],
        )

    run_pieces(work, len(stretches))
    return out
