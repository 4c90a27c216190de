"""From scattered points to Chebyshev points of panels and back.

Point masses are first moved to the Chebyshev points of their panel ("anterpolation", the transpose of interpolation):
exact for everything the panel's polynomials represent, `e^{<w, y>}` among them. The sums then run over Chebyshev
points, and the queries interpolate. The cost is linear in points and queries, which are sorted by panel first, so that
loops run along points.
"""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.chebyshev import Panels
from mfpde.transform.exponential import logarithm
from mfpde.transform.fused import fused
from mfpde.typing import AnyArray, Float

__all__ = [
    "POINTS",
    "POINTS_PER_BLOCK",
    "collect_line",
    "find_panels",
    "interpolate_line",
    "lagrange_rows",
    "local",
    "panel_of",
    "sort_by_panel",
    "write_out",
]

POINTS = 16  # Chebyshev points of a panel
POINTS_PER_BLOCK = 64  # whose Lagrange basis stays in the first-level cache


@kernel
def panel_of(x: float, panels: Panels) -> int:
    """The panel that holds x; the first or the last where x is outside by rounding."""
    return min(max(int((x - panels.start) / (2.0 * panels.half)), 0), panels.number - 1)


@kernel
def find_panels(x: Float, panels: Panels, indices: AnyArray) -> None:
    """The panel of each x."""
    for j in range(x.size):
        indices[j] = panel_of(x[j], panels)


@kernel
def lagrange_rows(t: Float, points: Float, weights: Float, ahead: Float, basis: Float) -> None:
    """basis[k, q] = l_k(t_q) by products of differences from both sides, without division.

    Four rows at a time, a multiple of four points.
    """
    for q in range(t.size):
        ahead[q] = 1.0
    for k in range(0, points.size, 4):
        r0, r1, r2, r3 = basis[k], basis[k + 1], basis[k + 2], basis[k + 3]
        p0, p1, p2, p3 = points[k], points[k + 1], points[k + 2], points[k + 3]
        for q in range(t.size):
            a0, x = ahead[q], t[q]
            a1 = a0 * (x - p0)
            a2 = a1 * (x - p1)
            a3 = a2 * (x - p2)
            r0[q], r1[q], r2[q], r3[q] = a0, a1, a2, a3
            ahead[q] = a3 * (x - p3)
    for q in range(t.size):
        ahead[q] = 1.0
    for k in range(points.size - 4, -1, -4):
        r0, r1, r2, r3 = basis[k], basis[k + 1], basis[k + 2], basis[k + 3]
        p0, p1, p2, p3 = points[k], points[k + 1], points[k + 2], points[k + 3]
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for q in range(t.size):
            a3, x = ahead[q], t[q]
            a2 = a3 * (x - p3)
            a1 = a2 * (x - p2)
            a0 = a1 * (x - p1)
            r0[q] *= w0 * a0
            r1[q] *= w1 * a1
            r2[q] *= w2 * a2
            r3[q] *= w3 * a3
            ahead[q] = a0 * (x - p0)


@kernel
def sort_by_panel(panel: AnyArray, begin: AnyArray, order: AnyArray) -> None:
    """begin[p] .. begin[p + 1]: the stretch of `order` with the points of panel p."""
    for p in range(begin.size):
        begin[p] = 0
    for q in range(panel.size):
        begin[panel[q] + 1] += 1
    for p in range(1, begin.size):
        begin[p] += begin[p - 1]
    for q in range(panel.size):
        place = begin[panel[q]]
        order[place] = q
        begin[panel[q]] = place + 1
    for p in range(begin.size - 1, 0, -1):
        begin[p] = begin[p - 1]
    begin[0] = 0


@kernel
def local(x: Float, order: AnyArray, panels: Panels, panel: int, t: Float) -> None:
    """t = places of a panel's points within it, from -1 to 1; 0 where t is longer than there are points."""
    for q in range(order.size):
        t[q] = (x[order[q]] - panels.start) / panels.half - (2 * panel + 1)
    for q in range(order.size, t.size):
        t[q] = 0.0


@allocating_kernel
def collect_line(nodes: Float, masses: Float, panels: Panels, points: Float, weights: Float, out: Float) -> None:
    """out[panel, k] += m_j l_k(y_j)."""
    size, count = points.size, panels.number
    panel, order = np.empty(nodes.size, dtype=np.int64), np.empty(nodes.size, dtype=np.int64)
    begin = np.empty(count + 1, dtype=np.int64)
    find_panels(nodes, panels, panel)
    sort_by_panel(panel, begin, order)
    t, ahead, mass = np.empty(POINTS_PER_BLOCK), np.empty(POINTS_PER_BLOCK), np.empty(POINTS_PER_BLOCK)
    basis, sums = np.empty((size, POINTS_PER_BLOCK)), np.empty((size, POINTS_PER_BLOCK))
    for p in range(count):
        if begin[p] == begin[p + 1]:
            continue
        sums[:] = 0.0
        for low in range(begin[p], begin[p + 1], POINTS_PER_BLOCK):
            here = order[low : min(low + POINTS_PER_BLOCK, begin[p + 1])]
            width = -(-here.size // 16) * 16
            local(nodes, here, panels, p, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, basis)
            for q in range(width):
                mass[q] = masses[here[q]] if q < here.size else 0.0
            for k in range(size):
                total, row = sums[k], basis[k]
                for q in range(width):
                    total[q] = fused(mass[q], row[q], total[q])
        row = out[p]
        for k in range(size):
            subtotal = 0.0
            for q in range(POINTS_PER_BLOCK):
                subtotal += sums[k, q]
            row[k] += subtotal


@kernel
def write_out(sums: Float, level: float, here: AnyArray, room: Float, out: Float) -> None:
    """out at the queries `here`: the logarithm of the first sum, the others divided by it."""
    first = sums[0]
    for q in range(here.size):
        room[q] = logarithm(first[q]) + level
    for q in range(here.size):
        out[0, here[q]] = room[q]
    for part in range(1, sums.shape[0]):
        row = sums[part]
        for q in range(here.size):
            room[q] = row[q] / first[q]
        for q in range(here.size):
            out[part, here[q]] = room[q]


@allocating_kernel
def interpolate_line(
    queries: Float, panels: Panels, points: Float, weights: Float, values: Float, level: Float, out: Float
) -> None:
    """values `(panels, parts, size)`; out `(parts, m)`: the first part's logarithm, the others divided by it."""
    (count, parts, size) = values.shape
    panel, order = np.empty(queries.size, dtype=np.int64), np.empty(queries.size, dtype=np.int64)
    begin = np.empty(count + 1, dtype=np.int64)
    find_panels(queries, panels, panel)
    sort_by_panel(panel, begin, order)
    t, ahead = np.empty(POINTS_PER_BLOCK), np.empty(POINTS_PER_BLOCK)
    basis, sums = np.empty((size, POINTS_PER_BLOCK)), np.empty((parts, POINTS_PER_BLOCK))
    for p in range(count):
        for low in range(begin[p], begin[p + 1], POINTS_PER_BLOCK):
            here = order[low : min(low + POINTS_PER_BLOCK, begin[p + 1])]
            width = -(-here.size // 16) * 16
            local(queries, here, panels, p, t[:width])
            lagrange_rows(t[:width], points, weights, ahead, basis)
            for part in range(parts):
                total, value = sums[part], values[p, part]
                for q in range(width):
                    total[q] = 0.0
                for k in range(0, size, 4):
                    b0, b1, b2, b3 = basis[k], basis[k + 1], basis[k + 2], basis[k + 3]
                    v0, v1, v2, v3 = value[k], value[k + 1], value[k + 2], value[k + 3]
                    for q in range(width):
                        total[q] = fused(v3, b3[q], fused(v2, b2[q], fused(v1, b1[q], fused(v0, b0[q], total[q]))))
            write_out(sums, level[p], here, ahead, out)
