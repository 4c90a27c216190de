"""Gradients of the logarithm of a density on a lattice, by central differences of order twelve."""

from __future__ import annotations

from math import factorial

import numpy as np

from mfpde.geometry import Lattice
from mfpde.typing import Float

__all__ = ["log_slopes"]

_HALF_STENCIL = 6  # nodes on either side: exact for the logarithms of Gaussians, 1e-10 of waves of twelve nodes
_LOG_FLOOR = 1e-30  # share of the peak: below it densities are rounding, and weigh nothing

_FACTORS = [
    2 * (-1) ** (k + 1) * factorial(_HALF_STENCIL) ** 2
    / (2 * k * factorial(_HALF_STENCIL - k) * factorial(_HALF_STENCIL + k))
    for k in range(1, _HALF_STENCIL + 1)
]  # fmt: skip


def log_slopes(density: Float, lattice: Lattice) -> Float:
    """`grad log rho` at the lattice's points, `(d, *shape)`; 0 where the density counts for nothing."""
    widths = [axis[1] - axis[0] for axis in lattice.axes]
    there = density > _LOG_FLOOR * density.max()
    logarithm = np.log(np.maximum(density, _LOG_FLOOR * density.max()))
    along = np.stack([_difference(logarithm, axis) / width for axis, width in enumerate(widths)])
    inverse = np.linalg.inv(lattice.matrix)
    return np.asarray(np.tensordot(inverse.T, along, axes=1) * there)


def _difference(values: Float, axis: int) -> Float:
    """h times the derivative along an axis; what is beyond the ends continues with the slope there."""
    rim = _HALF_STENCIL
    padded = np.moveaxis(np.pad(values, [(rim if i == axis else 0,) * 2 for i in range(values.ndim)], "reflect",
                                reflect_type="odd"), axis, 0)  # fmt: skip
    count = values.shape[axis]
    found = np.zeros((count, *padded.shape[1:]))
    for shift, factor in enumerate(_FACTORS, start=1):
        found += factor * (padded[rim + shift : rim + shift + count] - padded[rim - shift : rim - shift + count])
    return np.moveaxis(found, 0, axis)
