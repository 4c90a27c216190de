"""Second moments of the tilted measure about its own mean."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["spread_by_products", "spread_directly", "tilt_second"]

_BLOCK = 128  # queries whose sums stay in the nearest cache
_NODES = 128  # nodes whose products stay in the second cache


@allocating_kernel
def spread_directly(queries: Float, nodes: Float, log_masses: Float, level: Float, mean: Float, out: Float) -> None:
    """out = covariances (11, 12, 13, 22, 23, 33) for queries, nodes and means in rows of components; level is log M.

    An error of the mean counts squared only.
    """
    sums = np.empty((7, _BLOCK))
    for start in range(0, queries.shape[1], _BLOCK):
        count = min(_BLOCK, queries.shape[1] - start)
        w, c, top = queries[:, start : start + count], mean[:, start : start + count], level[start : start + count]
        w1, w2, w3, c1, c2, c3 = w[0], w[1], w[2], c[0], c[1], c[2]
        s0, s11, s12, s13 = sums[0, :count], sums[1, :count], sums[2, :count], sums[3, :count]
        s22, s23, s33 = sums[4, :count], sums[5, :count], sums[6, :count]
        sums[:] = 0.0
        for j in range(log_masses.size):
            y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
            for q in range(count):
                e = exponential((weight - top[q]) + (w1[q] * y1 + (w2[q] * y2 + w3[q] * y3)))
                u1, u2, u3 = y1 - c1[q], y2 - c2[q], y3 - c3[q]
                e1, e2, e3 = e * u1, e * u2, e * u3
                s0[q] += e
                s11[q] += e1 * u1
                s12[q] += e1 * u2
                s13[q] += e1 * u3
                s22[q] += e2 * u2
                s23[q] += e2 * u3
                s33[q] += e3 * u3
        for part in range(6):
            for q in range(count):
                out[part, start + q] = sums[1 + part, q] / s0[q]


@kernel
def _weigh(query: Float, turned: Float, log_masses: Float, level: float, weight: Float) -> float:
    """weight = e^{log m + <w, y> - level}; returns its sum."""
    for j in range(weight.size):
        weight[j] = log_masses[j] - level
    for i in range(query.size):
        row = turned[i]
        for j in range(weight.size):
            weight[j] += query[i] * row[j]
    total = 0.0
    for j in range(weight.size):
        weight[j] = exponential(weight[j])
        total += weight[j]
    return total


@allocating_kernel
def spread_by_products(
    query: Float, nodes: Float, turned: Float, log_masses: Float, level: float, mean: Float, out: Float
) -> None:
    """out = covariance `(d, d)` at one query: products of a few weighted nodes at a time with themselves.

    d and n are multiples of four, filled with zeros and -inf; `turned` is the nodes' transpose.
    """
    dimension = nodes.shape[1]
    weights = np.empty(_NODES)
    left, right, part = np.empty((dimension, _NODES)), np.empty((_NODES, dimension)), np.empty(out.shape)
    out[:] = 0.0
    total = 0.0
    for start in range(0, nodes.shape[0], _NODES):
        size = min(_NODES, nodes.shape[0] - start)
        weight, rows = weights[:size], turned[:, start : start + size]
        total += _weigh(query, rows, log_masses[start : start + size], level, weight)
        for i in range(dimension):
            row, centred, centre = rows[i], left[i], mean[i]
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


@allocating_kernel
def tilt_second(
    log_masses: Float,
    signs: Float,
    nodes: Float,
    centres: Float,
    powers: Float,
    about: Float,
    level: Float,
    values: Float,
) -> None:
    """values[a, :, k] = sum_q (1, u, u^2) m_q e^{w_k y_q - level_a}, u = y_q - about_a."""
    for panel in range(centres.size):
        v0, v1, v2 = values[panel, 0], values[panel, 1], values[panel, 2]
        for k in range(v0.size):
            v0[k] = 0.0
            v1[k] = 0.0
            v2[k] = 0.0
        for q in range(nodes.size):
            tilted = signs[q] * exponential(log_masses[q] + centres[panel] * nodes[q] - level[panel])
            u, row = nodes[q] - about[panel], powers[q]
            first, second = tilted * u, tilted * u * u
            for k in range(v0.size):
                v0[k] += tilted * row[k]
                v1[k] += first * row[k]
                v2[k] += second * row[k]
