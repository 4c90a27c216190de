"""Weighted points of which every rank has some."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mfpde.geometry import Geometry, HarmonicSeries, Queries
from mfpde.measure.base import NODES_ACCURACY, Measure, Sums
from mfpde.measure.basins import Cluster
from mfpde.measure.damping import LogFactors, Pair
from mfpde.measure.particles import Particles
from mfpde.ranks import Ranks, sharing
from mfpde.typing import AnyArray, Float

__all__ = ["SharedParticles", "particles_of"]


class SharedParticles(Particles):
    """`mu = sum_i w_i delta_{x_i}`, the sum over the points of all ranks; `points` and `weights` are those of this one.

    Sums over nodes that go by moments (tilts, harmonics, mean, covariance) are reduced: ranks send moments, whose
    number does not depend on that of the points. `nodes()` are all points of all ranks, which each then has: whatever
    else is asked of a measure is right, and takes the memory of all of them. All ranks ask alike.
    """

    def __init__(
        self, points: AnyArray, weights: Float, geometry: Geometry | None, positions: AnyArray | None, ranks: Ranks
    ) -> None:
        super().__init__(points, weights, geometry, positions)
        self.weights = weights  # which are shares of the mass of all ranks, not of this one
        self._ranks = ranks
        self._share = Particles(points, weights, geometry, positions)
        self._share.weights = weights

    @cached_property
    def _whole(self) -> Particles:
        gather = self._ranks.gathered
        positions = None if self._positions is None else gather(self._positions)
        return Particles(gather(self.points), gather(self.weights), self._geometry, positions)

    # -- of moments
    # ---------------------------------------------------------------------------------------------------------

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        with sharing(self._ranks):
            return self._share.tilt(queries, matrix, self._own(log_factors))

    def _own(self, log_factors: LogFactors) -> LogFactors:
        """Factors at the nodes of this rank, of those at all nodes."""
        if not isinstance(log_factors, np.ndarray):
            return log_factors
        counts = self._ranks.gathered(np.array([self.weights.size]))
        first = int(counts[: self._ranks.number].sum())
        return log_factors[first : first + self.weights.size]

    def over_nodes(self, sums: Callable[[Float, Float], Sums]) -> Sums:
        with sharing(self._ranks):
            return sums(*self._share.embedded_nodes())

    def harmonics(self, degree: int) -> HarmonicSeries:
        return self._share.harmonics(degree).over(self._ranks)

    def integrate(self, function: Callable[[Float], Any]) -> Any:
        return self._ranks.sum(self._share.integrate(function))

    @property
    def mean(self) -> Float:
        return self._ranks.sum(self._share.mean)

    @property
    def covariance(self) -> Float:
        points, weights = self._share.embedded_nodes()
        centred = points - self.mean
        return self._ranks.sum((weights[:, None] * centred).T @ centred)

    @property
    def node_count(self) -> int:
        return int(self._ranks.sum(self.weights.size))

    def largest_found(self, value: float) -> float:
        return self._ranks.most(value)

    def sizes(self) -> Float:
        return self._ranks.most(self._share.sizes())

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        low, high = self._share.reach(tolerance, tilts)
        return self._ranks.least(low), self._ranks.most(high)

    def fingerprint(self) -> bytes:
        own = np.frombuffer(self._share.fingerprint(), dtype=np.uint8)
        return hashlib.blake2b(self._ranks.gathered(own).tobytes(), digest_size=16).digest()

    # -- of all points
    # ---------------------------------------------------------------------------------------------------------

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self._whole.nodes()

    @property
    def positions(self) -> Float | None:
        return None if self._positions is None else self._whole.positions

    @property
    def slices(self) -> list[tuple[float | None, float, Measure]]:
        return [(None, 1.0, self)] if self._positions is None else self._whole.slices

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        return self._whole.clusters(prominence, dip, least, radius)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self._whole.sample(count, seed)


def particles_of(
    points: AnyArray, weights: Float, geometry: Geometry | None, positions: AnyArray | None, ranks: Ranks
) -> Particles:
    """The law of tokens of which these are all, or the share of this rank."""
    if ranks.size == 1:
        return Particles(points, weights, geometry, positions)
    return SharedParticles(points, weights, geometry, positions, ranks)
