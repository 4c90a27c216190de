"""Measures on S^2 by all their spherical harmonics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.geometry.harmonics import Harmonics
from mfpde.geometry.series import HarmonicSeries
from mfpde.ranks import Ranks
from mfpde.typing import Complex, Float

if TYPE_CHECKING:
    from mfpde.transform.legendre import RingTransform

__all__ = ["SphereSeries", "associated_legendre", "legendre_derivatives"]

_TABLE_ENTRIES = 2**21  # of the tables of associated Legendre functions that are made at a time, 16 MiB


def associated_legendre(cosines: Float, degree: int) -> Float:
    """`p_lm(t)` for `Y_lm = p_lm(cos colatitude) e^{i m longitude}`, orthonormal for the uniform measure of mass 1, as
    `(m, l, points)`; 0 where m > l. No sign `(-1)^m`.

    By the recurrence in l, which is stable; functions of high order underflow to 0 at the poles, as they should.
    """
    sines = np.sqrt((1 - cosines) * (1 + cosines))
    table = np.zeros((degree + 1, degree + 1, cosines.size))
    top = np.ones(cosines.size)
    for m in range(degree + 1):
        if m > 0:
            top = np.sqrt((2 * m + 1) / (2 * m)) * sines * top
        table[m, m] = top
        for k in range(m + 1, degree + 1):
            scale = np.sqrt((4 * k * k - 1) / (k * k - m * m))
            before = np.sqrt(((k - 1) ** 2 - m * m) / (4 * (k - 1) ** 2 - 1)) * table[m, k - 2] if k > m + 1 else 0.0
            table[m, k] = scale * (cosines * table[m, k - 1] - before)
    return table


def legendre_derivatives(table: Float) -> tuple[Float, Float]:
    """`d p_lm / d colatitude` and `m p_lm / sin(colatitude)`, from functions of neighbouring orders: finite at the
    poles."""
    m, k = np.ogrid[: table.shape[0], : table.shape[1]]
    below, above = np.zeros_like(table), np.zeros_like(table)
    below[1:], above[:-1] = table[:-1], table[1:]
    below[0] = -table[1] if table.shape[0] > 1 else 0.0  # of order -1
    lift = [np.sqrt(np.maximum(each, 0.0))[:, :, None] for each in ((k + m) * (k - m + 1), (k - m) * (k + m + 1))]
    downhill = 0.5 * (lift[0] * below - lift[1] * above)
    shifted = [np.zeros_like(table), np.zeros_like(table)]
    for out, each in zip(shifted, (below, above), strict=True):
        out[:, 1:] = each[:, :-1]
    lift = [np.sqrt(np.maximum(each, 0.0))[:, :, None] for each in ((k + m) * (k + m - 1), (k - m) * (k - m - 1))]
    scale = 0.5 * np.sqrt((2 * k + 1) / np.maximum(2 * k - 1, 1))[:, :, None]
    sideways = scale * (lift[0] * shifted[0] + lift[1] * shifted[1])
    sideways[0] = 0.0
    return downhill, sideways


@lru_cache(maxsize=4)
def _tables(latitudes: int, degree: int) -> tuple[Float, Float, Float]:
    """Of a Gauss grid: `p_lm` and its derivatives, from the north pole on."""
    table = associated_legendre(gauss_on_sphere(latitudes, 3)[0][::-1], degree)
    return table, *legendre_derivatives(table)


def _tabulated(latitudes: int, degree: int) -> bool:
    """Whether such tables are small enough to keep: at 512 colatitudes and degree 511 they would take 3 GiB."""
    return latitudes * (degree + 1) ** 2 <= _TABLE_ENTRIES


@lru_cache(maxsize=4)
def _transform(latitudes: int, longitudes: int, degree: int) -> RingTransform:
    """The same by recurrences, on rings of a length that has fast transforms. Rings come in pairs: the equator of an
    odd number stands twice, with half its weight."""
    from mfpde.transform.legendre import RingTransform
    from mfpde.transform.ring_fourier import ring_length

    cosines, weights = gauss_on_sphere(latitudes, 3)
    if latitudes % 2:
        middle = latitudes // 2
        weights = np.insert(weights, middle, weights[middle])
        weights[middle : middle + 2] /= 2
        cosines = np.insert(cosines, middle, cosines[middle])
    return RingTransform(degree, cosines, weights, ring_length(max(longitudes, 2 * degree + 2)))


def _resampled(values: Float, longitudes: int) -> Float:
    """Values on rings of another length, of the waves that both show."""
    if values.shape[-1] == longitudes:
        return values
    shown = (min(values.shape[-1], longitudes) - 1) // 2 + 1
    waves = np.fft.rfft(values, axis=-1)[..., :shown]
    return np.fft.irfft(waves, longitudes, axis=-1) * (longitudes / values.shape[-1])


def _without_twin(values: Float, latitudes: int) -> Float:
    """Once the equator, where it stands twice."""
    return np.delete(values, latitudes // 2, axis=-2) if latitudes % 2 else values


def _with_twin(values: Float, latitudes: int) -> Float:
    """The equator twice, where the number of rings is odd."""
    return np.insert(values, latitudes // 2, values[latitudes // 2], axis=-2) if latitudes % 2 else values


@dataclass(frozen=True, eq=False)
class SphereSeries(HarmonicSeries):
    """`c_ml = int conj(Y_lm) dmu`, order m and degree l from 0 to the degree, 0 where m > l."""

    coefficients: Complex

    @classmethod
    def of_zonal(cls, axes: Float, moments: Float) -> SphereSeries:
        """Of a sum of laws about axes a_i, `moments[i, l] = int P_l(<x, a_i>) dmu_i`."""
        degree = moments.shape[1] - 1
        found = np.zeros((degree + 1, degree + 1), dtype=complex)
        for here in _blocks(axes.shape[0], degree):
            waves = _waves(axes[here], degree).conj()
            found += np.einsum("mln,nm,nl->ml", associated_legendre(axes[here, 2], degree), waves, moments[here])
        return cls(found)

    @classmethod
    def of_grid(cls, density: Float, degree: int) -> SphereSeries:
        """Of densities on a Gauss grid, `(colatitudes, longitudes)`: exact when the sum of its degree and that of the
        density is below twice the colatitudes, and below the longitudes."""
        latitudes, longitudes = density.shape
        shown = min(degree, longitudes // 2 - 1)
        weights = gauss_on_sphere(latitudes, 3)[1][::-1]
        waves = np.fft.rfft(density, axis=1)[:, : shown + 1] * (4 * np.pi / longitudes)
        found = np.zeros((degree + 1, degree + 1), dtype=complex)
        if not _tabulated(latitudes, degree):
            transform = _transform(latitudes, longitudes, degree)
            rings = _resampled(_with_twin(density, latitudes), transform.longitudes)
            found[: shown + 1] = 4 * np.pi * transform.listed(transform.analyze(rings)).T[: shown + 1]
            return cls(found)
        table = _tables(latitudes, degree)[0][: shown + 1]
        found[: shown + 1] = np.einsum("mln,nm,n->ml", table, waves, weights)
        return cls(found)

    def multiplied(self, factors: Float) -> SphereSeries:
        """By degree; where there are fewer factors the rest is 0."""
        shown = np.pad(factors[: self.degree + 1], (0, max(0, self.degree + 1 - factors.size)))
        return SphereSeries(self.coefficients * shown)

    def without_mass(self) -> SphereSeries:
        """What differs from a uniform measure."""
        return self.multiplied(np.minimum(np.arange(self.degree + 1.0), 1.0))

    def resized(self, degree: int) -> SphereSeries:
        """Cut, or continued by 0."""
        more = max(0, degree - self.degree)
        return SphereSeries(np.pad(self.coefficients[: degree + 1, : degree + 1], (0, more)))

    def trimmed(self) -> SphereSeries:
        """Without the zeros beyond its last degree."""
        return self.resized(int(np.flatnonzero(self.coefficients.any(axis=0)).max(initial=0)))

    def products(self, other: SphereSeries) -> Float:
        count = min(self.degree, other.degree) + 1
        both = (self.coefficients[:count, :count] * other.coefficients[:count, :count].conj()).real
        return np.asarray(2 * both.sum(axis=0) - both[0])

    def on_grid(self, latitudes: int) -> Float:
        """Densities relative to the uniform one on a Gauss grid with twice as many longitudes."""
        if not _tabulated(latitudes, self.degree):
            transform = _transform(latitudes, 2 * latitudes, self.degree)
            rings = transform.synthesize(transform.packed(self.coefficients.T))
            return _resampled(_without_twin(rings, latitudes), 2 * latitudes)
        return _synthesised(self.coefficients, _tables(latitudes, self.degree)[0], 2 * latitudes)

    def slopes_on_grid(self, latitudes: int, potential: Float | None = None) -> Float:
        """`grad (W * mu)` on the grid, or of the density where there is no W: southwards and eastwards, `(2, ..)`."""
        coefficients = (self if potential is None else self.multiplied(potential)).coefficients
        if not _tabulated(latitudes, self.degree):
            transform = _transform(latitudes, 2 * latitudes, self.degree)
            rings = transform.gradient(transform.packed(coefficients.T))
            return _resampled(_without_twin(rings, latitudes), 2 * latitudes)
        _, downhill, sideways = _tables(latitudes, self.degree)
        south = _synthesised(coefficients, downhill, 2 * latitudes)
        return np.stack([south, _synthesised(1j * coefficients, sideways, 2 * latitudes)])

    def slopes_on_nodes(self, count: int) -> Float:
        return self.slopes_on_grid(count).reshape(2, -1)

    def slopes_and_levels(self, points: Float, potential: Float, normaliser: Float | None) -> tuple[Float, Float]:
        if self.degree and not self.coefficients[:, -1].any():
            return self.trimmed().slopes_and_levels(points, potential, normaliser)
        slopes, levels = np.zeros(points.shape), np.ones(points.shape[0])
        pulling = self.multiplied(potential).coefficients
        level = None if normaliser is None else self.multiplied(normaliser).coefficients
        for here in _blocks(points.shape[0], self.degree):
            x = points[here]
            table, waves = associated_legendre(x[:, 2], self.degree), _waves(x, self.degree)
            if pulling.any():  # of densities alone nobody asks for slopes, which take most of the time
                downhill, sideways = legendre_derivatives(table)
                south, east = _summed(pulling, downhill, waves), _summed(1j * pulling, sideways, waves)
                slopes[here] = south[:, None] * _southward(x) + east[:, None] * _eastward(x)
            if level is not None:
                levels[here] = _summed(level, table, waves)
        return slopes, levels

    def laplacians(self, points: Float, potential: Float) -> Float:
        if self.degree and not self.coefficients[:, -1].any():
            return self.trimmed().laplacians(points, potential)
        found = np.empty(points.shape[0])
        bent = self.multiplied(-Harmonics(3).eigenvalues(potential.size - 1) * potential).coefficients
        for here in _blocks(points.shape[0], self.degree):
            x = points[here]
            found[here] = _summed(bent, associated_legendre(x[:, 2], self.degree), _waves(x, self.degree))
        return found

    def mixed(self, shares: Float, others: Sequence[SphereSeries]) -> SphereSeries:
        total: Complex = sum(share * each.coefficients for share, each in zip(shares, others, strict=True))
        return SphereSeries(total)

    def over(self, ranks: Ranks) -> SphereSeries:
        return SphereSeries(ranks.sum(self.coefficients))


def _synthesised(coefficients: Complex, table: Float, longitudes: int) -> Float:
    """`sum_lm c_ml f_lm e^{i m longitude}` over all m, of a real function, on a grid."""
    orders = min(coefficients.shape[0], longitudes // 2)
    waves = np.zeros((table.shape[2], longitudes // 2 + 1), dtype=complex)
    waves[:, :orders] = np.einsum("ml,mln->nm", coefficients[:orders], table[:orders])
    return np.fft.irfft(waves, longitudes, axis=1) * longitudes


def _summed(coefficients: Complex, table: Float, waves: Complex) -> Float:
    """The same at points."""
    by_order = np.einsum("ml,mln->nm", coefficients, table) * waves
    return np.asarray(2 * by_order.real.sum(axis=1) - by_order[:, 0].real)


def _waves(points: Float, degree: int) -> Complex:
    """`e^{i m longitude}`, `(points, m)`."""
    longitude = np.arctan2(points[:, 1], points[:, 0])
    return np.exp(1j * np.outer(longitude, np.arange(degree + 1)))


def _eastward(points: Float) -> Float:
    longitude = np.arctan2(points[:, 1], points[:, 0])
    return np.column_stack([-np.sin(longitude), np.cos(longitude), np.zeros(longitude.size)])


def _southward(points: Float) -> Float:
    return np.cross(_eastward(points), points)


def _blocks(count: int, degree: int) -> list[slice]:
    length = max(1, _TABLE_ENTRIES // (degree + 1) ** 2)
    return [slice(start, start + length) for start in range(0, count, length)]
