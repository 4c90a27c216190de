"""Queries and nodes on the circle, `e^{beta cos(theta - phi)}`.

Panels of angles instead of Fourier modes: a mode's error is relative to the largest value, e^beta, and the smallest
may be e^-beta.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.transform.chebyshev import Panels, chebyshev_points
from mfpde.transform.direct import counts_of, log_of, over_largest, plain, tilted_mean_directly
from mfpde.transform.exponential import exponential
from mfpde.transform.fused import fused
from mfpde.transform.line import MAX_EXPONENT, collect, interpolate_on_line
from mfpde.transform.line_tilts import LOG_NEGLIGIBLE
from mfpde.transform.scattered_kernels import POINTS
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_mean_on_circle"]

_MIN_PANELS = 12  # so that polynomials represent the cosine itself


@allocating_kernel
def _tilt_circle(
    log_masses: Float,
    signs: Float,
    nodes: Float,
    cosines: Float,
    powers: Float,
    panel: int,
    values: Float,
) -> float:
    """values[:, k] = sum (1, cos phi, sin phi) m e^{beta cos(theta_k - phi) - level}; returns the level.

    Panels are alike: `cosines` and `powers` know only how far apart two panels are.
    """
    panels, size = cosines.shape
    largest, near = -np.inf, np.empty(panels)
    for source in range(panels):
        apart, nearest = (panel - source) % panels, -np.inf
        for i in range(size):
            nearest = max(nearest, log_masses[source, i] + cosines[apart, i])
        near[source] = nearest
        largest = max(largest, nearest)
    v0, v1, v2 = values[0], values[1], values[2]
    for k in range(size):
        v0[k] = 0.0
        v1[k] = 0.0
        v2[k] = 0.0
    for source in range(panels):
        apart = (panel - source) % panels
        if near[source] < largest + LOG_NEGLIGIBLE:
            continue
        for i in range(size):
            mass = signs[source, i] * exponential(log_masses[source, i] + cosines[apart, i] - largest)
            first, second = mass * nodes[0, source, i], mass * nodes[1, source, i]
            row = powers[apart, i]
            for k in range(size):
                v0[k] = fused(mass, row[k], v0[k])
                v1[k] = fused(first, row[k], v1[k])
                v2[k] = fused(second, row[k], v2[k])
    return largest


def _tilt(moved: Float, common: Float, beta: float, panels: Panels) -> tuple[Float, Float]:
    """Values `(panels, 3, POINTS)` over e^level, and level `(panels,)`, of moved masses over e^common."""
    points, count = panels.half * chebyshev_points(POINTS), panels.number
    apart = 2 * panels.half * np.arange(count)[:, None] - points  # from a node to the centre of the query's panel
    cosines = beta * np.cos(apart)
    # cos(a + s) - cos a without the cancellation
    powers = np.exp(-2 * beta * np.sin(0.5 * points) * np.sin(apart[:, :, None] + 0.5 * points))
    angles = panels.points(POINTS).reshape(count, POINTS)
    nodes = np.stack([np.cos(angles), np.sin(angles)])
    values, level = np.empty((count, 3, POINTS)), np.empty(count)
    log_masses, signs = log_of(np.abs(moved)) + common[:, None], np.sign(moved)
    blocks = pieces(count, 8)

    def work(piece: int) -> None:
        for panel in range(*blocks[piece]):
            level[panel] = _tilt_circle(log_masses, signs, nodes, cosines, powers, panel, values[panel])

    run_pieces(work, len(blocks))
    return values, level


def tilted_mean_on_circle(
    beta: float, queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`int e^{beta <x,y>} y dmu / int e^{beta <x,y>} dmu` in R^2, `(m, 2)`, and the logarithm of the denominator.

    Queries and nodes are angles; mu has `m_j e^{f_j}` at node j (log_factors f, 0 if None). beta of any sign; time is
    linear in points, and like beta^2 beyond them.
    """
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    count = max(_MIN_PANELS, math.ceil(math.pi * abs(beta) / MAX_EXPONENT))
    asked, summed = counts_of(queries, nodes)
    if 0.4 * (POINTS * count) ** 2 + 120.0 * (asked + summed) + 5e4 > asked * summed:
        return tilted_mean_directly(beta * _unit(queries), _unit(nodes), masses, log_factors)
    panels = Panels(0.0, math.pi / count, count)
    log_factors, common = over_largest(log_factors)
    moved, levels = collect(_wrapped(nodes), masses, log_factors, 0.0, panels)
    values, level = _tilt(moved, levels, beta, panels)
    out = interpolate_on_line(_wrapped(queries), panels, values, level)
    return np.ascontiguousarray(out[1:].T), out[0] + common


def _wrapped(angles: Float) -> Float:
    """The same angles in [0, 2 pi)."""
    return angles - 2 * math.pi * np.floor(angles / (2 * math.pi))


def _unit(angles: Float) -> Float:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
