"""Sums over all pairs whose kernel is not an exponential of the score alone."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["sum_over_pairs"]

_NODES_PER_BLOCK = 128  # whose scores stay in the second-level cache


@kernel
def _positive_part(scores: Float, masses: Float, slope: bool) -> None:
    for j in range(scores.shape[0]):
        row, mass = scores[j], masses[j]
        for q in range(row.size):
            value = (1.0 if slope else row[q]) * mass
            row[q] = value if row[q] > 0.0 else 0.0


@kernel
def _logistic(scores: Float, masses: Float, slope: bool) -> None:
    """`1 / (1 + e^-s)` from `e^-|s|`, which cannot overflow; its slope is `e^-|s| / (1 + e^-|s|)^2`."""
    for j in range(scores.shape[0]):
        row, mass = scores[j], masses[j]
        for q in range(row.size):
            small = exponential(-abs(row[q]))
            share = mass / (1.0 + small)
            value = small * share / (1.0 + small) if slope else (share if row[q] > 0.0 else small * share)
            row[q] = value


@allocating_kernel
def sum_over_pairs(
    queries: Float, nodes: Float, values: Float, masses: Float, logistic: bool, slope: bool, out: Float
) -> None:
    """out = sum_j m_j k(<w, y_j>) v_j for queries `(d, m)`, nodes `(n, d)`, values `(c, n)`, out `(c, m)`.

    d, n and c are multiples of four, filled with zeros; a few nodes at a time, while their scores are in the cache.
    """
    count, filled = queries.shape[1], values.shape[0]
    scores, part = np.empty((_NODES_PER_BLOCK, count)), np.empty((filled, count))
    for i in range(filled):
        row = out[i]
        for q in range(count):
            row[q] = 0.0
    for start in range(0, nodes.shape[0], _NODES_PER_BLOCK):
        stop = min(start + _NODES_PER_BLOCK, nodes.shape[0])
        block = scores[: stop - start]
        multiply(nodes[start:stop], queries, block)
        if logistic:
            _logistic(block, masses[start:stop], slope)
        else:
            _positive_part(block, masses[start:stop], slope)
        multiply(values[:, start:stop], block, part)
        for i in range(filled):
            row, here = out[i], part[i]
            for q in range(count):
                row[q] += here[q]
