"""Functionals of a density on a compact space, on grids that are refined until they agree."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from mfpde.geometry import HarmonicSeries
from mfpde.typing import AnyArray, Float

__all__ = ["DensityGrid", "dissipation", "known", "refined", "relative_entropy"]

_AGREEMENT = 1e-14  # of a functional on two grids, relative: the finer one is then taken
_ROUNDOFF = 4 * float(np.finfo(float).eps)  # of the maximum: a smaller density is not known from a sum of harmonics
_SERIES_BELOW = 0.05  # excess up to which `(1+h) log(1+h) - h` is summed as a series: the formula would lose digits
_SERIES = [(-1.0) ** n / (n * (n - 1)) for n in range(2, 15)]


class DensityGrid(ABC):
    """A density at nodes of a quadrature of a space of area |X|, as `|X| rho = 1 + excess`: a nearly uniform state
    loses no digits.

    Derivatives are those of the excess, in any orthonormal directions: one row of nodes for each.
    """

    #: whether derivatives exist
    smooth: bool = True

    @property
    @abstractmethod
    def shares(self) -> Float | None:
        """Weights of the nodes, of sum 1; None are equal ones."""

    @property
    @abstractmethod
    def excess(self) -> Float:
        """At the nodes."""

    @abstractmethod
    def slopes(self) -> Float:
        """Its gradient, `(c, nodes)`."""

    @abstractmethod
    def curvatures(self) -> Float:
        """Its Laplacian."""

    @abstractmethod
    def pulls(self, potential: Float, external: HarmonicSeries | None = None) -> Float:
        """`grad (W * mu + U)`, `(c, nodes)`."""

    def average(self, values: Float) -> float:
        """Over the space."""
        return float(values.mean() if self.shares is None else self.shares @ values)


def known(ratio: Float) -> AnyArray:
    """Where `|X| rho` is above the roundoff of its maximum."""
    mask: AnyArray = ratio > _ROUNDOFF * ratio.max()
    return mask


def refined(functional: Callable[[DensityGrid], float], grids: Iterator[DensityGrid], scale: float = 0.0) -> float:
    """On finer grids until two agree to 1e-14 of the functional (or of `scale`, if that is more)."""
    value = functional(next(grids))
    for grid in grids:
        before, value = value, functional(grid)
        if abs(value - before) <= _AGREEMENT * max(abs(value), scale):
            break
    return value


def relative_entropy(grids: Iterator[DensityGrid]) -> float:
    """`int mu log(|X| mu)`, relative to the uniform state; good to 1e-14 of itself for smooth densities, however near
    to uniform."""
    return refined(lambda grid: grid.average(_convex(grid.excess)), grids)


def _convex(excess: Float) -> Float:
    """`(1+h) log(1+h) - h`: the same mean as without `- h`, since the excess h has mean 0, but small where h is."""
    ratio = 1 + excess
    there = known(ratio)
    safe = np.where(there, ratio, 1.0)
    direct = np.where(there, safe * np.log(safe) - excess, 1.0)  # 1 is the limit at density 0
    small = np.abs(excess) < _SERIES_BELOW
    if not small.any():
        return direct
    h = np.where(small, excess, 0.0)
    return np.where(small, h * h * np.polynomial.polynomial.polyval(h, _SERIES), direct)


def dissipation(
    grids: Iterator[DensityGrid], potential: Float, diffusion: float, external: HarmonicSeries | None = None
) -> float:
    """`int mu |grad(D log mu - W * mu - U)|^2`; infinite for a density with jumps under noise."""
    first = next(grids)
    if diffusion > 0 and not first.smooth:
        return math.inf
    force = _Force(first, potential, external)
    scale = math.hypot(force.norm(diffusion, attraction=0.0), force.norm(0.0))

    def all_from_first() -> Iterator[DensityGrid]:
        yield first
        yield from grids

    return refined(lambda grid: _Force(grid, potential, external).norm(diffusion), all_from_first(), scale) ** 2


class _Force:
    """`grad(D log mu - W * mu - U)` in the norm of L^2(mu)."""

    def __init__(self, grid: DensityGrid, potential: Float, external: HarmonicSeries | None) -> None:
        self._grid = grid
        self._ratio = 1 + grid.excess
        self._pulls = grid.pulls(potential, external)

    def norm(self, diffusion: float, attraction: float = 1.0) -> float:
        """Square root of the dissipation on the grid; the two forces can be weighed.

        Where the density is below roundoff, `|grad mu|^2 / mu` is replaced by `2 Lap mu`, its limit at a double zero.
        """
        grid, ratio, pulls = self._grid, self._ratio, attraction * self._pulls
        if diffusion == 0:
            return math.sqrt(max(grid.average(ratio * (pulls**2).sum(axis=0)), 0.0))
        there = known(ratio)
        flux = diffusion * grid.slopes() - ratio * pulls
        local = (flux**2).sum(axis=0) / np.where(there, ratio, 1.0)
        if not there.all():
            local = np.where(there, local, 2 * diffusion**2 * grid.curvatures())
        return math.sqrt(max(grid.average(local), 0.0))
