"""A potential of single tokens, written as an expression in the coordinates: its gradient and its harmonics."""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from mfpde.attention.quadratic import Quadratic, quadratic_of
from mfpde.attention.singular import singular_place
from mfpde.errors import ProblemError
from mfpde.geometry import CircleSeries, Geometry, HarmonicSeries, SphereSeries
from mfpde.geometry.gauss import gauss_legendre
from mfpde.geometry.series import clean
from mfpde.measure.expression import Expression
from mfpde.measure.jet import JET_FUNCTIONS, Jet
from mfpde.measure.seams import seam
from mfpde.transform.legendre import RingTransform
from mfpde.transform.ring_fourier import ring_length
from mfpde.typing import Float, Truths

__all__ = ["External"]

_SAMPLE_ANGLES = 2**12  # for the Fourier series of a smooth U
_DEGREES = (31, 63, 127, 255)  # of ever finer Gauss grids on S^2
#: last coefficients, relative to the largest value, of a smooth U; larger ones belong to a kink
_SMOOTH_NOISE_MAX = 1e-13
_POLE_DISTANCE = 1e-150  # sine of the colatitude in place of 0
_POLAR_SINE = 1e-3  # of the colatitude, below which harmonics are used in place of angles


class External:
    """U, whose gradient moves every token by itself: `P_x grad U`, in `theta` on the circle, `x`, `y`, `z`,
    `colatitude`, `longitude` on S^2, `x`, `y`, `z` on flat spaces.

    >>> from mfpde import Circle
    >>> External("cos(theta)", Circle()).slopes(np.array([[np.pi / 2]])).round(12)
    array([[-1.]])
    """

    def __init__(self, text: str, geometry: Geometry) -> None:
        self.expression, self.geometry = Expression(text), geometry
        known = geometry.coordinates(_somewhere(geometry))
        unknown = [name for name in self.expression.names if name not in known]
        if not known:
            raise _wrong(f"is a potential in coordinates, which R^{geometry.ambient_dimension} has no names for here")
        if unknown:
            raise _wrong(
                f"uses {', '.join(unknown)}, but on the {geometry.name} the coordinates are {', '.join(known)}"
            )
        if not self.expression.names:
            raise _wrong(f"{text!r} is constant: it moves nothing")
        self._check_values()

    def values(self, points: Float) -> Float:
        """U at native points, `(m,)`."""
        return self.expression(self.geometry.coordinates(points))

    def slopes(self, points: Float) -> Float:
        """Its gradient in native components, `(m, c)`: from derivatives along geodesics."""
        if self.geometry.flat:
            if self.quadratic is not None:
                return points @ self.quadratic.bend + self.quadratic.slope
            return np.column_stack([self._along(points, each)[1] for each in np.eye(points.shape[1])])
        if self.geometry.angular:
            return self._along(points, np.ones_like(points))[1][:, None]
        found = np.sum([self._along(points, each)[1][:, None] * each for each in _frames(points)], axis=0)
        polar, series = self._polar(points), self.series()
        if polar.any() and series is not None:
            found[polar] = series.slopes_and_levels(points[polar], np.ones(series.degree + 1), None)[0]
        return np.asarray(found)

    def laplacians(self, points: Float) -> Float:
        """Its Laplacian, `(m,)`: second derivatives along geodesics, summed over directions."""
        if self.geometry.flat:
            return np.asarray(np.sum([self._along(points, each)[2] for each in np.eye(points.shape[1])], axis=0))
        if self.geometry.angular:
            return self._along(points, np.ones_like(points))[2]
        found = np.sum([self._along(points, each)[2] for each in _frames(points)], axis=0)
        polar, series = self._polar(points), self.series()
        if polar.any() and series is not None:
            found[polar] = series.laplacians(points[polar], np.ones(series.degree + 1))
        return np.asarray(found)

    @cached_property
    def quadratic(self) -> Quadratic | None:
        """U as a polynomial of degree at most two, on flat spaces."""
        return quadratic_of(self.expression, tuple(self.geometry.coordinates(_somewhere(self.geometry))))

    def _polar(self, points: Float) -> Truths:
        """Where derivatives of colatitude and longitude are too large to add up to those of a smooth U."""
        angles = {"colatitude", "longitude"} & set(self.expression.names)
        return np.hypot(points[:, 0], points[:, 1]) < (_POLAR_SINE if angles else 0.0)

    def _along(self, points: Float, direction: Float) -> tuple[Float, Float, Float]:
        """U and its first two derivatives along geodesics."""
        if self.geometry.flat:
            variables = {name: Jet(x, u, 0.0) for name, x, u in zip("xyz", points.T, direction, strict=False)}
        elif self.geometry.angular:
            variables = _on_circle(points[:, 0])
        else:
            variables = _on_sphere(points, direction, self.geometry.coordinates(points))
        return Jet.of(self.expression.walked(variables, JET_FUNCTIONS)).spread(points.shape[:1])

    def series(self) -> HarmonicSeries | None:
        """Harmonics of the measure with density U relative to the uniform one; None where U has kinks."""
        return _series(self.expression.text, self.geometry)

    @property
    def kinked(self) -> bool:
        return self.series() is None

    @property
    def largest_slope(self) -> float:
        """Of the gradient, on a grid."""
        return float(np.linalg.norm(self.slopes(_everywhere(self.geometry)), axis=1).max())

    def _check_values(self) -> None:
        points = _everywhere(self.geometry)
        values = self.values(points)
        if not np.isfinite(values).all():
            raise _wrong(f"is not finite at {self._place(points[np.argmin(np.isfinite(values))])}; a potential is")
        if self.geometry.counts_as("line", "plane") and self.quadratic is None:
            found = singular_place(self.slopes, self.geometry.ambient_dimension)
            if found is not None:
                where = self._place(found.round(9) + 0.0)
                raise _wrong(
                    f"is singular, or its slope is, near {where}; round it off, as sqrt(x**2 + 0.01) does abs(x)"
                )
        jump = seam(self.expression, self.geometry)
        if jump is not None:
            raise _wrong(jump)

    def _place(self, point: Float) -> str:
        """The coordinates of a point that U depends on."""
        place = self.geometry.coordinates(point[None])
        return ", ".join(f"{name} = {place[name][0]:.6g}" for name in self.expression.names)


def _wrong(message: str) -> ProblemError:
    return ProblemError.at("interaction.external", message)


def _somewhere(geometry: Geometry) -> Float:
    width = 1 if geometry.angular else geometry.ambient_dimension
    return np.eye(1, width)


def _everywhere(geometry: Geometry) -> Float:
    if geometry.flat:
        return np.array(list(product((-1.3, -0.2, 0.7), repeat=geometry.ambient_dimension)))
    if geometry.angular:
        return np.linspace(0, 2 * np.pi, 721)[:-1, None]
    return _grid(48)


@lru_cache(maxsize=8)
def _grid(count: int) -> Float:
    """Unit vectors at `count` Gauss colatitudes, the northernmost first, and twice as many longitudes."""
    x, longitude = gauss_legendre(count)[0][::-1, None], np.pi / count * np.arange(2 * count)
    side = np.sqrt((1 - x) * (1 + x))
    height = np.broadcast_to(x, (count, 2 * count))
    points = np.stack([side * np.cos(longitude), side * np.sin(longitude), height], axis=-1)
    return np.asarray(points.reshape(-1, 3), dtype=np.float64)


@lru_cache(maxsize=16)
def _series(text: str, geometry: Geometry) -> HarmonicSeries | None:
    external = External(text, geometry)
    if not geometry.angular:
        return _on_grids(external)
    theta: Float = np.linspace(0, 2 * np.pi, _SAMPLE_ANGLES + 1)[:-1]
    values = external.values(theta[:, None])
    modes = np.fft.rfft(values)[: _SAMPLE_ANGLES // 2] / _SAMPLE_ANGLES
    largest, noise = np.abs(values).max(), float(np.abs(modes[-modes.size // 4 :]).max())
    if noise > _SMOOTH_NOISE_MAX * largest:
        return None
    modes = clean(modes / largest, 4 * noise / largest) * largest
    return CircleSeries(modes[: int(np.flatnonzero(modes).max(initial=0)) + 1])


def _on_grids(external: External) -> SphereSeries | None:
    for degree in _DEGREES:
        count = ring_length(2 * degree + 4)
        values = external.values(_grid(count)).reshape(count, 2 * count)
        transform = RingTransform(degree, *gauss_legendre(count), 2 * count)
        table = transform.listed(transform.analyze(values))
        largest = np.abs(values).max()
        noise = float(np.abs(table[-degree // 4 :]).max())
        if noise <= _SMOOTH_NOISE_MAX * largest:
            kept = clean(table / largest, 4 * noise / largest) * largest
            last = int(np.flatnonzero(np.abs(kept).max(axis=1)).max(initial=0)) + 1
            return SphereSeries(np.ascontiguousarray(kept[:last, :last].T))
    return None


def _frames(points: Float) -> tuple[Float, Float]:
    """Two orthonormal tangent directions at unit vectors of R^3."""
    least = np.eye(3)[np.argmin(np.abs(points), axis=1)]
    first = np.cross(points, least)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return first, np.cross(points, first)


def _on_circle(theta: Float) -> dict[str, Any]:
    sine, cosine = np.sin(theta), np.cos(theta)
    return {"theta": Jet(theta, 1.0, 0.0), "x": Jet(cosine, -sine, -cosine), "y": Jet(sine, cosine, -sine)}


def _on_sphere(points: Float, direction: Float, known: dict[str, Float]) -> dict[str, Any]:
    """Coordinates along `x cos t + e sin t`; at the poles, where angles have kinks, as at points beside them."""
    (x, y, z), (u, v, w) = points.T, direction.T
    side = np.maximum(np.hypot(x, y), _POLE_DISTANCE)
    colatitude = np.maximum(known["colatitude"], _POLE_DISTANCE)
    down = -w / side
    turn = (x * v - y * u) / side**2
    cotangent = z / side
    return {
        "x": Jet(x, u, -x),
        "y": Jet(y, v, -y),
        "z": Jet(z, w, -z),
        "colatitude": Jet(colatitude, down, cotangent * (1 - down**2)),
        "longitude": Jet(known["longitude"], turn, -2 * cotangent * down * turn),
    }
