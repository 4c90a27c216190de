"""Kernels of the scores that are not exponential: sums over pairs of tokens."""

from __future__ import annotations

from abc import abstractmethod

from mfpde.attention.bilinear import Bilinear
from mfpde.attention.law import embedded, embedded_nodes, on_lattice
from mfpde.geometry import Lattice
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

    def sums(self, measure: Measure, points: Float | Lattice) -> Float:
        if isinstance(points, Lattice):
            return on_lattice(points, self.sums(measure, points.points()))
        tilts = embedded(measure, points) @ self.query_matrix(measure.ambient_dimension).T
        if isinstance(measure, Normal):
            return self.sum_of_normal(measure, tilts)
        return self.sum_over(tilts, *embedded_nodes(measure))

    def slopes(self, measure: Measure, points: Float) -> Float:
        query = self.query_matrix(measure.ambient_dimension)
        return self.derivative_over(embedded(measure, points) @ query.T, *embedded_nodes(measure)) @ query
