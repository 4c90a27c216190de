"""Sums over the Chebyshev points of the nodes, at the Chebyshev points of the queries' panels."""

from __future__ import annotations

import numpy as np

from mfpde.compilation import allocating_kernel
from mfpde.transform.chebyshev import Panels, chebyshev_points
from mfpde.transform.direct import log_of
from mfpde.transform.exponential import exponential
from mfpde.transform.plane_kernels import tilt_rows
from mfpde.transform.products import multiply
from mfpde.transform.scattered_kernels import POINTS
from mfpde.transform.threads import run_pieces
from mfpde.typing import Float

__all__ = ["tilt_line", "tilt_plane"]


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


@allocating_kernel
def _tilt_plane(
    log_masses: Float,
    signs: Float,
    first: Float,
    second: Float,
    centre: float,
    powers1: Float,
    centres2: Float,
    powers2: Float,
    values: Float,
    level: Float,
) -> None:
    """One row of panels: values[:, k, b * POINTS + l] = sum (1, y_1, y_2) m e^{w_k y_1 + w_l y_2 - level_b}."""
    rows, columns = log_masses.shape
    tilted, largest = np.empty((rows, columns)), np.empty(columns)
    tilt_rows(log_masses, first, centre, tilted, largest)
    for i in range(rows):
        out, sign = tilted[i], signs[i]
        for j in range(columns):
            out[j] *= sign[j]
    sums = np.empty((3 * POINTS, columns))
    multiply(powers1, tilted, sums[: 2 * POINTS])
    for k in range(POINTS):
        from_row, out = sums[k], sums[2 * POINTS + k]
        for j in range(columns):
            out[j] = from_row[j] * second[j]
    tilts = np.empty((columns, centres2.size * POINTS))
    for panel in range(centres2.size):
        peak = -np.inf
        for j in range(columns):
            peak = max(peak, largest[j] + centres2[panel] * second[j])
        level[panel] = peak
        for j in range(columns):
            factor = exponential(largest[j] + centres2[panel] * second[j] - peak)
            row, out = powers2[j], tilts[j, panel * POINTS : (panel + 1) * POINTS]
            for k in range(POINTS):
                out[k] = factor * row[k]
    multiply(sums, tilts, values)


def tilt_plane(
    masses: Float, common: Float, sources: tuple[Panels, Panels], targets: tuple[Panels, Panels]
) -> tuple[Float, Float]:
    """Values `(panels_1, panels_2, 3 * POINTS**2)` of (M, grad M) over e^level, and level `(panels_1, panels_2)`, of
    masses `(panels_1 * POINTS, panels_2 * POINTS)` over e^common, common `(panels_1, panels_2)`."""
    first, second = sources[0].points(POINTS), sources[1].points(POINTS)
    log_masses = log_of(np.abs(masses)) + np.repeat(np.repeat(common, POINTS, axis=0), POINTS, axis=1)
    signs = np.sign(masses)
    powers1 = np.exp(targets[0].half * chebyshev_points(POINTS)[:, None] * first)
    powers1 = np.concatenate([powers1, powers1 * first])
    powers2 = np.exp(second[:, None] * (targets[1].half * chebyshev_points(POINTS)))
    centres1, centres2 = targets[0].centres, targets[1].centres
    values = np.empty((centres1.size, centres2.size, 3 * POINTS * POINTS))
    level = np.empty((centres1.size, centres2.size))

    def work(panel: int) -> None:
        row = np.empty((3 * POINTS, centres2.size * POINTS))
        _tilt_plane(
            log_masses,
            signs,
            first,
            second,
            float(centres1[panel]),
            powers1,
            centres2,
            powers2,
            row,
            level[panel],
        )
        blocks = row.reshape(3 * POINTS, centres2.size, POINTS).transpose(1, 0, 2)
        values[panel].reshape(blocks.shape)[:] = blocks

    run_pieces(work, centres1.size)
    return values, level
