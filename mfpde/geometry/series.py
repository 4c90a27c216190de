"""Measures on spheres by their harmonics, and what convolutions make of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry.harmonics import Harmonics
from mfpde.ranks import Ranks
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["CircleSeries", "HarmonicSeries", "ZonalSeries", "clean"]

_TABLE_ENTRIES = 2**20  # entries of the tables of waves, or of cosines, that are made at a time
_PRODUCTS_BEFORE_POWER = 64  # products that make powers of e^{-i theta}, before one is computed anew: rounding adds up


class HarmonicSeries(ABC):
    """`int Y_kj dmu` for the harmonics of degree 0 .. `degree`, in a form that does for what is asked of them.

    Points are native ones. `potential[k]` and `normaliser[k]` multiply degree k, modes k > 0 of the circle by a complex
    one where potentials have sines; where they are shorter the rest is 0.
    """

    #: the numbers it is made of; the last axis is the degree
    coefficients: AnyArray

    def powers(self) -> Float:
        """`|mu_k|^2 = sum_j (int Y_kj dmu)^2`, k = 0 .. degree."""
        return self.products(self)

    @abstractmethod
    def products(self, other: Self) -> Float:
        """`sum_j int Y_kj dmu int Y_kj dnu`, k = 0 .. the smaller degree."""

    @abstractmethod
    def slopes_and_levels(self, points: Float, potential: AnyArray, normaliser: Float | None) -> tuple[Float, Float]:
        """`grad (W * mu)` in native components, `(m, c)`, and `N * mu`, `(m,)`: ones without a normaliser."""

    @abstractmethod
    def laplacians(self, points: Float, potential: AnyArray) -> Float:
        """`Lap (W * mu)`, `(m,)`."""

    @abstractmethod
    def mixed(self, shares: Float, others: Sequence[Self]) -> Self:
        """Of the sum of these measures times their shares; it is the first of them."""

    @abstractmethod
    def over(self, ranks: Ranks) -> Self:
        """Of the measure of which every rank has a part, and this one the part that these are of."""

    def slopes_on_nodes(self, count: int) -> Float:
        """The gradient of the density relative to the uniform one, in orthonormal directions, `(c, nodes)`: at `count`
        equispaced angles, or on a Gauss grid with as many colatitudes."""
        raise ProblemError.at("measure", "has no grid in more than three dimensions")

    @property
    def degree(self) -> int:
        return int(self.coefficients.shape[-1]) - 1


@dataclass(frozen=True, eq=False)
class CircleSeries(HarmonicSeries):
    """`c_k = int e^{-i k theta} dmu`, k = 0 .. degree.

    >>> CircleSeries.of_points(np.array([[np.pi / 2]]), np.ones(1), 2).coefficients
    array([ 1.+0.j,  0.-1.j, -1.+0.j])
    """

    coefficients: Complex

    @classmethod
    def of_points(cls, points: Float, weights: Float, degree: int) -> CircleSeries:
        """Of point masses."""
        modes = np.empty(degree + 1, dtype=complex)
        wave, turn = weights.astype(complex), np.exp(-1j * points[:, 0])
        for order in range(degree + 1):
            modes[order] = wave.sum()
            wave = wave * turn if order % _PRODUCTS_BEFORE_POWER else weights * turn ** (order + 1)
        return cls(clean(modes))

    def products(self, other: CircleSeries) -> Float:
        count = min(self.degree, other.degree) + 1
        here, there = self.coefficients[:count], other.coefficients[:count]
        found: Float = 2 * (here.real * there.real + here.imag * there.imag)
        found[:1] *= 0.5
        return found

    def slopes_and_levels(self, points: Float, potential: AnyArray, normaliser: Float | None) -> tuple[Float, Float]:
        theta, slope = points[:, 0], self._times(2j * np.arange(potential.size) * potential)
        if normaliser is None:
            return _sums_of_waves(theta, slope)[0][:, None], np.ones(theta.size)
        speed, level = _sums_of_waves(theta, slope, self._times(2 * normaliser))
        return speed[:, None], level + normaliser[0] * self.coefficients[0].real

    def slopes_on_nodes(self, count: int) -> Float:
        shown = np.zeros(count // 2 + 1, dtype=complex)
        size = min(self.coefficients.size, count // 2)
        shown[:size] = 1j * np.arange(size) * self.coefficients[:size]
        return np.fft.irfft(shown, count)[None] * count

    def laplacians(self, points: Float, potential: AnyArray) -> Float:
        return _sums_of_waves(points[:, 0], self._times(-2 * np.arange(potential.size) ** 2 * potential))[0]

    def _times(self, factors: AnyArray) -> Complex:
        length = min(factors.size, self.coefficients.size)
        return np.asarray(factors[:length] * self.coefficients[:length], dtype=complex)

    def mixed(self, shares: Float, others: Sequence[CircleSeries]) -> CircleSeries:
        modes: Complex = sum(share * each.coefficients for share, each in zip(shares, others, strict=True))
        return CircleSeries(modes)

    def over(self, ranks: Ranks) -> CircleSeries:
        return CircleSeries(ranks.sum(self.coefficients))


def _sums_of_waves(theta: Float, *series: Complex) -> list[Float]:
    """`Re sum_{k>=1} s_k e^{i k theta}` for each series, by blocks of angles."""
    order = np.arange(1, max(each.size for each in series))
    length = max(1, _TABLE_ENTRIES // max(order.size, 1))
    sums = [np.empty(theta.size) for _ in series]
    for start in range(0, theta.size, length):
        here = slice(start, start + length)
        waves = np.exp(1j * np.outer(theta[here], order))
        for total, coefficients in zip(sums, series, strict=True):
            total[here] = (waves[:, : coefficients.size - 1] @ coefficients[1:]).real
    return sums


def clean(coefficients: Complex, noise: float = 0.0) -> Complex:
    """Real and imaginary parts below roundoff (or `noise`) made zero: a symmetry of the data is one of the solution."""
    floor = max(float(np.finfo(float).eps), noise)
    real, imaginary = coefficients.real.copy(), coefficients.imag.copy()
    real[np.abs(real) < floor] = 0.0
    imaginary[np.abs(imaginary) < floor] = 0.0
    return real + 1j * imaginary


@dataclass(frozen=True, eq=False)
class ZonalSeries(HarmonicSeries):
    """A sum of laws that are symmetric about axes a_i, `(n, d)`: `coefficients[i, k] = int P_k(<x, a_i>) dmu_i`.

    One axis is a symmetric law; point masses have an axis each, and ones as coefficients, times their weights. By the
    sum rule of harmonics `K * mu = sum_k K_k N_k sum_i P_k(<x, a_i>) coefficients[i, k]`.
    """

    axes: Float
    coefficients: Float

    @property
    def _harmonics(self) -> Harmonics:
        return Harmonics(self.axes.shape[1])

    def products(self, other: ZonalSeries) -> Float:
        degree = min(self.degree, other.degree)
        found, theirs = np.zeros(degree + 1), other.coefficients[:, : degree + 1]
        for here in self._blocks(self.axes.shape[0]):
            pairs = self._harmonics.zonal(self.axes[here] @ other.axes.T, degree)
            found += np.einsum("mk,kmn,nk->k", self.coefficients[here, : degree + 1], pairs, theirs)
        return found * self._harmonics.multiplicities(degree)

    def slopes_and_levels(self, points: Float, potential: Float, normaliser: Float | None) -> tuple[Float, Float]:
        slopes, levels, sphere = np.empty(points.shape), np.ones(points.shape[0]), self._harmonics
        for here in self._blocks(points.shape[0]):
            x = points[here]
            cosines = x @ self.axes.T
            pulls = self._sums(sphere.slopes(cosines, self._shown(potential)), potential) @ self.axes
            slopes[here] = pulls - np.sum(x * pulls, axis=1, keepdims=True) * x
            if normaliser is not None:
                levels[here] = self._sums(sphere.zonal(cosines, self._shown(normaliser)), normaliser).sum(axis=1)
        return slopes, levels

    def laplacians(self, points: Float, potential: Float) -> Float:
        eigenvalues, found = self._harmonics.eigenvalues(potential.size - 1), np.empty(points.shape[0])
        for here in self._blocks(points.shape[0]):
            values = self._harmonics.zonal(points[here] @ self.axes.T, self._shown(potential))
            found[here] = -self._sums(values, eigenvalues * potential).sum(axis=1)
        return found

    def mixed(self, shares: Float, others: Sequence[ZonalSeries]) -> ZonalSeries:
        weighed = [share * each.coefficients for share, each in zip(shares, others, strict=True)]
        return ZonalSeries(np.concatenate([each.axes for each in others]), np.concatenate(weighed))

    def over(self, ranks: Ranks) -> ZonalSeries:
        return ZonalSeries(ranks.gathered(self.axes), ranks.gathered(self.coefficients))

    def _sums(self, values: Float, factors: Float) -> Float:
        """`sum_k K_k N_k f_k(<x, a_i>) coefficients[i, k]` for values f of each degree, point and axis: `(m, n)`."""
        count = values.shape[0]
        weights = factors[:count] * self._harmonics.multiplicities(count - 1)
        return np.einsum("kmn,nk->mn", values, self.coefficients[:, :count] * weights)

    def _shown(self, factors: Float) -> int:
        return min(self.degree, factors.size - 1)

    def _blocks(self, count: int) -> list[slice]:
        length = max(1, _TABLE_ENTRIES // ((self.degree + 1) * self.axes.shape[0]))
        return [slice(start, start + length) for start in range(0, count, length)]
