"""The integration of a Gaussian."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.blas import blas_in_one_thread
from mfpde.contracts import PROMISED, Accuracy, Integration, Progress, State
from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure.normal import Normal
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.forms import gaussian_fields, gaussian_layout
from mfpde.solvers.gaussian.frame import Frame
from mfpde.solvers.gaussian.long_time_limit import History, Limit, limit
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.gaussian.steps import GaussianMarch
from mfpde.solvers.scales import ADVICE, ADVICE_ON_RATES, PLACE_MAX, RATE_MAX, SPREAD_MAX
from mfpde.solvers.stepping.adaptive_ode import Verdict
from mfpde.solvers.stepping.pole import LOOSER, blow_up, ended_early
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.gaussian import GaussianMoments

__all__ = ["GaussianIntegration", "check_scales"]

#: of the tolerance, for steps: hyperbolic flows (a determinant that stays, eigenvalues of e^{20} and e^{-20}) make
#: errors grow a hundred times as much as any other
_STEP_SHARE = 0.006
_MAX_WIDTH_RATIO = 1e6  # of widths: where steps vanish beyond it, the thin widths are lost
_VARIANCE_SHARE = 1e-10  # of the largest: smaller variances count as that in the residual


class GaussianIntegration(Integration):
    """`N(m, S)` moved by the moment equations; output times do not change steps."""

    def __init__(self, settings: GaussianMoments, task: InitialValueProblem) -> None:
        self._geometry = task.equation.geometry
        self._until = task.until
        self._moments = Moments(task.equation, _normal(task))
        self._history = History(self._moments)
        self._tolerance = _STEP_SHARE * settings.tolerance
        self._march = GaussianMarch(self._moments, self._tolerance)
        self._time, self._frame = 0.0, self._moments.start
        self._layout = gaussian_layout(self._moments.dimension)
        self._amplification = Amplification(task.equation.autonomous)

    @property
    def time(self) -> float:
        return self._time

    @property
    def layout(self) -> Layout:
        return self._layout

    def advance(self, target: float, budget: int) -> Progress:
        # bits must not depend on the number of threads, and small products are slower with several
        with blas_in_one_thread():
            return self._advanced(target, budget)

    def _advanced(self, target: float, budget: int) -> Progress:
        attempts = max(1, int(budget / self._cost()))
        if self._march.time < target:
            self._history.note(self._march.time, self._march.frame)
        for tried in self._march.to(target, attempts):
            if tried is Verdict.VANISHED:
                return self._stuck()
            grown = _grown(self._march.frame)
            if grown is not None:
                self._stand(self._march.start_time, self._march.start_frame)
                return Progress(State.NOT_FINITE, grown, "end the run earlier")
            if self._march.time < target:
                self._stand(self._march.time, self._march.frame)
                self._history.note(self._march.time, self._march.frame)
        if self._march.time < target:
            return Progress(State.UNDER_WAY)
        self._stand(target, self._march.frame_at(target))
        self._amplification.see(self.residual())
        return Progress(State.REACHED, str(self.limit()) if target >= self._until else "")

    def _stand(self, time: float, frame: Frame) -> None:
        self._time, self._frame = time, frame

    def _stuck(self) -> Progress:
        """The outcome where the step has vanished: a blow-up, or an ill-conditioned covariance."""
        self._stand(self._march.time, self._march.frame)
        looser = GaussianMarch(self._moments, LOOSER * self._tolerance)
        found = blow_up(self._march, looser)
        still = self._moments.start.spread == 0
        alone = still and self._frame.spread < _VARIANCE_SHARE * float(np.linalg.norm(self._frame.place))
        apart = self._frame.widths.max() / self._frame.widths.min()
        if found is None and apart > _MAX_WIDTH_RATIO:
            message = f"the covariance is too ill-conditioned to be followed: its condition is {apart**2:.1g}"
            return Progress(State.NOT_FINITE, message, "end the run earlier, or raise solver.tolerance")
        return ended_early("the mean" if alone else "the covariance", found, self._march)

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        d = self._moments.dimension
        size = self._march.state.size
        one = 150 + 1e-2 * d**3
        return (30 + size) * one + 2e-2 * size**3 if self._march.stiff else 16 * one

    def limit(self) -> Limit:
        """The limit of the covariance, as far as it is known now."""
        with np.errstate(all="ignore"):
            return limit(self._moments, self._history, self._time, self._frame)

    def measure(self) -> Normal:
        return Normal.of_factor(self._frame.place, self._frame.root, self._geometry)

    def fields(self) -> dict[str, Float]:
        return gaussian_fields(self._frame.place, self._frame.root)

    def residual(self) -> float:
        """`sqrt(<m', S^-1 m'> + tr((S^-1 S')^2) / 2)`, which bounds `int |d_t mu|`; variances below a share of the
        largest count as that share."""
        widths, axes, velocity, turning = self._moments.turning(self._time, self._frame)
        if widths[0] <= 0:
            return float(np.linalg.norm(velocity))
        least = np.maximum(widths, np.sqrt(_VARIANCE_SHARE) * widths[0])
        noise = 2 * (axes.T @ self._moments.noise(self._time) @ axes)
        change = (turning * widths**2 + (turning * widths**2).T + noise) / least / least[:, None]
        return float(np.hypot(np.linalg.norm(velocity / least), np.sqrt(0.5) * np.linalg.norm(change)))

    def state(self) -> dict[str, AnyArray]:
        view = {"view_time": np.array(self._time), **self._frame.arrays("view")}
        return {**view, **self._march.arrays(), **self._history.arrays(), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._stand(float(state["view_time"]), self._moments.start.restored("view", state))
        self._march.restore(state)
        self._history.restore(state)
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(Accuracy(PROMISED / _STEP_SHARE * self._tolerance, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {**counts, "implicit": float(self._march.stiff)}


def _normal(task: InitialValueProblem) -> Normal:
    if not isinstance(task.initial, Normal):
        raise ProblemError.at("initial", "solver gaussian needs a Gaussian; this measure is not one")
    return task.initial


def check_scales(task: InitialValueProblem) -> None:
    """Refuse numbers whose squares overflow or underflow."""
    moments = Moments(task.equation, _normal(task))
    start = moments.start
    mean, variance = np.abs(start.place).max(), start.covariance.max(initial=0.0)
    if mean > PLACE_MAX:
        raise ProblemError.at("initial.mean", f"must stay below 1e100, not {mean:.3g}; {ADVICE}")
    if variance > SPREAD_MAX**2 or 0 < variance < SPREAD_MAX**-2:
        wanted = "must be 0 or between 1e-120 and 1e120"
        raise ProblemError.at("initial.covariance", f"{wanted}, not {variance:.3g}; {ADVICE}")
    if not moments.rate(0.0, start) < RATE_MAX:
        raise ProblemError.at("attention", f"moves this Gaussian faster than at a rate of 1e100; {ADVICE_ON_RATES}")


def _grown(frame: Frame) -> str | None:
    """The quantity that has left the range of the integration, as a message."""
    if frame.spread > SPREAD_MAX:
        return "the covariance diverges: it has grown beyond 1e120"
    if np.abs(frame.place).max() > PLACE_MAX:
        return "the mean diverges: it has grown beyond 1e100"
    return None
