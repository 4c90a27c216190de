"""What a solution on a sphere shows of itself: a layout, densities on its grid, measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from mfpde.attention import Convolution
from mfpde.geometry import Harmonics, Layout, Sphere, SphereSeries
from mfpde.geometry.gauss import gauss_legendre, gauss_on_sphere
from mfpde.measure import Measure
from mfpde.measure.sphere_grid import ProfileDensity, SphereGridDensity
from mfpde.solvers.forms.sphere import profile_layout, sphere_layout
from mfpde.solvers.spectral.sphere_basis import AxisBasis, Basis, SphereBasis
from mfpde.solvers.spectral.sphere_data import AxialData, Symmetry, profile_about, table_about
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["AboutAxis", "OnSphere", "Shown"]


class Shown(ABC):
    """A space of solutions: its basis, and how their coefficients are seen."""

    @abstractmethod
    def basis(self, degree: int, bandwidth: int) -> Basis: ...

    @abstractmethod
    def kept(self, basis: Basis) -> Float:
        """1 for coefficients that symmetries leave, 0 for others, `(2, size)`."""

    @abstractmethod
    def listed(self, basis: Basis, table: Complex) -> Float:
        """Coefficients of this basis from those by degree and order."""

    def external(self, basis: Basis, convolution: Convolution) -> Float | None:
        """Those of the external potential, where there is one."""
        series = convolution.external
        return None if series is None else self.listed(basis, np.asarray(series.coefficients.T)) * self.kept(basis)

    @abstractmethod
    def layout(self, count: int) -> Layout:
        """With that many colatitudes."""

    @abstractmethod
    def density(self, basis: Basis, state: Float, count: int) -> Float:
        """On the grid of that layout."""

    @abstractmethod
    def measure(self, basis: Basis, state: Float, count: int) -> Measure:
        """The same as a measure."""

    @abstractmethod
    def product(self, basis: Basis, state: Float, other: Float) -> Float:
        """Coefficients of the product with another function of the same symmetries, up to the degree."""

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray]:
        """What says which space it is."""


class OnSphere(Shown):
    """On S^2 without an axis."""

    def __init__(self, symmetry: Symmetry) -> None:
        self.symmetry = symmetry

    def basis(self, degree: int, bandwidth: int) -> Basis:
        return SphereBasis(degree, bandwidth, self.symmetry.period)

    def kept(self, basis: Basis) -> Float:
        kept = np.array(self.symmetry.kept, dtype=float).reshape(2, 2, 2)
        order = np.zeros(basis.orders.size, dtype=int)
        for row, value in enumerate(basis.orders.order):
            order[basis.orders.first[row] : basis.orders.first[row + 1]] = value
        found = kept[(basis.degrees - order) % 2, order % 2].T * (basis.copies > 0)
        found[1, order == 0] = 0.0
        return np.ascontiguousarray(found)

    def listed(self, basis: Basis, table: Complex) -> Float:
        return self.packed(basis, table)

    def layout(self, count: int) -> Layout:
        return sphere_layout(count)

    def table(self, basis: Basis, state: Float) -> Complex:
        """Coefficients by degree and order."""
        table = np.zeros((basis.degree + 1, basis.degree + 1), dtype=complex)
        for row, order in enumerate(basis.orders.order.astype(int)):
            here = slice(int(basis.orders.first[row]), int(basis.orders.first[row] + basis.orders.counts[row]) - 1)
            table[order:, order] = state[0, here] + 1j * state[1, here]
        return table

    def packed(self, basis: Basis, table: Complex) -> Float:
        """Such a table, of any size, in rows."""
        state = np.zeros((2, basis.orders.size))
        length = min(len(table), basis.degree + 1)
        for row, order in enumerate(basis.orders.order.astype(int)):
            if order < length:
                start = int(basis.orders.first[row])
                column = table[order:length, order]
                state[0, start : start + column.size], state[1, start : start + column.size] = column.real, column.imag
        return state

    def density(self, basis: Basis, state: Float, count: int) -> Float:
        return shown_on(self.table(basis, state), count)

    def measure(self, basis: Basis, state: Float, count: int) -> SphereGridDensity:
        return _measure(self.table(basis, state), count)

    def product(self, basis: Basis, state: Float, other: Float) -> Float:
        count = ring_length(basis.degree + 16)
        transform = _transform(count, 2 * count, basis.degree)
        values = [transform.synthesize(transform.packed(self.table(basis, each))) for each in (state, other)]
        return self.packed(basis, transform.listed(transform.analyze(values[0] * values[1]))) * self.kept(basis)

    def arrays(self) -> dict[str, AnyArray]:
        return {"symmetry": np.array([self.symmetry.period, *np.ravel(self.symmetry.kept)], dtype=np.int64)}

    @classmethod
    def restored(cls, arrays: AnyArray) -> OnSphere:
        """From what `arrays` said."""
        kept = np.asarray(arrays[1:], dtype=bool).reshape(4, 2)
        return cls(Symmetry(int(arrays[0]), tuple(map(tuple, kept.tolist()))))


class AboutAxis(Shown):
    """About an axis, in any dimension."""

    def __init__(self, axis: Float, even: bool) -> None:
        self.axis, self.even = axis, even

    @property
    def dimension(self) -> int:
        return self.axis.size

    def basis(self, degree: int, bandwidth: int) -> Basis:
        return AxisBasis(degree, bandwidth, self.dimension)

    def kept(self, basis: Basis) -> Float:
        kept = np.zeros((2, basis.orders.size))
        kept[0] = (basis.copies > 0) & ((basis.degrees % 2 == 0) | (not self.even))
        return kept

    def listed(self, basis: Basis, table: Complex) -> Float:
        profile, found = profile_about(self.axis, table), np.zeros((2, basis.orders.size))
        assert profile is not None  # noqa: S101 - the axis is one of the potential, too
        length = min(profile.size, basis.degree + 1)
        found[0, :length] = profile[:length]
        return found

    def layout(self, count: int) -> Layout:
        return sphere_layout(count) if self.dimension == 3 else profile_layout(count, self.axis)

    def density(self, basis: Basis, state: Float, count: int) -> Float:
        if self.dimension == 3:
            return shown_on(self._table(basis, state), count)
        harmonics = Harmonics(self.dimension)
        cosines = gauss_on_sphere(count, self.dimension)[0][::-1]
        strengths = state[0, : basis.degree + 1] * np.sqrt(basis.multiplicities)
        return strengths @ harmonics.zonal(cosines, basis.degree) / np.exp(harmonics.log_area)

    def _table(self, basis: Basis, state: Float) -> Complex:
        return table_about(AxialData(self.axis, state[0, : basis.degree + 1]), basis.degree)

    def measure(self, basis: Basis, state: Float, count: int) -> Measure:
        if self.dimension == 3:
            return _measure(self._table(basis, state), count)
        return ProfileDensity(self.density(basis, state, count), self.axis, Sphere(dimension=self.dimension))

    def product(self, basis: Basis, state: Float, other: Float) -> Float:
        cosines, weights = gauss_on_sphere(basis.degree + 16, self.dimension)
        functions = np.sqrt(basis.multiplicities)[:, None] * Harmonics(self.dimension).zonal(cosines, basis.degree)
        values = [each[0, : basis.degree + 1] @ functions for each in (state, other)]
        found = np.zeros_like(state)
        found[0, : basis.degree + 1] = functions @ (weights * values[0] * values[1])
        return found * self.kept(basis)

    def arrays(self) -> dict[str, AnyArray]:
        return {"axis": self.axis, "even": np.array([int(self.even)])}


@lru_cache(maxsize=4)
def _transform(rings: int, places: int, degree: int) -> RingTransform:
    return RingTransform(degree, *gauss_legendre(rings), places)


def shown_on(table: Complex, count: int) -> Float:
    """Densities on the grid of a layout with `count` colatitudes."""
    transform = _transform(count, 2 * count, len(table) - 1)
    return transform.synthesize(transform.packed(table)) / (4 * np.pi)


def _measure(table: Complex, count: int) -> SphereGridDensity:
    """With its series, so that nothing is lost to the values on the grid."""
    measure = SphereGridDensity(shown_on(table, count))
    measure.series = SphereSeries(np.ascontiguousarray(table.T)).resized(count - 1)
    return measure
