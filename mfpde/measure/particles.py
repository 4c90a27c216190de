"""Weighted points."""

from __future__ import annotations

import hashlib
from typing import ClassVar

import numpy as np

from mfpde.arguments import numbers
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries, Scattered, need_space
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.basins import Cluster
from mfpde.measure.damping import LogFactors, Pair, values_at
from mfpde.measure.linking import clusters_of_points, linked, linked_on_circle
from mfpde.streams import random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["Particles"]


class Particles(Measure):
    """`mu = sum_i w_i delta_{x_i}`. Weights default to 1/n; no geometry means R^d. `positions` s_i are for masked
    attention.

    >>> Particles([[0.0, 1.0], [2.0, 1.0]]).mean
    array([1., 1.])
    """

    pointlike: ClassVar[bool] = True

    def __init__(
        self,
        points: AnyArray,
        weights: AnyArray | None = None,
        geometry: Geometry | None = None,
        positions: AnyArray | None = None,
    ) -> None:
        given = numbers("points", points)
        if geometry is None:
            if given.ndim not in (1, 2) or given.size == 0:
                raise ProblemError.at("points", f"must have shape (n, d) with n and d at least 1, not {given.shape}")
            if not np.isfinite(given).all():
                raise ProblemError.at("points", "must be finite")
            self.points = given.reshape(given.shape[0], -1)
        else:
            need_space(geometry)
            self.points = geometry.points(given)
        self.weights = _weights(weights, self.points.shape[0])
        self._geometry = geometry
        self._positions = _positions(positions, self.points.shape[0])

    @property
    def positions(self) -> Float | None:
        return self._positions

    @property
    def slices(self) -> list[tuple[float | None, float, Measure]]:
        if self._positions is None:
            return super().slices
        groups = [(float(place), self._positions == place) for place in np.unique(self._positions)]
        return [
            (place, float(self.weights[here].sum()), Particles(self.points[here], self.weights[here], self._geometry))
            for place, here in groups
            if self.weights[here].any()
        ]

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self.points, self.weights

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        found, native = None, queries.native
        if matrix is not None and native is not None and self._geometry is not None:
            factors = None if log_factors is None else values_at(log_factors, self.embedded_nodes()[0])
            found = self._geometry.tilted_mean(matrix, native, self.points, self.weights, factors)
        return super().tilt(queries, matrix, log_factors) if found is None else (found[1], queries.laid(found[0]))

    def sizes(self) -> Float:
        return Scattered(self.points).sizes()

    def fingerprint(self) -> bytes:
        """Of its arrays, which belong to whoever made them."""
        digest = hashlib.blake2b(self.points.tobytes(), digest_size=16)
        digest.update(self.weights.tobytes())
        return digest.digest()

    @property
    def compact(self) -> bool:
        return True

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        points = self.embedded_nodes()[0][self.weights > 0]
        return points.min(axis=0), points.max(axis=0)

    def evaluate(self, points: AnyArray) -> Float:
        raise ProblemError.at("measure", "point masses have no density")

    def clusters(self, prominence: float, dip: float, least: float, radius: float) -> list[Cluster]:
        vectors, weights = self.embedded_nodes()
        if self.space.angular:
            return clusters_of_points(linked_on_circle(self.points[:, 0], radius), vectors, weights, "circle")
        kind = "flat" if self.space.flat else "sphere"
        return clusters_of_points(linked(vectors, radius), vectors, weights, kind)

    def sample(self, count: int, seed: int = 0) -> Float:
        uniform = random_stream(count, seed).random(count)
        chosen = np.searchsorted(np.cumsum(self.weights), uniform * self.weights.sum(), side="right")
        return self.points[np.minimum(chosen, self.weights.size - 1)]


def _weights(given: AnyArray | None, count: int) -> Float:
    if count == 0:
        raise ProblemError.at("points", "must be at least one")
    if given is None:
        return np.full(count, 1 / count)
    weights = numbers("weights", given)
    if weights.shape != (count,):
        raise ProblemError.at("weights", f"must have shape ({count},), one for each point, not {weights.shape}")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() <= 0:
        raise ProblemError.at("weights", "must be finite, not negative and not all zero")
    return weights / weights.sum()


def _positions(given: AnyArray | None, count: int) -> Float | None:
    if given is None:
        return None
    positions = numbers("positions", given)
    if positions.shape != (count,) or not np.isfinite(positions).all():
        raise ProblemError.at(
            "positions", f"must be finite and have shape ({count},), one for each point, not {positions.shape}"
        )
    return positions
