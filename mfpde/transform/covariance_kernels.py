"""Second moments of the tilted measure about its own mean."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.fused import fused
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["spread_by_products", "spread_directly"]

_QUERIES_PER_BLOCK = 128  # whose sums stay in the first-level cache
_NODES_PER_BLOCK = 128  # whose products stay in the second-level cache


@allocating_kernel
def spread_directly(queries: Float, nodes: Float, log_masses: Float, level: Float, mean: Float, out: Float) -> None:
    """out = covariances (11, 12, 13, 22, 23, 33) for queries, nodes and means in rows of components; level is log M.

    An error of the mean counts squared only.
    """
    sums, shares = np.empty((7, _QUERIES_PER_BLOCK)), np.empty(_QUERIES_PER_BLOCK)
    for start in range(0, queries.shape[1], _QUERIES_PER_BLOCK):
        count = min(_QUERIES_PER_BLOCK, queries.shape[1] - start)
        stop = start + count
        # one row at a time: the rows of a slice of all of them might not lie in one piece
        w1, w2, w3, top = queries[0, start:stop], queries[1, start:stop], queries[2, start:stop], level[start:stop]
        c1, c2, c3 = mean[0, start:stop], mean[1, start:stop], mean[2, start:stop]
        s0, s11, s12, s13 = sums[0, :count], sums[1, :count], sums[2, :count], sums[3, :count]
        s22, s23, s33, share = sums[4, :count], sums[5, :count], sums[6, :count], shares[:count]
        sums[:] = 0.0
        for j in range(log_masses.size):
            y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
            for q in range(count):
                share[q] = exponential(fused(w1[q], y1, fused(w2[q], y2, fused(w3[q], y3, weight - top[q]))))
            for q in range(count):  # a loop that writes to more places than this is not vectorised
                u1 = y1 - c1[q]
                first = share[q] * u1
                s0[q] += share[q]
                s11[q] += first * u1
                s12[q] += first * (y2 - c2[q])
                s13[q] += first * (y3 - c3[q])
            for q in range(count):
                u2, u3 = y2 - c2[q], y3 - c3[q]
                second, third = share[q] * u2, share[q] * u3
                s22[q] += second * u2
                s23[q] += second * u3
                s33[q] += third * u3
        for part in range(6):
            for q in range(count):
                out[part, start + q] = sums[1 + part, q] / s0[q]


@kernel
def _weigh(query: Float, transposed: Float, log_masses: Float, level: float, start: int, weight: Float) -> float:
    """weight = e^{log m + <w, y> - level} of the nodes from `start` on; returns its sum."""
    stop = start + weight.size
    own = log_masses[start:stop]
    for j in range(weight.size):
        weight[j] = own[j] - level
    for i in range(query.size):
        row, factor = transposed[i, start:stop], query[i]
        for j in range(weight.size):
            weight[j] += factor * row[j]
    total = 0.0
    for j in range(weight.size):
        weight[j] = exponential(weight[j])
        total += weight[j]
    return total


@allocating_kernel
def spread_by_products(
    query: Float, nodes: Float, transposed: Float, log_masses: Float, level: float, mean: Float, out: Float
) -> None:
    """out = covariance `(d, d)` at one query: products of a few weighted nodes at a time with themselves.

    d and n are multiples of four, filled with zeros and -inf; `transposed` is the nodes' transpose.
    """
    dimension = nodes.shape[1]
    weights = np.empty(_NODES_PER_BLOCK)
    left, right, part = (
        np.empty((dimension, _NODES_PER_BLOCK)),
        np.empty((_NODES_PER_BLOCK, dimension)),
        np.empty(out.shape),
    )
    out[:] = 0.0
    total = 0.0
    for start in range(0, nodes.shape[0], _NODES_PER_BLOCK):
        size = min(_NODES_PER_BLOCK, nodes.shape[0] - start)
        weight = weights[:size]
        total += _weigh(query, transposed, log_masses, level, start, weight)
        for i in range(dimension):
            row, centred, centre = transposed[i, start : start + size], left[i], mean[i]
            for j in range(size):
                right[j, i] = row[j] - centre
                centred[j] = weight[j] * (row[j] - centre)
        multiply(left[:, :size], right[:size], part)
        for i in range(dimension):
            for k in range(dimension):
                out[i, k] += part[i, k]
    for i in range(dimension):
        for k in range(dimension):
            out[i, k] /= total
