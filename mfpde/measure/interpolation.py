"""Densities between the points of a lattice.

Polynomials through the fourteen nearest points along each axis, of the density or, where that is smoother, of its
ratio to the Gaussian of the same moments: then Gaussians are exact, and what is near one nearly so.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.geometry import Lattice
from mfpde.typing import Float

__all__ = ["Interpolant", "smoothest"]

_POINTS = 14  # along each axis
# errors of polynomials through so many, over differences of that order: in the middle of the points (three times the
# remainder's factor, since differences see less of what is hardly resolved), and half a spacing beyond the last one
_ERROR_IN_MIDDLE, _ERROR_BEYOND = 4e-5, 0.15
_DIFFERENCE = np.array([(-1.0) ** k * math.comb(_POINTS, k) for k in range(_POINTS + 1)])
_POINTS_PER_BATCH = 1 << 12  # bounds memory
_FACE_ROUNDING = 1e-10  # in cells, of the place of a face that two panels share
_MAX_EXPONENT = 300.0  # difference of exponents within a stencil, so that e^x does not overflow


class Smoothest(NamedTuple):
    """What is interpolated, `values e^exponents`, and the error that this makes: the Gaussian's middle and inverse
    covariance, and its exponents at the points; both are 0 where the density itself is smoother."""

    form: tuple[Float, Float]
    exponents: Float
    error: float


class Interpolant:
    """Interpolates `values` at the points of a lattice.

    With `edges` the density ends where the cells end, and the last end belongs to the cells that begin there. `error`
    estimates what is wrong between the points.
    """

    def __init__(self, lattice: Lattice, values: Float, moments: tuple[Float, Float], edges: bool = False) -> None:
        self._lattice, self._values = lattice, values
        self._rounding = _FACE_ROUNDING if edges else 0.0
        dimension = lattice.dimension
        points = Lattice(lattice.axes, np.zeros(dimension), np.eye(dimension)).points()
        self._first = points[0]
        (mean, covariance), inverse = moments, np.linalg.inv(lattice.matrix)
        within = inverse @ (mean - lattice.origin), inverse @ covariance @ inverse.T
        self._form, self._raised, self.error = smoothest(values, points.T, within, edges)

    def at(self, x: Float) -> Float:
        """Density at points `(m, d)`, never below 0; 0 outside of the cells."""
        widths = np.array([[(axis[-1] - axis[0]) / (axis.size - 1)] for axis in self._lattice.axes])
        z: Float = np.linalg.solve(self._lattice.matrix, (x - self._lattice.origin).T).astype(float)
        places = (z - self._first[:, None]) / widths  # counted in cells from the first point
        first, last = -0.5 - self._rounding, np.array(self._values.shape)[:, None] - 0.5 - self._rounding
        inside = np.all((places >= first) & (places <= last), axis=0)
        chosen = np.flatnonzero(inside)
        out = np.zeros(x.shape[0])
        for start in range(0, chosen.size, _POINTS_PER_BATCH):
            here = chosen[start : start + _POINTS_PER_BATCH]
            out[here] = _between(self._values, self._raised, places[:, here], _exponents(self._form, z[:, here]))
        return np.maximum(out, 0.0)


def smoothest(values: Float, z: Float, moments: tuple[Float, Float], edges: bool = False) -> Smoothest:
    """Of values at points z `(d, n)` of a tensor grid with those moments. `edges`: a density that ends there."""
    mean, covariance = moments
    plain = Smoothest((mean, np.zeros_like(covariance)), np.zeros_like(values), _error(values, None, edges))
    variances, directions = np.linalg.eigh(covariance)
    if not variances[0] > 0:
        return plain
    form = mean, (directions / variances) @ directions.T
    exponents = _exponents(form, z).reshape(values.shape)
    raised = Smoothest(form, exponents, _error(values, exponents, edges))
    return raised if raised.error < plain.error else plain


def _exponents(form: tuple[Float, Float], z: Float) -> Float:
    """`<z - m, C^{-1} (z - m)> / 2` for z `(d, n)`."""
    away = z - form[0][:, None]
    found: Float = 0.5 * (away * (form[1] @ away)).sum(axis=0)
    return found


def _error(values: Float, exponents: Float | None, edges: bool) -> float:
    """What interpolating `values e^exponents` leaves, over the Gaussian there: a share of its differences of order
    fourteen along any axis, larger at ends of a density with `edges`."""
    from mfpde.transform.high_differences import largest_differences  # compiled code

    largest = 0.0
    for axis, count in enumerate(values.shape):
        if count > _POINTS:
            rows = _rows(values, axis)
            raised = np.zeros((len(rows), 0)) if exponents is None else _rows(exponents, axis)
            anywhere, at_ends = largest_differences(rows, raised, _DIFFERENCE, _MAX_EXPONENT)
            largest = max(largest, _ERROR_IN_MIDDLE * anywhere, _ERROR_BEYOND * at_ends if edges else 0.0)
    return largest


def _rows(values: Float, axis: int) -> Float:
    """Along one of at most two axes, as a table."""
    along = values if axis == values.ndim - 1 else values.T
    return np.ascontiguousarray(along).reshape(-1, values.shape[axis])


def _between(values: Float, raised: Float, places: Float, levels: Float) -> Float:
    """Polynomials of `values e^raised` at places `(d, m)`, over `e^levels`."""
    count = places.shape[1]
    weights, index = np.ones((count, 1)), np.zeros((count, 1), dtype=np.int64)
    for place, size in zip(places, values.shape, strict=True):
        points = min(_POINTS, size)
        first = np.clip(np.floor(place).astype(np.int64) - (points // 2 - 1), 0, size - points)
        factors = _lagrange(place - first, points)
        weights = (weights[:, :, None] * factors[:, None, :]).reshape(count, -1)
        here = first[:, None] + np.arange(points)
        index = (index[:, :, None] * size + here[:, None, :]).reshape(count, -1)
    steps = np.minimum(raised.ravel()[index] - levels[:, None], _MAX_EXPONENT)
    found: Float = np.einsum("mk,mk,mk->m", weights, values.ravel()[index], np.exp(steps))
    return found


def _lagrange(t: Float, count: int) -> Float:
    """Factors `(m, count)` of the values at 0, 1, .., count - 1 in the polynomial at t."""
    out = np.ones((t.size, count))
    for k in range(count):
        for j in range(count):
            if j != k:
                out[:, k] *= (t - j) / (k - j)
    return out
