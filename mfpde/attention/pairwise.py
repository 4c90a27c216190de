"""Kernels of the scores that are not exponential: sums over pairs of tokens."""

from __future__ import annotations

from abc import abstractmethod

from mfpde.attention.bilinear import Bilinear
from mfpde.geometry import Queries
from mfpde.measure import Measure, Normal
from mfpde.typing import Float

__all__ = ["Pairwise"]


class Pairwise(Bilinear):
    """Attention through `k(<Ax, y>)` by sums over the nodes of a measure at tilts `w = Ax`; Gaussians have closed
    forms."""

    @abstractmethod
    def sum_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        """`sum_j w_j k(<w, y_j>) y_j`, `(m, d)`."""

    @abstractmethod
    def derivative_over(self, tilts: Float, keys: Float, weights: Float) -> Float:
        """D_w of it, `(m, d, d)`."""

    @abstractmethod
    def sum_of_normal(self, measure: Normal, tilts: Float) -> Float:
        """`E[k(<w, y>) y]` for a Gaussian y, `(m, d)`."""

    def sums(self, measure: Measure, queries: Queries) -> Float:
        tilts = queries.mapped(self.query_matrix(measure.ambient_dimension)).points()
        if measure.normal is not None:
            return queries.laid(self.sum_of_normal(measure.normal, tilts))
        return queries.laid(measure.over_nodes(lambda keys, weights: self.sum_over(tilts, keys, weights)))

    def slopes(self, measure: Measure, points: Float) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        return self.derivative_over(measure.space.embed(points) @ query.T, *measure.embedded_nodes()) @ query
