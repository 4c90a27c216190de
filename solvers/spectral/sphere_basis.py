"""Harmonics up to a degree as a solver needs them: coefficients, quadrature, compiled slopes and steps.

On S^2 there are all orders, or the multiples of one of them. Coefficients are those of harmonics that are orthonormal
with respect to the uniform measure of mass 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from mfpde.attention import Convolution
from mfpde.geometry.gauss import gauss_legendre
from mfpde.solvers.kernels.sphere_slope import HarmonicWork, attempt_on_sphere
from mfpde.solvers.spectral.sphere_data import Symmetry
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.transform.legendre_kernels import WORK
from mfpde.transform.legendre_tables import Rings, make_orders, make_rings, pairs_for
from mfpde.transform.ring_fields import prepare_slopes
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["Basis", "SphereBasis"]


class Basis(ABC):
    """Degrees up to `degree`, and products with velocities of the degree `bandwidth`."""

    def __init__(self, degree: int, bandwidth: int) -> None:
        self.degree, self.bandwidth = degree, bandwidth

    @property
    @abstractmethod
    def width(self) -> int:
        """Of the rows of coefficients."""

    @cached_property
    @abstractmethod
    def degrees(self) -> AnyArray:
        """Of every coefficient."""

    @cached_property
    @abstractmethod
    def multiplicities(self) -> Float:
        """`N_l`, l = 0 .. degree: what `sum |Y_l|^2` is everywhere."""

    @cached_property
    @abstractmethod
    def copies(self) -> Float:
        """How often every coefficient counts: those of orders m > 0 for -m, too; none where there is nothing."""

    @cached_property
    @abstractmethod
    def peaks(self) -> Float:
        """How large a harmonic of each degree may be, of all that have the size 1."""

    @abstractmethod
    def sizes(self, values: Float) -> Float:
        """`(sum_m |c_lm|^2)^{1/2}` by degree."""

    @abstractmethod
    def carried(self, values: Float, other: Basis) -> Float:
        """Coefficients of this basis in another one of the same orders."""

    @property
    @abstractmethod
    def cost(self) -> float:
        """Microseconds of one slope, from the number of operations."""


class SphereBasis(Basis):
    """On S^2, orders that are multiples of `period`."""

    def __init__(self, degree: int, bandwidth: int, period: int = 1) -> None:
        super().__init__(degree, bandwidth)
        self.period = period
        self.orders = make_orders(degree, period)

    @property
    def width(self) -> int:
        return self.orders.size

    @cached_property
    def degrees(self) -> AnyArray:
        return self.orders.degree.astype(np.int64)

    @cached_property
    def peaks(self) -> Float:
        return np.sqrt(self.multiplicities)

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

    def kept(self, symmetry: Symmetry) -> Float:
        """1 for coefficients that symmetries leave, 0 for others, `(2, width)`."""
        kept = np.array(symmetry.kept, dtype=float).reshape(2, 2, 2)
        order = np.zeros(self.width, dtype=int)
        for row, value in enumerate(self.orders.order):
            order[self.orders.first[row] : self.orders.first[row + 1]] = value
        found = kept[(self.degrees - order) % 2, order % 2].T * (self.copies > 0)
        found[1, order == 0] = 0.0
        return np.ascontiguousarray(found)

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
        return _northern(self.degree, self.bandwidth)

    def attempt(self, work: HarmonicWork, state: Float, table: Float, step: float) -> float:
        """One step, or with a step of 0 the slope of the state alone."""
        return float(attempt_on_sphere(work, state, table, step))

    @property
    def _resolved(self) -> int:
        return min(2 * self.rings.cosines.size - 2, self.period * (self.longitudes // 2 - 1))

    @property
    def cost(self) -> float:
        pairs, places = self.rings.cosines.size, self.longitudes
        return 5.0 + 5e-4 * pairs * (places * math.log2(places) + 0.5 * self.orders.size)

    def refined(self) -> SphereBasis:
        """With all degrees that the rings tell apart, on the same rings."""
        finer = SphereBasis(self._resolved, 0, self.period)
        rings = self.rings
        finer.rings = make_rings(rings.cosines, rings.weights, finer.orders, rings.roots.shape[1])
        return finer

    def sizes(self, values: Float) -> Float:
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

    def packed(self, table: Complex) -> Float:
        """A table by degree and order, of any size, in rows."""
        orders, state = self.orders, np.zeros((2, self.width))
        length = min(len(table), self.degree + 1)
        for row, order in enumerate(orders.order.astype(int)):
            if order < length:
                start = int(orders.first[row])
                column = table[order:length, order]
                state[0, start : start + column.size], state[1, start : start + column.size] = column.real, column.imag
        return state

    def carried(self, values: Float, other: Basis) -> Float:
        assert isinstance(other, SphereBasis)  # noqa: S101 - of the same space
        found = np.zeros((2, other.orders.size))
        for row in range(min(self.orders.order.size, other.orders.order.size)):
            length = int(min(self.orders.counts[row], other.orders.counts[row])) - 1
            here, there = int(self.orders.first[row]), int(other.orders.first[row])
            found[:, there : there + length] = values[:, here : here + length]
        return found


def _northern(degree: int, bandwidth: int) -> tuple[Float, Float]:
    """As many Gauss nodes as make sums over products of two states and a velocity exact, the pole first."""
    pairs = pairs_for(-(-(2 * degree + bandwidth + 2) // 4))
    cosines, weights = gauss_legendre(2 * pairs)
    return cosines[::-1][:pairs].copy(), weights[::-1][:pairs].copy()
