"""Drifts that multiply the harmonics of a measure degree by degree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.geometry import Harmonics, HarmonicSeries
from mfpde.typing import AnyArray, Float

__all__ = ["Convolution"]


@dataclass(frozen=True, eq=False)
class Convolution:
    """A drift on the circle or a sphere that is a convolution: `v = grad (W * mu + U)`, divided by `N * mu` where there
    is a normaliser.

    `potential[k]` and `normaliser[k]` multiply harmonics of degree k (`W = W_0 + sum_k W_k N_k P_k(<x, y>)`, N_k their
    number). On the circle W may have an odd part `sum_k 2 S_k sin(k angle)`, `sines[k]` = S_k: then mode k > 0 is
    multiplied by `W_k - i S_k`, and tokens ascend no energy. `bound` is what |v| never exceeds. The energy is `E =
    energy_offset + energy_scale sum_{k>=1} W_k |mu_k|^2 / 2`, plus `int U dmu`; without normaliser and sines the drift
    is its gradient flow. `external`: U by the harmonics of the measure that has it as density relative to the uniform
    one, where there is one (and no normaliser). `cut`: W has more degrees than are listed.
    """

    harmonics: Harmonics
    potential: Float
    normaliser: Float | None
    bound: float
    energy_offset: float = 0.0
    energy_scale: float = 1.0
    external: HarmonicSeries | None = None
    cut: bool = False
    sines: Float | None = None

    @classmethod
    def none(cls, harmonics: Harmonics) -> Convolution:
        """Of pure diffusion."""
        return cls(harmonics, np.zeros(2), None, 0.0)

    @property
    def degree(self) -> int:
        return self.potential.size - 1

    @property
    def top(self) -> int:
        """The last degree of a measure that its drift or its energy depends on."""
        return self.degree if self.external is None else max(self.degree, self.external.degree)

    @property
    def gradient_flow(self) -> bool:
        return self.normaliser is None and self.sines is None

    @property
    def multipliers(self) -> AnyArray:
        """What W multiplies each degree by, complex where it has sines."""
        return self.potential if self.sines is None else self.potential - 1j * self.sines

    def growth_rates(self) -> Float:
        """`k (k + d - 2) W_k / N_0`, how fast degree k of the uniform state grows without noise (physics section 5)."""
        uniform_level = 1.0 if self.normaliser is None else self.normaliser[0]
        return self.harmonics.eigenvalues(self.degree) * self.potential / uniform_level

    def turning_rates(self) -> Float:
        """`k S_k`, the angular velocity at which mode k of the uniform state turns; zeros without sines."""
        return np.zeros(self.degree + 1) if self.sines is None else np.arange(self.degree + 1) * self.sines

    def largest_rate(self) -> float:
        """Of growth, decay and turning of modes of the uniform state."""
        return float(np.abs(self.growth_rates() - 1j * np.arange(self.degree + 1) * self.turning_rates()).max())

    def excess_energy(self, series: HarmonicSeries) -> float:
        """`sum_{k>=1} W_k |mu_k|^2 / 2`, and `int U dmu` without the mean of U: 0 for the uniform state."""
        powers = series.powers()[1 : self.degree + 1]
        energy = 0.5 * float(self.potential[1 : powers.size + 1] @ powers)
        return energy if self.external is None else energy + float(self.external.products(series)[1:].sum())

    def slopes_and_levels(self, points: Float, series: HarmonicSeries) -> tuple[Float, Float]:
        """`grad (W * mu + U)` in native components, `(m, c)`, and `N * mu`, `(m,)`; ones where there is no
        normaliser."""
        slopes, levels = series.slopes_and_levels(points, self.multipliers, self.normaliser)
        if self.external is not None:
            slopes = slopes + self.external.slopes_and_levels(points, self._ones, None)[0]
        return slopes, levels

    @property
    def _ones(self) -> Float:
        return np.ones(0 if self.external is None else self.external.degree + 1)

    def drift(self, points: Float, series: HarmonicSeries) -> Float:
        """v at native points, in native components, `(m, c)`."""
        slopes, levels = self.slopes_and_levels(points, series)
        return slopes / levels[:, None]

    def divergence(self, points: Float, series: HarmonicSeries) -> Float:
        """`Lap (W * mu + U)`: of a drift without normaliser."""
        found = series.laplacians(points, self.multipliers)
        return found if self.external is None else found + self.external.laplacians(points, self._ones)

    def variation(self, points: Float, series: HarmonicSeries, change: HarmonicSeries) -> Float:
        """How v changes with the measure, `(grad (W * nu) - v N * nu) / N * mu` for a change nu of it (of mass 0 or
        not): the Jacobian of the drift in the harmonics, by its columns."""
        slopes, levels = change.slopes_and_levels(points, self.multipliers, self.normaliser)
        if self.normaliser is None:
            return slopes
        here, level = self.slopes_and_levels(points, series)
        return (slopes - here * (levels / level)[:, None]) / level[:, None]
