"""Sums over the Chebyshev points of the nodes, at the Chebyshev points of the queries' panels: the line."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.transform.chebyshev import Panels, chebyshev_points
from mfpde.transform.direct import log_of
from mfpde.transform.exponential import exponential
from mfpde.transform.fused import fused
from mfpde.transform.scattered_kernels import POINTS
from mfpde.typing import Float

__all__ = ["LOG_NEGLIGIBLE", "tilt_line"]

LOG_NEGLIGIBLE = -50.0  # exponents this far below the largest are left out: e^-50 of the sum is below its rounding


@allocating_kernel
def _tilt_line(
    scaled: Float,
    log_masses: Float,
    middles: Float,
    around: Float,
    centres: Float,
    powers: Float,
    about: Float,
    values: Float,
    level: Float,
) -> None:
    """values[a, :, k] = sum_q (1, u, u^2, ..) m_q e^{w_k y_q - level_a}, u = y_q - about_a.

    Masses are `scaled` times e^{log_masses} of their panel, `y_q = middles[s] + around[i]`.
    """
    local = np.empty(around.size)
    for panel in range(centres.size):
        largest, centre = -np.inf, centres[panel]
        for s in range(middles.size):
            largest = max(largest, log_masses[s] + centre * middles[s])
        level[panel] = largest
        for i in range(around.size):
            local[i] = exponential(centre * around[i])
        for s in range(middles.size):
            exponent = log_masses[s] + centre * middles[s] - largest
            if exponent < LOG_NEGLIGIBLE:
                continue
            factor = exponential(exponent)
            for i in range(around.size):
                term, u, row = scaled[s, i] * factor * local[i], middles[s] + around[i] - about[panel], powers[s, i]
                for part in range(values.shape[1]):
                    out = values[panel, part]
                    for k in range(POINTS):
                        out[k] = fused(term, row[k], out[k])
                    term *= u


def tilt_line(
    masses: Float, common: Float, sources: Panels, targets: Panels, about: Float | None = None, degree: int = 1
) -> tuple[Float, Float]:
    """Values `(panels, degree + 1, POINTS)` of (M, M', ..) over e^level, and level `(panels,)`, of masses
    `(panels, POINTS)` over e^common; y is counted from `about`, given for each of the queries' panels."""
    points, middles = chebyshev_points(POINTS), sources.centres
    around = sources.half * points
    sizes = np.abs(masses).max(axis=1)
    scaled = masses / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    powers = np.exp((middles[:, None] + around)[:, :, None] * (targets.half * points))
    values, level = np.zeros((targets.number, degree + 1, POINTS)), np.empty(targets.number)
    start = np.zeros(targets.number) if about is None else about
    _tilt_line(scaled, log_of(sizes) + common, middles, around, targets.centres, powers, start, values, level)
    return values, level
