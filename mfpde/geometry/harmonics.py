"""Harmonics of spheres by degree: what every rotation invariant operator multiplies by a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.typing import Float

__all__ = ["Harmonics"]

_SPARE_NODES = 64  # Gauss nodes beyond two per degree, for kernels with a tail of higher degrees


@dataclass(frozen=True)
class Harmonics:
    """Of S^{d-1} in R^d, `dimension` d: eigenfunctions of the Laplacian, Fourier modes on the circle (d = 2).

    Y_k1, Y_k2, .. are an orthonormal basis of degree k with respect to the uniform measure of mass 1; their sum
    `sum_j Y_kj(x) Y_kj(y) = N_k P_k(<x, y>)` depends on no basis: `P_k = C_k / C_k(1)` is Gegenbauer's polynomial,
    `cos k theta` on the circle and Legendre's on S^2.

    >>> Harmonics(3).eigenvalues(3), Harmonics(3).multiplicities(3)
    (array([ 0.,  2.,  6., 12.]), array([1., 3., 5., 7.]))
    """

    dimension: int

    @property
    def log_area(self) -> float:
        """Of the sphere."""
        half = 0.5 * self.dimension
        return math.log(2) + half * math.log(math.pi) - math.lgamma(half)

    def eigenvalues(self, degree: int) -> Float:
        """`k (k + d - 2)` of minus the Laplacian, k = 0 .. degree."""
        k = np.arange(degree + 1.0)
        return k * (k + self.dimension - 2)

    def multiplicities(self, degree: int) -> Float:
        """How many harmonics N_k there are, k = 0 .. degree; infinity beyond a double."""
        k, d = np.arange(1.0, degree + 1), self.dimension
        with np.errstate(over="ignore"):
            chosen = np.cumprod((d - 2 + k) / k) if d > 2 else np.ones(degree)
            return np.concatenate([[1.0], chosen * (2 * k + d - 2) / (k + d - 2)])

    def zonal(self, cosines: Float, degree: int) -> Float:
        """`P_k(t)`, k = 0 .. degree, `(degree + 1, *t.shape)`, by their recurrence: exact to rounding on [-1, 1]."""
        values = np.empty((degree + 1, *np.shape(cosines)))
        for k, row in enumerate(self.each_zonal(cosines, degree)):
            values[k] = row
        return values

    def each_zonal(self, cosines: Float, degree: int) -> Iterator[Float]:
        """The same, one degree after the other: in the memory of three."""
        before, here, d = np.ones(np.shape(cosines)), np.asarray(cosines), self.dimension
        yield before
        for k in range(1, degree + 1):
            yield here
            before, here = here, ((2 * k + d - 2) * cosines * here - k * before) / (k + d - 2)

    def slopes(self, cosines: Float, degree: int) -> Float:
        """`P_k'(t)`: of degree k - 1 on the sphere of dimension two more, times `k (k + d - 2) / (d - 1)`."""
        values = np.zeros((degree + 1, *np.shape(cosines)))
        if degree > 0:
            at_one = self.eigenvalues(degree)[1:] / (self.dimension - 1)
            values[1:] = (Harmonics(self.dimension + 2).zonal(cosines, degree - 1).T * at_one).T
        return values

    def multipliers(self, kernel: Callable[[Float], Float], degree: int) -> Float:
        """`K_k = int K(<x, y>) P_k(<x, y>) dy` of a kernel K of the cosine: what its convolution multiplies degree k
        by (Funk and Hecke), for a K that is a polynomial to rounding.

        >>> Harmonics(3).multipliers(lambda t: t**2, 2)[::2].round(12)          # t^2 = (1 + 2 P_2) / 3, N_2 = 5
        array([0.33333333, 0.13333333])
        """
        cosines, weights = gauss_on_sphere(2 * degree + _SPARE_NODES, self.dimension)
        return self.zonal(cosines, degree) @ (weights * kernel(cosines))

    def largest_slopes(self, degree: int) -> Float:
        """Bounds of `|grad P_k(<x, y>)|`: `(k (k + d - 2) / (d - 1))^{1/2}`, by the sum rule of the gradients."""
        return np.sqrt(self.eigenvalues(degree) / (self.dimension - 1))
