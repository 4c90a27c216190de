"""The direct sum: one node at a time, for a block of queries."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import exponential
from mfpde.transform.fused import fused
from mfpde.transform.products import multiply
from mfpde.typing import AnyArray, Float

__all__ = ["sum_by_products", "sum_directly"]

_QUERIES_PER_BLOCK = 128  # whose sums stay in the first-level cache
_NODES_PER_SUBTOTAL = 4096  # bounds the rounding of long sums
_NODES_PER_BLOCK = 128  # whose scores stay in the second-level cache


@kernel
def _find_peak(w1: Float, w2: Float, w3: Float, nodes: Float, log_masses: Float, peak: Float) -> None:
    for q in range(peak.size):
        peak[q] = -np.inf
    for j in range(log_masses.size):
        y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
        for q in range(peak.size):
            score = fused(w1[q], y1, fused(w2[q], y2, fused(w3[q], y3, weight)))
            peak[q] = max(peak[q], score)


@allocating_kernel
def sum_directly(queries: Float, nodes: Float, log_masses: Float, bounded: bool, common: float, out: Float) -> None:
    """out = (log M, mean_1, mean_2, mean_3) for queries and nodes in rows of components, `(3, m)` and `(3, n)`.

    `bounded`: no score is further from `common` than 300, so no first pass is needed to find each query's largest.
    """
    partial, total, peak = (
        np.empty((4, _QUERIES_PER_BLOCK)),
        np.empty((4, _QUERIES_PER_BLOCK)),
        np.empty(_QUERIES_PER_BLOCK),
    )
    for start in range(0, queries.shape[1], _QUERIES_PER_BLOCK):
        count = min(_QUERIES_PER_BLOCK, queries.shape[1] - start)
        w1, w2, w3 = (
            queries[0, start : start + count],
            queries[1, start : start + count],
            queries[2, start : start + count],
        )
        p0, p1, p2, p3 = partial[0, :count], partial[1, :count], partial[2, :count], partial[3, :count]
        level = peak[:count]
        if bounded:
            level[:] = common
        else:
            _find_peak(w1, w2, w3, nodes, log_masses, level)
        total[:] = 0.0
        for chunk in range(0, log_masses.size, _NODES_PER_SUBTOTAL):
            partial[:] = 0.0
            for j in range(chunk, min(chunk + _NODES_PER_SUBTOTAL, log_masses.size)):
                y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
                for q in range(count):
                    e = exponential(fused(w1[q], y1, fused(w2[q], y2, fused(w3[q], y3, weight - level[q]))))
                    p0[q] += e
                    p1[q] = fused(e, y1, p1[q])
                    p2[q] = fused(e, y2, p2[q])
                    p3[q] = fused(e, y3, p3[q])
            for part in range(4):
                for q in range(count):
                    total[part, q] += partial[part, q]
        for q in range(count):
            out[0, start + q] = np.log(total[0, q]) + level[q]
            for part in range(1, 4):
                out[part, start + q] = total[part, q] / total[0, q]


@kernel
def _hide(scores: Float, ends: AnyArray, start: int) -> None:
    """-inf where node start + j lies at or beyond a query's end; ends ascend."""
    hidden = 0
    for j in range(scores.shape[0]):
        while hidden < ends.size and ends[hidden] <= start + j:
            hidden += 1
        row = scores[j, :hidden]
        for q in range(hidden):
            row[q] = -np.inf


@kernel
def _raise(scores: Float, log_masses: Float, peak: Float, factor: Float, total: Float) -> None:
    """scores -> e^{scores + log m - peak}, peak raised to the largest so far, `factor` what it does to earlier sums."""
    rows, columns = scores.shape
    for q in range(columns):
        factor[q] = peak[q]
    for j in range(rows):
        row, weight = scores[j], log_masses[j]
        for q in range(columns):
            row[q] += weight
            peak[q] = max(peak[q], row[q])
    for q in range(columns):
        factor[q] = exponential(factor[q] - peak[q])
        total[q] *= factor[q]
    for j in range(rows):
        row = scores[j]
        for q in range(columns):
            row[q] = exponential(row[q] - peak[q])
            total[q] += row[q]


@allocating_kernel
def sum_by_products(
    queries: Float, nodes: Float, transposed: Float, log_masses: Float, ends: AnyArray, out: Float
) -> None:
    """out = (log M, mean) for queries in rows of components `(d, m)`, in many dimensions: scores and sums are products
    of matrices, a block raised while it is in the cache. d and n are multiples of four, filled with zeros and -inf;
    `transposed` is the nodes' transpose.

    Query q sees the nodes before `ends[q]` only, the first of them always; ends ascend.
    """
    dimension, count = queries.shape
    peak, factor, total = np.full(count, -np.inf), np.empty(count), np.zeros(count)
    scores, part, sums = np.empty((_NODES_PER_BLOCK, count)), np.empty((dimension, count)), np.zeros((dimension, count))
    for start in range(0, ends[count - 1], _NODES_PER_BLOCK):
        stop = min(start + _NODES_PER_BLOCK, nodes.shape[0])
        block = scores[: stop - start]
        multiply(nodes[start:stop], queries, block)
        if ends[0] < stop:
            _hide(block, ends, start)
        _raise(block, log_masses[start:stop], peak, factor, total)
        multiply(transposed[:, start:stop], block, part)
        for i in range(dimension):
            row, here = sums[i], part[i]
            for q in range(count):
                row[q] = row[q] * factor[q] + here[q]
    for q in range(count):
        out[0, q] = np.log(total[q]) + peak[q]
    for i in range(dimension):
        row, here = out[1 + i], sums[i]
        for q in range(count):
            row[q] = here[q] / total[q]
