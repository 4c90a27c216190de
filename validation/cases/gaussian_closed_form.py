"""Gaussians stay Gaussian, with covariances and blow-up times in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.registry import register
from mfpde.run import Run
from mfpde.typing import Float
from mfpde.validation.case import Case, worst
from mfpde.validation.report import Check, Drawing
from mfpde.validation.solving import solved

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["GaussianClosedForm", "softmax_covariance", "softmax_pole"]


@register("case", "gaussian-closed-form")
class GaussianClosedForm(Case):
    """Means and covariances at all output times, by each solver that can, and the times of blow-ups.

    The reference `gaussian-closed-form` is the gaussian solver, which is what is examined here; the formulas know
    covariances, means under sinkhorn attention and blow-up times alone, and no measure that could be a reference.
    """

    name = "gaussian-closed-form"

    def examine(self, sizes: Mapping[str, Any]) -> tuple[list[Check], Drawing]:
        checks: list[Check] = []
        for solver in sizes["solvers"]:
            noisy = sizes["kappa"] if solver["kind"] != "characteristics" else [math.inf]
            for factor in sizes["V"]:
                for kappa in noisy:
                    run = self._solved(solver, {"V": factor}, kappa)
                    claim = f"{solver['kind']}: softmax, V = {factor:g}, kappa = {kappa:g}: error of S"
                    checks.append(self._error(claim, self._covariances(run, factor, kappa), run["covariance"]))
            checks.append(self._sinkhorn(solver))
        return [*checks, *self._poles()], _drawing(run, self._covariances(run, factor, kappa))

    def _solved(self, solver: Mapping[str, Any], attention: Mapping[str, Any], kappa: float = math.inf) -> Run:
        return solved(self.problem(solver=dict(solver), attention=dict(attention), noise={"kappa": kappa}))

    def _error(self, claim: str, expected: Float, measured: Float) -> Check:
        size = np.abs(expected).reshape(expected.shape[0], -1).max(axis=1)
        apart = np.abs(measured - expected).reshape(expected.shape[0], -1).max(axis=1)
        error = worst((apart / size).tolist())
        return Check.equal(claim, self.card.source, expected=0.0, measured=error, tolerance=self.card.tolerance)

    def _covariances(self, run: Run, factor: float, kappa: float) -> Float:
        start, A = (
            np.array(self.card.problem[block][key]) for block, key in (("initial", "covariance"), ("attention", "A"))
        )
        return np.array([softmax_covariance(start, A, factor, kappa, time) for time in run.series_times])

    def _sinkhorn(self, solver: Mapping[str, Any]) -> Check:
        from scipy.linalg import expm

        V = [[-0.5, 1.0], [-1.0, 0.1]]
        run = self._solved(solver, {"kind": "sinkhorn", "A": self.card.problem["attention"]["A"], "V": V})
        expected = np.array(
            [expm(time * np.array(V)) @ self.card.problem["initial"]["mean"] for time in run.series_times]
        )
        return self._error(f"{solver['kind']}: sinkhorn moves the mean linearly: error of m", expected, run["mean"])

    def _poles(self) -> list[Check]:
        start, A = (
            np.array(self.card.problem[block][key]) for block, key in (("initial", "covariance"), ("attention", "A"))
        )
        small_head = {"kind": "l2", "Q": [[0.5, 1.0]], "K": [[1.0, 0.0]], "V": [[0.0, 0.0], [0.0, 1.0]]}
        half = {"mean": [0.0, 0.0], "covariance": [[1.0, 0.5], [0.5, 1.0]]}
        return [
            self._pole("softmax, V = 1, blows up at 1 / lambda_max", {"V": 1.0}, {}, softmax_pole(start, A, 1.0)),
            self._pole("l2 with a head smaller than d blows up at 3 log 2", small_head, half, 3 * math.log(2)),
        ]

    def _pole(self, claim: str, attention: Mapping[str, Any], initial: Mapping[str, Any], expected: float) -> Check:
        from mfpde.run_loop import solve

        task = self.problem(
            solver={"kind": "gaussian"}, attention=dict(attention), initial=dict(initial), time={"until": 50}
        )
        outcome = solve(task).outcome
        measured = outcome.time if outcome.kind == "blow-up" else math.inf
        limits = {"expected": expected, "measured": measured, "tolerance": self.card.tolerance}
        return Check.equal(claim, "physics section 4", **limits)


def softmax_covariance(start: Float, A: Float, factor: float, kappa: float, time: float) -> Float:
    """`S = X Y^{-1}`, `[X; Y] = expm(t [[0, 2/kappa I], [-H, 0]]) [S_0; I]`, for V = factor I and `H = factor (A +
    A^T)`.

    >>> softmax_covariance(np.eye(1), np.eye(1), -1.0, math.inf, 2.0)          # 1 / (1 + 2 t)
    array([[0.2]])
    """
    from scipy.linalg import expm

    dimension = start.shape[0]
    zero, unit = np.zeros((dimension, dimension)), np.eye(dimension)
    generator = np.block([[zero, 2 / kappa * unit], [-factor * (A + A.T), zero]])
    both = expm(time * generator) @ np.vstack([start, unit])
    covariance: Float = both[:dimension] @ np.linalg.inv(both[dimension:])
    return covariance


def softmax_pole(start: Float, A: Float, factor: float) -> float:
    """`1 / lambda_max(S_0^{1/2} H S_0^{1/2})`, infinite where that is not positive.

    >>> softmax_pole(np.eye(1), np.eye(1), 1.0)
    0.5
    """
    root = np.linalg.cholesky(start)
    rate = float(np.linalg.eigvalsh(root.T @ (factor * (A + A.T)) @ root)[-1])
    return 1 / rate if rate > 0 else math.inf


def _drawing(run: Run, exact: Float) -> Drawing:
    def draw(figure: FigureBase) -> None:
        axes = figure.subplots()
        for row, column, color in ((0, 0, "C0"), (0, 1, "C1"), (1, 1, "C2")):
            axes.plot(run.series_times, exact[:, row, column], color=color, lw=0.8)
            axes.plot(run.series_times, run["covariance"][:, row, column], "o", ms=3, color=color)
        axes.set(xlabel="t", ylabel="entries of S", title="points: solved; lines: closed form")

    return draw
