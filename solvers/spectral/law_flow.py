"""All that moves a density on a grid of harmonics besides constant noise, and when its coefficients change."""

from __future__ import annotations

import numpy as np

from mfpde.attention import Law
from mfpde.equation import Equation
from mfpde.solvers.spectral.law_grids import Grid
from mfpde.solvers.spectral.law_part import Part
from mfpde.solvers.spectral.law_parts import part_of
from mfpde.typing import Float

__all__ = ["Flow"]


class Flow:
    """`N(t, mu) = -div(mu v) + (D(t) - D) Lap mu` between two breaks, D the largest diffusion there: what is left for
    the nonlinear part then grows, which exponential steps take better than decay.

    A law at several positions has a slice for each, with shares `masses` of the mass.
    """

    def __init__(self, equation: Equation, positions: Float | None, masses: Float) -> None:
        self._velocity, self._noise = equation.velocity, equation.noise
        self.positions, self.masses = positions, masses
        both = {*self._velocity.breaks(), *self._noise.breaks()}
        self._constant = self._velocity.constant
        #: times at which a coefficient jumps or has a kink
        self.breaks = sorted(time for time in both if time > 0)
        self.diffusion = 0.0
        self.part: Part | None = None
        self._law: Law | None = None

    def lay(self, grid: Grid, time: float) -> None:
        """On that grid, with the coefficients from that time to the next break."""
        self._grid, end = grid, min((each for each in self.breaks if each > time), default=np.inf)
        self._last = float(np.nextafter(end, -np.inf))
        middle = 0.5 * (time + end) if np.isfinite(end) else time
        #: whether the velocity does not change until the next break, but with the density
        self.lasting = self._constant or self._velocity.at(time) == self._velocity.at(middle)
        levels = (
            [self._noise.diffusion_at(each) for each in (time, middle, min(self._last, 1e300))]
            if self.breaks
            else [self._noise.diffusion]
        )
        self._steady_noise, self.diffusion = min(levels) == max(levels), max(levels)
        self._rates = grid.degrees * (grid.degrees + grid.shift)
        self._change(time)

    def _change(self, time: float) -> None:
        """To the coefficients of that time."""
        velocity, grid = self._velocity if self._constant else self._velocity.at(time), self._grid
        before = None if velocity.law != self._law else self.part
        known, nodes = (None, 0) if before is None else (before.on(grid), before.nodes)
        self._law, self.part = velocity.law, known
        if velocity.law is not None and known is None:
            self.part = part_of(velocity.law, grid, self.positions, self.masses, self.lasting, nodes)
        #: components `(c, n)` of what moves every token on its own
        self.fixed = np.zeros((len(grid.frame), len(grid.points)))
        if velocity.pointwise is not None:
            self.fixed = np.einsum("cnd,nd->cn", grid.frame, velocity.pointwise.outputs(grid.vectors))
        #: what no component of v exceeds
        self.bound = float(np.abs(self.fixed).max()) + (0.0 if self.part is None else self.part.bound)

    @property
    def constant(self) -> bool:
        """Whether N does not change until the next break, but with the density."""
        return self.lasting and self._steady_noise

    @property
    def cost(self) -> float:
        """Microseconds of one N."""
        return self.masses.size * 2 * self._grid.cost + (0.0 if self.part is None else self.part.cost)

    def forget(self) -> None:
        """Drop what was kept from earlier calls to make later ones faster."""
        if self.part is not None:
            self.part.forget()

    def flux(self, time: float, values: Float) -> Float:
        """`rho v` at the points, `(slices, c, n)`, for coefficients `(slices, 2, size)`."""
        if not self.lasting:
            self._change(min(time, self._last))
        densities = np.stack([self._grid.density(each) for each in values])
        speed = self.fixed[None] if self.part is None else self.fixed + self.part.velocity(values, densities)
        return densities[:, None] * speed

    def nonlinear(self, time: float, values: Float) -> Float:
        """N, `(slices, 2, size)`."""
        found = np.stack([self._grid.divergence(each) for each in self.flux(time, values)])
        if not self._steady_noise:
            more = self.diffusion - self._noise.diffusion_at(min(time, self._last))
            found += more * self._rates * values
        return found

    def spill(self, time: float, values: Float) -> float:
        """What the grid can hardly hold of the flux, relative to its bound, or to its largest value."""
        flux = self.flux(time, values)
        scale = self.bound if self.bound < np.inf else float(np.abs(flux).max())
        return max(self._grid.spill(each) for each in flux) / scale if scale > 0.0 else 0.0
