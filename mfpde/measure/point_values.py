"""Point values of a density from its cell averages, conservative and not negative.

Averaging over a cell multiplies the wave `e^{i k x}` by `sin(a) / a`, a = k h / 2, and the second difference by
`-4 sin^2 a`. With `s = sin a` the inverse is `arcsin(s) / s = sum_n c_n s^{2n}`, so the point values are
`sum_n c_n (-delta^2 / 4)^n` of the averages: a difference of fluxes, and mass is conserved.
"""

from __future__ import annotations

import math

import numpy as np

from mfpde.typing import Float

__all__ = ["point_values"]

_TERMS = 12  # order 26
_FACTORS = [math.comb(2 * n, n) / (4**n * (2 * n + 1)) * (-0.25) ** n for n in range(1, _TERMS + 1)]


def point_values(averages: Float) -> Float:
    """Values at the middles of cells from averages over them, along every axis; nothing crosses the ends.

    Where a cell would give away more than it has (edges that no grid resolves) the fluxes out of it are scaled down.

    >>> point_values(np.array([0.0, 1.0, 1.0, 0.0]))
    array([0., 1., 1., 0.])
    """
    values = averages
    for axis in range(averages.ndim):
        values = np.moveaxis(_along_last(np.moveaxis(values, axis, -1)), -1, axis)
    return np.ascontiguousarray(values)


def _along_last(averages: Float) -> Float:
    into = np.zeros((*averages.shape[:-1], averages.shape[-1] + 1))  # the flux from each cell into the one before it
    wave = averages
    for factor in _FACTORS:
        step = np.diff(wave, axis=-1)
        into[..., 1:-1] += factor * step
        wave = np.diff(step, axis=-1, prepend=0.0, append=0.0)
    lost = np.maximum(into[..., :-1], 0.0) + np.maximum(-into[..., 1:], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(lost > averages, averages / lost, 1.0)
    into[..., 1:-1] *= np.where(into[..., 1:-1] > 0, share[..., 1:], share[..., :-1])
    return np.maximum(averages + np.diff(into, axis=-1), 0.0)  # below 0 by rounding alone
