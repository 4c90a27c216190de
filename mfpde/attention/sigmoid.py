"""Sigmoid attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.pairwise import Pairwise
from mfpde.measure import Normal
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Sigmoid"]

#: beyond them a Gaussian is below roundoff
_MAX_DEVIATIONS = 8.8


@register("attention", "sigmoid")
class Sigmoid(Pairwise):
    """`G_mu(x) = int V y / (1 + e^{-<Ax,y>}) dmu(y)`.

    Gaussians do not stay Gaussian. *Symmetries:* permutations of the tokens; invertible maps x -> Tx, if A becomes
    `T^-T A T^-1` and V `T V T^-1`. *Good values:* `|A| L^2` from 1 (almost linear) to 100 (almost a step). *Fails:*
    nowhere in finite time, `|G| <= |V| int |y| dmu`; from three dimensions on, and for `|A| L^2` beyond some tens, sums
    are over all pairs, so a million tokens are too many.

    >>> import mfpde
    >>> mfpde.Sigmoid(A=1).drift(mfpde.Particles([[1.0, 3.0]]), [[0.0, 0.0], [-500.0, -500.0]])
    array([[0.5, 1.5],
           [0. , 0. ]])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "ramapuram2025")
    kind: Literal["sigmoid"] = "sigmoid"
    normalised: ClassVar[bool] = False

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        return _logistic(self.scores(queries, keys))

    def sum_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        from mfpde.transform import sigmoid_sum

        return sigmoid_sum(tilts, keys, weights)

    def derivative_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        from mfpde.transform import sigmoid_derivative

        return sigmoid_derivative(tilts, keys, weights)

    def sum_of_normal(self, measure: Normal, tilts: Float) -> Float:
        """`E[s(z) y]` for `z = <w, y>` of mean a and deviation b: `m E[s(z)] + S w E[s'(z)]` by Stein's lemma.

        Equispaced sums over z: spacing h errs by `e^{pi^2 / (2 b^2) - 2 pi^2 / h}`, the poles' share, and by
        `e^{-2 pi^2 b^2 / h^2}`, the Gaussian's.
        """
        pushed = tilts @ measure.covariance
        mean, width = tilts @ measure.mean, np.sqrt(np.maximum(np.sum(pushed * tilts, axis=1), 0.0))
        first, second = np.empty(mean.size), np.empty(mean.size)
        wide = np.maximum(width, 0.35)  # a narrower one does not reach the poles
        spacing = np.where(
            width < wide, 0.7 * width, np.minimum(2 * np.pi**2 / (39 + np.pi**2 / (2 * wide**2)), 0.7 * wide)
        )
        counts = np.where(width > 0, np.ceil(_MAX_DEVIATIONS * width / np.where(width > 0, spacing, 1.0)), 0).astype(
            int
        )
        for row in range(mean.size):
            z = mean[row] + spacing[row] * np.arange(-counts[row], counts[row] + 1)
            weights = np.exp(-0.5 * ((z - mean[row]) / width[row]) ** 2) if width[row] > 0 else np.ones(1)
            weights /= weights.sum()
            values = _logistic(z)
            first[row], second[row] = weights @ values, weights @ (values * (1 - values))
        return first[:, None] * measure.mean + second[:, None] * pushed

    def largest(self, dimension: int, radius: float) -> float:
        return 1.0

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        kernel = _logistic(scores)
        return kernel * weights, kernel * (1.0 - kernel) * weights


def _logistic(scores: Float) -> Float:
    small = np.exp(-np.abs(scores))
    return np.where(scores > 0, 1.0, small) / (1.0 + small)
