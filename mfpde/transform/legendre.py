"""Transforms between harmonics of S^2 and values on Gauss rings: of functions, of their gradients, of vector fields."""

from __future__ import annotations

import numpy as np

from mfpde.transform.legendre_kernels import WORK
from mfpde.transform.legendre_tables import Orders, Rings, make_orders, make_rings
from mfpde.transform.ring_fields import (
    analyze_scalar,
    analyze_values,
    prepare_field,
    prepare_slopes,
    synthesize_gradient,
    synthesize_values,
    vector_products,
)
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import Complex, Float

__all__ = ["RingTransform"]


class RingTransform:
    """`f = sum_lm c_lm Y_lm` for real f, degrees up to `degree`, on `2 n` Gauss rings of `longitudes` places.

    Coefficients are rows of real and imaginary parts of orders m >= 0, laid out by order (`Orders`); `listed` and
    `packed` exchange them with tables `(degree + 1, degree + 1)` by degree and order. With a `period` k only orders
    that are multiples of it are there, and rings are one k-th of a turn.

    >>> from mfpde.geometry.gauss import gauss_legendre
    >>> transform = RingTransform(2, *gauss_legendre(4), 8)
    >>> transform.synthesize(transform.packed(np.diag([1, 0, 0]) + 0j)).max().round(12)          # Y_00 = 1
    np.float64(1.0)
    """

    def __init__(self, degree: int, cosines: Float, weights: Float, longitudes: int, period: int = 1) -> None:
        half = cosines.size // 2
        if ring_length(longitudes) != longitudes or cosines.size % 2:
            raise ValueError(f"rings of {longitudes} places cannot be transformed, nor {cosines.size} rings in pairs")
        self.orders: Orders = make_orders(degree, period)
        self.rings: Rings = make_rings(cosines[::-1][:half], weights[::-1][:half], self.orders, longitudes)
        self.pairs, self.longitudes = half, longitudes
        self._scale = self.orders.scale * (self.orders.degree <= self.orders.top)
        self._work = np.zeros(WORK)
        widest = int(np.diff(self.rings.bounds).max()) * longitudes
        self._fields, self._spare = (np.zeros((2, 2, widest)) for _ in range(2))
        self._prepared = np.zeros((2, 2, self.orders.size))

    def listed(self, coefficients: Float) -> Complex:
        """By degree and order."""
        table = np.zeros((self.orders.top + 1, self.orders.top + 1), dtype=complex)
        for row, order in enumerate(self.orders.order.astype(int)):
            here = slice(self.orders.first[row], self.orders.first[row] + self.orders.counts[row] - 1)
            table[order:, order] = coefficients[0, here] + 1j * coefficients[1, here]
        return table

    def packed(self, table: Complex) -> Float:
        """From such a table."""
        coefficients = np.zeros((2, self.orders.size))
        for row, order in enumerate(self.orders.order.astype(int)):
            here = slice(self.orders.first[row], self.orders.first[row] + self.orders.counts[row] - 1)
            column = table[order : self.orders.top + 1, order]
            coefficients[0, here], coefficients[1, here] = column.real, column.imag
        return coefficients

    def synthesize(self, coefficients: Float) -> Float:
        """Values `(2 n, longitudes)`, the northernmost ring first."""
        top, ones = self.orders.top, np.ones(self.orders.top + 2)
        prepare_field(self.orders, coefficients, ones, top, self._prepared[0])
        values, (field, spare) = np.empty((2 * self.pairs, self.longitudes)), (self._fields[0], self._spare[0])
        synthesize_values(self.orders, self.rings, self._prepared[0], top, self._work, field, spare, values)
        return values

    def gradient(self, coefficients: Float) -> Float:
        """Components towards the south and the east, `(2, 2 n, longitudes)`."""
        top, ones = self.orders.top, np.ones(self.orders.top + 2)
        prepare_slopes(self.orders, coefficients, ones, top, self._prepared[0], self._prepared[1])
        fields = np.empty((2, 2 * self.pairs, self.longitudes))
        synthesize_gradient(
            self.orders, self.rings, self._prepared, top + 1, self._work, self._fields, self._spare, fields
        )
        fields *= self._spread(np.sqrt(self.rings.inverse_squares))[:, None]
        return fields

    def analyze(self, values: Float) -> Float:
        """`int f conj(Y_lm)` over the uniform measure of mass 1."""
        sums, (field, spare) = np.empty((2, self.orders.size)), (self._fields[0], self._spare[0])
        analyze_scalar(self.orders, self.rings, np.ascontiguousarray(values), self._work, field, spare, sums)
        sums *= self._scale
        return sums

    def divergence(self, field: Float) -> Float:
        """`int F . grad conj(Y_lm)`, minus the coefficients of div F, of components towards the south and the east."""
        sums = self._sums(*(field * self._spread(np.sqrt(self.rings.inverse_squares))[:, None]))
        products = np.zeros_like(sums[0])
        vector_products(self.orders, sums[0], sums[1], products)
        return products

    def _spread(self, by_pair: Float) -> Float:
        return np.concatenate([by_pair[: self.pairs], by_pair[: self.pairs][::-1]])

    def _sums(self, one: Float, two: Float) -> Float:
        sums, given = np.empty((2, 2, self.orders.size)), [np.ascontiguousarray(each) for each in (one, two)]
        analyze_values(
            self.orders, self.rings, given[0], given[1], self._work, self._fields, self._spare, sums[0], sums[1]
        )
        return sums
