"""The tokens a run begins with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.arguments import need_memory
from mfpde.distances.law import law_of
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure, Particles
from mfpde.measure.shared_particles import particles_of
from mfpde.ranks import ALONE, Ranks, present
from mfpde.streams import Stream
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["RANK_TOKENS_MIN", "Tokens", "first_tokens"]

#: what random numbers are drawn for: places within parts of equal mass
_STRATA = 5
#: tokens of a rank: with fewer it has nothing to do, and sums over all pairs are better
RANK_TOKENS_MIN = 512


@dataclass(frozen=True, eq=False)
class Tokens:
    """Native points `(copies, n, c)` of one system or of independent ones, with the weights `(n,)` of each, and their
    positions s where attention is masked."""

    points: Float
    weights: Float
    positions: Float | None
    geometry: Geometry
    ranks: Ranks = ALONE  # of which each has some of the tokens, of a single system
    total: int = 0  # of tokens of each system, in all processes together

    def __post_init__(self) -> None:
        if not self.total:
            object.__setattr__(self, "total", self.ranks.sum(self.count))

    @property
    def copies(self) -> int:
        """How many systems."""
        return self.points.shape[0]

    @property
    def count(self) -> int:
        """How many tokens each has, in this process."""
        return self.points.shape[1]

    @property
    def first(self) -> int:
        """The number of the first one of this process."""
        return self.ranks.share(self.total)[0]

    def without_places(self) -> Tokens:
        """As many, all at 0, which takes no memory: for who has their places himself."""
        return replace(self, points=np.broadcast_to(np.zeros(()), self.points.shape))

    def measure(self, points: Float) -> Particles:
        """The law of all tokens at these points `(copies, n, c)`."""
        every = points.reshape(-1, points.shape[-1])
        if self.copies == 1:
            return self.law(every)
        weights = np.tile(self.weights / self.copies, self.copies)
        positions = None if self.positions is None else np.tile(self.positions, self.copies)
        return Particles(every, weights, self.geometry, positions)

    def laws(self, points: Float) -> list[Measure]:
        """Of each system."""
        return [self.law(each) for each in points]

    def law(self, points: Float) -> Particles:
        """Of one system, at native points `(n, c)`."""
        return self.law_on(self.geometry, points)

    def law_on(self, space: Geometry | None, points: Float) -> Particles:
        """The same on another space."""
        return particles_of(points, self.weights, space, self.positions, self.ranks)


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
        positions, ranks = given.positions, present()
        if positions is None and measure.positions is not None:  # a mask without positions: in the order of the tokens
            positions = np.arange(1, len(points) + 1) / len(points)
        low, high = _share(ranks, len(points))
        positions = None if positions is None else positions[low:high]
        return Tokens(points[None, low:high], weights[low:high], positions, geometry, ranks)
    count = settings.count
    if count is None:
        raise ProblemError.at("solver.count", "is missing: how many tokens are to be drawn?")
    low, high = _share(present(), count)
    own = high - low
    need_memory("solver.count", copies * own * geometry.ambient_dimension)
    if settings.sampling == "stratified":
        shares = [_stratified(measure, count, settings.seed, copy, low, own) for copy in range(copies)]
        drawn = np.concatenate(shares)
    else:
        drawn = measure.sample_share(copies * low, copies * own, settings.seed)
    positions = measure.sample_positions(count, settings.seed)
    positions = None if positions is None else positions[low:high]
    return Tokens(drawn.reshape(copies, own, -1), np.full(own, 1 / count), positions, geometry, present())


def _share(ranks: Ranks, count: int) -> tuple[int, int]:
    """The tokens of this process."""
    if count < RANK_TOKENS_MIN * ranks.size and ranks.size > 1:
        wanted = f"{count} tokens are too few for {ranks.size} ranks: each is to have {RANK_TOKENS_MIN}"
        raise ProblemError.at("solver.count", wanted)
    return ranks.share(count)


def _stratified(measure: Measure, count: int, seed: int, copy: int, first: int, own: int) -> Float:
    """One draw from each of `own` of `count` parts of equal mass, from that one on, on the line and on the circle:
    `(own, 1)`, ascending."""
    space = measure.space
    if measure.positions is not None or not (space.angular or (space.flat and space.ambient_dimension == 1)):
        raise ProblemError.at("solver.sampling", "stratified draws are for the line and the circle, without positions")
    shares = Stream(seed, copy, _STRATA).uniforms(0, own, first=first)[:, 0]
    return law_of(measure).quantile_and_mean((first + np.arange(own) + shares) / count)[0][:, None]
