"""Points drawn by a recipe: `initial: {kind: points, random: equiangular, count: 32, cosine: 0.1, seed: 1}`."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry import Geometry, need_space
from mfpde.measure.uniform_box import check_sides
from mfpde.streams import orthonormal_rows, random_stream, seed_of_part
from mfpde.typing import Float

__all__ = ["Recipe", "check_recipe", "need_memory", "points_of_recipe"]

#: laws by which points are drawn
Recipe: TypeAlias = Literal["uniform-sphere", "normal", "box", "equiangular"]
_ITS_OWN = {"scale": "normal", "box": "box", "cosine": "equiangular"}
#: what is added to seeds for the coordinates of points, which no other draw of the same seed shares
_POINTS = 0x706F696E7473
_BYTES = 8  # of a double
#: times the coordinates of points drawn, that a run of them may have in memory at once
_MEMORY_FACTOR = 6
#: of a cosine: rounding of -1/(n-1) in a file
_ROUNDED = 1e-12


def check_recipe(written: Any) -> None:
    """Fail where keys of `points` do not belong together."""
    if written.random is None:
        stray = [key for key in ("count", "seed", *_ITS_OWN) if getattr(written, key) is not None]
        if stray:
            raise ProblemError.at(stray[0], "belongs to points that are drawn; say how: random: uniform-sphere")
        return
    for key, law in _ITS_OWN.items():
        if getattr(written, key) is not None and written.random != law:
            raise ProblemError.at(key, f"belongs to random: {law}, not {written.random}")
    if written.count is None:
        raise ProblemError.at("count", "is missing: how many points are to be drawn?")
    check_sides(written.box or ())
    if written.random == "equiangular":
        if written.cosine is None:
            raise ProblemError.at("cosine", "is missing: of the angle between any two points")
        least = -1 / max(written.count - 1, 1)
        if written.cosine < least - _ROUNDED:
            message = (
                f"{written.count} vectors have equal angles for a cosine from {least:.6g} on, not {written.cosine:g}"
            )
            raise ProblemError.at("cosine", message)


def need_memory(key: str, numbers: int) -> None:
    """Refuse so many doubles where the machine has no room for them, before anything is allocated."""
    wanted, there = _BYTES * numbers, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if wanted > there:
        message = f"that many tokens need about {wanted:.3g} bytes of memory; this machine has {there:.3g}"
        raise ProblemError.at(key, message)


def points_of_recipe(written: Any, geometry: Geometry) -> Float:
    """The points on that space, `(count, d)`, or angles `(count, 1)`."""
    need_space(geometry)
    count, dimension = written.count, geometry.ambient_dimension
    need_memory("count", _MEMORY_FACTOR * count * dimension)
    key = seed_of_part(written.seed or 0, _POINTS)
    if written.random == "equiangular":
        return _equiangular(count, written.cosine, dimension, key)
    if written.random == "box":
        return _in_box(count, written.box, geometry, key)
    normals = random_stream(count * dimension, key).standard_normal((count, dimension))
    if written.random == "uniform-sphere":
        return normals / np.sqrt(np.einsum("nc,nc->n", normals, normals))[:, None]
    if not geometry.flat:
        raise ProblemError.at("initial.random", f"normal points are drawn in R^d, not on the {geometry.name}")
    return normals if written.scale is None else written.scale * normals


def _in_box(count: int, box: tuple[tuple[float, float], ...] | None, geometry: Geometry, key: int) -> Float:
    if not (geometry.flat or geometry.angular):
        raise ProblemError.at("initial.random", f"there is no box on the {geometry.name}; use uniform-sphere")
    components = 1 if geometry.angular else geometry.ambient_dimension
    natural = [0.0, 2 * np.pi] if geometry.angular else [-1.0, 1.0]
    sides = np.array([natural] * components if box is None else box)
    if len(sides) != components:
        message = f"needs {components} pair{'s' if components > 1 else ''} [from, to] here, not {len(sides)}"
        raise ProblemError.at("initial.box", message)
    return sides[:, 0] + random_stream(count * components, key).random((count, components)) * (
        sides[:, 1] - sides[:, 0]
    )


def _equiangular(count: int, cosine: float, dimension: int, key: int) -> Float:
    """`sqrt(1 - c) h_i + sqrt((1 + (n-1) c) / n) e`, h_i the corners of a simplex with `<h_i, h_j> = delta_ij - 1/n` in
    n - 1 dimensions, e perpendicular to them; in a random frame."""
    across, along = np.sqrt(1 - cosine), np.sqrt(max(1 + (count - 1) * cosine, 0.0) / count)
    if 1 + (count - 1) * cosine < _ROUNDED * count:
        along = 0.0
    needed = (count - 1 if across > 0 else 0) + (1 if along > 0 else 0)
    if needed > dimension:
        message = f"{count} vectors with all cosines {cosine:g} need {needed} dimensions; these live in R^{dimension}"
        raise ProblemError.at("initial.count", message)
    frame = orthonormal_rows(needed, dimension, key)
    simplex = across * _simplex(count) if across > 0 else np.zeros((count, 0))
    places = np.column_stack([simplex, np.full(count, along)]) if along > 0 else simplex
    found = np.einsum("nk,kd->nd", places, frame, optimize=False)
    return found / np.sqrt(np.einsum("nd,nd->n", found, found))[:, None]


def _simplex(count: int) -> Float:
    """Rows h_i of Helmert's matrix: orthonormal columns perpendicular to (1, ..., 1)."""
    order = np.arange(1, count)
    entry, row = 1 / np.sqrt(order * (order + 1.0)), np.arange(count)[:, None]
    return np.where(row < order, entry, np.where(row == order, -order * entry, 0.0))
