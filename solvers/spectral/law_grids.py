"""Harmonics up to a degree, with the grid on which velocities are asked, for laws that are no convolution.

Densities are relative to the uniform one, coefficients those of harmonics that are orthonormal with respect to the
uniform measure of mass 1 (on the circle `c_k`), in rows of real and imaginary parts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from mfpde.geometry import Circle, Geometry, Harmonics
from mfpde.geometry.gauss import gauss_legendre, gauss_on_sphere
from mfpde.measure.rules import about
from mfpde.solvers.kernels.degree_sizes import sizes_by_degree
from mfpde.solvers.spectral.sphere_basis import SphereBasis
from mfpde.transform.legendre import RingTransform
from mfpde.typing import AnyArray, Float

__all__ = ["Grid", "MeridianGrid", "ModeGrid", "RingGrid"]

_WATCHED_SHARE = 16  # of what a grid tells apart, the last sixteenth shows what it can hardly hold
_GRID_POINTS_MIN = 64  # of the circle: shorter transforms cost no less


class Grid(ABC):
    """Degrees up to `degree`, and points for velocities of the degree `bandwidth`."""

    geometry: Geometry
    #: native points `(n, c)`, and weights of sum 1 for uniform integrals
    points: Float
    weights: Float
    #: numbers in a row of coefficients, their degrees, and the d - 2 of the eigenvalues `l (l + d - 2)`
    size: int
    degrees: AnyArray
    shift: float
    #: how often every coefficient counts in sums of squares
    copies: Float
    #: how large a harmonic of each degree may be, of all that have the size 1
    peaks: Float

    def __init__(self, degree: int, bandwidth: int) -> None:
        self.degree, self.bandwidth = degree, bandwidth

    def sizes(self, values: Float, slices: int = 1) -> Float:
        """`(sum_m |c_lm|^2)^{1/2}` by slice and degree, of `(2, slices * size)`."""
        sizes = np.empty((slices, self.degree + 1))
        sizes_by_degree(values, self.degrees, self.copies, sizes)
        return sizes

    @abstractmethod
    def density(self, values: Float) -> Float:
        """At the points."""

    @abstractmethod
    def divergence(self, flux: Float) -> Float:
        """`int F . grad conj(Y)` of components `(c, n)` as `components` gives them."""

    @abstractmethod
    def spill(self, flux: Float) -> float:
        """The largest of what the points can hardly hold of a flux."""

    @abstractmethod
    def carried(self, values: Float, other: Grid) -> Float:
        """Coefficients of this grid on another one."""

    @abstractmethod
    def seen(self, values: Float, degree: int) -> Float:
        """Coefficients up to that degree as one vector, the columns of tables."""

    @cached_property
    def vectors(self) -> Float:
        """The points in R^d, `(n, d)`."""
        return self.geometry.embed(self.points)

    @property
    @abstractmethod
    def frame(self) -> Float:
        """Unit tangent vectors that components are along, `(c, n, d)`."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """Microseconds of a density and a divergence, from the number of operations."""

    def components(self, velocities: Float) -> Float:
        """`(c, n)` of native velocities `(n, components)`."""
        return np.einsum("cnd,nd->cn", self.frame, self.geometry.pushed(self.points, velocities))

    def nodes(self, density: Float) -> tuple[Float, Float]:
        """Native points and weights of the whole law."""
        return self.points, self.weights * density


class ModeGrid(Grid):
    """Fourier modes up to `degree`."""

    geometry = Circle()
    shift = 0.0

    def __init__(self, degree: int, bandwidth: int) -> None:
        super().__init__(degree, bandwidth)
        self.size = degree + 1
        self.degrees = np.arange(self.size)
        self.peaks = np.full(self.size, np.sqrt(2.0))
        self.peaks[0] = 1.0
        self.copies = self.peaks**2
        self.length = max(_GRID_POINTS_MIN, 2 ** math.ceil(math.log2(2 * degree + bandwidth + 2)))
        self.points = (2 * np.pi / self.length * np.arange(self.length))[:, None]
        self.weights = np.full(self.length, 1 / self.length)

    def density(self, values: Float) -> Float:
        return np.fft.irfft(values[0] + 1j * values[1], self.length) * self.length

    def divergence(self, flux: Float) -> Float:
        waves = np.fft.rfft(flux[0])[: self.size] * (-1j / self.length) * self.degrees
        return np.stack([waves.real, waves.imag])

    def spill(self, flux: Float) -> float:
        last = np.fft.rfft(flux[0])[self.length // 2 - self.length // _WATCHED_SHARE : -1]
        return float(np.abs(last).max()) / self.length

    def carried(self, values: Float, other: Grid) -> Float:
        kept = min(self.size, other.size)
        return np.pad(values[:, :kept], ((0, 0), (0, other.size - kept)))

    def seen(self, values: Float, degree: int) -> Float:
        kept = min(self.size, degree + 1)
        low = np.zeros((2, degree + 1))
        low[:, :kept] = values[:, :kept]
        return self.columns(*low)

    @staticmethod
    def columns(real: Float, imaginary: Float) -> Float:
        """Rows of even modes, real and imaginary, then of odd ones, from rows of all modes."""
        return np.concatenate([part[parity::2] for parity in range(2) for part in (real, imaginary)])

    @property
    def cost(self) -> float:
        return 10.0 + 0.03 * self.length

    @cached_property
    def frame(self) -> Float:
        theta = self.points[:, 0]
        return np.stack([-np.sin(theta), np.cos(theta)], axis=-1)[None]


class RingGrid(Grid):
    """On S^2, on Gauss rings."""

    def __init__(self, degree: int, bandwidth: int, geometry: Geometry) -> None:
        super().__init__(degree, bandwidth)
        basis = SphereBasis(degree, bandwidth)
        self.basis, self.geometry = basis, geometry
        self.size, self.degrees = basis.orders.size, np.minimum(basis.degrees, degree)
        self.shift, self.peaks, self.copies = 1.0, basis.peaks, basis.copies
        self._nodes = gauss_legendre(2 * basis.northern[0].size)
        self.shape = (2 * basis.northern[0].size, basis.longitudes)
        self.transform = self.transform_of(degree)
        x = np.repeat(self._nodes[0][::-1], self.shape[1])
        self.weights = np.repeat(self._nodes[1][::-1] / self.shape[1], self.shape[1])
        longitude = np.tile(2 * np.pi / self.shape[1] * np.arange(self.shape[1]), self.shape[0])
        side = np.sqrt((1 - x) * (1 + x))
        self.points = np.stack([side * np.cos(longitude), side * np.sin(longitude), x], axis=-1)
        self._frame = _south_and_east(x, side, longitude)

    def transform_of(self, degree: int) -> RingTransform:
        """Of functions of that degree, on the same rings."""
        return RingTransform(degree, *self._nodes, self.shape[1])

    def density(self, values: Float) -> Float:
        return self.transform.synthesize(values).ravel()

    def divergence(self, flux: Float) -> Float:
        return self.transform.divergence(flux.reshape(2, *self.shape))

    def spill(self, flux: Float) -> float:
        """By orders along rings, and by degrees of all that the rings tell apart."""
        field, places = flux.reshape(2, *self.shape), self.shape[1]
        last = np.fft.rfft(field, axis=-1)[..., places // 2 - places // _WATCHED_SHARE : -1]
        known = min(self.shape[0] - 2, places // 2 - 1)
        finer = SphereBasis(known, 0)
        tail = finer.sizes(self.transform_of(known).divergence(field))[known - known // 8 :].max() / known
        return max(float(np.abs(last).max()) / places, float(tail))

    def carried(self, values: Float, other: Grid) -> Float:
        return self.basis.carried(values, SphereBasis(other.degree, 0))

    def seen(self, values: Float, degree: int) -> Float:
        return self.basis.carried(values, SphereBasis(degree, 0))

    @property
    def cost(self) -> float:
        return self.basis.cost

    @property
    def frame(self) -> Float:
        return self._frame


def _south_and_east(x: Float, side: Float, longitude: Float) -> Float:
    cos, sin = np.cos(longitude), np.sin(longitude)
    south, east = np.stack([x * cos, x * sin, -side], axis=-1), np.stack([-sin, cos, np.zeros_like(x)], axis=-1)
    return np.stack([south, east])


class MeridianGrid(Grid):
    """About an axis in R^d: points on one meridian."""

    def __init__(self, degree: int, bandwidth: int, geometry: Geometry, axis: Float) -> None:
        super().__init__(degree, bandwidth)
        self.axis, self.geometry = axis, geometry
        self.size, self.degrees, self.shift = degree + 1, np.arange(degree + 1), axis.size - 2.0
        self.copies = np.ones(self.size)
        self.cosines, self.weights = (
            each[::-1] for each in gauss_on_sphere((2 * degree + bandwidth + 2) // 2 + 1, axis.size)
        )
        self.points = self._placed(self.cosines, np.sqrt((1 - self.cosines) * (1 + self.cosines)))
        self._basis_functions = self.functions(self.cosines, degree)
        self._downhill = self.slopes(degree)
        # at the node nearest to a pole of as many as there are degrees: in many dimensions functions are far larger at
        # the poles, and the more nodes there are the nearer they come
        nearest = gauss_on_sphere(degree + 1, axis.size)[0][-1:]
        self.peaks = np.maximum(np.abs(self.functions(nearest, degree)[:, 0]), 1.0)

    @property
    def multiplicities(self) -> Float:
        """Of the degrees."""
        return self._harmonics.multiplicities(self.degree)

    def functions(self, cosines: Float, degree: int) -> Float:
        """Orthonormal zonal functions, `(degree + 1, n)`."""
        harmonics = self._harmonics
        return np.sqrt(harmonics.multiplicities(degree))[:, None] * harmonics.zonal(cosines, degree)

    @property
    def _harmonics(self) -> Harmonics:
        return Harmonics(self.axis.size)

    def slopes(self, degree: int) -> Float:
        """Their derivatives in colatitude."""
        harmonics = self._harmonics
        shares = np.sqrt(harmonics.multiplicities(degree))[:, None]
        return -np.sqrt((1 - self.cosines) * (1 + self.cosines)) * shares * harmonics.slopes(self.cosines, degree)

    def _placed(self, along: Float, aside: Float, across: Float | float = 0.0) -> Float:
        """Vectors with these parts along the axis, in the plane of the meridian, and across it."""
        flat = np.zeros((along.size, self.axis.size))
        flat[:, -1], flat[:, 0], flat[:, 1] = along, aside, across
        return about(self.axis, flat)

    def around(self, cosines: Float, count: int) -> tuple[Float, Float]:
        """Points on whole rings, `(rings, count, d)`, as a law that keeps the axis sees them from the meridian, and
        weights of one ring."""
        if self.axis.size == 3:
            angle = 2 * np.pi / count * np.arange(count)
            towards, across, weights = np.cos(angle), np.sin(angle), np.full(count, 1 / count)
        else:
            towards, weights = gauss_on_sphere(count, self.axis.size - 1)
            across = np.sqrt((1 - towards) * (1 + towards))
        side = np.sqrt((1 - cosines) * (1 + cosines))[:, None]
        along = np.repeat(cosines, count)
        flat = self._placed(along, (side * towards).ravel(), (side * across).ravel())
        return flat.reshape(cosines.size, count, self.axis.size), weights

    def density(self, values: Float) -> Float:
        return values[0] @ self._basis_functions

    def divergence(self, flux: Float) -> Float:
        return np.stack([self._downhill @ (self.weights * flux[0]), np.zeros(self.size)])

    def analyzed(self, function: Float) -> Float:
        """Coefficients of a function at the points."""
        return np.stack([self._basis_functions @ (self.weights * function), np.zeros(self.size)])

    def spill(self, flux: Float) -> float:
        known = self.cosines.size - 1
        return float(np.abs(self.slopes(known)[known - known // 8 :] @ (self.weights * flux[0])).max()) / known

    def carried(self, values: Float, other: Grid) -> Float:
        found = np.zeros((2, other.size))
        kept = min(self.degree, other.degree) + 1
        found[0, :kept] = values[0, :kept]
        return found

    def seen(self, values: Float, degree: int) -> Float:
        kept = min(self.degree, degree) + 1
        return np.pad(values[0, :kept], (0, degree + 1 - kept))

    def nodes(self, density: Float) -> tuple[Float, Float]:
        points, weights = self.around(self.cosines, 2 * self.cosines.size)
        return points.reshape(-1, self.axis.size), np.outer(self.weights * density, weights).ravel()

    @property
    def cost(self) -> float:
        return 10.0 + 2e-3 * self._downhill.size

    @cached_property
    def frame(self) -> Float:
        return self._placed(-np.sqrt((1 - self.cosines) * (1 + self.cosines)), self.cosines)[None]
