"""Densities that are smooth on an interval and end with it, from averages over equal cells.

Polynomials through the averages of the nearest cells, of which all lie inside: nothing is assumed beyond the ends, so
that a jump there costs no accuracy. Cells have width 1 in these tables.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["Stencils", "at_faces", "at_middles", "end_weights"]

# of the polynomials that end-corrected weights integrate exactly
_WEIGHT_DEGREE = 9
_ORDER = 9  # of values in the middles of cells
_CORRECTED_CELLS = 24  # at each end, over which corrections are spread: with fewer, weights become negative


class Stencils(NamedTuple):
    """Values at some places: `sum_k factors[i, k] averages[cells[i, k]]`."""

    cells: AnyArray
    factors: Float

    def of(self, averages: Float) -> Float:
        """Along the last axis."""
        return np.einsum("ik,...ik->...i", self.factors, averages[..., self.cells])


@lru_cache(maxsize=32)
def at_faces(count: int, order: int, shift: int) -> Stencils:
    """Values at the `count + 1` faces, exact for polynomials below the order, from cells about the one before each face
    (`shift` -1) or after it (`shift` 0)."""
    faces = np.arange(count + 1)
    return _stencils(count, order, faces + shift, faces.astype(float) - 0.5)


@lru_cache(maxsize=32)
def at_middles(count: int) -> Stencils:
    """Values in the middles of the cells."""
    return _stencils(count, _ORDER, np.arange(count), np.arange(count, dtype=float))


def _stencils(count: int, order: int, about: AnyArray, places: Float) -> Stencils:
    first = np.clip(about - order // 2, 0, count - order)
    known: dict[float, Float] = {}
    for start, place in zip(first, places, strict=True):
        if float(place - start) not in known:
            known[float(place - start)] = _factors(order, float(place - start))
    factors = np.array([known[float(place - start)] for start, place in zip(first, places, strict=True)])
    return Stencils(first[:, None] + np.arange(order), factors)


def _factors(order: int, place: float) -> Float:
    """Of the averages over cells about 0, 1, .., in the value of their polynomial at a place."""
    scale = 0.5 * order
    low, high = ((np.arange(order) + side - place) / scale for side in (-0.5, 0.5))
    powers = np.arange(1, order + 1)
    averages = (high[:, None] ** powers - low[:, None] ** powers) * scale / powers
    return np.linalg.solve(averages.T, np.eye(order)[0]).astype(float)


@lru_cache(maxsize=32)
def end_weights(count: int, lowered: int = 0) -> Float:
    """Weights of the values in the middles, with which sums are integrals over the interval, exact for polynomials of
    degree nine, on few cells of the largest degree whose weights are positive; or of one that is `lowered` by so much.
    They are 1 inside, as near to 1 as that allows at the ends (Gregory's corrections, spread over more cells)."""
    ends = min(_CORRECTED_CELLS, count // 2)
    degree = min(_WEIGHT_DEGREE, ends - 1)
    while (_with_ends(count, _correction(ends, degree)) <= 0.0).any():
        degree -= 1
    return _with_ends(count, _correction(ends, degree - lowered))


def _with_ends(count: int, correction: Float) -> Float:
    """Ones, corrected at both ends."""
    weights = np.ones(count)
    weights[: correction.size] += correction
    weights[-correction.size :] += correction[::-1]
    return weights


def _correction(ends: int, degree: int) -> Float:
    """The smallest correction of the first weights that makes up for what the middle rule misses at one end."""
    x = np.arange(ends) + 0.5
    scaled = (x / ends) ** np.arange(degree + 1)[:, None]
    # Euler and Maclaurin: at its lower end 0 the sum over 0.5, 1.5, .. of x^k misses B_{k+1}(1/2) / (k + 1)
    missing = np.array([_bernoulli_at_half(k + 1) / (k + 1) / float(ends) ** k for k in range(degree + 1)])
    return np.linalg.lstsq(scaled, missing, rcond=None)[0].astype(float)


def _bernoulli_at_half(k: int) -> float:
    from scipy.special import bernoulli

    return float((2.0 ** (1 - k) - 1.0) * bernoulli(k)[k])
