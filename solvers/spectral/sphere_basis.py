"""Harmonics of one degree as a solver needs them: coefficients, quadrature, compiled slopes and steps.

On S^2 there are all orders (or the multiples of one of them), about an axis in R^d there is one profile. Coefficients
are those of harmonics that are orthonormal with respect to the uniform measure of mass 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from mfpde.attention import Convolution
from mfpde.geometry import Harmonics
from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.solvers.kernels.sphere_slope import (
    HarmonicWork,
    attempt_about_axis,
    attempt_on_sphere,
)
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.transform.legendre_kernels import WORK
from mfpde.transform.legendre_tables import Orders, Rings, make_orders, make_rings, pairs_for
from mfpde.transform.ring_fields import prepare_slopes
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import AnyArray, Float

__all__ = ["AxisBasis", "Basis", "SphereBasis"]


class Basis(ABC):
    """Degrees up to `degree`, and rings for velocities of the degree `bandwidth`."""

    orders: Orders

    def __init__(self, degree: int, bandwidth: int) -> None:
        self.degree, self.bandwidth = degree, bandwidth

    @cached_property
    def degrees(self) -> AnyArray:
        """Of every coefficient."""
        return self.orders.degree.astype(np.int64)

    @cached_property
    @abstractmethod
    def multiplicities(self) -> Float:
        """`N_l`, l = 0 .. degree: what `sum |Y_l|^2` is everywhere."""

    @cached_property
    def peaks(self) -> Float:
        """How large a harmonic of each degree may be on the rings, of all that have the size 1."""
        return np.sqrt(self.multiplicities)

    @cached_property
    @abstractmethod
    def copies(self) -> Float:
        """How often every coefficient counts: those of orders m > 0 for -m, too; none where there is nothing."""

    @cached_property
    @abstractmethod
    def rings(self) -> Rings: ...

    @abstractmethod
    def attempt(self, work: HarmonicWork, state: Float, table: Float, step: float) -> float:
        """One step, or with a step of 0 the slope of the state alone (`attempt_on_sphere`)."""

    @abstractmethod
    def with_degree(self, degree: int, bandwidth: int) -> Basis:
        """The same for other degrees."""

    def refined(self) -> Basis:
        """With all degrees that the rings tell apart, on the same rings."""
        finer = self.with_degree(self._resolved, 0)
        rings = self.rings
        finer.rings = make_rings(rings.cosines, rings.weights, finer.orders, rings.roots.shape[1])
        return finer

    @property
    @abstractmethod
    def _resolved(self) -> int: ...

    @property
    @abstractmethod
    def cost(self) -> float:
        """Microseconds of one slope, from the number of operations."""

    def sizes(self, values: Float) -> Float:
        """`(sum_m |c_lm|^2)^{1/2}` by degree."""
        squares = self.copies * (values[0] ** 2 + values[1] ** 2)
        return np.sqrt(np.bincount(self.degrees, squares, self.degree + 2)[: self.degree + 1])

    def work(self, convolution: Convolution, reach: int, kept: Float, external: Float | None = None) -> HarmonicWork:
        """Room for steps; `kept` are the coefficients that symmetries leave, `external` those of a potential."""
        size, length = self.orders.size, self.degree + 3
        slopes = np.zeros((2, 2, size if external is not None else 0))
        if external is not None:
            prepare_slopes(self.orders, external, np.ones(length), self.degree, slopes[0], slopes[1])

        def padded(values: Float) -> Float:
            return np.pad(values[: reach + 1], (0, max(0, length - reach - 1)))[:length]

        rings = self.rings
        widest = int(np.diff(rings.bounds).max()) * rings.roots.shape[1]
        normaliser, count = convolution.normaliser, 3 if convolution.normaliser is None else 4
        return HarmonicWork(
            orders=self.orders,
            rings=rings,
            potential=padded(convolution.potential),
            normaliser=np.zeros(0) if normaliser is None else padded(normaliser),
            external=slopes,
            reach=min(reach, self.degree),
            bound=convolution.bound,
            ones=np.ones(length),
            kept=kept,
            prepared=np.zeros((count, 2, size)),
            fields=np.zeros((count, 2, widest)),
            spare=np.zeros((count, 2, widest)),
            sums=np.zeros((2, 2, size)),
            work=np.zeros(WORK),
            start=np.zeros((2, size)),
            slope=np.zeros((2, size)),
            stage=np.zeros((2, size)),
            scaled=np.zeros((STAGES + 1, 2, size)),
            errors=np.zeros((2, 2, size)),
        )

    def carried(self, values: Float, other: Basis) -> Float:
        """Coefficients of this basis in another one of the same orders."""
        found = np.zeros((2, other.orders.size))
        for row in range(min(self.orders.order.size, other.orders.order.size)):
            length = int(min(self.orders.counts[row], other.orders.counts[row])) - 1
            here, there = int(self.orders.first[row]), int(other.orders.first[row])
            found[:, there : there + length] = values[:, here : here + length]
        return found


class SphereBasis(Basis):
    """On S^2, orders that are multiples of `period`."""

    def __init__(self, degree: int, bandwidth: int, period: int = 1) -> None:
        super().__init__(degree, bandwidth)
        self.period = period
        self.orders = make_orders(degree, period)

    @cached_property
    def multiplicities(self) -> Float:
        return 2 * np.arange(self.degree + 1.0) + 1

    @cached_property
    def copies(self) -> Float:
        counted = np.zeros(self.orders.size)
        for row, order in enumerate(self.orders.order):
            start = self.orders.first[row]
            counted[start : start + self.orders.counts[row] - 1] = 1.0 if order == 0 else 2.0
        return counted

    @cached_property
    def rings(self) -> Rings:
        return make_rings(*self.northern, self.orders, self.longitudes)

    @cached_property
    def longitudes(self) -> int:
        """Places on one period of a ring: products with the velocity are told from all degrees that are kept."""
        return ring_length((2 * self.degree + self.bandwidth) // self.period + 2)

    @cached_property
    def northern(self) -> tuple[Float, Float]:
        """Gauss nodes and weights of the northern half."""
        return _northern(self.degree, self.bandwidth, 3)

    def attempt(self, work: HarmonicWork, state: Float, table: Float, step: float) -> float:
        return float(attempt_on_sphere(work, state, table, step))

    def with_degree(self, degree: int, bandwidth: int) -> SphereBasis:
        return SphereBasis(degree, bandwidth, self.period)

    @property
    def _resolved(self) -> int:
        return min(2 * self.rings.cosines.size - 2, self.period * (self.longitudes // 2 - 1))

    @property
    def cost(self) -> float:
        pairs, places = self.rings.cosines.size, self.longitudes
        return 5.0 + 5e-4 * pairs * (places * math.log2(places) + 0.5 * self.orders.size)


class AxisBasis(Basis):
    """About an axis in R^d, `dimension` d."""

    def __init__(self, degree: int, bandwidth: int, dimension: int) -> None:
        super().__init__(degree, bandwidth)
        self.dimension = dimension
        self.orders = make_orders(degree, dimension=dimension, about_axis=True)

    @cached_property
    def multiplicities(self) -> Float:
        return Harmonics(self.dimension).multiplicities(self.degree)

    @cached_property
    def copies(self) -> Float:
        counted = np.zeros(self.orders.size)
        counted[: self.degree + 1] = 1.0
        return counted

    @cached_property
    def rings(self) -> Rings:
        return make_rings(*_northern(self.degree, self.bandwidth, self.dimension), self.orders, 4)

    @cached_property
    def peaks(self) -> Float:
        """In many dimensions the poles are far from all rings, and far larger there than anywhere else."""
        values = Harmonics(self.dimension).zonal(self.rings.cosines[:1], self.degree)[:, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            return np.maximum(np.abs(values) * np.sqrt(self.multiplicities), 1.0)

    def attempt(self, work: HarmonicWork, state: Float, table: Float, step: float) -> float:
        return float(attempt_about_axis(work, state, table, step))

    def sizes(self, values: Float) -> Float:
        return np.abs(values[0, : self.degree + 1])

    def with_degree(self, degree: int, bandwidth: int) -> AxisBasis:
        return AxisBasis(degree, bandwidth, self.dimension)

    @property
    def _resolved(self) -> int:
        return 2 * self.rings.cosines.size - 2

    @property
    def cost(self) -> float:
        return 1.0 + 5e-4 * self.rings.cosines.size * self.degree


def _northern(degree: int, bandwidth: int, dimension: int) -> tuple[Float, Float]:
    """As many Gauss nodes as make sums over products of two states and a velocity exact, the pole first."""
    pairs = pairs_for(-(-(2 * degree + bandwidth + 2) // 4))
    cosines, weights = gauss_on_sphere(2 * pairs, dimension)
    return cosines[::-1][:pairs].copy(), weights[::-1][:pairs].copy()
