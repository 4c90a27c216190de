"""Initial measures on spheres in harmonics, and the symmetries that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from mfpde.geometry import Harmonics, SphereSeries, ZonalSeries
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure import Measure
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import AnyArray, Complex, Float, Truths

if TYPE_CHECKING:
    from mfpde.measure.axisymmetric import Axisymmetric

__all__ = [
    "AxialData",
    "Symmetry",
    "axis_of",
    "gauss_points",
    "harmonics_about",
    "profile_about",
    "profile_of",
    "symmetry_of",
    "table_about",
    "table_of",
]

_FIRST_DEGREE = 32  # of the first grid that a density is looked at on
_MASS_MISSED_MAX = 1e-6  # relative: a grid that finds another mass has not seen all peaks
_ROUNDING = 4 * float(np.finfo(float).eps)  # of a density's peak: what a coefficient may be off
_ROUNDINGS = 64 * float(
    np.finfo(float).eps
)  # of a density's peak: what quadratures may leave of a coefficient that is 0
_LARGEST_ORDER = 64  # of a rotation about the polar axis that is looked for


class AxialData(NamedTuple):
    """A measure that is symmetric about an axis: coefficients of orthonormal zonal harmonics, degree by degree."""

    axis: Float
    coefficients: Float


def table_of(measure: Measure, most: int) -> Complex:
    """`int conj(Y_lm) dmu` on S^2, by degree and order up to `most`; fewer where the rest is nothing."""
    found: Complex = np.zeros((1, 1), dtype=complex)
    for share, part in measure.summands:
        table = share * _of_part(part, most)
        size = max(len(found), len(table))
        both = (np.pad(each, (0, size - len(each))) for each in (found, table))
        found = np.sum(list(both), axis=0)
    return _without_rounding(found)


def _of_part(part: Measure, most: int) -> Complex:
    """Of points one by one; of densities on ever finer Gauss grids until the last degrees vanish; where they do not,
    of those about an axis by themselves."""
    if part.pointlike:
        points, weights = part.embedded_nodes()
        found: Complex = sum(w * np.conj(harmonics_about(x, most)) for x, w in zip(points, weights, strict=True))
        return found
    degree = min(_FIRST_DEGREE, most)
    while True:
        table, peak = _on_grid(part, degree)
        seen = abs(table[0, 0].real - part.mass) <= _MASS_MISSED_MAX * part.mass  # no peak lies between the rings
        if seen and not _is_there(table, peak)[-max(4, degree // 4) :].any():
            return table
        if degree == most:
            break
        degree = min(2 * degree, most)
    return np.asarray(part.harmonics(most).coefficients.T) if hasattr(part, "axis") else table


def _on_grid(part: Measure, degree: int) -> tuple[Complex, float]:
    """Twice as many rings and places as the degrees need; and the largest value, relative to the mean."""
    count = ring_length(2 * degree + 4)
    density = 4 * np.pi * part.evaluate(gauss_points(count)).reshape(count, 2 * count)
    transform = RingTransform(degree, *gauss_legendre(count), 2 * count)
    return transform.listed(transform.analyze(density)), float(density.max())


def gauss_points(count: int) -> Float:
    """Unit vectors of a grid of `count` Gauss colatitudes, the northernmost first, and twice as many longitudes."""
    x, longitude = gauss_legendre(count)[0][::-1, None], np.pi / count * np.arange(2 * count)
    side = np.sqrt((1 - x) * (1 + x))
    height = np.broadcast_to(x, (count, 2 * count))
    return np.stack([side * np.cos(longitude), side * np.sin(longitude), height], axis=-1).reshape(-1, 3)


def _is_there(table: Complex, peak: float) -> Truths:
    """Which degrees are more than the rounding of a density with that peak."""
    return np.asarray(_sizes(table) > _ROUNDING * peak * (2 * np.arange(len(table)) + 1))


def _sizes(table: Complex) -> Float:
    """`(sum_m |c_lm|^2 (2 l + 1))^{1/2}` by degree, m of both signs."""
    squares = np.abs(table) ** 2
    return np.sqrt((2 * squares.sum(axis=1) - squares[:, 0]) * (2 * np.arange(len(table)) + 1))


def _without_rounding(table: Complex) -> Complex:
    """Mass 1, and zeros where there is only rounding."""
    table = table / table[0, 0].real
    peak = max(1.0, float(_sizes(table).max()))
    floor = 0.25 * _ROUNDING * peak
    real, imaginary = (np.where(np.abs(part) > floor, part, 0.0) for part in (table.real, table.imag))
    last = int(np.flatnonzero(_is_there(table, peak))[-1]) + 1
    return np.asarray((real + 1j * imaginary)[:last, :last])


def profile_of(measure: Measure, most: int) -> AxialData | None:
    """In any dimension: the axis of a measure whose parts all have the same one and know it, None for others."""
    parts = list(measure.summands)
    if all(hasattr(part, "axial_moments") for _, part in parts):
        known = [(share, cast("Axisymmetric", part)) for share, part in parts]
        axes = np.array([part.axis for _, part in known])
        listed = np.array([share * part.axial_moments(most) for share, part in known])
    elif measure.space.ambient_dimension > 3:
        zonal = cast("ZonalSeries", measure.harmonics(most))  # in so many dimensions there are no others
        axes, listed = zonal.axes, zonal.coefficients
    else:
        return None
    axis, degree = axes[0], np.arange(listed.shape[1])
    cosines = axes @ axis
    if np.abs(np.abs(cosines) - 1).max() > _ROUNDINGS:
        return None
    moments = (np.sign(cosines)[:, None] ** degree * listed).sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.nan_to_num(moments * np.sqrt(Harmonics(axis.size).multiplicities(degree[-1])), posinf=0.0)
    return AxialData(axis, found / moments[0])


def axis_of(table: Complex, *others: Complex) -> AxialData | None:
    """The axis about which coefficients on S^2, and all others, are symmetric, if there is one."""
    for axis in (axis for each in (table, *others) for axis in _candidates(each)):
        found = profile_about(axis, table)
        if found is not None and all(profile_about(axis, each) is not None for each in others):
            return AxialData(axis, found)
    return None


def profile_about(axis: Float, table: Complex) -> Float | None:
    """The profile of coefficients about an axis, None where they have more than that."""
    tolerance = _ROUNDINGS * max(1.0, float(_sizes(table).max()))
    root = np.sqrt(2 * np.arange(len(table)) + 1)
    waves = harmonics_about(axis, len(table) - 1)
    moments = (table * waves).real
    zonal: Float = (2 * moments.sum(axis=1) - moments[:, 0]) / root
    apart = np.abs(table - np.conj(waves) * (zonal / root)[:, None]).max()
    return zonal if apart <= tolerance else None


def harmonics_about(axis: Float, degree: int) -> Complex:
    """`Y_lm(axis)`, by degree and order: all orders at once, degree by degree."""
    x, longitude = float(axis[2]), float(np.arctan2(axis[1], axis[0]))
    side, order = float(np.hypot(axis[0], axis[1])), np.arange(degree + 1.0)
    growth = np.concatenate([[1.0], np.sqrt((2 * order[1:] + 1) / (2 * order[1:])) * side])
    table = np.zeros((degree + 1, degree + 1))
    sectoral = np.cumprod(growth)
    for k in range(degree + 1):
        table[k, k] = sectoral[k]
        if k == 0:
            continue
        m = order[:k]
        before = (
            table[k - 2, :k] * np.sqrt(np.maximum((k - 1) ** 2 - m**2, 0) / (4 * (k - 1) ** 2 - 1)) if k > 1 else 0.0
        )
        table[k, :k] = np.sqrt((4 * k * k - 1) / (k * k - m**2)) * (x * table[k - 1, :k] - before)
    return np.asarray(table * np.exp(1j * order * longitude))


def _candidates(table: Complex) -> Iterator[Float]:
    """Directions that an axis may have: that of the mean, and the principal ones of the second moments."""
    yield np.array([0.0, 0.0, 1.0])
    if len(table) > 1:
        mean = np.array([2 * table[1, 1].real, -2 * table[1, 1].imag, np.sqrt(2) * table[1, 0].real])
        if np.linalg.norm(mean) > 0:
            yield mean / np.linalg.norm(mean)
    if len(table) > 2:
        zz, xz, yz = table[2, 0].real / np.sqrt(5), table[2, 1].real, -table[2, 1].imag
        spread, xy = table[2, 2].real, -table[2, 2].imag
        scale = np.sqrt(2 / 15)
        moments = np.array(
            [
                [-zz / 3 + scale * spread, scale * xy, scale * xz],
                [scale * xy, -zz / 3 - scale * spread, scale * yz],
                [scale * xz, scale * yz, 2 * zz / 3],
            ]
        )
        yield from np.linalg.eigh(moments)[1].T


class Symmetry(NamedTuple):
    """Orders that are multiples of `period`, and which real and imaginary parts may be there, by degree and order."""

    period: int
    kept: tuple[tuple[bool, ...], ...]


def symmetry_of(*tables: Complex, keeps: Callable[[Float], bool] = lambda _: True) -> Symmetry:
    """Rotations about the polar axis by one k-th of a turn, and reflections of the three coordinates, that leave
    coefficients, all of these, as they are.

    A reflection multiplies real and imaginary parts by signs that follow from the parities of degree and order; `kept`
    says of the four parities (degree - order, order), one after the other, and of the two parts, which remain. Only
    orthogonal maps that the law `keeps` count.
    """
    tolerances = [_ROUNDINGS * max(1.0, float(_sizes(table).max())) for table in tables]
    pairs = list(zip(tables, tolerances, strict=True))
    excited = np.unique(np.concatenate([np.flatnonzero(np.abs(t).max(axis=0) > tolerance) for t, tolerance in pairs]))
    period = int(np.gcd.reduce(excited)) if excited.size > 1 else 1
    period = period if 1 < period <= _LARGEST_ORDER else 1
    period = next(k for k in range(period, 0, -1) if period % k == 0 and (k == 1 or keeps(_turn(2 * np.pi / k))))
    kept = np.ones((2, 2, 2), dtype=bool)
    for signs in product((1, -1), repeat=3):
        if all(_unchanged(signs, *pair) for pair in pairs) and keeps(np.diag(signs).astype(float)):
            for parity in product((0, 1), repeat=2):
                for part, sign in enumerate(_signs(signs, np.array(parity[0]), np.array(parity[1]))):
                    kept[parity][part] &= bool(sign == 1)
    return Symmetry(period, tuple(map(tuple, kept.reshape(4, 2).tolist())))


def _turn(angle: float) -> Float:
    """A rotation about the polar axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _unchanged(signs: tuple[int, ...], table: Complex, tolerance: float) -> bool:
    """Whether reflections of the coordinates with these signs leave coefficients as they are."""
    degree, order = (np.asarray(each) for each in np.indices(table.shape))
    real, imaginary = _signs(signs, degree - order, order)
    apart = max(np.abs(table.real * (1 - real)).max(), np.abs(table.imag * (1 - imaginary)).max())
    return bool(apart <= tolerance)


def _signs(signs: tuple[int, ...], above: AnyArray, order: AnyArray) -> tuple[AnyArray, AnyArray]:
    """What reflections of x, y and z multiply real and imaginary parts by: longitudes become pi - phi, -phi, and
    colatitudes pi - theta."""
    x, y, z = signs
    both = np.where((z == -1) & (above % 2 == 1), -1, 1) * np.where((x == -1) & (order % 2 == 1), -1, 1)
    return both, both * (x * y)


def table_about(data: AxialData, degree: int) -> Complex:
    """The coefficients on S^2 of data about an axis."""
    count = np.sqrt(2 * np.arange(degree + 1.0) + 1)
    profile = np.pad(data.coefficients[: degree + 1], (0, max(0, degree + 1 - data.coefficients.size)))
    found = SphereSeries(np.conj(harmonics_about(data.axis, degree) * (profile / count)[:, None]).T)
    return np.asarray(found.coefficients.T)
