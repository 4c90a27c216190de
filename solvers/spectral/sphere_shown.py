"""What a solution on a sphere shows of itself: a layout, densities on its grid, measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from mfpde.attention import Convolution
from mfpde.errors import ProblemError
from mfpde.geometry import Harmonics, Layout, Sphere, SphereSeries
from mfpde.geometry.gauss import gauss_legendre, gauss_on_sphere
from mfpde.measure import Measure
from mfpde.measure.sphere_grid import ProfileDensity, SphereGridDensity
from mfpde.solvers.forms.sphere import profile_layout, sphere_layout
from mfpde.solvers.spectral.degree_limits import Limits
from mfpde.solvers.spectral.sphere_axis import COEFFICIENT_ROUNDING, AxisBasis, AxisStepping
from mfpde.solvers.spectral.sphere_basis import Basis, SphereBasis
from mfpde.solvers.spectral.sphere_data import AxialData, Symmetry, gauss_points, table_about, table_of
from mfpde.solvers.spectral.sphere_stepping import HarmonicStepping, Stepping
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["AboutAxis", "OnSphere", "Shown", "table_with_room"]

_MIN_DEGREES = 12  # of a basis of nothing yet
_MOST_DEGREES = 1500  # of all harmonics: functions of larger orders underflow where they are not small yet
_ARRAYS = 110  # of coefficients, real and imaginary parts, that a run holds, tables of exponentials included


def table_with_room(measure: Measure, most: int) -> Complex:
    """The table of a measure that may turn out to have an axis; refused where it has more degrees than there is memory
    for without one, before it is made."""
    found = table_of(measure, min(most, _MOST_DEGREES))
    if most > _MOST_DEGREES and len(found) > 15 * _MOST_DEGREES // 16:
        raise _too_many(most)
    return found


def _too_many(most: int) -> ProblemError:
    return ProblemError.at(
        "solver.max_modes",
        f"is {most}; without an axis it may be {_MOST_DEGREES} at most, and so many degrees would take "
        f"{_ARRAYS * 8 * most**2 / 2**30:.0f} GiB",
    )


class Shown(ABC):
    """A space of solutions: its basis, and how their coefficients are seen."""

    @abstractmethod
    def stepping(self, convolution: Convolution, diffusion: float, limits: Limits, most: int) -> Stepping:
        """Steps in that space, of no state yet."""

    @abstractmethod
    def laid(self, degree: int, bandwidth: int, found: Float | Complex) -> tuple[Basis, Float]:
        """A basis, and on it the coefficients that were found of a measure."""

    def check_room(self, most: int) -> None:  # noqa: B027 - a profile fits always
        """Refuse more degrees than there is memory for."""

    @abstractmethod
    def kept(self, basis: Basis) -> Float:
        """1 for coefficients that symmetries leave, 0 for others, `(2, size)`."""

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

    def cut_error(self, measure: Measure, found: Float | Complex) -> float:
        """`max|cut - density| / max density` of the coefficients that were found of a measure; infinite for point
        masses."""
        if measure.pointlike:
            return np.inf
        cut, density = self.compared(measure, found)
        error = float(np.abs(cut - density).max() / density.max())
        return error if np.isfinite(error) else np.inf

    @abstractmethod
    def compared(self, measure: Measure, found: Float | Complex) -> tuple[Float, Float]:
        """The density of these coefficients and that of the measure, at places as near as waves are long."""

    def pole_error(self, basis: Basis, state: Float, count: int) -> float:
        """About what a snapshot with `count` colatitudes is off at the poles, between which and its first place nothing
        is known, relative to the largest density."""
        return 0.0

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray]:
        """What says which space it is."""


class OnSphere(Shown):
    """On S^2 without an axis."""

    def __init__(self, symmetry: Symmetry) -> None:
        self.symmetry = symmetry

    def stepping(self, convolution: Convolution, diffusion: float, limits: Limits, most: int) -> Stepping:
        return HarmonicStepping(self.symmetry, convolution, diffusion, limits, most)

    def laid(self, degree: int, bandwidth: int, found: Float | Complex) -> tuple[Basis, Float]:
        basis = SphereBasis(degree, bandwidth, self.symmetry.period)
        state = self.packed(basis, np.asarray(found, dtype=complex)) * self.kept(basis)
        state[0, 0] = 1.0
        return basis, state

    def kept(self, basis: Basis) -> Float:
        return _harmonic(basis).kept(self.symmetry)

    def check_room(self, most: int) -> None:
        if most > _MOST_DEGREES:
            raise _too_many(most)

    def layout(self, count: int) -> Layout:
        return sphere_layout(count)

    def table(self, basis: Basis, state: Float) -> Complex:
        """Coefficients by degree and order."""
        orders = _harmonic(basis).orders
        table = np.zeros((basis.degree + 1, basis.degree + 1), dtype=complex)
        for row, order in enumerate(orders.order.astype(int)):
            here = slice(int(orders.first[row]), int(orders.first[row] + orders.counts[row]) - 1)
            table[order:, order] = state[0, here] + 1j * state[1, here]
        return table

    def packed(self, basis: Basis, table: Complex) -> Float:
        """Such a table, of any size, in rows."""
        return _harmonic(basis).packed(table)

    def density(self, basis: Basis, state: Float, count: int) -> Float:
        return shown_on(self.table(basis, state), count)

    def measure(self, basis: Basis, state: Float, count: int) -> SphereGridDensity:
        return _measure(self.table(basis, state), count)

    def product(self, basis: Basis, state: Float, other: Float) -> Float:
        count = ring_length(basis.degree + 16)
        transform = _transform(count, 2 * count, basis.degree)
        values = [transform.synthesize(transform.packed(self.table(basis, each))) for each in (state, other)]
        return self.packed(basis, transform.listed(transform.analyze(values[0] * values[1]))) * self.kept(basis)

    def compared(self, measure: Measure, found: Float | Complex) -> tuple[Float, Float]:
        count = ring_length(2 * len(found))
        return shown_on(np.asarray(found), count).ravel(), measure.evaluate(gauss_points(count))

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

    def stepping(self, convolution: Convolution, diffusion: float, limits: Limits, most: int) -> Stepping:
        basis = AxisBasis(_MIN_DEGREES, 0, self.dimension)
        return AxisStepping(basis, convolution, diffusion, limits, most, self.even)

    def laid(self, degree: int, bandwidth: int, found: Float | Complex) -> tuple[Basis, Float]:
        basis = AxisBasis(degree, bandwidth, self.dimension)
        state = np.zeros((2, basis.width))
        length = min(len(found), degree + 1)
        state[0, :length] = np.real(found[:length])
        state *= self.kept(basis)
        state[0, 0] = 1.0
        return basis, state

    def kept(self, basis: Basis) -> Float:
        kept = np.zeros((2, basis.width))
        kept[0] = (basis.degrees % 2 == 0) | (not self.even)
        return kept

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

    def pole_error(self, basis: Basis, state: Float, count: int) -> float:
        """Zonal harmonics are `N_l^{1/2}` there, in many dimensions more than 1 / eps: what is nothing in the mean, of
        degrees beyond the last or of rounding, is not nothing at the poles. Degrees go on falling as the last do; a
        snapshot has rounding in as many as it has places."""
        if self.dimension == 3:
            return 0.0
        known = np.abs(state[0, : basis.degree + 1])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            heights_of_all = np.sqrt(Harmonics(self.dimension).multiplicities(max(count - 1, basis.degree)))
            heights = heights_of_all[: known.size]
            poles = [float(np.abs((state[0, : known.size] * sign**basis.degrees) @ heights)) for sign in (1, -1)]
            peak = max(1.0, *poles)
            before, last = (known * heights)[-4:-2].max(), (known * heights)[-2:].max()
            beyond = last * np.sqrt(last / before) / (1 - np.sqrt(last / before)) if before > 0 else last
            found = (COEFFICIENT_ROUNDING * known.max() * heights_of_all.sum() + beyond) / peak
        return float(found) if 0 <= found < np.inf else np.inf

    def compared(self, measure: Measure, found: Float | Complex) -> tuple[Float, Float]:
        harmonics, degree = Harmonics(self.dimension), len(found) - 1
        cosines = gauss_on_sphere(2 * len(found), self.dimension)[0]
        away = np.eye(self.dimension)[int(np.abs(self.axis).argmin())]
        away = away - (away @ self.axis) * self.axis
        sines = np.sqrt((1 - cosines) * (1 + cosines))
        places = np.outer(cosines, self.axis) + np.outer(sines, away / np.linalg.norm(away))
        with np.errstate(over="ignore", invalid="ignore"):
            strengths = np.real(found) * np.sqrt(harmonics.multiplicities(degree))
            cut = strengths @ harmonics.zonal(cosines, degree) / np.exp(harmonics.log_area)
        return cut, measure.evaluate(places)

    def arrays(self) -> dict[str, AnyArray]:
        return {"axis": self.axis, "even": np.array([int(self.even)])}


def _harmonic(basis: Basis) -> SphereBasis:
    assert isinstance(basis, SphereBasis)  # noqa: S101 - for the type checker
    return basis


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
