"""Scattered points to Chebyshev points of panels and back in the plane, by matrix products for each panel."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.chebyshev import Panels
from mfpde.transform.fused import fused
from mfpde.transform.products import multiply
from mfpde.transform.scattered_kernels import POINTS_PER_BLOCK, lagrange_rows, local, panel_of, sort_by_panel, write_out
from mfpde.typing import AnyArray, Float

__all__ = ["collect_plane", "interpolate_plane"]


@kernel
def _locate(first: Float, second: Float, panels1: Panels, panels2: Panels, panel: AnyArray) -> None:
    for q in range(panel.size):
        panel[q] = panel_of(first[q], panels1) * panels2.number + panel_of(second[q], panels2)


@allocating_kernel
def collect_plane(
    nodes1: Float,
    nodes2: Float,
    masses: Float,
    panels1: Panels,
    panels2: Panels,
    points: Float,
    weights: Float,
    out: Float,
) -> None:
    """out[panel_1 * size + k, panel_2 * size + l] += m_j l_k(y_1) l_l(y_2)."""
    size = points.size
    panel, order = np.empty(masses.size, dtype=np.int64), np.empty(masses.size, dtype=np.int64)
    begin = np.empty(panels1.number * panels2.number + 1, dtype=np.int64)
    _locate(nodes1, nodes2, panels1, panels2, panel)
    sort_by_panel(panel, begin, order)
    filled = max(16, -(-size // 8) * 8)  # columns that fill vector registers
    t, ahead, room = np.empty(POINTS_PER_BLOCK), np.empty(POINTS_PER_BLOCK), np.empty((3, filled * POINTS_PER_BLOCK))
    part = np.empty((size, filled))
    for p in range(begin.size - 1):
        panel1, panel2 = p // panels2.number, p % panels2.number
        for low in range(begin[p], begin[p + 1], POINTS_PER_BLOCK):
            here = order[low : min(low + POINTS_PER_BLOCK, begin[p + 1])]
            width = -(-here.size // 4) * 4
            left = room[0, : size * width].reshape(size, width)
            across = room[1, : size * width].reshape(size, width)
            right = room[2, : filled * width].reshape(width, filled)
            local(nodes1, here, panels1, panel1, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, left)
            local(nodes2, here, panels2, panel2, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, across)
            for q in range(width):
                mass = masses[here[q]] if q < here.size else 0.0
                row = right[q]
                for k in range(size):
                    row[k] = mass * across[k, q]
                for k in range(size, filled):
                    row[k] = 0.0
            multiply(left, right, part)
            for k in range(size):
                row, from_part = out[panel1 * size + k, panel2 * size : (panel2 + 1) * size], part[k]
                for i in range(size):
                    row[i] += from_part[i]


@kernel
def _contract(inner: Float, first: Float, sums: Float) -> None:
    """sums[part, q] = sum_k inner[part * size + k, q] first[k, q]."""
    size, width = first.shape
    for part in range(sums.shape[0]):
        total = sums[part]
        for q in range(width):
            total[q] = 0.0
        for k in range(size):
            row, factor = inner[part * size + k], first[k]
            for q in range(width):
                total[q] = fused(row[q], factor[q], total[q])


@allocating_kernel
def interpolate_plane(
    queries1: Float,
    queries2: Float,
    panels1: Panels,
    panels2: Panels,
    points: Float,
    weights: Float,
    values: Float,
    level: Float,
    out: Float,
) -> None:
    """values `(panels, parts * size, size)`, level `(panels,)`; out as on the line."""
    size, parts = points.size, out.shape[0]
    panel, order = np.empty(queries1.size, dtype=np.int64), np.empty(queries1.size, dtype=np.int64)
    begin = np.empty(level.size + 1, dtype=np.int64)
    _locate(queries1, queries2, panels1, panels2, panel)
    sort_by_panel(panel, begin, order)
    t, ahead, room = (
        np.empty(POINTS_PER_BLOCK),
        np.empty(POINTS_PER_BLOCK),
        np.empty((2 + parts, size * POINTS_PER_BLOCK)),
    )
    sums = np.empty((parts, POINTS_PER_BLOCK))
    flat = room[2:].reshape(parts * size * POINTS_PER_BLOCK)
    for p in range(level.size):
        for low in range(begin[p], begin[p + 1], POINTS_PER_BLOCK):
            here = order[low : min(low + POINTS_PER_BLOCK, begin[p + 1])]
            width = -(-here.size // 16) * 16
            first = room[0, : size * width].reshape(size, width)
            second = room[1, : size * width].reshape(size, width)
            inner = flat[: parts * size * width].reshape(parts * size, width)
            local(queries1, here, panels1, p // panels2.number, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, first)
            local(queries2, here, panels2, p % panels2.number, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, second)
            multiply(values[p], second, inner)
            _contract(inner, first, sums)
            write_out(sums, level[p], here, ahead, out)
