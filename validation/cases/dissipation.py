"""Free energy is lost exactly as fast as it is dissipated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.registry import register
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.case import Case, worst
from mfpde.validation.intervals import TimeIntervals
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["Dissipation"]


@register("case", "dissipation")
class Dissipation(Case):
    """`F(t) - F(0) = -int_0^t dissipation`, the integral over observed values by Gauss quadrature of order 20 on
    intervals in time.

    No reference of the `compare` block serves here: the identity holds the run against itself.
    """

    name = "dissipation"

    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        checks, curves = [], []
        for change in sizes["problems"]:
            intervals = TimeIntervals(change["time"]["until"] * np.linspace(0, 1, sizes["intervals"] + 1) ** 2)
            time = {"until": change["time"]["until"], "save_at": intervals.times()}
            run = solved(self.problem(**{**change, "time": time}))
            energy = intervals.at_edges(run, "free-energy")
            lost = np.cumsum(intervals.integrals(intervals.at_nodes(run, "dissipation")))
            total = abs(float(energy[0] - energy[-1])) or math.nan
            defect = worst(np.abs(energy[0] - energy[1:] - lost).tolist())
            rise = worst(np.maximum(np.diff(run["free-energy"]), 0).tolist())
            name = _name(run)
            agree, falls = f"{name}: loss and dissipation agree", f"{name}: no rise"
            source, tolerance = self.card.source, self.card.tolerance
            checks += [
                Check.equal(agree, source, expected=0.0, measured=defect / total, tolerance=tolerance),
                Check.at_most(falls, source, bound=0.0, measured=rise / total, tolerance=tolerance),
            ]
            curves.append((name, intervals.edges[1:], energy[1:] - energy[-1], energy[0] - lost - energy[-1]))
        return checks, _drawing(curves)


def _name(run: Run) -> str:
    law, kappa = run.problem.equation.law, run.problem.noise.kappa
    if law is None:
        return f"diffusion, kappa = {kappa:g}"
    data = law.canonical()
    what = ", ".join(f"{key} = {data[key]}" for key in ("beta", "A", "coefficients") if key in data)
    return f"{data.get('kind', 'interaction')}, {what}, kappa = {kappa:g}"


def _drawing(curves: list[tuple[str, Float, Float, Float]]) -> Drawing:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for color, (name, times, energy, integrated) in enumerate(curves):
            axes.plot(times / times[-1], energy / energy[0], "o", color=f"C{color}", ms=3, label=name)
            axes.plot(times / times[-1], integrated / energy[0], color=f"C{color}", lw=0.8)
        axes.set(xlabel="t / end", ylabel="F(t) - F(end), relative", title="points: F; lines: integrated dissipation")
        axes.legend(fontsize="x-small")

    return draw
