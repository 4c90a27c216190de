"""Integrals over the circle of functions of a density, on grids that are refined until they agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.measure.circle_density import CircleDensity

__all__ = ["FINEST", "CircleGrid", "lowest", "refined", "relative_entropy", "turning_point"]

#: most nodes; a density with jumps or kinks gets this many
FINEST = 2**15
_COARSEST = 64
_AGREEMENT = 1e-14
#: where `(1+h) log(1+h) - h` is summed as a series in h: the formula would lose digits
_SERIES_BELOW = 0.05
_SERIES = [(-1.0) ** n / (n * (n - 1)) for n in range(2, 15)]


class CircleGrid:
    """A density's Fourier series summed on grids of any power of two.

    Values come relative to the uniform density, `2 pi rho = 1 + excess`, and the excess is summed without its mean: a
    nearly uniform state loses no digits. Values that are below roundoff of the maximum are not known from a Fourier
    series; `known` marks the others.
    """

    def __init__(self, density: CircleDensity) -> None:
        self.density = density
        self.smooth = density.bandwidth is not None
        modes = min(density.bandwidth or FINEST // 2, FINEST // 2)
        self.modes = np.array(density.fourier(modes))
        self.modes[0] = 0.0
        # A doubled grid shows the square of the density exactly, the least that a nonlinear function needs.
        self.start = max(_COARSEST, 1 << (2 * modes - 1).bit_length()) if self.smooth else FINEST
        self.start = min(self.start, FINEST)

    def excess(self, count: int) -> Float:
        """`2 pi rho - 1`. A density with jumps is evaluated, not summed: its series would overshoot."""
        if self.smooth:
            return self.sum(self.modes, count)
        return 2 * np.pi * self.density.evaluate(2 * np.pi / count * np.arange(count)) - 1

    def sum(self, modes: Complex, count: int) -> Float:
        """`sum_{|k| < size} modes_k e^{i k theta}` at `count` equispaced angles, `modes_{-k} = conj(modes_k)`."""
        shown = np.zeros(count // 2 + 1, dtype=complex)
        size = min(modes.size, count // 2)
        shown[:size] = modes[:size]
        return np.fft.irfft(shown, count) * count

    @staticmethod
    def known(ratio: Float) -> AnyArray:
        """Where `2 pi rho` is above the roundoff of its maximum."""
        mask: AnyArray = ratio > 4 * np.finfo(float).eps * ratio.max()
        return mask


def refined(mean: Callable[[int], float], start: int, scale: float = 0.0) -> float:
    """`mean(count)` for doubled counts until two agree to 1e-14 of themselves (or of `scale`, if that is more)."""
    count, value = start, mean(start)
    while count < FINEST:
        count *= 2
        before, value = value, mean(count)
        if abs(value - before) <= _AGREEMENT * max(abs(value), scale):
            break
    return value


def relative_entropy(grid: CircleGrid) -> float:
    """`int mu log(2 pi mu)`, relative to the uniform state; good to 1e-14 of itself for smooth densities, however
    near to uniform."""

    def mean(count: int) -> float:
        return float(_convex(grid.excess(count)).mean())

    return refined(mean, grid.start)


def _convex(excess: Float) -> Float:
    """`(1+h) log(1+h) - h`: the same mean as without `- h`, since the excess h has mean 0, but small where h is."""
    ratio = 1 + excess
    known = CircleGrid.known(ratio)
    safe = np.where(known, ratio, 1.0)
    direct = np.where(known, safe * np.log(safe) - excess, 1.0)  # 1 is the limit at density 0
    small = np.abs(excess) < _SERIES_BELOW
    if not small.any():
        return direct
    h = np.where(small, excess, 0.0)
    return np.where(small, h * h * np.polynomial.polynomial.polyval(h, _SERIES), direct)


def lowest(grid: CircleGrid) -> float:
    """The smallest density, between the points of the grid where it is smooth."""
    count = grid.start
    ratio = 1 + grid.excess(count)
    least = float(ratio.min())
    if grid.smooth:
        spacing = 2 * np.pi / count
        theta = turning_point(grid, spacing * int(ratio.argmin()), spacing)
        least = min(least, 1 + 2 * float((np.exp(1j * theta * np.arange(grid.modes.size)) @ grid.modes).real))
    return least / (2 * np.pi)


def turning_point(grid: CircleGrid, theta: float, spacing: float) -> float:
    """The zero of rho' near a grid extremum by Newton's method; the grid angle itself where that leads away."""
    order = np.arange(grid.modes.size)
    found = theta
    for _ in range(4):
        terms = np.exp(1j * found * order) * grid.modes * order
        slope, curvature = -2 * float(terms.imag.sum()), -2 * float((terms * order).real.sum())
        if curvature == 0 or abs(slope) > spacing * abs(curvature):
            return theta
        found -= slope / curvature
        if abs(found - theta) > spacing:
            return theta
    return found
