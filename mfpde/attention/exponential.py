"""Kernels made of `e^{<Ax, y> + g(y)}`: everything about them follows from logarithms of Laplace transforms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mfpde.attention.bounds import check_scores
from mfpde.attention.head import Head
from mfpde.errors import ProblemError
from mfpde.geometry import Queries
from mfpde.measure import Measure
from mfpde.measure.damping import LogFactors
from mfpde.typing import Float

__all__ = ["Exponential"]

#: pairs of points up to which the plain sum is taken: they are not worth loading compiled code
_FEW_PAIRS = 2**14
#: largest logarithm of an unnormalized sum
_OVERFLOW = 709.0


class Exponential(Head):
    """Attention through `e^{<Ax, y> + g(y)}`: `V grad log M(Ax)`, M the Laplace transform of `e^g mu` (physics section
    2), times `M(Ax)` where the kernel is not normalised."""

    tilts: ClassVar[bool] = True
    tail_power: ClassVar[float] = 0.25

    def check_scores(self, measure: Measure, queries: Queries) -> None:
        check_scores(measure, queries, self.query_matrix(measure.ambient_dimension))

    def sums(self, measure: Measure, queries: Queries) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        if measure.pointlike and np.prod(queries.shape) * measure.nodes()[1].size <= _FEW_PAIRS:
            return queries.laid(self._sums_of_few(measure, queries.points(), query))
        log_mass, mean = measure.tilt(queries, query, self.factors(measure))
        return mean if self.normalised else mean * raised(log_mass)

    def factors(self, measure: Measure) -> LogFactors | None:
        """g as the fast sums take it."""
        return self.log_factors(measure)

    def _sums_of_few(self, measure: Measure, x: Float, query: Float) -> Float:
        keys, weights = measure.embedded_nodes()
        factors = self.log_factors(measure)
        scores = x @ query.T @ keys.T
        # a key without weight must not set the scale: the others could all underflow
        scores = np.where(weights > 0, scores if factors is None else scores + factors, -np.inf)
        return self.couplings(scores, weights)[0] @ keys

    def masked_means(self, measure: Measure, queries: Queries, positions: Float) -> Float:
        if not measure.pointlike or measure.positions is None or positions.ndim == 0:
            return super().masked_means(measure, queries, positions)
        from mfpde.transform import tilted_mean_masked

        keys, weights = measure.embedded_nodes()
        tilts = queries.mapped(self.query_matrix(keys.shape[1])).points()
        mean, log_mass = tilted_mean_masked(
            tilts, positions, keys, measure.positions, weights, self.log_factors(measure)
        )
        return queries.laid(mean if self.normalised else mean * raised(log_mass)[:, None])

    def slopes(self, measure: Measure, points: Float) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        tilts = measure.space.embed(points) @ query.T
        log_mass, mean, spread = measure.tilted_covariance(tilts, self.factors(measure))
        if not self.normalised:
            spread = raised(log_mass)[:, None, None] * (spread + mean[:, :, None] * mean[:, None, :])
        return spread @ query

    def pair_matrix(self, measure: Measure) -> Float:
        keys, weights = measure.embedded_nodes()
        factors = self.log_factors(measure)
        scores = keys @ self.query_matrix(keys.shape[1]).T @ keys.T
        return self.couplings(scores if factors is None else scores + factors, weights)[0]

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        raised_scores = np.exp(scores - scores.max(axis=1, keepdims=True)) if self.normalised else raised(scores)
        pairs = raised_scores * weights
        if self.normalised:
            pairs /= pairs.sum(axis=1, keepdims=True)
        return pairs, pairs


def raised(log_mass: Float) -> Float:
    """`e^{log M}`, refused where that is beyond a double."""
    largest = float(log_mass.max(initial=-np.inf))
    if largest > _OVERFLOW:
        raise ProblemError.at(
            "attention", f"overflows: unnormalized attention reaches e^{largest:.4g}; softmax has no such limit"
        )
    return np.exp(log_mass)
