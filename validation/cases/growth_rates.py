"""Linear stability of the uniform state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.registry import register
from mfpde.validation.case import Case
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["GrowthRates", "growth_rate"]

#: its square is below the tolerance, and so is rounding beside it
PERTURBATION = 1e-6


@register("case", "growth-rates")
class GrowthRates(Case):
    """The rate at which a tiny `cos(k theta)` grows or decays, measured over about one e-folding time.

    No reference serves here: linear theory knows a rate for every mode, and not the solution.
    """

    name = "growth-rates"

    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        checks, points = [], []
        for kind, beta, kappa, mode in itertools.product(*(sizes[key] for key in ("kinds", "beta", "kappa", "mode"))):
            gain, damping = gain_of(kind, beta, mode), mode**2 / kappa
            expected, scale = growth_rate(kind, beta, kappa, mode), gain + damping
            if scale < self.card.tolerance:  # beta = 0 without noise: higher modes do not move
                continue
            measured = self._measured(kind, beta, kappa, mode, until=1 / scale)
            claim = f"{kind}, beta = {beta:g}, kappa = {kappa:g}, mode {mode}"
            limits = {"expected": expected, "measured": measured, "tolerance": self.card.tolerance * scale}
            checks.append(Check.equal(claim, self.card.source, **limits))
            points.append((kind, beta, kappa, mode, measured))
        return checks, _drawing(points)

    def _measured(self, kind: str, beta: float, kappa: float, mode: int, until: float) -> float:
        run = solved(
            self.problem(
                attention={"kind": kind, "beta": beta},
                noise={"kappa": kappa},
                initial={"expression": f"1 + {PERTURBATION!r}*cos({mode}*theta)"},
                time={"until": until},
                observe=[{"kind": "order-parameter", "harmonic": mode}],
            )
        )
        size = run["order-parameter" if mode == 1 else f"order-parameter-{mode}"]
        return math.log(size[-1] / size[0]) / until


def gain_of(kind: str, beta: float, mode: int) -> float:
    """`k^2 g_k / beta`, divided by g_0 for softmax, as `k (I_{k-1} - I_{k+1}) / 2`: no division at beta = 0."""
    from scipy.special import ive

    raised = mode * (ive(mode - 1, beta) - ive(mode + 1, beta)) / 2
    return float(raised / ive(0, beta) if kind == "softmax" else raised * math.exp(beta))


def growth_rate(kind: str, beta: float, kappa: float, mode: int) -> float:
    """The rate of mode k near the uniform state.

    >>> growth_rate("unnormalized", 0.0, 4.0, 1)          # Kuramoto: 1/2 - 1/kappa
    0.25
    """
    return gain_of(kind, beta, mode) - mode**2 / kappa


def _drawing(points: list[tuple[str, float, float, int, float]]) -> Drawing:
    def draw(figure: FigureBase) -> None:
        kinds = sorted({kind for kind, *_ in points})
        panels = np.atleast_1d(figure.subplots(1, len(kinds), sharex=True))
        every = range(1, max(mode for *_, mode, _ in points) + 1)
        for kind, axes in zip(kinds, panels, strict=True):
            mine = [point for point in points if point[0] == kind]
            for color, (beta, kappa) in enumerate(sorted({(beta, kappa) for _, beta, kappa, *_ in mine})):
                modes = sorted(mode for _, b, k, mode, _ in mine if (b, k) == (beta, kappa))
                found = [next(p[4] for p in mine if p[1:4] == (beta, kappa, mode)) for mode in modes]
                label = f"beta = {beta:g}, kappa = {kappa:g}"
                axes.plot(modes, found, "o", color=f"C{color % 10}", label=label)
                axes.plot(every, [growth_rate(kind, beta, kappa, k) for k in every], color=f"C{color % 10}", lw=0.8)
            axes.set(title=kind, xlabel="mode k", ylabel="growth rate", yscale="symlog", xticks=every)
            axes.legend(fontsize="xx-small")

    return draw
