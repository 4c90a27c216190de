"""From scattered points to Chebyshev points of panels and back.

Point masses are first moved to the Chebyshev points of their panel ("anterpolation", the transpose of interpolation):
exact for everything the panel's polynomials represent, `e^{<w, y>}` among them. The sums then run over Chebyshev
points, and the queries interpolate. The cost is linear in points and queries.
"""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.exponential import logarithm
from mfpde.typing import AnyArray, Float

__all__ = [
    "POINTS",
    "collect_line",
    "collect_plane",
    "find_panels",
    "interpolate_line",
    "interpolate_plane",
    "lagrange",
]

POINTS = 16


@kernel
def lagrange(t: float, points: Float, weights: Float, basis: Float) -> None:
    """The Lagrange polynomials of the points at t, by the barycentric formula."""
    for k in range(points.size):
        distance = t - points[k]
        # on a point its own weight becomes so large that nothing else is seen
        basis[k] = weights[k] / (distance if distance != 0.0 else 1e-280)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, points.size, 4):
        a += basis[k]
        b += basis[k + 1]
        c += basis[k + 2]
        d += basis[k + 3]
    scale = 1.0 / ((a + b) + (c + d))
    for k in range(points.size):
        basis[k] *= scale


@kernel
def _panel_of(x: float, start: float, half: float, count: int) -> int:
    return min(max(int((x - start) / (2.0 * half)), 0), count - 1)


@kernel
def find_panels(x: Float, start: float, half: float, count: int, indices: AnyArray) -> None:
    """The panel of each x, as below."""
    for j in range(x.size):
        indices[j] = _panel_of(x[j], start, half, count)


@kernel
def _inner_product(first: Float, second: Float) -> float:
    """Four sums side by side: one alone would wait for every addition."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, first.size, 4):
        a += first[k] * second[k]
        b += first[k + 1] * second[k + 1]
        c += first[k + 2] * second[k + 2]
        d += first[k + 3] * second[k + 3]
    return (a + b) + (c + d)


@allocating_kernel
def collect_line(
    nodes: Float, masses: Float, start: float, half: float, count: int, points: Float, weights: Float, out: Float
) -> None:
    """out[panel, k] += m_j l_k(y_j)."""
    basis = np.empty(points.size)
    for j in range(nodes.size):
        panel = _panel_of(nodes[j], start, half, count)
        lagrange((nodes[j] - start) / half - (2 * panel + 1), points, weights, basis)
        row, mass = out[panel], masses[j]
        for k in range(points.size):
            row[k] += mass * basis[k]


@allocating_kernel
def collect_plane(
    nodes1: Float,
    nodes2: Float,
    masses: Float,
    start1: float,
    half1: float,
    count1: int,
    start2: float,
    half2: float,
    count2: int,
    points: Float,
    weights: Float,
    out: Float,
) -> None:
    """out[panel_1 * POINTS + k, panel_2 * POINTS + l] += m_j l_k(y_1) l_l(y_2)."""
    size = points.size
    basis1, basis2 = np.empty(size), np.empty(size)
    for j in range(masses.size):
        panel1, panel2 = _panel_of(nodes1[j], start1, half1, count1), _panel_of(nodes2[j], start2, half2, count2)
        lagrange((nodes1[j] - start1) / half1 - (2 * panel1 + 1), points, weights, basis1)
        lagrange((nodes2[j] - start2) / half2 - (2 * panel2 + 1), points, weights, basis2)
        for k in range(size):
            row = out[panel1 * size + k, panel2 * size : (panel2 + 1) * size]
            factor = masses[j] * basis1[k]
            for i in range(size):
                row[i] += factor * basis2[i]


@allocating_kernel
def interpolate_line(
    queries: Float, start: float, half: float, points: Float, weights: Float, values: Float, level: Float, out: Float
) -> None:
    """values `(panels, parts, size)`; out `(parts, m)`: the first part's logarithm, the others divided by it."""
    size = points.size
    basis = np.empty(size)
    count, parts = values.shape[0], values.shape[1]
    for q in range(queries.size):
        panel = _panel_of(queries[q], start, half, count)
        lagrange((queries[q] - start) / half - (2 * panel + 1), points, weights, basis)
        total = 1.0
        for part in range(parts):
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(0, size, 4):
                a += values[panel, part, k] * basis[k]
                b += values[panel, part, k + 1] * basis[k + 1]
                c += values[panel, part, k + 2] * basis[k + 2]
                d += values[panel, part, k + 3] * basis[k + 3]
            value = (a + b) + (c + d)
            if part == 0:
                total = 1.0 / value
                out[0, q] = logarithm(value) + level[panel]
            else:
                out[part, q] = value * total


@allocating_kernel
def interpolate_plane(
    queries1: Float,
    queries2: Float,
    start1: float,
    half1: float,
    start2: float,
    half2: float,
    points: Float,
    weights: Float,
    values: Float,
    level: Float,
    out: Float,
) -> None:
    """values `(panels_1, panels_2, parts * POINTS**2)`, level `(panels_1, panels_2)`; out as on the line.

    A panel's values lie in one piece: taking slices costs more than the arithmetic.
    """
    size = points.size
    basis1, basis2, across = np.empty(size), np.empty(size), np.empty(size)
    count1, count2, parts = level.shape[0], level.shape[1], out.shape[0]
    for q in range(queries1.size):
        panel1, panel2 = _panel_of(queries1[q], start1, half1, count1), _panel_of(queries2[q], start2, half2, count2)
        lagrange((queries1[q] - start1) / half1 - (2 * panel1 + 1), points, weights, basis1)
        lagrange((queries2[q] - start2) / half2 - (2 * panel2 + 1), points, weights, basis2)
        total = 1.0
        for part in range(parts):
            for i in range(size):
                across[i] = 0.0
            for k in range(0, size, 4):
                b0, b1, b2, b3 = basis1[k], basis1[k + 1], basis1[k + 2], basis1[k + 3]
                place = (part * size + k) * size
                rows = values[panel1, panel2, place : place + 4 * size]
                r0, r1, r2, r3 = rows[:size], rows[size:], rows[2 * size :], rows[3 * size :]
                for i in range(size):
                    across[i] += (b0 * r0[i] + b1 * r1[i]) + (b2 * r2[i] + b3 * r3[i])
            value = _inner_product(across, basis2)
            if part == 0:
                total = value
                out[0, q] = logarithm(total) + level[panel1, panel2]
            else:
                out[part, q] = value / total
