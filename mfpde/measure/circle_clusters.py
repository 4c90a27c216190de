"""Clusters of densities on the circle."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mfpde.measure.basins import Cluster
from mfpde.measure.circle_grid import CircleGrid, turning_point
from mfpde.typing import Float

__all__ = ["clusters_on_circle"]


def clusters_on_circle(grid: CircleGrid, prominence: float) -> list[Cluster]:
    """Peaks that stand out by `prominence` uniform densities, each with all mass between the minima around it."""
    return [_moments(grid, start, end) for start, end in pairwise(_cuts(grid, prominence))]


def _cuts(grid: CircleGrid, prominence: float) -> list[float]:
    """Angles of the minima between clusters, rising, the first once more at the end; empty without a cluster."""
    ratio = 1 + grid.excess
    first = int(ratio.argmin())
    turned = np.roll(ratio, -first)
    minima = _deep_minima(turned, prominence)
    if not minima:
        return []
    spacing = 2 * np.pi / grid.count
    angles = [(first + index) * spacing for index in minima]
    if grid.smooth:
        angles = [turning_point(grid, angle, spacing) for angle in angles]
    return [*angles, angles[0] + 2 * np.pi]


def _deep_minima(values: Float, depth: float) -> list[int]:
    """Indices of the minima from which periodic values, the smallest first, rise by `depth` on both sides.

    One pass over the extrema with hysteresis: a peak counts once the values have fallen by `depth` below it, a valley
    once they have risen by `depth` above it.
    """
    rising = np.concatenate([np.diff(values), [values[0] - values[-1]]]) > 0
    extrema = np.flatnonzero(rising != np.roll(rising, 1))
    minima: list[int] = []
    lowest, highest = 0, -1
    climbing = False
    for index in [*(int(place) for place in extrema if place), 0]:
        value = values[index]
        if climbing and value > values[highest]:
            highest = index
        elif climbing and value <= values[highest] - depth:
            lowest, climbing = index, False
        elif not climbing and value < values[lowest]:
            lowest = index
        elif not climbing and value >= values[lowest] + depth:
            minima.append(lowest)
            highest, climbing = index, True
    return minima


def _moments(grid: CircleGrid, start: float, end: float) -> Cluster:
    """Mass and first moment of the basin from start to end, the integrals of the Fourier series in closed form."""
    modes = grid.modes
    length, middle = end - start, 0.5 * (start + end)
    order = np.arange(-modes.size + 1, modes.size)
    both = np.concatenate([np.conj(modes[:0:-1]), modes])
    both[modes.size - 1] = 1.0

    def integral(shift: int) -> complex:
        waves = np.sinc((order + shift) * length / (2 * np.pi)) * np.exp(1j * (order + shift) * middle)
        return complex(both @ waves) * length / (2 * np.pi)

    mass, first = integral(0).real, integral(1)
    concentration = min(abs(first) / mass, 1.0)
    angle = float(np.angle(first)) % (2 * np.pi)
    return Cluster(angle if angle < 2 * np.pi else 0.0, mass, float(np.sqrt(-2 * np.log(concentration))) + 0.0)
