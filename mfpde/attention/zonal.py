"""Drifts on the circle that are convolutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.typing import Complex, Float

__all__ = ["Zonal"]

#: entries of the table of waves that is made at a time
_TABLE = 2**20


@dataclass(frozen=True, eq=False)
class Zonal:
    """A drift on the circle that is a convolution: `v = d_theta (W * mu)`, divided by `N * mu` where there is a
    normaliser.

    `potential[k]` and `normaliser[k]` multiply the mode c_k (k >= 0). `bound` is what |v| never exceeds. The energy is
    `E = energy_offset + energy_scale sum_{k>=1} W_k |c_k|^2`; without a normaliser the drift is its gradient flow.
    """

    potential: Float
    normaliser: Float | None
    bound: float
    energy_offset: float = 0.0
    energy_scale: float = 1.0

    @property
    def gradient_flow(self) -> bool:
        return self.normaliser is None

    def growth_rates(self) -> Float:
        """`k^2 W_k / N_0`, how fast mode k of the uniform state grows without noise (physics section 5)."""
        order = np.arange(self.potential.size)
        return order**2 * self.potential / (1.0 if self.normaliser is None else self.normaliser[0])

    def excess_energy(self, modes: Complex) -> float:
        """`sum_{k>=1} W_k |c_k|^2`, from the modes of mu: 0 for the uniform state."""
        return float(self.potential[1:] @ (modes.real**2 + modes.imag**2)[1:])

    def velocity(self, theta: Float, modes: Complex) -> tuple[Float, Float]:
        """`(d_theta (W * mu), N * mu)` at angles, from the modes of mu; ones where there is no normaliser."""
        slope = 2j * np.arange(modes.size) * self.potential * modes
        if self.normaliser is None:
            return _sums_of_waves(theta, slope)[0], np.ones(theta.size)
        level = 2 * self.normaliser * modes
        speed, total = _sums_of_waves(theta, slope, level)
        return speed, total + self.normaliser[0]

    def divergence(self, theta: Float, modes: Complex) -> Float:
        """`d_theta^2 (W * mu)` at angles: of a drift without normaliser."""
        return _sums_of_waves(theta, -2 * np.arange(modes.size) ** 2 * self.potential * modes)[0]


def _sums_of_waves(theta: Float, *series: Complex) -> list[Float]:
    """`Re sum_{k>=1} s_k e^{i k theta}` for each series, by blocks of angles."""
    order = np.arange(1, series[0].size)
    length = max(1, _TABLE // max(order.size, 1))
    sums = [np.empty(theta.size) for _ in series]
    for start in range(0, theta.size, length):
        here = slice(start, start + length)
        waves = np.exp(1j * np.outer(theta[here], order))
        for total, coefficients in zip(sums, series, strict=True):
            total[here] = (waves @ coefficients[1:]).real
    return sums
