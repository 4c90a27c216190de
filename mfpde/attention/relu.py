"""Attention through the positive part of the scores."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.affine import AffineDrift, Forms
from mfpde.attention.convolution import Convolution
from mfpde.attention.listed_potential import convolution_of
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pairwise import Pairwise
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, Harmonics
from mfpde.measure import Measure, Normal
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Relu"]

_POTENTIAL = PairPotential("maximum(0, cosine)**2 / 2")  # whose gradient is the positive part of the cosine


@register("attention", "relu")
class Relu(Pairwise):
    """`G_mu(x) = int max(0, <Ax,y>) V y dmu(y)`.

    A centred Gaussian `N(0, S)` has `G(x) = V S A x / 2` and stays one. *Symmetries:* permutations of the tokens;
    invertible maps x -> Tx, if A becomes `T^-T A T^-1` and V `T V T^-1`; `G(cx) = c G(x)` for c > 0. *Good values:*
    `|A| |M_2|` about 1. On circle and spheres multiples of the identity act degree by degree: it is then the gradient
    flow of `W = max(0, <Ax, y>)^2 / (2 a)`. *Fails:* it can blow up in finite time from any data; on grids the kink of
    the kernel limits sums over cells to second order in d > 1.

    >>> import mfpde
    >>> mfpde.Relu(A=1).drift(mfpde.Particles([-1.0, 3.0]), [2.0, -2.0])          # 6 * 3 / 2, 2 * -1 / 2
    array([ 9., -1.])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "wortsman2023")
    kind: Literal["relu"] = "relu"
    pair_kernel: ClassVar[str] = "relu"
    normalised: ClassVar[bool] = False
    rests_at_origin: ClassVar[bool] = True

    @property
    def kinked(self) -> bool:
        return True

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        return np.maximum(0.0, self.scores(queries, keys))

    def convolution(self, geometry: Geometry) -> Convolution | None:
        """On spheres, with `A = a I` and `V = c I`: the potential `c max(0, a <x, y>)^2 / (2 a)`, whose coefficients of
        degree k fall like `k^{-2 - d/2}`."""
        found = self.multiples(geometry.ambient_dimension) if self.constant and geometry.harmonics else None
        return None if found is None or geometry.harmonics is None else _convolution(geometry.harmonics, *found)

    def quick_convolution(self, measure: Measure) -> Convolution | None:
        return None if measure.pointlike else super().quick_convolution(measure)

    def sum_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        from mfpde.transform import relu_sum

        return relu_sum(tilts, keys, weights)

    def derivative_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        from mfpde.transform import relu_derivative

        return relu_derivative(tilts, keys, weights)

    def sum_of_normal(self, measure: Normal, tilts: Float) -> Float:
        """`E[max(0, s) y]` for `s = <w, y>` of mean a and deviation b: `m E[s^+] + S w P(s > 0)` by Stein's lemma."""
        from scipy.special import ndtr

        mean, pushed = measure.mean, tilts @ measure.covariance
        a, b = tilts @ mean, np.sqrt(np.maximum(np.sum(pushed * tilts, axis=1), 0.0))
        standard = np.divide(a, b, out=np.where(a > 0, np.inf, -np.inf), where=b > 0)
        positive = np.asarray(ndtr(standard))
        part = np.where(b > 0, a * positive + b * np.exp(-0.5 * standard**2) / np.sqrt(2 * np.pi), np.maximum(a, 0.0))
        return part[:, None] * mean + positive[:, None] * pushed

    def largest(self, dimension: int, radius: float) -> float:
        return float(np.linalg.norm(self.query_matrix(dimension), 2)) * radius**2

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        return np.maximum(0.0, scores) * weights, (scores > 0) * weights

    @property
    def gaussian_unfit_head(self) -> str | None:
        return None

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        if mean.any():
            raise ProblemError.at("initial.mean", "must be 0: relu attention keeps centred Gaussians only")
        return AffineDrift(np.zeros(mean.size), 0.5 * covariance @ self.query_matrix(mean.size))

    def gaussian_forms(self, dimension: int) -> Forms | None:
        return Forms(self.query_matrix(dimension), np.zeros((0, dimension)))

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        return np.zeros(mean.size), 0.5 * factor @ (factor.T @ forms.query @ factor)

    def _closed_form(self, measure: Measure) -> AffineDrift | None:
        return None if measure.mean.any() else super()._closed_form(measure)


@lru_cache(maxsize=32)
def _convolution(harmonics: Harmonics, scale: float, factor: float) -> Convolution:
    plain, strength = convolution_of(harmonics, _POTENTIAL.degrees(harmonics), _POTENTIAL, None), factor * scale
    signs = np.where(np.arange(plain.potential.size) % 2, np.sign(scale), 1.0)
    return replace(
        plain,
        potential=strength * signs * plain.potential,
        bound=abs(strength) * plain.bound,
        energy_offset=strength * plain.energy_offset,
    )
