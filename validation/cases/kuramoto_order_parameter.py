"""The phase transition of noisy Kuramoto."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.registry import register
from mfpde.typing import Float
from mfpde.validation.case import Case
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["KuramotoOrderParameter", "order_parameter"]

#: kappa at which the uniform state loses stability
CRITICAL = 2.0
#: of the slowest mode, after which the initial state contributes 1e-12
_RELAXATION_TIMES = 30.0


@register("case", "kuramoto-order-parameter")
class KuramotoOrderParameter(Case):
    """`r = I_1(kappa r) / I_0(kappa r)` and `<cos 2 theta> = 1 - 2/kappa` in the long run, on both sides of 2.

    No reference serves here: the formulas know the state at rest, and not the solution on its way there.
    """

    name = "kuramoto-order-parameter"

    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        points, checks = [], []
        for kappa in sizes["kappa"]:
            until = _RELAXATION_TIMES / relaxation_rate(kappa)
            run = solved(self.problem(noise={"kappa": kappa}, time={"until": until}))
            first, second = float(run["order-parameter"][-1]), float(run["order-parameter-2"][-1])
            nematic = max(1 - CRITICAL / kappa, 0.0)
            for what, expected, measured in (("r", order_parameter(kappa), first), ("m_2", nematic, second)):
                claim = f"{what} at kappa = {kappa:g}"
                limits = {"expected": expected, "measured": measured, "tolerance": self.card.tolerance}
                checks.append(Check.equal(claim, self.card.source, **limits))
            points.append((kappa, first))
        return checks, _drawing(np.array(points))


def order_parameter(kappa: float) -> float:
    """The positive root of `r = I_1(kappa r) / I_0(kappa r)` for kappa > 2, otherwise 0.

    >>> round(order_parameter(4.0), 10), order_parameter(1.9)
    (0.8314620248, 0.0)
    """
    from scipy.optimize import brentq
    from scipy.special import ive

    if kappa <= CRITICAL:
        return 0.0

    def gap(r: float) -> float:
        # Divided by r, the root 0 is gone, and what is left decreases from kappa/2 - 1 to a negative value.
        return float(ive(1, kappa * r) / ive(0, kappa * r) / r - 1)

    low = 0.25 * np.sqrt(1 - CRITICAL / kappa)
    return float(brentq(gap, low, 1.0, xtol=1e-15, rtol=1e-15))


def relaxation_rate(kappa: float) -> float:
    """About how fast order parameters settle: beyond kappa = 2 at twice the growth rate of the uniform state."""
    rate = abs(0.5 - 1 / kappa)
    return rate if kappa < CRITICAL else min(2 * rate, 0.5)


def _drawing(points: Float) -> Drawing:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        kappa = np.concatenate([[0, CRITICAL], CRITICAL * np.geomspace(1.0001, points[:, 0].max() / 2 * 1.05, 300)])
        axes.plot(kappa, [order_parameter(value) for value in kappa], label="r = I_1(kappa r) / I_0(kappa r)")
        axes.plot(points[:, 0], points[:, 1], "o", label="solved")
        axes.set(xlabel="kappa", ylabel="order parameter r", ylim=(-0.02, 1.02))
        axes.legend()

    return draw
