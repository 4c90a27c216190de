"""Softmax self-attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.affine import AffineDrift, Forms
from mfpde.attention.exponential_convolution import Rotational
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Softmax"]


@register("attention", "softmax")
class Softmax(Rotational):
    """`G_mu(x) = int e^{<Ax,y>} V y dmu(y) / int e^{<Ax,z>} dmu(z)`; on spheres with `beta` the survey's (SA).

    A Gaussian `N(m, S)` has `G(x) = V (m + S A x)` and stays Gaussian. *Symmetries:* permutations of the tokens;
    invertible maps x -> Tx, if A becomes `T^-T A T^-1` and V `T V T^-1`. *Good values:* beta 0 (Kuramoto) to 200.
    *Fails:* nowhere in finite time for compactly supported data; Gaussians may blow up.

    >>> import mfpde
    >>> attention = mfpde.Softmax(A=[[1, 0.5], [0, 1]], V=-1)
    >>> attention.drift(mfpde.Particles([[1.0, 0.0], [0.0, 1.0]]), [[0.0, 0.0]])
    array([[-0.5, -0.5]])
    """

    citations: ClassVar[tuple[str, ...]] = ("castin2025", "rigollet2025", "geshkovski2025")
    kind: Literal["softmax"] = "softmax"
    normalised: ClassVar[bool] = True

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        # a key without weight must not set the scale: the others could all underflow
        scores = np.where(weights != 0, self.scores(queries, keys), -np.inf)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / (raised @ weights)[:, None]

    @property
    def gaussian_unfit_head(self) -> str | None:
        return None

    def gaussian_mean(self, mean: Float, covariance: Float, factor: Float | None = None) -> AffineDrift:
        slope = covariance @ self.query_matrix(mean.size)
        return AffineDrift(mean + slope @ mean, slope)

    def gaussian_forms(self, dimension: int) -> Forms | None:
        return Forms(self.query_matrix(dimension), np.zeros((0, dimension)))

    def gaussian_push(self, forms: Forms, mean: Float, factor: Float) -> tuple[Float, Float]:
        seen = factor.T @ forms.query
        return mean + factor @ (seen @ mean), factor @ (seen @ factor)
