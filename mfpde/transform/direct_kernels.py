"""The direct sum, a block of queries side by side against one node at a time."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential
from mfpde.typing import Float

__all__ = ["raise_scores", "sum_directly"]

_BLOCK = 128  # queries whose sums stay in the nearest cache
_CHUNK = 4096  # nodes summed before a subtotal is put aside: keeps the rounding of long sums small
_LANES = 16


@kernel
def _find_peak(w1: Float, w2: Float, w3: Float, nodes: Float, log_masses: Float, peak: Float) -> None:
    for q in range(peak.size):
        peak[q] = -np.inf
    for j in range(log_masses.size):
        y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
        for q in range(peak.size):
            score = weight + (w1[q] * y1 + (w2[q] * y2 + w3[q] * y3))
            peak[q] = max(peak[q], score)


@kernel
def sum_directly(queries: Float, nodes: Float, log_masses: Float, bounded: bool, common: float, out: Float) -> None:
    """out = (log M, mean_1, mean_2, mean_3) for queries and nodes in rows of components, `(3, m)` and `(3, n)`.

    `bounded`: no score is further from `common` than 300, so no first pass is needed to find each query's largest.
    """
    partial, total, peak = np.empty((4, _BLOCK)), np.empty((4, _BLOCK)), np.empty(_BLOCK)
    for start in range(0, queries.shape[1], _BLOCK):
        count = min(_BLOCK, queries.shape[1] - start)
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
        for chunk in range(0, log_masses.size, _CHUNK):
            partial[:] = 0.0
            for j in range(chunk, min(chunk + _CHUNK, log_masses.size)):
                y1, y2, y3, weight = nodes[0, j], nodes[1, j], nodes[2, j], log_masses[j]
                for q in range(count):
                    e = exponential((weight - level[q]) + (w1[q] * y1 + (w2[q] * y2 + w3[q] * y3)))
                    p0[q] += e
                    p1[q] += e * y1
                    p2[q] += e * y2
                    p3[q] += e * y3
            for part in range(4):
                for q in range(count):
                    total[part, q] += partial[part, q]
        for q in range(count):
            out[0, start + q] = np.log(total[0, q]) + level[q]
            for part in range(1, 4):
                out[part, start + q] = total[part, q] / total[0, q]


@kernel
def _largest(row: Float, start: float, lanes: Float) -> float:
    """Sixteen running maxima, which is what lets the loop vectorise; so below with sums."""
    whole = row.size - row.size % _LANES
    for lane in range(_LANES):
        lanes[lane] = start
    for block in range(0, whole, _LANES):
        part = row[block : block + _LANES]
        for lane in range(_LANES):
            lanes[lane] = max(lanes[lane], part[lane])
    largest = start
    for lane in range(_LANES):
        largest = max(largest, lanes[lane])
    for j in range(whole, row.size):
        largest = max(largest, row[j])
    return largest


@kernel
def _sum(row: Float, lanes: Float) -> float:
    whole = row.size - row.size % _LANES
    for lane in range(_LANES):
        lanes[lane] = 0.0
    for block in range(0, whole, _LANES):
        part = row[block : block + _LANES]
        for lane in range(_LANES):
            lanes[lane] += part[lane]
    total = 0.0
    for lane in range(_LANES):
        total += lanes[lane]
    for j in range(whole, row.size):
        total += row[j]
    return total


@kernel
def raise_scores(scores: Float, log_masses: Float, peak: Float, factor: Float, total: Float) -> None:
    """scores -> e^{scores + log m - peak} row by row, peak raised to the block's largest and `factor` what that does to
    earlier sums; total follows."""
    rows, columns = scores.shape
    lanes = np.empty(_LANES)
    for i in range(rows):
        row = scores[i]
        for j in range(columns):
            row[j] += log_masses[j]
        largest = _largest(row, peak[i], lanes)
        factor[i] = exponential(peak[i] - largest)
        peak[i] = largest
        for j in range(columns):
            row[j] = exponential(row[j] - largest)
        total[i] = total[i] * factor[i] + _sum(row, lanes)
