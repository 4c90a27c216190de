"""Averages over parts of cells from averages over cells, for pictures whose pixels are narrower than the cells."""

from __future__ import annotations

import numpy as np

from mfpde.typing import Float, Truths

__all__ = ["refined"]

#: how many times that of its neighbours the curvature at a smooth extremum may be; Colella and Sekora (2008) take 1.25,
#: at which a Gaussian of four cells per standard deviation is cut off already. Next to a jump it is none at any ratio
_CURVATURE_RATIO = 2.0


def refined(averages: Float, parts: int, axis: int) -> Float:
    """Averages, not negative, over `parts` equal parts of each cell along an axis; each cell keeps its mass.

    The piecewise parabolic method: smooth data are met to third order, extrema included, and a jump makes no waves:
    next to it the parts stay between the neighbouring averages.

    >>> refined(np.array([0.0, 1.0, 1.0, 0.0]), 2, 0)
    array([0., 0., 1., 1., 1., 1., 0., 0.])
    """
    if parts == 1:
        return averages
    cells = np.moveaxis(averages, axis, 0)
    padded = np.concatenate([np.zeros((3, *cells.shape[1:])), cells, np.zeros((3, *cells.shape[1:]))])
    faces = _faces(padded)
    left, right = _limited(padded[1:-1], faces[:-1], faces[1:])
    left, middle, right = left[1:-1], cells, right[1:-1]
    rise, bend = right - left, 6 * middle - 3 * (left + right)
    end = np.arange(1, parts + 1).reshape(-1, *[1] * cells.ndim) / parts
    upto = left * end + (rise + bend) * end**2 / 2 - bend * end**3 / 3
    fine = np.maximum(np.diff(upto, axis=0, prepend=0.0) * parts, 0.0)
    total = fine.mean(axis=0)
    fine *= np.where(total > 0, middle / np.where(total > 0, total, 1.0), 0.0)  # where something was below 0
    joined = np.moveaxis(fine, 0, 1).reshape(-1, *cells.shape[1:])
    return np.ascontiguousarray(np.moveaxis(joined, 0, axis))


def _faces(a: Float) -> Float:
    """Densities where cells meet, to fourth order; from the second face on."""
    before, left, right, after = a[:-3], a[1:-2], a[2:-1], a[3:]
    face = (7 * (left + right) - before - after) / 12
    between = (face - left) * (right - face) >= 0
    bends = [3 * (left - 2 * face + right), before - 2 * left + right, left - 2 * right + after]
    return np.where(between, face, 0.5 * (left + right) - _least(bends[0], bends) / 6)


def _limited(a: Float, left: Float, right: Float) -> tuple[Float, Float]:
    """Densities at both ends of the cells, such that the parabolas between them make no waves; `a` has one cell more at
    each side."""
    cell = a[1:-1]
    extremum = (right - cell) * (cell - left) <= 0
    extremum |= (a[2:] - cell) * (cell - a[:-2]) <= 0
    second = a[:-2] - 2 * cell + a[2:]
    wide = np.pad(second, ((1, 1), *[(0, 0)] * (a.ndim - 1)))
    own = 6 * (left - 2 * cell + right)
    kept = _least(own, [own, second, wide[:-2], wide[2:]])
    share = np.where(extremum, kept / np.where(own == 0, 1.0, own), 1.0)
    low, high = cell + share * (left - cell), cell + share * (right - cell)
    return _tamed(cell, low, high, ~extremum), _tamed(cell, high, low, ~extremum)


def _tamed(cell: Float, end: Float, other: Float, where: Truths) -> Float:
    """An end that is not more than twice as far from the average as the other: the parabola is monotone then."""
    steep = where & (np.abs(end - cell) > 2 * np.abs(other - cell))
    return np.where(steep, 3 * cell - 2 * other, end)


def _least(curvature: Float, others: list[Float]) -> Float:
    """The least in size of a curvature and its neighbours' where all bend the same way, otherwise 0."""
    sign = np.sign(curvature)
    same = np.all([np.sign(other) == sign for other in others], axis=0)
    sizes = [np.abs(curvature)] + [_CURVATURE_RATIO * np.abs(other) for other in others[1:]]
    return np.where(same, sign * np.min(sizes, axis=0), 0.0)
