"""Densities on S^2 as pixels: an equal-area map of all of it, halves seen from above, and a turned globe."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mfpde.geometry.gauss import gauss_legendre
from mfpde.plotting.style import REFERENCE
from mfpde.transform.legendre import RingTransform
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "draw_graticule",
    "draw_half_graticule",
    "globe_graticule",
    "globe_points",
    "half_points",
    "map_points",
    "sampled",
    "spectrum",
]

_ROOT_2 = float(np.sqrt(2))  # half the height of the map of a unit sphere
_GRATICULE = 30  # degrees between two meridians, or circles of latitude
_GRATICULE_POINTS = 181  # points of a line of the graticule
_GRATICULE_WIDTH = 0.5  # points


def map_points(pixels: int) -> Float:
    """Colatitude and longitude `(2, pixels, 2 pixels)` in Hammer's equal-area map, NaN outside of it: longitude 0 in
    the middle, north above."""
    y, x = np.mgrid[-1 : 1 : pixels * 1j, -2 : 2 : 2 * pixels * 1j] * _ROOT_2
    root = np.sqrt(np.maximum(1 - (x / 4) ** 2 - (y / 2) ** 2, 0.5))
    longitude = 2 * np.arctan2(root * x, 2 * (2 * root**2 - 1))
    colatitude = np.arccos(np.clip(root * y, -1, 1))
    outside = (x / 2) ** 2 + y**2 > 2
    return np.where(outside, np.nan, np.array([colatitude, longitude]))


def projected(colatitude: Float, longitude: Float) -> tuple[Float, Float]:
    """Where the map has a point, longitudes from -pi to pi."""
    side, half = np.sin(colatitude), 0.5 * longitude
    scale = _ROOT_2 / np.sqrt(1 + side * np.cos(half))
    return 2 * scale * side * np.sin(half), scale * np.cos(colatitude)


def half_points(pixels: int, southern: bool) -> Float:
    """Of a half in a disc, in proportion to area, longitudes anticlockwise."""
    y, x = np.mgrid[-1 : 1 : pixels * 1j, -1 : 1 : pixels * 1j]
    radius = np.hypot(x, y)
    colatitude = 2 * np.arcsin(np.minimum(radius, 1) / _ROOT_2)
    found = np.array([np.pi - colatitude if southern else colatitude, np.arctan2(y, x)])
    return np.where(radius > 1, np.nan, found)


def globe_points(pixels: int, turn: float, tilt: float) -> Float:
    """Of a globe seen from far away, from the longitude `turn` and the latitude `tilt`."""
    up, across = np.mgrid[-1 : 1 : pixels * 1j, -1 : 1 : pixels * 1j]
    towards = np.sqrt(np.maximum(1 - up**2 - across**2, 0.0))
    height = towards * np.sin(tilt) + up * np.cos(tilt)
    ahead = towards * np.cos(tilt) - up * np.sin(tilt)
    found = np.array([np.arccos(np.clip(height, -1, 1)), np.arctan2(across, ahead) + turn])
    return np.where(up**2 + across**2 > 1, np.nan, found)


def sampled(density: Float, colatitudes: Float, points: Float) -> Float:
    """Densities `(colatitude, longitude)` at points, linearly between those of the grid; poles have the mean of the
    ring next to them."""
    poles = np.array([density[0].mean(), density[-1].mean()])[:, None] * np.ones((1, density.shape[1]))
    closed = np.concatenate([poles[:1], density, poles[1:]])
    places = np.concatenate([[0.0], colatitudes, [np.pi]])
    known = np.nan_to_num(points)
    row = np.clip(np.searchsorted(places, known[0], side="right") - 1, 0, places.size - 2)
    share = (known[0] - places[row]) / (places[row + 1] - places[row])
    column = np.mod(known[1], 2 * np.pi) / (2 * np.pi) * density.shape[1]
    left = np.floor(column).astype(int)
    between, left = column - left, left % density.shape[1]
    right = (left + 1) % density.shape[1]
    above, below = (closed[r, left] * (1 - between) + closed[r, right] * between for r in (row, row + 1))
    return np.where(np.isnan(points[0]), np.nan, above * (1 - share) + below * share)


def draw_graticule(axes: Axes) -> None:
    """Meridians and circles of latitude of the map, and its rim."""
    along = np.linspace(0, 1, _GRATICULE_POINTS)
    for degrees in range(-180 + _GRATICULE, 180, _GRATICULE):
        axes.plot(*projected(np.pi * along, np.radians(degrees) + 0 * along), color=REFERENCE, lw=_GRATICULE_WIDTH)
    for degrees in range(_GRATICULE, 180, _GRATICULE):
        line = projected(np.radians(degrees) + 0 * along, np.pi * (2 * along - 1))
        axes.plot(*line, color=REFERENCE, lw=_GRATICULE_WIDTH)
    for end in (-np.pi, np.pi):
        axes.plot(*projected(np.pi * along, end + 0 * along), color=REFERENCE, lw=2 * _GRATICULE_WIDTH)
    axes.set(xlim=(-2.9, 2.9), ylim=(-1.5, 1.5), aspect="equal")
    axes.set_axis_off()


def draw_half_graticule(axes: Axes) -> None:
    """Meridians and circles of latitude of a half in a disc."""
    turn = np.linspace(0, 2 * np.pi, _GRATICULE_POINTS)
    for degrees in range(_GRATICULE, 90, _GRATICULE):
        radius = _ROOT_2 * np.sin(np.radians(degrees) / 2)
        axes.plot(radius * np.cos(turn), radius * np.sin(turn), color=REFERENCE, lw=_GRATICULE_WIDTH)
    for angle in np.radians(range(0, 360, _GRATICULE)):
        axes.plot([0, np.cos(angle)], [0, np.sin(angle)], color=REFERENCE, lw=_GRATICULE_WIDTH)


def globe_graticule(turn: float, tilt: float) -> Float:
    """The same lines on a globe that is seen from there, `(2, places)`: NaN where they are behind it, and between
    two of them."""
    along, pause = np.linspace(0, 1, _GRATICULE_POINTS), np.full((2, 1), np.nan)
    meridians = [(np.pi * along, angle + 0 * along) for angle in np.radians(range(0, 360, _GRATICULE))]
    parallels = [(angle + 0 * along, 2 * np.pi * along) for angle in np.radians(range(_GRATICULE, 180, _GRATICULE))]
    lines = []
    for colatitude, longitude in (*meridians, *parallels):
        side, height = np.sin(colatitude), np.cos(colatitude)
        ahead, across = side * np.cos(longitude - turn), side * np.sin(longitude - turn)
        up, towards = height * np.cos(tilt) - ahead * np.sin(tilt), height * np.sin(tilt) + ahead * np.cos(tilt)
        lines += [np.where(towards > 0, np.array([across, up]), np.nan), pause]
    return np.concatenate(lines, axis=1)


def spectrum(density: Float) -> Float:
    """`(sum_m |c_lm|^2)^{1/2}` of a density on the run's grid, by degree."""
    transform = _transform(density.shape[0])
    table = transform.listed(transform.analyze(4 * np.pi * density))
    squares = np.abs(table) ** 2
    return np.sqrt(2 * squares.sum(axis=1) - squares[:, 0])


@lru_cache(maxsize=2)
def _transform(rings: int) -> RingTransform:
    return RingTransform(rings - 1, *gauss_legendre(rings), 2 * rings)
