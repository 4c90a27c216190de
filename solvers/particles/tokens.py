"""The tokens a run begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.distances.law import law_of
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure, Particles
from mfpde.measure.random_points import need_memory
from mfpde.streams import Stream
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["Tokens", "first_tokens"]

#: times their positions, that a run of so many tokens may have in memory at once
_MEMORY_FACTOR = 6
#: what random numbers are drawn for: places within parts of equal mass
_STRATA = 5


@dataclass(frozen=True, eq=False)
class Tokens:
    """Native points `(copies, n, c)` of one system or of independent ones, with the weights `(n,)` of each, and their
    positions s where attention is masked."""

    points: Float
    weights: Float
    positions: Float | None
    geometry: Geometry

    @property
    def copies(self) -> int:
        """How many systems."""
        return self.points.shape[0]

    @property
    def count(self) -> int:
        """How many tokens each has."""
        return self.points.shape[1]

    def measure(self, points: Float) -> Particles:
        """The law of all tokens at these points `(copies, n, c)`."""
        every = points.reshape(-1, points.shape[-1])
        if self.copies == 1:
            return Particles(every, self.weights, self.geometry, self.positions)
        weights = np.tile(self.weights / self.copies, self.copies)
        positions = None if self.positions is None else np.tile(self.positions, self.copies)
        return Particles(every, weights, self.geometry, positions)


def first_tokens(settings: ParticleSystem, task: InitialValueProblem) -> Tokens:
    """Drawn from the initial measure, or its own points."""
    measure, geometry, copies = task.initial, task.equation.geometry, settings.copies or 1
    initial = task.equation.initial
    if measure.pointlike or (initial is not None and initial.pointlike):
        given = measure if initial is None or not initial.pointlike else initial.on(geometry)
        points, weights = given.nodes()
        if copies > 1:
            raise ProblemError.at("solver.copies", "independent copies of given points would all be the same")
        if settings.count not in (None, len(points)):
            wanted = f"the initial measure has {len(points)} points, not {settings.count}; leave count out"
            raise ProblemError.at("solver.count", wanted)
        positions = given.positions
        if positions is None and measure.positions is not None:  # a mask without positions: in the order of the tokens
            positions = np.arange(1, len(points) + 1) / len(points)
        return Tokens(points[None], weights, positions, geometry)
    count = settings.count
    if count is None:
        raise ProblemError.at("solver.count", "is missing: how many tokens are to be drawn?")
    need_memory("solver.count", _MEMORY_FACTOR * copies * count * geometry.ambient_dimension)
    if settings.sampling == "stratified":
        drawn = np.concatenate([_stratified(measure, count, settings.seed, copy) for copy in range(copies)])
    else:
        drawn = measure.sample(copies * count, settings.seed)
    positions = measure.sample_positions(count, settings.seed)
    return Tokens(drawn.reshape(copies, count, -1), np.full(count, 1 / count), positions, geometry)


def _stratified(measure: Measure, count: int, seed: int, copy: int) -> Float:
    """One draw from each of `count` parts of equal mass, on the line and on the circle: `(count, 1)`, ascending."""
    space = measure.space
    if measure.positions is not None or not (space.angular or (space.flat and space.ambient_dimension == 1)):
        raise ProblemError.at("solver.sampling", "stratified draws are for the line and the circle, without positions")
    shares = Stream(seed, copy, _STRATA).uniforms(0, count)[:, 0]
    return law_of(measure).quantile_and_mean((np.arange(count) + shares) / count)[0][:, None]
