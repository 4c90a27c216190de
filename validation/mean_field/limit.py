"""What tokens tend to: the solution at the times at which tokens are looked at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mfpde.distances.law import law_of
from mfpde.geometry import Geometry
from mfpde.measure import Measure, Particles
from mfpde.problem import Problem
from mfpde.run import Run
from mfpde.store.reader import load
from mfpde.typing import Float
from mfpde.validation.waves import Complex, Waves, waves_for

__all__ = ["Limit", "limit_in", "on_line_or_circle"]

_LEAST_POINTS = 20_000  # that stand for the limit, and no fewer than tokens: distances are off by less than a hundredth
_BEYOND_SEEDS = 1_000_003  # no token has the seed of draws from the limit
_CELLS = 1 << 16  # between which quantiles are interpolated: right to 1e-8


@dataclass(frozen=True, eq=False)
class Limit:
    """A problem, times, and the measure at each of them."""

    problem: Problem
    times: Float
    measures: tuple[Measure, ...]

    @classmethod
    def of(cls, run: Run) -> Limit:
        """All of a run, in memory."""
        return cls(run.problem, np.asarray(run.times), tuple(run.measure(index) for index in range(run.times.size)))

    @property
    def waves(self) -> Waves:
        """The smooth observables that tokens are looked at with."""
        return waves_for(self.problem.geometry, self.measures[0])

    def means(self) -> Complex:
        """Of the waves, `(time, wave)`."""
        found: Complex = np.array([self.waves.means(measure) for measure in self.measures])
        return found

    def beside(self, index: int, count: int, repeat: int) -> Measure:
        """Points that so many tokens are held against: those at quantiles on the line and the circle, elsewhere as many
        independent draws, other ones for each repeat."""
        measure = self.measures[index]
        if on_line_or_circle(measure.space):
            return self._at_quantiles(index, max(count, _LEAST_POINTS))
        return Particles(measure.sample(count, _BEYOND_SEEDS + repeat), geometry=measure.space)

    @lru_cache(maxsize=16)  # noqa: B019 - a process has one limit, whose densities may be traced along characteristics
    def _at_quantiles(self, index: int, count: int) -> Measure:
        measure = self.measures[index]
        if measure.point_masses() is not None:
            return measure
        return Particles(_quantiles(measure, count)[:, None], geometry=measure.space)


def on_line_or_circle(space: Geometry) -> bool:
    """Where Wasserstein distances are exact between any measures."""
    return space.angular or (space.flat and space.ambient_dimension == 1)


def _quantiles(measure: Measure, count: int) -> Float:
    """Places with equal masses between them."""
    law = law_of(measure)
    places = np.linspace(*law.extent, _CELLS + 1)
    found: Float = np.interp((np.arange(count) + 0.5) / count, law.cumulative(places)[1], places)
    return found


@lru_cache(maxsize=1)
def limit_in(path: str) -> Limit:
    """From the file that workers are told of."""
    run = load(path)
    assert isinstance(run, Run)  # noqa: S101 - for the type checker
    return Limit.of(run)
