"""Sums of many narrow normal laws."""

from __future__ import annotations

import math
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
        inverses, found = np.linalg.inv(covariances), np.zeros(int(np.prod(lattice.shape)))
        heights = self.weights * np.sqrt(np.linalg.det(inverses / (2.0 * np.pi))) / volume
        for some, places in _windows(lattice.axes, means, covariances):
            apart = [
                axis[place] - m[:, None] for axis, place, m in zip(lattice.axes, places, means[some].T, strict=True)
            ]
            form = inverses[some]
            if lattice.dimension == 1:
                here, exponents = places[0], form[:, 0] * apart[0] ** 2
            else:
                here = places[0][:, :, None] * lattice.shape[1] + places[1][:, None, :]
                x, y = apart[0][:, :, None], apart[1][:, None, :]
                a, b, c = form[:, 0, 0, None, None], form[:, 0, 1, None, None], form[:, 1, 1, None, None]
                exponents = a * x * x + 2.0 * b * x * y + c * y * y
            values = np.exp(-0.5 * exponents) * heights[some].reshape(-1, *[1] * lattice.dimension)
            found += np.bincount(here.ravel(), values.ravel(), found.size)
        return found.reshape(lattice.shape)

    def _cell_averages(self, lattice: Lattice) -> Float:
        if lattice.dimension > 1:
            return averages_by_gauss(self.on_lattice, lattice, _POINTS)
        means, covariances, volume = self._seen(lattice)
        axis, found = lattice.axes[0], np.zeros(lattice.shape)
        width, deviations = float(axis[1] - axis[0]), np.sqrt(covariances[:, 0])
        for some, (places,) in _windows(lattice.axes, means, covariances):
            middles = (axis[places] - means[some]) / deviations[some]
            values = shares_of_normal(middles, 0.5 * width / deviations[some]) * self.weights[some, None]
            found += np.bincount(places.ravel(), values.ravel(), found.size)
        return found / (width * volume)

    def _seen(self, lattice: Lattice) -> tuple[Float, Float, float]:
        """Means and covariances in the coordinates of a lattice, and the volume of these."""
        inverse = np.linalg.inv(lattice.matrix)
        means = (self.means - lattice.origin) @ inverse.T
        return means, inverse @ self.covariances @ inverse.T, abs(float(np.linalg.det(lattice.matrix)))


def _windows(axes: tuple[Float, ...], means: Float, covariances: Float) -> Iterator[tuple[slice, list[Whole]]]:
    """Some laws at a time, and places on each axis, `(laws, places)`, that hold all that counts of them."""
    starts, counts = [], []
    reach = _DEVIATIONS * np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for axis, middle, far in zip(axes, means.T, reach.T, strict=True):
        first, last = np.searchsorted(axis, middle - far), np.searchsorted(axis, middle + far)
        # one more at each end: half a cell beyond its middle
        counts.append(min(int((last - first).max()) + 2, axis.size))
        starts.append(np.clip(first - 1, 0, axis.size - counts[-1]))
    size = max(1, _NUMBERS_PER_BATCH // math.prod(counts))
    for first_law in range(0, len(means), size):
        some = slice(first_law, first_law + size)
        yield some, [start[some, None] + np.arange(count) for start, count in zip(starts, counts, strict=True)]
