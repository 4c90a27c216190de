"""Coordinates z of the cells: in a frame `x = m + S z` that moves by `m' = c`, `S' = R`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.errors import ProblemError
from mfpde.solvers.finite_volume.grid import Grid, root
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation

__all__ = ["Fitted", "Frame", "Moving", "Rescaled", "Static"]


class Frame:
    """What moves the coordinates of every panel."""

    #: whether z is x
    rests: ClassVar[bool] = False
    #: whether every component of a mixture has a frame of its own, in which noise relaxes to g = N(0, I)
    gaussian: ClassVar[bool] = False

    def motion(self, time: float, solution: Solution, panel: int, drift: Float, grid: Grid) -> tuple[Float, Float]:
        """(c, R) of a panel, without what noise adds; 0 where cells rest, or their system moves them."""
        return np.zeros_like(solution.mean[panel]), np.zeros_like(solution.matrix[panel])

    def remainder(self, drift: Float, motion: tuple[Float, Float], inverse: Float, grid: Grid, out: Float) -> None:
        """out = the velocity of z, `S^{-1} (G - c - R z)`."""
        grid.remainder(drift, *motion, inverse, out)

    def widened(self, diffusion: float, inverse: Float) -> Float:
        """What noise adds to R; of one inverse of S, or of many."""
        return np.zeros_like(inverse)

    def restored(self, before: Solution, after: Solution, grid: Grid) -> Solution:
        """After a step without noise, with mean and covariance where the frame's own equation has taken them."""
        return after

    def scaled(self, scale: Float, start: float, end: float) -> Float:
        """E at the end, of coordinates `E^{-1} x`, from E at the start."""
        return scale


class Static(Frame):
    """Cells that rest: `c = 0`, `R = 0`."""

    rests = True

    def remainder(self, drift: Float, motion: tuple[Float, Float], inverse: Float, grid: Grid, out: Float) -> None:
        out[...] = drift


class Rescaled(Frame):
    """Rescaled tokens `z = e^{-tV} x`: `c = V m`, `R = V S`, with V of all heads together."""

    def __init__(self, equation: Equation) -> None:
        self._law, self._dimension = equation.attention, equation.geometry.ambient_dimension
        if self._law is None:
            raise ProblemError.at("solver.rescaled", "needs attention, whose V rescales the tokens")

    def motion(self, time: float, solution: Solution, panel: int, drift: Float, grid: Grid) -> tuple[Float, Float]:
        value = self._value(time)
        return value @ solution.mean[panel], value @ solution.matrix[panel]

    def scaled(self, scale: Float, start: float, end: float) -> Float:
        from scipy.linalg import expm

        changed: Float = expm((end - start) * self._value(0.5 * (start + end))) @ scale
        return changed

    def _value(self, time: float) -> Float:
        assert self._law is not None  # noqa: S101 - for the type checker
        terms = self._law.at(time).terms(self._dimension)
        value: Float = sum((term.value for term in terms), np.zeros((self._dimension, self._dimension)))
        return value


class Moving(Frame):
    """The frame that takes the regression `c + R z` of the velocity under its panel out of it, so that m and S S^T stay
    the panel's mean and covariance."""

    gaussian = True

    def motion(self, time: float, solution: Solution, panel: int, drift: Float, grid: Grid) -> tuple[Float, Float]:
        return grid.regression(drift, solution.density[panel])

    def widened(self, diffusion: float, inverse: Float) -> Float:
        return diffusion * np.swapaxes(inverse, -1, -2)

    def restored(self, before: Solution, after: Solution, grid: Grid) -> Solution:
        """Mean and covariance of z do not change without noise: what limited fluxes have done to them, at edges, the
        frame takes back."""
        mean, matrix = after.mean.copy(), after.matrix.copy()
        for panel, frame in enumerate(after.matrix):
            (m0, c0), (m1, c1) = (grid.moments(solution.density[panel]) for solution in (before, after))
            matrix[panel] = frame @ root(c0) @ np.linalg.inv(root(c1))
            mean[panel] += frame @ m0 - matrix[panel] @ m1
        return Solution(after.density, mean, matrix)


class Fitted(Frame):
    """The frame whose ends z = -1 and 1 are tokens; `FittedSystem` moves it."""
