"""Sigmoid attention."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from mfpde.attention.bilinear import Bilinear
from mfpde.attention.law import embedded, embedded_nodes, on_lattice
from mfpde.geometry import Lattice
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Sigmoid"]


@register("attention", "sigmoid")
class Sigmoid(Bilinear):
    """`G_mu(x) = int V y / (1 + e^{-<Ax,y>}) dmu(y)`.

    Gaussians do not stay Gaussian. *Symmetries:* permutations of the tokens; invertible maps x -> Tx, if A becomes
    `T^-T A T^-1` and V `T V T^-1`. *Good values:* `|A| L^2` from 1 (almost linear) to 100 (almost a step). *Fails:*
    nowhere in finite time, `|G| <= |V| int |y| dmu`; sums are over all pairs, so a million tokens are too many.

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

    def sums(self, measure: Measure, points: Float | Lattice) -> Float:
        from mfpde.transform import sigmoid_sum

        if isinstance(points, Lattice):
            return on_lattice(points, self.sums(measure, points.points()))
        tilts = embedded(measure, points) @ self.query_matrix(measure.ambient_dimension).T
        return sigmoid_sum(tilts, *embedded_nodes(measure))

    def slopes(self, measure: Measure, points: Float) -> Float:
        from mfpde.transform import sigmoid_derivative

        query = self.query_matrix(measure.ambient_dimension)
        return sigmoid_derivative(embedded(measure, points) @ query.T, *embedded_nodes(measure)) @ query

    def couplings(self, scores: Float, weights: Float) -> tuple[Float, Float]:
        kernel = _logistic(scores)
        return kernel * weights, kernel * (1.0 - kernel) * weights


def _logistic(scores: Float) -> Float:
    small = np.exp(-np.abs(scores))
    return np.where(scores > 0, 1.0, small) / (1.0 + small)
