"""Where solutions of general laws live: all harmonics, or those about an axis that the law keeps; what they show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from mfpde.equation import Equation
from mfpde.errors import ProblemError
from mfpde.geometry import Circle, Geometry, Layout
from mfpde.measure import CircleDensity, Measure
from mfpde.solvers.spectral.cut_data import cut_of
from mfpde.solvers.spectral.law_grids import Grid, MeridianGrid, ModeGrid, RingGrid
from mfpde.solvers.spectral.law_symmetry import keeps, keeps_axis
from mfpde.solvers.spectral.sphere_data import axis_of, profile_of, symmetry_of
from mfpde.solvers.spectral.sphere_shown import AboutAxis, OnSphere, Shown, table_with_room
from mfpde.typing import AnyArray, Complex, Float

__all__ = ["OnHarmonics", "OnModes", "OnProfile", "Space", "restored_space", "space_of"]

_EXCITED = 64 * float(np.finfo(float).eps)  # relative: what counts as a coefficient of the initial measure
_PUSHED_DEGREES = 8  # of the function that a density is pushed by


class Space(ABC):
    """Coefficients of one law, `(2, size)` on a grid, and what is seen of them."""

    #: fewest points of the first axis of a file
    axis_points: int
    #: fewer degrees cost no less
    least_degree: int
    #: the word for what `max_modes` counts
    unit: str

    def check_room(self, most: int) -> None:  # noqa: B027 - modes and profiles fit always
        """Refuse more degrees than there is memory for."""

    @abstractmethod
    def grid(self, degree: int, bandwidth: int) -> Grid: ...

    @abstractmethod
    def kept(self, grid: Grid) -> Float:
        """1 for coefficients that symmetries of data and law leave, 0 for others, `(2, size)`."""

    @abstractmethod
    def packed(self, grid: Grid, found: Float | Complex) -> Float:
        """Coefficients of an initial measure, of any length."""

    @abstractmethod
    def points_for(self, degree: int) -> int:
        """Points of the first axis of a file that show a degree."""

    @abstractmethod
    def layout(self, count: int) -> Layout: ...

    @abstractmethod
    def density(self, grid: Grid, values: Float, count: int) -> Float: ...

    @abstractmethod
    def measure(self, grid: Grid, values: Float, count: int) -> Measure: ...

    @abstractmethod
    def product(self, grid: Grid, values: Float, other: Float) -> Float:
        """Coefficients of the product of two functions, up to the degree."""

    @abstractmethod
    def cut_error(self, law: Measure, found: Float | Complex) -> float:
        """By how much the coefficients of an initial measure miss it, relative to its peak."""

    def pole_error(self, grid: Grid, values: Float, count: int) -> float:
        """About what a snapshot is off at the poles, relative to the largest density."""
        return 0.0

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray]:
        """What says which space it is."""

    def pushed(self, grid: Grid, values: Float, size: float) -> Float:
        """Of the density times `1 + size h`, with an h of low degree that has all symmetries."""
        change = np.zeros_like(values)
        low = (grid.degrees > 0) & (grid.degrees <= _PUSHED_DEGREES)
        waves = np.cos(1.0 + 2.4 * np.arange(values.size)).reshape(values.shape)
        change[:, low] = size * waves[:, low] / (1.0 + grid.degrees[low]) ** 2
        change *= self.kept(grid)
        change[:, 0] = 1.0, 0.0
        found = self.product(grid, values, change) * self.kept(grid)
        return found / found[0, 0]


class OnModes(Space):
    """On the circle; `even` data have real modes, and those with a `period` only multiples of it."""

    axis_points, least_degree, unit = 256, 20, "modes"

    def __init__(self, even: bool, period: int) -> None:
        self.even, self.period = even, period

    @classmethod
    def of(cls, equation: Equation, modes: Sequence[Complex]) -> OnModes:
        """With the symmetries that all laws have and the equation keeps."""
        sizes = [np.max([np.abs(part(each)) for each in modes], axis=0) for part in (np.real, np.imag)]
        even = not sizes[1].any() and keeps(equation, np.diag([1.0, -1.0]))
        excited = np.flatnonzero(np.maximum(*sizes) > _EXCITED)
        period = int(np.gcd.reduce(excited)) if excited.size > 1 else 1
        divisors = (k for k in range(period, 1, -1) if period % k == 0)
        return cls(even, next((k for k in divisors if keeps(equation, _turn(2 * np.pi / k))), 1))

    def grid(self, degree: int, bandwidth: int) -> ModeGrid:
        return ModeGrid(degree, bandwidth)

    def kept(self, grid: Grid) -> Float:
        kept = np.tile(grid.degrees % self.period == 0, (2, 1)).astype(float)
        kept[1] *= not self.even
        kept[1, 0] = 0.0
        return kept

    def packed(self, grid: Grid, found: Float | Complex) -> Float:
        values = np.zeros((2, grid.size))
        shown = np.asarray(found)[: grid.size]
        values[0, : shown.size], values[1, : shown.size] = shown.real, shown.imag
        return values

    def points_for(self, degree: int) -> int:
        return 2 * (degree + 1)

    def layout(self, count: int) -> Layout:
        return Circle().layout(count)

    def density(self, grid: Grid, values: Float, count: int) -> Float:
        return CircleDensity.of(values[0] + 1j * values[1]).on_grid(count)

    def measure(self, grid: Grid, values: Float, count: int) -> CircleDensity:
        return CircleDensity.of(values[0] + 1j * values[1])

    def product(self, grid: Grid, values: Float, other: Float) -> Float:
        assert isinstance(grid, ModeGrid)  # noqa: S101 - its own
        waves = np.fft.rfft(grid.density(values) * grid.density(other))[: grid.size] / grid.length
        return np.stack([waves.real, waves.imag])

    def cut_error(self, law: Measure, found: Float | Complex) -> float:
        return cut_of(law, np.asarray(found, dtype=complex), 1.0, 0.0).error

    def arrays(self) -> dict[str, AnyArray]:
        return {"modes_kept": np.array([int(self.even), self.period], dtype=np.int64)}


def _turn(angle: float) -> Float:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


class _OnSpheres(Space):
    """What both ways on spheres have in common."""

    axis_points, least_degree, unit = 32, 12, "degree"

    def __init__(self, shown: Shown, geometry: Geometry) -> None:
        self._shown, self._geometry = shown, geometry

    def points_for(self, degree: int) -> int:
        return degree + 1

    def layout(self, count: int) -> Layout:
        return self._shown.layout(count)

    def cut_error(self, law: Measure, found: Float | Complex) -> float:
        return self._shown.cut_error(law, found)

    def arrays(self) -> dict[str, AnyArray]:
        return self._shown.arrays()


class OnHarmonics(_OnSpheres):
    """All harmonics of S^2."""

    _shown: OnSphere

    def check_room(self, most: int) -> None:
        self._shown.check_room(most)

    def grid(self, degree: int, bandwidth: int) -> RingGrid:
        return RingGrid(degree, bandwidth, self._geometry)

    def kept(self, grid: Grid) -> Float:
        basis = _rings(grid).basis
        orders, kept = basis.orders, self._shown.kept(basis)
        counts = np.diff(orders.first)
        order = np.pad(np.repeat(orders.order, counts), (0, kept.shape[1] - int(counts.sum())))
        return np.asarray(kept * (order % self._shown.symmetry.period == 0))

    def packed(self, grid: Grid, found: Float | Complex) -> Float:
        return self._shown.packed(_rings(grid).basis, np.asarray(found, dtype=complex))

    def density(self, grid: Grid, values: Float, count: int) -> Float:
        return self._shown.density(_rings(grid).basis, values, count)

    def measure(self, grid: Grid, values: Float, count: int) -> Measure:
        return self._shown.measure(_rings(grid).basis, values, count)

    def product(self, grid: Grid, values: Float, other: Float) -> Float:
        return self._shown.product(_rings(grid).basis, values, other)


def _rings(grid: Grid) -> RingGrid:
    assert isinstance(grid, RingGrid)  # noqa: S101 - its own
    return grid


class OnProfile(_OnSpheres):
    """About an axis; `even` profiles are alike at opposite points."""

    _shown: AboutAxis

    def grid(self, degree: int, bandwidth: int) -> MeridianGrid:
        return MeridianGrid(degree, bandwidth, self._geometry, self._shown.axis)

    def kept(self, grid: Grid) -> Float:
        kept = np.zeros((2, grid.size))
        kept[0] = (grid.degrees % 2 == 0) | (not self._shown.even)
        return kept

    def packed(self, grid: Grid, found: Float | Complex) -> Float:
        values = np.zeros((2, grid.size))
        length = min(len(found), grid.size)
        values[0, :length] = np.real(found[:length])
        return values

    def density(self, grid: Grid, values: Float, count: int) -> Float:
        return self._shown.density(grid, values, count)  # type: ignore[arg-type]

    def measure(self, grid: Grid, values: Float, count: int) -> Measure:
        return self._shown.measure(grid, values, count)  # type: ignore[arg-type]

    def pole_error(self, grid: Grid, values: Float, count: int) -> float:
        return self._shown.pole_error(grid, values, count)  # type: ignore[arg-type]

    def product(self, grid: Grid, values: Float, other: Float) -> Float:
        assert isinstance(grid, MeridianGrid)  # noqa: S101 - its own
        return grid.analyzed(grid.density(values) * grid.density(other))


def space_of(equation: Equation, laws: Sequence[Measure], most: int) -> tuple[Space, list[Float | Complex]]:
    """The smallest space that holds the solution from these laws, one for each position, and their coefficients."""
    geometry = equation.geometry
    found: list[Float | Complex]
    if geometry.counts_as("circle"):
        modes = [law.harmonics(most).coefficients for law in laws]
        return OnModes.of(equation, modes), list(modes)
    if geometry.ambient_dimension > 3:
        return _about_axis(equation, laws, most)
    found = [table_with_room(law, most) for law in laws]
    if len(found) == 1 and not _kinked(equation):  # rings about an axis would see kinks to second order only
        axial = axis_of(np.asarray(found[0], dtype=complex))
        if axial is not None and keeps_axis(equation, axial.axis):
            return OnProfile(AboutAxis(axial.axis, _even(equation, [axial.coefficients])), geometry), [
                axial.coefficients
            ]
    size = max(map(len, found))
    whole = [np.pad(np.asarray(each), (0, size - len(each))) for each in found]
    largest = np.max(np.abs(np.real(whole)), axis=0) + 1j * np.max(np.abs(np.imag(whole)), axis=0)
    return OnHarmonics(OnSphere(symmetry_of(largest, keeps=partial(keeps, equation))), geometry), found


def _about_axis(equation: Equation, laws: Sequence[Measure], most: int) -> tuple[Space, list[Float | Complex]]:
    """In more than three dimensions, where there is no other way."""
    profiles = [profile_of(law, most) for law in laws]
    axes = [profile.axis for profile in profiles if profile is not None]
    if len(axes) < len(laws) or any(np.abs(axis - axes[0]).max() > _EXCITED for axis in axes):
        reason = "has no axis"
    elif _kinked(equation):
        raise ProblemError.at("attention", "has kinks, which in more than three dimensions no rule here integrates")
    elif not keeps_axis(equation, axes[0]):
        reason = "has an axis that attention and drift do not keep"
    else:
        coefficients = [profile.coefficients for profile in profiles if profile is not None]
        return OnProfile(AboutAxis(axes[0], _even(equation, coefficients)), equation.geometry), list(coefficients)
    raise ProblemError.at(
        "initial", f"{reason}, and in more than three dimensions only densities about an axis can be solved"
    )


def _kinked(equation: Equation) -> bool:
    return equation.law is not None and equation.law.kinked


def _even(equation: Equation, profiles: Sequence[Float]) -> bool:
    """Whether opposite points are alike, and stay so."""
    odd = any(np.abs(profile[1::2]).max(initial=0.0) > 0 for profile in profiles)
    return not odd and keeps(equation, -np.eye(equation.geometry.ambient_dimension))


def restored_space(arrays: Mapping[str, AnyArray], geometry: Geometry) -> Space:
    """From what `arrays` said."""
    if "modes_kept" in arrays:
        even, period = arrays["modes_kept"]
        return OnModes(bool(even), int(period))
    if "axis" in arrays:
        return OnProfile(AboutAxis(np.asarray(arrays["axis"]), bool(arrays["even"][0])), geometry)
    return OnHarmonics(OnSphere.restored(arrays["symmetry"]), geometry)
