"""Integrals over the circle of functions of a density, on grids that are refined until they agree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Circle
from mfpde.measure import CircleDensity, Initial, Measure
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["FINEST", "CircleGrid", "as_density", "refined"]

#: most nodes; a density with jumps or kinks gets this many
FINEST = 2**15
_COARSEST = 64
_AGREEMENT = 1e-14


def as_density(measure: Measure, quantity: str) -> CircleDensity:
    """The measure as a density on the circle; point masses have none, and `quantity` needs one."""
    if isinstance(measure, Initial):
        measure = measure.on(measure.geometry)
    if not isinstance(measure.geometry, Circle):
        raise ProblemError.at("observe", f"{quantity} is an observable of measures on the circle")
    if not isinstance(measure, CircleDensity):
        raise ProblemError.at("observe", f"{quantity} needs a density, and a {type(measure).__name__} measure has none")
    return measure


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
