"""Averages of a normal density over cells, to roundoff relative to themselves: nothing cancels, not in the tails."""

from __future__ import annotations

import numpy as np

from mfpde.errors import ProblemError
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.overlap import faces_of
from mfpde.typing import Float

__all__ = ["averages_of_normal", "shares_of_normal"]

_MAX_GAUSS_WIDTH = 0.5  # of a cell, in standard deviations: wider ones by erfc, others by a Gauss rule
_POINTS = 12  # of the Gauss rule: right to roundoff up to that width
_MAX_PARTS = 200  # of a cell, each with a Gauss rule
_CORRELATION_FLOOR = 4e-16  # smaller ones are rounding


def averages_of_normal(axes: tuple[Float, ...], mean: Float, covariance: Float) -> Float:
    """Of `N(mean, covariance)` over the cells about the points of one or two evenly spaced axes."""
    faces = [faces_of(axis) for axis in axes]
    deviations = np.sqrt(np.diag(covariance))
    if len(faces) == 2 and abs(covariance[0, 1]) > _CORRELATION_FLOOR * deviations.prod():
        return _correlated(faces[0], faces[1], mean, covariance)
    parts = [_on_line(face, m, s) for face, m, s in zip(faces, mean, deviations, strict=True)]
    return parts[0] if len(parts) == 1 else np.outer(*parts)


def _on_line(faces: Float, mean: float, deviation: float) -> Float:
    left, right = (faces[:-1] - mean) / deviation, (faces[1:] - mean) / deviation
    width = right - left
    return np.where(width > _MAX_GAUSS_WIDTH, _by_erfc(left, right) / width, _by_gauss(left, width)) / deviation


def shares_of_normal(middles: Float, halves: Float) -> Float:
    """Mass of N(0, 1) within so much on both sides of each middle; rows of middles have a width each."""
    return _by_erfc(middles - halves, middles + halves)


def _by_erfc(left: Float, right: Float) -> Float:
    from scipy.special import erfc

    above = left + right > 0  # of the two mirror images the one in the upper half
    near, far = np.where(above, left, -right), np.where(above, right, -left)
    return 0.5 * (erfc(near / np.sqrt(2)) - erfc(far / np.sqrt(2)))


def _by_gauss(left: Float, width: Float) -> Float:
    nodes, weights = gauss_legendre(_POINTS)
    z = left[:, None] + 0.5 * np.minimum(width, _MAX_GAUSS_WIDTH)[:, None] * (1 + nodes)
    return np.exp(-0.5 * z * z) @ weights / np.sqrt(2 * np.pi)


def _correlated(across: Float, along: Float, mean: Float, covariance: Float) -> Float:
    """`rho(x, y) = rho(x) rho(y | x)`: a Gauss rule in x, in steps that resolve both, of averages over y."""
    slope, deviation = covariance[0, 1] / covariance[0, 0], float(np.sqrt(covariance[0, 0]))
    left_over = float(np.sqrt(np.linalg.det(covariance))) / deviation
    steps = int(np.ceil((across[1] - across[0]) / (_MAX_GAUSS_WIDTH * min(deviation, left_over / abs(slope)))))
    if steps > _MAX_PARTS:
        raise ProblemError.at(
            "cells",
            f"are {_MAX_GAUSS_WIDTH * steps:.3g} times as wide as the narrowest part of a Gaussian; take more of them",
        )
    nodes, weights = gauss_legendre(_POINTS)
    inner = ((np.arange(steps)[:, None] + 0.5 * (1 + nodes)) / steps).ravel()
    averages = np.zeros((across.size - 1, along.size - 1))
    for place, weight in zip(inner, np.tile(weights / steps, steps), strict=True):
        x = across[:-1] + place * np.diff(across)
        z = (x - mean[0]) / deviation
        density = weight * np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * deviation)
        for row in np.flatnonzero(density):
            averages[row] += density[row] * _on_line(along, mean[1] + slope * (x[row] - mean[0]), left_over)
    return averages
