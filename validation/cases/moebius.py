"""Kuramoto without noise has a closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.measure import Density
from mfpde.registry import register
from mfpde.run import Run
from mfpde.typing import Complex, Float
from mfpde.validation.case import Case, worst
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["Moebius", "moebius_density", "poisson_order_parameter"]

_NODES = 4096  # of the reference, at which it is right to rounding


@register("case", "moebius")
class Moebius(Case):
    """Densities at all output times against Moebius images of the initial one; the order parameter of Poisson
    kernels."""

    name = "moebius"

    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        checks: list[Check] = []
        for start in sizes["poisson"]:
            kernel = f"{1 - start**2!r} / (1 + {start**2!r} - {2 * start!r}*cos(theta - 1))"
            run = self._solved(kernel, sizes["until"])
            exact = [poisson_order_parameter(start, time) for time in run.series_times]
            error = worst(np.abs(run["order-parameter"] - exact).tolist())
            checks.append(self._error(f"Poisson kernel, r_0 = {start:g}: error of r", error))
        for expression in sizes["densities"]:
            run = self._solved(expression, sizes["until"])
            densities = moebius_density(run.axis("theta"), run.times, Density(expression=expression))
            for time, solution, density in zip(run.times[1:], run.density[1:], densities[1:], strict=True):
                error = float(np.abs(solution - density).max() / density.max())
                checks.append(self._error(f"{expression} at t = {time:g}: error relative to the maximum", error))
        return checks, _drawing(run, densities)

    def _error(self, claim: str, error: float) -> Check:
        return Check.equal(claim, self.card.source, expected=0.0, measured=error, tolerance=self.card.tolerance)

    def _solved(self, expression: str, until: float) -> Run:
        return solved(self.problem(initial={"expression": expression}, time={"until": until}))


def poisson_order_parameter(start: float, time: float) -> float:
    """`r' = r (1 - r^2) / 2` from `start`: `r / sqrt(1 - r^2)` grows like `e^{t/2}`.

    >>> round(poisson_order_parameter(0.5, 2.0), 10)
    0.843347256
    """
    grown = start / math.sqrt(1 - start**2) * math.exp(time / 2)
    return grown / math.hypot(1, grown)


def moebius_density(theta: Float, times: Float, initial: Density) -> Float:
    """Densities `(time, theta)` of `theta' = |Z| sin(arg Z - theta)`, `Z = int e^{i theta} dmu`, from any smooth
    density.

    A token that starts at `w = e^{i theta_0}` is at `z = (c w + a) / (1 + conj(a) c w)`, with `a' = (Z - conj(Z) a^2)
    / 2`, `c' = -i Im(conj(Z) a) c` and a(0) = 0, c(0) = 1. Z is the trapezoid sum over the images of equispaced
    tokens.
    """
    from scipy.integrate import solve_ivp

    angles = 2 * np.pi / _NODES * np.arange(_NODES)
    unit, share = np.exp(1j * angles), initial.evaluate(angles) * (2 * np.pi / _NODES)

    def slope(_time: float, state: Complex) -> Complex:
        a, c = state
        mean = share @ ((c * unit + a) / (1 + np.conj(a) * c * unit))
        return np.array([(mean - np.conj(mean) * a**2) / 2, -1j * (np.conj(mean) * a).imag * c])

    span, start = (0.0, float(times[-1])), np.array([0, 1], dtype=complex)
    path = solve_ivp(slope, span, start, "DOP853", t_eval=times, rtol=1e-13, atol=1e-14)
    z = np.exp(1j * theta)
    return np.array([_image(initial, z, a, c) for a, c in path.y.T])


def _image(initial: Density, z: Complex, a: complex, c: complex) -> Float:
    """Density at z: that of the token which came there, times the derivative of the inverse map."""
    token = np.conj(c) * (z - a) / (1 - np.conj(a) * z)
    stretch = (1 - abs(a) ** 2) / np.abs(1 - np.conj(a) * z) ** 2
    density: Float = initial.evaluate(np.angle(token)) * stretch
    return density


def _drawing(run: Run, exact: Float) -> Drawing:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        theta = run.axis("theta")
        every = max(theta.size // 64, 1)
        for index, time in enumerate(run.times):
            axes.plot(theta, exact[index], color=f"C{index % 10}", lw=0.8)
            points = run.density[index, ::every]
            axes.plot(theta[::every], points, "o", ms=3, color=f"C{index % 10}", label=f"t = {time:.3g}")
        axes.set(xlabel="theta", ylabel="density", title="points: solved; lines: closed form", xlim=(0, 2 * np.pi))
        axes.legend(fontsize="small")

    return draw
