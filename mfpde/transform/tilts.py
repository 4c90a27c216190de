"""Sums over the Chebyshev points of the nodes, at the Chebyshev points of the queries' panels: the line."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.transform.chebyshev import Panels, chebyshev_points
from mfpde.transform.direct import log_of
from mfpde.transform.exponential import exponential
from mfpde.transform.scattered_kernels import POINTS
from mfpde.typing import Float

__all__ = ["tilt_line"]


@allocating_kernel
def _tilt_line(
    log_masses: Float, signs: Float, nodes: Float, centres: Float, powers: Float, values: Float, level: Float
) -> None:
    """values[a, :, k] = sum_q (1, y_q) m_q e^{w_k y_q - level_a}."""
    for panel in range(centres.size):
        largest, centre = -np.inf, centres[panel]
        for q in range(nodes.size):
            largest = max(largest, log_masses[q] + centre * nodes[q])
        level[panel] = largest
        total, first = values[panel, 0], values[panel, 1]
        for k in range(POINTS):
            total[k] = 0.0
            first[k] = 0.0
        for q in range(nodes.size):
            tilted = signs[q] * exponential(log_masses[q] + centre * nodes[q] - largest)
            moment, row = tilted * nodes[q], powers[q]
            for k in range(POINTS):
                total[k] += tilted * row[k]
                first[k] += moment * row[k]


def tilt_line(masses: Float, common: Float, sources: Panels, targets: Panels) -> tuple[Float, Float]:
    """Values `(panels, 2, POINTS)` of (M, M') over e^level, and level `(panels,)`, of masses `(panels, POINTS)` over
    e^common."""
    nodes = sources.points(POINTS)
    powers = np.exp(nodes[:, None] * (targets.half * chebyshev_points(POINTS)))
    values, level = np.empty((targets.number, 2, POINTS)), np.empty(targets.number)
    log_masses = (log_of(np.abs(masses)) + common[:, None]).ravel()
    _tilt_line(log_masses, np.sign(masses).ravel(), nodes, targets.centres, powers, values, level)
    return values, level
