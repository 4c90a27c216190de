"""Drifts that multiply the harmonics of a measure degree by degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.geometry import Harmonics, HarmonicSeries
from mfpde.typing import Float

__all__ = ["Convolution"]


@dataclass(frozen=True, eq=False)
class Convolution:
    """A drift on the circle or a sphere that is a convolution: `v = grad (W * mu)`, divided by `N * mu` where there is
    a normaliser.

    `potential[k]` and `normaliser[k]` multiply harmonics of degree k (`W = W_0 + sum_k W_k N_k P_k(<x, y>)`, N_k their
    number). `bound` is what |v| never exceeds. The energy is `E = energy_offset + energy_scale sum_{k>=1} W_k |mu_k|^2
    / 2`; without a normaliser the drift is its gradient flow.
    """

    harmonics: Harmonics
    potential: Float
    normaliser: Float | None
    bound: float
    energy_offset: float = 0.0
    energy_scale: float = 1.0

    @classmethod
    def none(cls, harmonics: Harmonics) -> Convolution:
        """Of pure diffusion."""
        return cls(harmonics, np.zeros(2), None, 0.0)

    @property
    def degree(self) -> int:
        return self.potential.size - 1

    @property
    def gradient_flow(self) -> bool:
        return self.normaliser is None

    def growth_rates(self) -> Float:
        """`k (k + d - 2) W_k / N_0`, how fast degree k of the uniform state grows without noise (physics section 5)."""
        uniform_level = 1.0 if self.normaliser is None else self.normaliser[0]
        return self.harmonics.eigenvalues(self.degree) * self.potential / uniform_level

    def excess_energy(self, series: HarmonicSeries) -> float:
        """`sum_{k>=1} W_k |mu_k|^2 / 2`: 0 for the uniform state."""
        powers = series.powers()[1 : self.degree + 1]
        return 0.5 * float(self.potential[1 : powers.size + 1] @ powers)

    def slopes_and_levels(self, points: Float, series: HarmonicSeries) -> tuple[Float, Float]:
        """`grad (W * mu)` in native components, `(m, c)`, and `N * mu`, `(m,)`; ones where there is no normaliser."""
        return series.slopes_and_levels(points, self.potential, self.normaliser)

    def drift(self, points: Float, series: HarmonicSeries) -> Float:
        """v at native points, in native components, `(m, c)`."""
        slopes, levels = self.slopes_and_levels(points, series)
        return slopes / levels[:, None]

    def divergence(self, points: Float, series: HarmonicSeries) -> Float:
        """`Lap (W * mu)`: of a drift without normaliser."""
        return series.laplacians(points, self.potential)

    def variation(self, points: Float, series: HarmonicSeries, change: HarmonicSeries) -> Float:
        """How v changes with the measure, `(grad (W * nu) - v N * nu) / N * mu` for a change nu of it (of mass 0 or
        not): the Jacobian of the drift in the harmonics, by its columns."""
        slopes, levels = self.slopes_and_levels(points, change)
        if self.normaliser is None:
            return slopes
        here, level = self.slopes_and_levels(points, series)
        return (slopes - here * (levels / level)[:, None]) / level[:, None]
