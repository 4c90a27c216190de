"""A Gaussian on its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from mfpde.contracts import Accuracy, Integration, Progress, State
from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure.normal import Normal
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.blow_up import LOOSER, blow_up, ended_early
from mfpde.solvers.forms import gaussian_fields, gaussian_layout
from mfpde.solvers.gaussian.fate import Course, Limit, limit
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.march import Attempt, March
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.gaussian import GaussianMoments

__all__ = ["GaussianIntegration"]

_SHARE = 0.1  # of the tolerance, for the error of one step
_PROMISED = 10.0  # tolerances that the error stays below
_MOST_IMPLICIT = 300  # unknowns of which the derivative matrix is made and factorised at every implicit step
_SMALL = 32  # dimensions up to which products of matrices are done by one thread anyway
_LARGEST = 1e60  # of a standard deviation: products of two covariances and two matrices still are numbers
_FARTHEST = 1e100  # of a mean
_FASTEST = 1e100  # of a rate
_THIN = 1e-10  # variances below this share of the largest count as that in the residual


class GaussianIntegration(Integration):
    """`N(m, S)` moved by the moment equations; looked at between steps without disturbing them."""

    def __init__(self, settings: GaussianMoments, task: InitialValueProblem) -> None:
        initial = task.initial
        if not isinstance(initial, Normal):
            raise ProblemError.at("initial", "solver gaussian needs a Gaussian; this measure is not one")
        self._geometry = task.equation.geometry
        self._until = task.until
        self._moments = Moments(task.equation, initial)
        _check(self._moments)
        self._course = Course(self._moments)
        self._tolerance = _SHARE * settings.tolerance
        self._march = self._marching(self._tolerance)
        self._time, self._state = 0.0, self._moments.start
        self._layout = gaussian_layout(self._moments.dimension)
        self._amplification = Amplification(task.equation.autonomous)

    def _marching(self, tolerance: float) -> March:
        moments = self._moments
        rate = moments.rate(0.0, moments.start)
        first = 0.01 / rate if rate > 0 else 1.0
        implicit = moments.start.size <= _MOST_IMPLICIT
        return March(moments.slope, moments.sizes, moments.start, tolerance, first, moments.breaks, implicit)

    @property
    def time(self) -> float:
        return self._time

    @property
    def layout(self) -> Layout:
        return self._layout

    def advance(self, target: float, budget: int) -> Progress:
        if self._moments.dimension <= _SMALL:
            return self._advanced(target, budget)
        with threadpool_limits(1, user_api="blas"):  # bits must not depend on the number of threads
            return self._advanced(target, budget)

    def _advanced(self, target: float, budget: int) -> Progress:
        attempts = max(1, int(budget / self._cost()))
        while self._march.time < target:
            if attempts == 0:
                return Progress(State.UNDER_WAY)
            attempts -= 1
            self._course.note(self._march.time, self._march.state)
            tried = self._march.attempt()
            if tried is Attempt.VANISHED:
                return self._stuck()
            if tried is Attempt.ACCEPTED:
                upright = self._moments.upright(self._march.state)
                if upright is not None:
                    self._march.replace(upright)
            grown = _grown(self._moments, self._march.state)
            if grown is not None:
                self._stand(self._march.start_time, self._march.start)
                return Progress(State.NOT_FINITE, grown, "end the run earlier")
            if self._march.time < target:
                self._stand(self._march.time, self._march.state)
        self._stand(target, self._march.look(target))
        self._amplification.see(self.residual())
        return Progress(State.REACHED, str(self.limit()) if target >= self._until else "")

    def _stand(self, time: float, state: Float) -> None:
        self._time, self._state = time, state

    def _stuck(self) -> Progress:
        """Steps have become too short to go on: at a pole, or for reasons of their own."""
        self._stand(self._march.time, self._march.state)
        found = blow_up(self._moments.growth, self._march, self._marching(LOOSER * self._tolerance))
        mean, still = self._moments.split(self._state)[0], self._moments.spread(self._moments.start) == 0
        alone = still and self._moments.spread(self._state) < _THIN * float(np.linalg.norm(mean))
        return ended_early("the mean" if alone else "the covariance", found, self._march)

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        d = self._moments.dimension
        products = (3 * d + self._moments.rank + (2 * d if self._moments.noisy else 0)) * d * d
        one = 60 + 2e-3 * products
        size = self._moments.start.size
        return (30 + size) * one + 2e-2 * size**3 if self._march.stiff else 13 * one

    def limit(self) -> Limit:
        """Where the covariance tends, as far as the present state tells."""
        with np.errstate(all="ignore"):
            return limit(self._moments, self._course, self._time, self._state)

    def measure(self) -> Normal:
        mean = self._moments.split(self._state)[0]
        return Normal(mean, self._moments.covariance(self._state), self._geometry)

    def fields(self) -> dict[str, Float]:
        mean = self._moments.split(self._state)[0]
        return gaussian_fields(mean, self._moments.covariance(self._state))

    def residual(self) -> float:
        """`sqrt(<m', S^-1 m'> + tr((S^-1 S')^2) / 2)`, which bounds `int |d_t mu|`; variances that are nearly nothing
        beside the largest count as not quite so small."""
        velocity, change = self._moments.speed(self._time, self._state)
        variances, axes = np.linalg.eigh(self._moments.covariance(self._state))
        if variances[-1] <= 0:
            return float(np.linalg.norm(velocity))
        widths = np.sqrt(np.maximum(variances, _THIN * variances[-1]))
        along, turned = axes.T @ velocity / widths, axes.T @ change @ axes / widths / widths[:, None]
        return float(np.hypot(np.linalg.norm(along), np.sqrt(0.5) * np.linalg.norm(turned)))

    def state(self) -> dict[str, AnyArray]:
        view = {"view_time": np.array(self._time), "view": self._state.copy()}
        return {**view, **self._march.arrays(), **self._course.arrays(), **self._amplification.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._stand(float(state["view_time"]), state["view"].copy())
        self._march.restore(state)
        self._course.restore(state)
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._amplification.judged(Accuracy(_PROMISED / _SHARE * self._tolerance, kept=True))

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {**counts, "implicit": float(self._march.stiff)}


def _check(moments: Moments) -> None:
    """Refuse numbers that the equations would square out of the range of doubles."""
    mean, variance = np.abs(moments.split(moments.start)[0]).max(), moments.covariance(moments.start).max()
    if mean > _FARTHEST:
        raise ProblemError.at("initial.mean", f"must stay below 1e100, not {mean:.3g}; measure x in another unit")
    if variance > _LARGEST**2 or 0 < variance < _LARGEST**-2:
        wanted = "must be 0 or between 1e-120 and 1e120"
        raise ProblemError.at("initial.covariance", f"{wanted}, not {variance:.3g}; measure x in another unit")
    with np.errstate(all="ignore"):
        rate = moments.rate(0.0, moments.start)
    if not rate < _FASTEST:
        advice = "measure x or time in another unit, or scale A and V down"
        raise ProblemError.at("attention", f"moves this Gaussian faster than at a rate of 1e100; {advice}")


def _grown(moments: Moments, state: Float) -> str | None:
    """What has left the range in which the equations can be followed."""
    if moments.spread(state) > _LARGEST:
        return "the covariance diverges: it has grown beyond 1e120"
    if np.abs(moments.split(state)[0]).max() > _FARTHEST:
        return "the mean diverges: it has grown beyond 1e100"
    return None
