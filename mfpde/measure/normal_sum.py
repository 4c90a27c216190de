"""Sums of many narrow normal laws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.geometry import Geometry, Lattice
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.cells import averages_by_gauss
from mfpde.measure.normal import Normal
from mfpde.measure.normal_cells import shares_of_normal
from mfpde.measure.superposition import Superposition
from mfpde.transform.normal_sums import add_normals
from mfpde.typing import AnyArray, Float

__all__ = ["NormalSum"]

Whole: TypeAlias = NDArray[np.intp]

_DEVIATIONS = 12.0  # of each law, beyond which its density, e^{-72} of its peak, counts as zero
_POINTS = 6  # Gauss points along a side of a cell of the plane
_NUMBERS_PER_BATCH = 1 << 21  # bounds memory


class NormalSum(Measure):
    """`sum_i w_i N(m_i, S_i)` on the line or the plane: `weights (n,)`, `means (n, d)`, `covariances (n, d, d)`.

    Moments and densities on lattices are those of all laws at once; the rest is that of a superposition.

    >>> from mfpde.geometry import Line
    >>> pair = NormalSum([0.5, 0.5], [[-1.0], [1.0]], [[[0.1]], [[0.1]]], Line())
    >>> pair.covariance, pair.evaluate([[1.0]]).round(6)
    (array([[1.1]]), array([0.630783]))
    """

    def __init__(self, weights: AnyArray, means: AnyArray, covariances: AnyArray, geometry: Geometry) -> None:
        self.weights, self.means, self.covariances = (np.asarray(each, float) for each in (weights, means, covariances))
        self._geometry = geometry

    @cached_property
    def _one_by_one(self) -> Superposition:
        laws = zip(self.means, self.covariances, strict=True)
        return Superposition(self.weights, [Normal(*law, self._geometry) for law in laws])

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        return self._one_by_one.nodes(accuracy, refinement)

    def sample(self, count: int, seed: int = 0) -> Float:
        return self._one_by_one.sample(count, seed)

    def evaluate(self, points: AnyArray) -> Float:
        return self._one_by_one.evaluate(points)

    @property
    def mean(self) -> Float:
        return self.weights @ self.means

    @property
    def covariance(self) -> Float:
        apart = self.means - self.mean
        return np.einsum("n,nij->ij", self.weights, self.covariances) + (self.weights[:, None] * apart).T @ apart

    def on_lattice(self, lattice: Lattice) -> Float:
        """Density at the points of a lattice, in its shape: each law counts near its mean only."""
        means, covariances, volume = self._seen(lattice)
        inverses, found = np.ascontiguousarray(np.linalg.inv(covariances)), np.zeros(lattice.shape)
        heights = self.weights * np.sqrt(np.linalg.det(inverses / (2.0 * np.pi))) / volume
        if lattice.dimension == 2:
            spans = np.stack([end for pair in _ends(lattice.axes, means, covariances) for end in pair], axis=1)
            rows, columns = lattice.axes
            add_normals(rows, columns, heights, np.ascontiguousarray(means), inverses, spans, found)
            return found
        for some, places in _windows(lattice.axes[0], means, covariances):
            exponents = inverses[some, 0] * (lattice.axes[0][places] - means[some]) ** 2
            values = np.exp(-0.5 * exponents) * heights[some, None]
            found += np.bincount(places.ravel(), values.ravel(), found.size)
        return found

    def _cell_averages(self, lattice: Lattice) -> Float:
        if lattice.dimension > 1:
            return averages_by_gauss(self.on_lattice, lattice, _POINTS)
        means, covariances, volume = self._seen(lattice)
        axis, found = lattice.axes[0], np.zeros(lattice.shape)
        width, deviations = float(axis[1] - axis[0]), np.sqrt(covariances[:, 0])
        for some, places in _windows(axis, means, covariances):
            middles = (axis[places] - means[some]) / deviations[some]
            values = shares_of_normal(middles, 0.5 * width / deviations[some]) * self.weights[some, None]
            found += np.bincount(places.ravel(), values.ravel(), found.size)
        return found / (width * volume)

    def _seen(self, lattice: Lattice) -> tuple[Float, Float, float]:
        """Means and covariances in the coordinates of a lattice, and the volume of these."""
        inverse = np.linalg.inv(lattice.matrix)
        means = (self.means - lattice.origin) @ inverse.T
        return means, inverse @ self.covariances @ inverse.T, abs(float(np.linalg.det(lattice.matrix)))


def _ends(axes: tuple[Float, ...], means: Float, covariances: Float) -> list[tuple[Whole, Whole]]:
    """The first place on each axis that counts of each law, and the first one after it that does not."""
    reach = _DEVIATIONS * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return [
        (np.searchsorted(axis, middle - far), np.searchsorted(axis, middle + far))
        for axis, middle, far in zip(axes, means.T, reach.T, strict=True)
    ]


def _windows(axis: Float, means: Float, covariances: Float) -> Iterator[tuple[slice, Whole]]:
    """Some laws on the line at a time, and places on the axis, `(laws, places)`, that hold all that counts of them."""
    ((first, last),) = _ends((axis,), means, covariances)
    # one more at each end: half a cell beyond its middle
    count = min(int((last - first).max()) + 2, axis.size)
    start = np.clip(first - 1, 0, axis.size - count)
    size = max(1, _NUMBERS_PER_BATCH // count)
    for first_law in range(0, len(means), size):
        some = slice(first_law, first_law + size)
        yield some, start[some, None] + np.arange(count)
