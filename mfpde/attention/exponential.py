"""Kernels made of `e^{<Ax, y> + g(y)}`: everything about them follows from logarithms of Laplace transforms."""

from __future__ import annotations

import numpy as np

from mfpde.attention.bounds import check_scores
from mfpde.attention.head import Head
from mfpde.attention.law import embedded, embedded_nodes
from mfpde.attention.reweighted import Reweighted
from mfpde.errors import ProblemError
from mfpde.geometry import Lattice
from mfpde.measure import Measure, Particles
from mfpde.typing import Float

__all__ = ["Exponential"]

#: pairs of points up to which the plain sum is taken: they are not worth loading compiled code
_FEW_PAIRS = 2**14
#: largest logarithm of an unnormalized sum
_OVERFLOW = 709.0


class Exponential(Head):
    """Attention through `e^{<Ax, y> + g(y)}`: `V grad log M(Ax)`, M the Laplace transform of `e^g mu` (physics section
    2), times `M(Ax)` where the kernel is not normalised."""

    def check_scores(self, measure: Measure, points: Float | Lattice) -> None:
        check_scores(measure, points, self.query_matrix(measure.ambient_dimension))

    def sums(self, measure: Measure, points: Float | Lattice) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        if not isinstance(points, Lattice) and isinstance(measure, Particles):
            few = points.shape[0] * measure.weights.size <= _FEW_PAIRS
            if few:
                return self._sums_of_few(measure, points, query)
        log_mass, mean = self.tilted(measure, points, query)
        if self.normalised:
            return mean
        return mean * (raised(log_mass) if isinstance(points, Lattice) else raised(log_mass)[:, None])

    def _sums_of_few(self, measure: Measure, points: Float, query: Float) -> Float:
        keys, weights = embedded_nodes(measure)
        factors = self.log_factors(measure)
        scores = embedded(measure, points) @ query.T @ keys.T
        # a key without weight must not set the scale: the others could all underflow
        scores = np.where(weights > 0, scores if factors is None else scores + factors, -np.inf)
        return self.couplings(scores, weights)[0] @ keys

    def tilted(self, measure: Measure, points: Float | Lattice, query: Float) -> tuple[Float, Float]:
        """`(log M(Ax), grad log M(Ax))` for M of `e^g mu`."""
        factors = self.log_factors(measure)
        if isinstance(points, Lattice):
            tilts = points.mapped(query)
            pair: tuple[Float, Float] = (
                measure.log_laplace(tilts, gradient=True)
                if factors is None
                else Reweighted(measure, factors).log_laplace(tilts)
            )
            return pair
        return measure.tilt(points, query) if factors is None else Reweighted(measure, factors).tilt(points, query)

    def masked_means(self, measure: Measure, points: Float, positions: Float) -> Float:
        if not isinstance(measure, Particles) or measure.positions is None:
            return super().masked_means(measure, points, positions)
        from mfpde.transform import tilted_mean_masked

        keys, weights = embedded_nodes(measure)
        tilts = embedded(measure, points) @ self.query_matrix(keys.shape[1]).T
        mean, log_mass = tilted_mean_masked(
            tilts, positions, keys, measure.positions, weights, self.log_factors(measure)
        )
        return mean if self.normalised else mean * raised(log_mass)[:, None]

    def slopes(self, measure: Measure, points: Float) -> Float:
        from mfpde.transform import tilted_covariance

        keys, weights = embedded_nodes(measure)
        query = self.query_matrix(keys.shape[1])
        tilts = embedded(measure, points) @ query.T
        log_mass, mean, spread = tilted_covariance(tilts, keys, weights, self.log_factors(measure))
        if not self.normalised:
            spread = raised(log_mass)[:, None, None] * (spread + mean[:, :, None] * mean[:, None, :])
        return spread @ query

    def pair_matrix(self, measure: Measure) -> Float:
        keys, weights = embedded_nodes(measure)
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
