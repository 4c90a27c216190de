"""Sums of many narrow normal laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.geometry import Geometry, Lattice
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.base import NODES_ACCURACY, Measure
from mfpde.measure.normal_cells import shares_of_normal
from mfpde.measure.rules import tensor
from mfpde.streams import normal_rows, random_stream
from mfpde.typing import AnyArray, Float

__all__ = ["NormalSum", "three_points"]

Whole: TypeAlias = NDArray[np.intp]

_DEVIATIONS = 12.0  # of each law, beyond which its density, e^{-72} of its peak, counts as zero
_POINTS = 6  # Gauss points along a side of a cell of the plane
_NUMBERS_PER_BATCH = 1 << 21  # bounds memory


def three_points(dimension: int) -> tuple[Float, Float]:
    """Points `(3^d, d)` and weights of N(0, I): Gauss-Hermite rules along each axis, exact to degree five."""
    points = tensor([np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0])] * dimension)
    return points, tensor([np.array([1.0, 4.0, 1.0]) / 6.0] * dimension).prod(axis=1)


class NormalSum(Measure):
    """`sum_i w_i N(m_i, S_i)` on the line or the plane: `weights (n,)`, `means (n, d)`, `covariances (n, d, d)`.

    >>> from mfpde.geometry import Line
    >>> pair = NormalSum([0.5, 0.5], [[-1.0], [1.0]], [[[0.1]], [[0.1]]], Line())
    >>> pair.covariance, pair.evaluate([[1.0]]).round(6)
    (array([[1.1]]), array([0.630783]))
    """

    def __init__(self, weights: AnyArray, means: AnyArray, covariances: AnyArray, geometry: Geometry) -> None:
        self.weights, self.means, self.covariances = (np.asarray(each, float) for each in (weights, means, covariances))
        self._geometry = geometry

    def nodes(self, accuracy: float = NODES_ACCURACY, refinement: float = 1.0) -> tuple[Float, Float]:
        """Three points along each axis of each law: what tilts see of a narrow one."""
        points, shares = three_points(self.means.shape[1])
        apart = np.einsum("nij,qj->nqi", np.linalg.cholesky(self.covariances), points)
        places = (self.means[:, None] + apart).reshape(-1, self.means.shape[1])
        return places, np.multiply.outer(self.weights, shares).ravel()

    @property
    def mean(self) -> Float:
        return self.weights @ self.means

    @property
    def covariance(self) -> Float:
        apart = self.means - self.mean
        return np.einsum("n,nij->ij", self.weights, self.covariances) + (self.weights[:, None] * apart).T @ apart

    def sample(self, count: int, seed: int = 0) -> Float:
        ends = np.cumsum(self.weights)
        chosen = np.searchsorted(ends[:-1], random_stream(count, seed).random(count) * ends[-1], side="right")
        roots = np.linalg.cholesky(self.covariances)[chosen]
        return self.means[chosen] + np.einsum("nij,nj->ni", roots, normal_rows(count, self.means.shape[1], seed))

    def evaluate(self, points: AnyArray) -> Float:
        found = np.zeros(len(x := self.space.points(points)))
        inverses = np.linalg.inv(self.covariances)
        heights = self.weights * np.sqrt(np.linalg.det(inverses / (2.0 * np.pi)))
        for mean, inverse, height in zip(self.means, inverses, heights, strict=True):
            apart = x - mean
            found += height * np.exp(-0.5 * np.einsum("ni,ij,nj->n", apart, inverse, apart))
        return found

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
        return self._averages_on_line(lattice) if lattice.dimension == 1 else self._averages_on_plane(lattice)

    def _averages_on_line(self, lattice: Lattice) -> Float:
        means, covariances, volume = self._seen(lattice)
        axis, found = lattice.axes[0], np.zeros(lattice.shape)
        width, deviations = float(axis[1] - axis[0]), np.sqrt(covariances[:, 0])
        for some, (places,) in _windows(lattice.axes, means, covariances):
            middles = (axis[places] - means[some]) / deviations[some]
            values = shares_of_normal(middles, 0.5 * width / deviations[some]) * self.weights[some, None]
            found += np.bincount(places.ravel(), values.ravel(), found.size)
        return found / (width * volume)

    def _averages_on_plane(self, lattice: Lattice) -> Float:
        nodes, weights = gauss_legendre(_POINTS)
        widths = [(axis[-1] - axis[0]) / (axis.size - 1) for axis in lattice.axes]
        axes = tuple((a[:, None] + 0.5 * w * nodes).ravel() for a, w in zip(lattice.axes, widths, strict=True))
        values = self.on_lattice(Lattice(axes, lattice.origin, lattice.matrix))
        rows, columns = lattice.shape
        return np.einsum("ipjq,p,q->ij", values.reshape(rows, _POINTS, columns, _POINTS), weights, weights)

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
