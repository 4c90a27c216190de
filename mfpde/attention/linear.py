"""Linear attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.affine import AffineDrift, Forms
from mfpde.attention.bilinear import Bilinear
from mfpde.attention.convolution import Convolution
from mfpde.geometry import Geometry, Queries
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Linear"]


@register("attention", "linear")
class Linear(Bilinear):
    """`G_mu(x) = int <Ax,y> V y dmu(y) = V M_2 A x`, `M_2 = int y y^T dmu`: second moments are all that matters.

    Every measure moves by a linear map, Gaussians stay Gaussian. *Symmetries:* permutations of the tokens; invertible
    maps x -> Tx, if A becomes `T^-T A T^-1` and V `T V T^-1`. *Good values:* `|A| |M_2|` about 1. *Fails:* it can blow
    up in finite time from any data.

    >>> import mfpde
    >>> mfpde.Linear(A=2).drift(mfpde.Particles([1.0, 3.0]), [0.5])          # 2 * (1 + 9) / 2 * 0.5
    array([5.])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "katharopoulos2020")
    kind: Literal["linear"] = "linear"
    pair_kernel: ClassVar[str] = "linear"
    normalised: ClassVar[bool] = False
    rests_at_origin: ClassVar[bool] = True

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        return self.scores(queries, keys)

    def convolution(self, geometry: Geometry) -> Convolution | None:
        """On spheres, with `A = a I` and `V = c I`: the potential `a c <x, y>^2 / 2` is of degree 2."""
        dimension = geometry.ambient_dimension
        found = None if geometry.harmonics is None or not self.constant else self.multiples(dimension)
        if geometry.harmonics is None or found is None:
            return None
        strength = found[0] * found[1]
        potential = np.array([0.0, 0.0, strength / (dimension * (dimension + 2))])
        return Convolution(geometry.harmonics, potential, None, abs(strength) / 2)

    def sums(self, measure: Measure, queries: Queries) -> Float:
        return queries.mapped(self._slope(measure)).vectors()

    def slopes(self, measure: Measure, points: Float) -> Float:
        slope = self._slope(measure)
        return np.broadcast_to(slope, (points.shape[0], *slope.shape)).copy()

    def _slope(self, measure: Measure) -> Float:
        second = measure.covariance + np.outer(measure.mean, measure.mean)
        return measure.mass * second @ self.query_matrix(measure.ambient_dimension)

    def largest(self, dimension: int, radius: float) -> float:
        return float(np.linalg.norm(self.query_matrix(dimension), 2)) * radius**2

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        return scores * weights, np.broadcast_to(weights, scores.shape)

    @property
    def gaussian_unfit_head(self) -> str | None:
        return None

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        slope = (covariance + np.outer(mean, mean)) @ self.query_matrix(mean.size)
        return AffineDrift(slope @ mean, slope)

    def gaussian_forms(self, dimension: int) -> Forms | None:
        return Forms(self.query_matrix(dimension), np.zeros((0, dimension)))

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        seen, own = factor.T @ forms.query, mean @ forms.query
        pushed = factor @ (seen @ factor) + np.outer(mean, own @ factor)
        return factor @ (seen @ mean) + mean * (own @ mean), pushed
