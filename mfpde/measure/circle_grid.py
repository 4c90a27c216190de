"""Densities on the circle at equispaced angles, for their functionals."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mfpde.measure.density_grid import DensityGrid
from mfpde.typing import Complex, Float

if TYPE_CHECKING:
    from mfpde.geometry import HarmonicSeries
    from mfpde.measure.circle_density import CircleDensity

__all__ = ["CircleGrid", "lowest", "turning_point"]

_FINEST = 2**15  # most nodes; a density with jumps or kinks gets this many
_COARSEST = 64  # fewest nodes
_NEWTON_STEPS = 4  # from a grid point to an extremum: the distance is squared in each


class CircleGrid(DensityGrid):
    """A density's Fourier series summed at `count` equispaced angles; the excess is summed without its mean."""

    def __init__(self, density: CircleDensity, modes: Complex, count: int) -> None:
        self.density, self.modes, self.count = density, modes, count
        self.smooth = density.bandwidth is not None

    @classmethod
    def coarsest(cls, density: CircleDensity) -> CircleGrid:
        """Showing the square of the density exactly, the least that a nonlinear function needs."""
        shown = min(density.bandwidth or _FINEST // 2, _FINEST // 2)
        modes = np.array(density.coefficients(shown))
        modes[0] = 0.0
        count = max(_COARSEST, 1 << (2 * shown - 1).bit_length()) if density.bandwidth is not None else _FINEST
        return cls(density, modes, min(count, _FINEST))

    def finer(self) -> CircleGrid | None:
        """With twice as many angles, up to a most."""
        return CircleGrid(self.density, self.modes, 2 * self.count) if self.count < _FINEST else None

    @property
    def shares(self) -> None:
        return None

    @cached_property
    def excess(self) -> Float:
        """A density with jumps is evaluated, not summed: its series would overshoot."""
        if self.smooth:
            return self._sum(self.modes)
        return 2 * np.pi * self.density.evaluate(2 * np.pi / self.count * np.arange(self.count)) - 1

    def slopes(self) -> Float:
        return self._sum(1j * np.arange(self.modes.size) * self.modes)[None]

    def curvatures(self) -> Float:
        return self._sum(-(np.arange(self.modes.size) ** 2) * self.modes)

    def pulls(self, potential: Float, external: HarmonicSeries | None = None) -> Float:
        found = self._sum(1j * np.arange(potential.size) * potential * self.density.coefficients(potential.size))[None]
        return found if external is None else found + external.slopes_on_nodes(self.count)

    def _sum(self, modes: Complex) -> Float:
        """`sum_{|k| < size} modes_k e^{i k theta}`, `modes_{-k} = conj(modes_k)`."""
        shown = np.zeros(self.count // 2 + 1, dtype=complex)
        size = min(modes.size, self.count // 2)
        shown[:size] = modes[:size]
        return np.fft.irfft(shown, self.count) * self.count


def lowest(grid: CircleGrid) -> float:
    """The smallest density, between the points of the grid where it is smooth."""
    ratio = 1 + grid.excess
    least = float(ratio.min())
    if grid.smooth:
        spacing = 2 * np.pi / grid.count
        theta = turning_point(grid, spacing * int(ratio.argmin()), spacing)
        least = min(least, 1 + 2 * float((np.exp(1j * theta * np.arange(grid.modes.size)) @ grid.modes).real))
    return least / (2 * np.pi)


def turning_point(grid: CircleGrid, theta: float, spacing: float) -> float:
    """The zero of rho' near a grid extremum by Newton's method; the grid angle itself where that leads away."""
    order = np.arange(grid.modes.size)
    found = theta
    for _ in range(_NEWTON_STEPS):
        terms = np.exp(1j * found * order) * grid.modes * order
        slope, curvature = -2 * float(terms.imag.sum()), -2 * float((terms * order).real.sum())
        if curvature == 0 or abs(slope) > spacing * abs(curvature):
            return theta
        found -= slope / curvature
        if abs(found - theta) > spacing:
            return theta
    return found
