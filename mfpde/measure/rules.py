"""Gauss rules on boxes, balls and spheres, with as many nodes as `int e^{<w, y>}` needs for |w| up to a bound."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry.gauss import gauss_jacobi, gauss_legendre, gauss_on_sphere
from mfpde.typing import Float

__all__ = [
    "TILTS",
    "about",
    "around_axis",
    "legendre_count",
    "of_ball",
    "of_box",
    "of_sphere",
    "sphere_degree",
    "tilt_for",
    "times",
]

#: largest |w| times the half-width for which nodes in d dimensions are made; fewer where there would be too many nodes
TILTS = {1: 200.0, 2: 100.0, 3: 40.0, 4: 16.0}
MOST_NODES = 2_000_000  # 16 MB for each component
#: no sum is more accurate
ROUNDING = 1e-16


def tilt_for(dimension: int, what: str) -> float:
    """The largest tilt for which nodes in that dimension are made; an error where no rule is affordable."""
    if dimension not in TILTS:
        raise ProblemError.at(
            "measure",
            f"{what} in R^{dimension} has no affordable quadrature nodes (up to R^{max(TILTS)} there are); "
            "use its closed forms, or Particles(measure.sample(count))",
        )
    return TILTS[dimension]


@lru_cache(maxsize=64)
def legendre_count(tilt: float, accuracy: float) -> int:
    """Fewest points of a Gauss-Legendre rule for `e^{a t}`, |a| <= tilt, on [-1, 1], relative to its integral: n points
    leave out Chebyshev polynomials from 2n on, whose coefficients are `2 I_k(a)`."""
    return max(2, sphere_degree(tilt, accuracy / (2 + tilt)) // 2 + 1)


@lru_cache(maxsize=64)
def sphere_degree(tilt: float, accuracy: float) -> int:
    """Degree beyond which the harmonics of `e^{<w, x>}`, |w| <= tilt, are below that accuracy."""
    from scipy.special import ive

    order = np.arange(int(20 + 10 * np.sqrt(tilt) + tilt))
    return int(order[np.argmax(ive(order, tilt) < accuracy * ive(0, tilt))])


def times(refinement: float, count: int) -> int:
    """A refined number of nodes, four at least."""
    return max(4, int(np.ceil(refinement * count)))


def of_box(dimension: int, accuracy: float, refinement: float = 1.0) -> tuple[Float, Float]:
    """Points in [-1, 1]^d and weights of sum 1."""
    count = legendre_count(tilt_for(dimension, "a box"), max(accuracy, ROUNDING))
    line, weight = gauss_legendre(times(refinement, count))
    return tensor([line] * dimension), tensor([weight] * dimension).prod(axis=1)


def tensor(axes: list[Float]) -> Float:
    """All combinations, `(prod, d)`, the last running fastest."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def of_sphere(dimension: int, degree: int) -> tuple[Float, Float]:
    """Points of S^{d-1} and weights of sum 1, exact for polynomials up to that degree."""
    if dimension == 1:
        return np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])
    if dimension == 2:
        angles = 2 * np.pi / (degree + 1) * np.arange(degree + 1)
        return np.column_stack([np.cos(angles), np.sin(angles)]), np.full(degree + 1, 1 / (degree + 1))
    height, share = gauss_on_sphere(degree // 2 + 1, dimension)
    around, weights = of_sphere(dimension - 1, degree)
    return around_axis(np.arccos(height), around), np.outer(share, weights).ravel()


def sphere_count(dimension: int, degree: int) -> int:
    """Points of that rule of S^{d-1}, d > 1.

    >>> all(sphere_count(d, 9) == len(of_sphere(d, 9)[1]) for d in (2, 3, 4))
    True
    """
    return int((degree // 2 + 1) ** (dimension - 2)) * (degree + 1)


def around_axis(angle: Float, around: Float) -> Float:
    """Points `(sin(a) y, cos(a))`, a in `angle`, y in `around`, `(angles * ys, d)`."""
    flat = (np.sin(angle)[:, None, None] * around[None]).reshape(-1, around.shape[1])
    return np.column_stack([flat, np.repeat(np.cos(angle), around.shape[0])])


def about(axis: Float, points: Float) -> Float:
    """Points about the last axis, reflected so that they lie about another one."""
    last = np.zeros(axis.size)
    last[-1] = 1.0
    normal = last - axis
    square = normal @ normal
    return points - np.outer(points @ normal, 2 / square * normal) if square > 1e-30 else points


def about_plane(axis: Float, vector: Float, angle: Float, degree: int) -> tuple[Float, Float]:
    """Points of S^{d-1}, d > 3, at these angles to an axis, `(angles * m, d)`, and weights of sum 1 of the m at each:
    exact for polynomials up to that degree in `<axis, x>` and `<vector, x>`, with points in three dimensions alone."""
    cosine, share = gauss_on_sphere(degree // 2 + 1, axis.size - 1)
    frame = np.linalg.qr(np.column_stack([axis, vector, np.eye(axis.size)]))[0].T
    along, beside = frame[1], frame[2]
    around = np.outer(cosine, along) + np.outer(np.sqrt((1 - cosine) * (1 + cosine)), beside)
    points = np.cos(angle)[:, None, None] * axis + np.sin(angle)[:, None, None] * around[None]
    return points.reshape(-1, axis.size), share


def of_ball(dimension: int, accuracy: float, refinement: float = 1.0) -> tuple[Float, Float]:
    """Points of the unit ball of R^d and weights of sum 1: spheres of Gauss radii."""
    tilt, accuracy = tilt_for(dimension, "a ball"), max(accuracy, ROUNDING)
    around, weights = of_sphere(dimension, times(refinement, sphere_degree(tilt, accuracy)))
    radius, share = gauss_jacobi(times(refinement, legendre_count(0.5 * tilt, accuracy) + 2), 0.0, dimension - 1.0)
    radius = 0.5 * (1 + radius)
    return (radius[:, None, None] * around[None]).reshape(-1, dimension), np.outer(share, weights).ravel()
