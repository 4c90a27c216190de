"""Kernels made of `e^{<Ax, y> + g(y)}`: everything about them follows from logarithms of Laplace transforms."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mfpde.attention.bounds import check_scores
from mfpde.attention.head import Head
from mfpde.attention.law import NO_ENERGY
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Queries, multiple_of_identity
from mfpde.measure import Measure
from mfpde.measure.damping import LogFactors
from mfpde.typing import Float

__all__ = ["Exponential"]

#: pairs of points up to which the plain sum is quicker than loading compiled code
_PLAIN_PAIRS_MAX = 2**14
#: largest x for which e^x is a double
_EXPONENT_MAX = 709.0


class Exponential(Head):
    """Attention through `e^{<Ax, y> + g(y)}`: `V grad log M(Ax)`, M the Laplace transform of `e^g mu` (physics section
    2), times `M(Ax)` where the kernel is not normalised."""

    tilts: ClassVar[bool] = True
    tail_power: ClassVar[float] = 0.25

    def check_tails(self, measure: Measure, points: Float) -> None:
        if self.plain:
            measure.tilt(measure.space.queries(points), self.query_matrix(measure.ambient_dimension))

    def largest(self, dimension: int, radius: float) -> float:
        score = float(np.linalg.norm(self.query_matrix(dimension), 2)) * radius**2
        known = self.plain and not self.normalised and score < _EXPONENT_MAX
        return float(np.exp(score)) if known else super().largest(dimension, radius)

    def energy_unfit(self, geometry: Geometry) -> str | None:
        reason = super().energy_unfit(geometry)
        by_pairs = not geometry.angular or reason in NO_ENERGY
        if by_pairs and None not in self._scales(geometry.ambient_dimension):
            return None
        return reason

    def energy(self, measure: Measure) -> float:
        """`v iint (e^{a <x, y>} - 1) / (2 a) dmu dmu` for A = a I, V = v I; at a = 0 `v |int x dmu|^2 / 2`."""
        a, v = self._scales(measure.ambient_dimension)
        if a is None or v is None or (measure.by_degree and super().energy_unfit(measure.space) is None):
            return super().energy(measure)
        with np.errstate(over="ignore"):
            return v * measure.pair_excess(a) / (2 * a) if a else 0.5 * v * float(measure.mean @ measure.mean)

    def _scales(self, dimension: int) -> tuple[float | None, float | None]:
        """a and v of A = a I, V = v I, before the weight, of kernels that are `e^{<Ax, y>}`."""
        if not self.plain:
            return None, None
        return multiple_of_identity(self.query_matrix(dimension)), multiple_of_identity(self.value_matrix(dimension))

    def check_scores(self, measure: Measure, queries: Queries) -> None:
        check_scores(measure, queries, self.query_matrix(measure.ambient_dimension))

    def sums(self, measure: Measure, queries: Queries) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        if measure.pointlike and np.prod(queries.shape) * measure.node_count <= _PLAIN_PAIRS_MAX:
            return queries.laid(self._sums_of_few(measure, queries.points(), query))
        log_mass, mean = measure.tilt(queries, query, self.factors(measure))
        return mean if self.normalised else mean * raised(log_mass, measure)

    def fixed_kernel(self, queries: Float, keys: Float) -> Float | None:
        if not self.normalised:
            return super().fixed_kernel(queries, keys)
        dimension = keys.shape[1]
        tilts, form = queries @ self.query_matrix(dimension).T, self.key_form(dimension)
        # scores of unit vectors y are at most |Ax| <= (|A| + |Ax|^2 / |A|) / 2, which is a polynomial
        size = max(float(np.linalg.norm(self.query_matrix(dimension), 2)), np.finfo(float).tiny)
        scores = tilts @ keys.T - 0.5 * (size + np.sum(tilts**2, axis=1, keepdims=True) / size)
        return np.exp(scores if form is None else scores - np.sum(keys @ form * keys, axis=1))

    def factors(self, measure: Measure) -> LogFactors:
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
        return queries.laid(mean if self.normalised else mean * raised(log_mass, measure)[:, None])

    def slopes(self, measure: Measure, points: Float) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        tilts = measure.space.embed(points) @ query.T
        log_mass, mean, spread = measure.tilted_covariance(tilts, self.factors(measure))
        if not self.normalised:
            spread = raised(log_mass, measure)[:, None, None] * (spread + mean[:, :, None] * mean[:, None, :])
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


def raised(log_mass: Float, measure: Measure | None = None) -> Float:
    """`e^{log M}` of a measure, refused where that is beyond a double."""
    largest = float(log_mass.max(initial=-np.inf))
    largest = largest if measure is None else measure.largest_found(largest)
    if largest > _EXPONENT_MAX:
        raise ProblemError.at(
            "attention", f"overflows: unnormalized attention reaches e^{largest:.4g}; softmax has no such limit"
        )
    return np.exp(log_mass)
