"""Weighted sums of measures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.geometry import Geometry, HarmonicSeries, Lattice, Queries
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.damping import LogFactors, Pair
from mfpde.streams import random_stream, seed_of_part
from mfpde.typing import AnyArray, Float

__all__ = ["Superposition"]

Whole: TypeAlias = NDArray[np.intp]


class Superposition(Measure):
    """`mu = sum_i w_i mu_i`, weights of sum 1: every answer is made of those of its parts.

    >>> from mfpde.measure.normal import Normal
    >>> Superposition([0.5, 0.5], [Normal(-1.0, 0.1), Normal(1.0, 0.1)]).covariance
    array([[1.1]])
    """

    def __init__(self, shares: AnyArray, parts: Sequence[Measure]) -> None:
        given = np.asarray(shares, dtype=float)
        self.shares: Float = given[given > 0]
        self.parts = tuple(part for share, part in zip(given, parts, strict=True) if share > 0)

    @property
    def geometry(self) -> Geometry | None:
        return self.parts[0].geometry

    @property
    def ambient_dimension(self) -> int:
        return self.parts[0].ambient_dimension

    @property
    def compact(self) -> bool:
        return all(part.compact for part in self.parts)

    @property
    def jumps(self) -> bool:
        return any(part.jumps for part in self.parts)

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        pairs = [part.nodes(accuracy, refinement) for part in self.parts]
        weights = [share * weight for share, (_, weight) in zip(self.shares, pairs, strict=True)]
        return np.concatenate([points for points, _ in pairs]), np.concatenate(weights)

    @property
    def summands(self) -> list[tuple[float, Measure]]:
        return list(zip(self.shares.tolist(), self.parts, strict=True))

    def tilt(self, queries: Queries, matrix: Float | None = None, log_factors: LogFactors = None) -> Pair:
        from mfpde.transform import joined

        if isinstance(log_factors, np.ndarray):  # at all nodes in a row
            return super().tilt(queries, matrix, log_factors)
        answers = [part.tilt(queries, matrix, log_factors) for part in self.parts]
        shares = np.log(self.shares)
        mean, value = joined([(mean, value + s) for s, (value, mean) in zip(shares, answers, strict=True)], axis=0)
        return value, mean

    def evaluate(self, points: AnyArray) -> Float:
        density: Float = sum(share * part.evaluate(points) for share, part in zip(self.shares, self.parts, strict=True))
        return density

    def harmonics(self, degree: int) -> HarmonicSeries:
        parts = [part.harmonics(degree) for part in self.parts]
        return parts[0].mixed(self.shares, parts)

    def sample(self, count: int, seed: int = 0) -> Float:
        chosen = self._chosen(count, seed)
        # every part draws from a stream of its own, so that the first draws do not depend on the count
        draws = [part.sample(int((chosen == k).sum()), seed_of_part(seed, k)) for k, part in enumerate(self.parts)]
        out = np.empty((count, draws[0].shape[1]))
        for k, drawn in enumerate(draws):
            out[chosen == k] = drawn
        return out

    def _chosen(self, count: int, seed: int) -> Whole:
        """Which part each draw is from."""
        ends = np.cumsum(self.shares)
        drawn = random_stream(count, seed).random(count) * ends[-1]
        return np.searchsorted(ends[:-1], drawn, side="right")

    @property
    def mean(self) -> Float:
        return self.shares @ np.array([part.mean for part in self.parts])

    @property
    def covariance(self) -> Float:
        means = np.array([part.mean for part in self.parts])
        apart = means - self.shares @ means
        inside = np.einsum("p,pij->ij", self.shares, np.array([part.covariance for part in self.parts]))
        return inside + (self.shares[:, None] * apart).T @ apart

    def _cell_averages(self, lattice: Lattice) -> Float:
        averages: Float = sum(
            share * part._cell_averages(lattice) for share, part in zip(self.shares, self.parts, strict=True)
        )
        return averages

    def reach(self, tolerance: float = NODES_ACCURACY, tilts: AnyArray | None = None) -> tuple[Float, Float]:
        ends = [part.reach(tolerance, tilts) for part in self.parts]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
