"""Softmax self-attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.affine import AffineDrift
from mfpde.attention.exponential import Exponential
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Softmax"]


@register("attention", "softmax")
class Softmax(Exponential):
    """`G_mu(x) = int e^{<Ax,y>} V y dmu(y) / int e^{<Ax,z>} dmu(z)`; on spheres with `beta` the survey's (SA).

    Good values: beta 0 (Kuramoto) to 200. Fails: nowhere in finite time for compactly supported data.

    >>> import mfpde
    >>> attention = mfpde.Softmax(A=[[1, 0.5], [0, 1]], V=-1)
    >>> attention.drift(mfpde.Particles([[1.0, 0.0], [0.0, 1.0]]), [[0.0, 0.0]])
    array([[-0.5, -0.5]])
    """

    kind: Literal["softmax"] = "softmax"
    normalised: ClassVar[bool] = True

    def kernel(self, queries: Float, keys: Float, weights: Float) -> Float:
        # a key without weight must not set the scale: the others could all underflow
        scores = np.where(weights != 0, self.scores(queries, keys), -np.inf)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return raised / (raised @ weights)[:, None]

    def gaussian_unfit(self, dimension: int) -> str | None:
        return None

    def gaussian_drift(self, mean: Float, covariance: Float) -> AffineDrift:
        query, value = self.query_matrix(mean.size), self.value_matrix(mean.size)
        slope = value @ covariance @ query
        return AffineDrift(value @ mean + slope @ mean, slope)
