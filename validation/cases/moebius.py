"""Kuramoto without noise has a closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.comparing.moebius import moebius_image
from mfpde.registry import register
from mfpde.run import Run
from mfpde.validation.case import Case, worst
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["Moebius", "poisson_order_parameter"]


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
            for time, error in zip(run.series_times[1:], run["distance"][1:], strict=True):
                checks.append(self._error(f"{expression} at t = {time:g}: error relative to the maximum", float(error)))
        return checks, _drawing(run)

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


def _drawing(run: Run) -> Drawing:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        theta = run.axis("theta")
        every = max(theta.size // 64, 1)
        for index, time in enumerate(run.times):
            axes.plot(theta, moebius_image(theta, float(time), run.measure(0)), color=f"C{index % 10}", lw=0.8)
            points = run.density[index, ::every]
            axes.plot(theta[::every], points, "o", ms=3, color=f"C{index % 10}", label=f"t = {time:.3g}")
        axes.set(xlabel="theta", ylabel="density", title="points: solved; lines: closed form", xlim=(0, 2 * np.pi))
        axes.legend(fontsize="small")

    return draw
