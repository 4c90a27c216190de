"""A Gaussian on its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from mfpde.errors import ProblemError
from mfpde.geometry import Layout
from mfpde.measure.normal import Normal
from mfpde.solvers.base import Integration, Progress, State
from mfpde.solvers.blow_up import LOOSER, blow_up, ended_early
from mfpde.solvers.forms import gaussian_fields, gaussian_layout
from mfpde.solvers.gaussian.fate import Limit, limit
from mfpde.solvers.gaussian.moments import Moments
from mfpde.solvers.march import Attempt, March
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.problem import Problem
    from mfpde.solvers.gaussian import GaussianMoments

__all__ = ["GaussianIntegration"]

_SHARE = 0.1  # of the tolerance, for the error of one step
_MOST_IMPLICIT = 300  # unknowns of which the derivative matrix is made and factorised at every implicit step
_SMALL = 32  # dimensions up to which products of matrices are done by one thread anyway
_LARGEST = 1e60  # of a standard deviation: products of two covariances and two matrices still are numbers
_THIN = 1e-10  # variances below this share of the largest count as that in the residual


class GaussianIntegration(Integration):
    """`N(m, S)` moved by the moment equations; looked at between steps without disturbing them."""

    def __init__(self, settings: GaussianMoments, problem: Problem) -> None:
        problem.need("initial")
        assert problem.initial is not None  # noqa: S101 - for the type checker
        initial = problem.initial.on(problem.geometry)
        if not isinstance(initial, Normal):
            raise ProblemError.at("initial", "solver gaussian needs a Gaussian; this measure is not one")
        self._geometry = problem.geometry
        self._moments = Moments(problem.equation, initial)
        self._tolerance = _SHARE * settings.tolerance
        self._march = self._marching(self._tolerance)
        self._time, self._state = 0.0, self._moments.start
        self._layout = gaussian_layout(self._moments.dimension)

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
            if self._march.attempt() is Attempt.VANISHED:
                return self._stuck()
            if self._moments.spread(self._march.state) > _LARGEST:
                self._stand(self._march.start_time, self._march.start)
                advice = "end the run earlier"
                return Progress(State.NOT_FINITE, "the covariance diverges: it has grown beyond 1e120", advice)
            if self._march.time < target:
                self._stand(self._march.time, self._march.state)
        self._stand(target, self._march.look(target))
        return Progress(State.REACHED, str(self.limit()))

    def _stand(self, time: float, state: Float) -> None:
        self._time, self._state = time, state

    def _stuck(self) -> Progress:
        """Steps have become too short to go on: at a pole, or for reasons of their own."""
        self._stand(self._march.time, self._march.state)
        found = blow_up(self._moments.growth, self._march, self._marching(LOOSER * self._tolerance))
        return ended_early("the covariance", found, self._march)

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        d = self._moments.dimension
        products = (3 * d + self._moments.rank + (2 * d if self._moments.noisy else 0)) * d * d
        one = 60 + 2e-3 * products
        size = self._moments.start.size
        return (30 + size) * one + 2e-2 * size**3 if self._march.stiff else 13 * one

    def limit(self) -> Limit:
        """Where the covariance tends, as far as the present state tells."""
        return limit(self._moments, self._time, self._state)

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
        variances = np.maximum(variances, _THIN * variances[-1])
        if variances[-1] <= 0:
            return float(np.linalg.norm(velocity))
        along, turned = axes.T @ velocity, axes.T @ change @ axes
        moved = np.sum(along**2 / variances) + 0.5 * np.sum(turned**2 / np.outer(variances, variances))
        return float(np.sqrt(moved))

    def state(self) -> dict[str, AnyArray]:
        return {"view_time": np.array(self._time), "view": self._state.copy(), **self._march.arrays()}

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._stand(float(state["view_time"]), state["view"].copy())
        self._march.restore(state)

    def statistics(self) -> dict[str, float]:
        counts = {name: float(value) for name, value in self._march.counts.items()}
        return {**counts, "implicit": float(self._march.stiff)}
