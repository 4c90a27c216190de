"""Second moments of the nodes in a half-plane, for all half-planes through 0, by sorting angles."""

from __future__ import annotations

import numpy as np

from mfpde.transform.direct import plain
from mfpde.typing import Float

__all__ = ["relu_in_plane"]


def relu_in_plane(queries: Float, nodes: Float, masses: Float) -> Float:
    """`sum_{<w, y> > 0} m y y^T`, `(m, 2, 2)`, for queries and nodes in the plane.

    Nodes sorted by angle, repeated once: those of a half-plane are consecutive, and their sum a difference of running
    sums. A node within rounding of the edge may count on either side; there `y <w, y>` is about 0.
    """
    angles = np.arctan2(nodes[:, 1], nodes[:, 0])
    order = np.argsort(angles, kind="stable")
    angles, sorted_nodes, weights = angles[order], nodes[order], masses[order]
    first, second = sorted_nodes.T
    terms = weights * np.stack([first * first, first * second, second * second])
    once = np.concatenate([np.zeros((3, 1)), _running_sums(terms)], axis=1)
    sums = np.concatenate([once, once[:, 1:] + once[:, -1:]], axis=1)
    twice = np.concatenate([angles, angles + 2 * np.pi])
    edge = np.arctan2(queries[:, 1], queries[:, 0]) - 0.5 * np.pi
    edge = np.where(edge < -np.pi, edge + 2 * np.pi, edge)
    begin = np.searchsorted(twice, edge, side="right")
    end = np.searchsorted(twice, edge + np.pi, side="left")
    inside = sums[:, np.maximum(begin, end)] - sums[:, begin]
    inside[:, ~queries.any(axis=1)] = 0.0
    return plain(inside[[0, 1, 1, 2]].T).reshape(-1, 2, 2)


def _running_sums(terms: Float) -> Float:
    """Sums of the first 1, 2, .. n; with eleven more bits, since differences of long sums are taken."""
    return np.asarray(np.cumsum(terms, axis=1, dtype=np.longdouble), dtype=float)
