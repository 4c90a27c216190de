"""Diffusion between walls in cosines: values at the middles of equal cells are sums of `cos(pi k (i + 1/2) / n)`, on
which the Laplacian is a number, `-(pi k / L)^2` along each axis.

A density that flows towards a wall has a slope there, `D d_n rho = rho G_n` (the whole flux is zero), which cosines
have not: `lifting` gives what is missing to second order.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.fft import dct, dctn, idct, idctn

from mfpde.solvers.finite_volume.modes import Modes
from mfpde.typing import Float

__all__ = ["Cosines"]

_CELL_MICROSECONDS = 0.05  # of cosines, exponentials and sums in one stage, measured
_TO_THE_WALL = np.array([15.0, -10.0, 3.0]) / 8.0  # the value at a wall from those in the three cells before it


class Cosines(Modes):
    """Of the cells of a grid at rest; their rates are eigenvalues of the second derivative."""

    floor = 1e-15  # measured at up to 3e-16
    shares = (1e-13, 1e-11)

    @cached_property
    def scale(self) -> Float:
        return np.ones(self.grid.shape)

    @cached_property
    def along(self) -> tuple[Float, Float]:
        each = [
            _eigenvalues(count, float(width)) for count, width in zip(self.grid.cells, self.grid.widths, strict=True)
        ]
        return (np.zeros(1), each[0]) if len(each) == 1 else (each[0], each[1])

    def coefficients(self, values: Float) -> Float:
        if self.grid.dimension == 1:
            return np.asarray(dct(values, norm="ortho"))
        return np.asarray(dctn(values, axes=(1, 2), norm="ortho"))

    def values(self, coefficients: Float) -> Float:
        if self.grid.dimension == 1:
            return np.asarray(idct(coefficients, norm="ortho"))
        return np.asarray(idctn(coefficients, axes=(1, 2), norm="ortho"))

    def microseconds(self, panels: int) -> float:
        return _CELL_MICROSECONDS * panels * float(np.prod(self.grid.cells))

    def lifting(self, density: Float, speeds: Float) -> Float:
        """What the slopes at the walls add to the rates of densities `(panels, rows, columns)` that move with speeds
        `(panels, d, rows, columns)`.

        `rho = q + s psi` with `psi = x^2 / 2L`, whose slope at the right wall is 1, leaves q without a slope there if
        `D s` is the flux rho G at the wall. Then `d_t rho = D (Lap q + s psi'') - d_x(rho G)`, and as the Laplacian in
        cosines acts on rho, and transport has no flux through the wall, `D s (psi'' - Lap psi - e / h)` is missing;
        e is 1 in the last cell. Its sum over the cells is zero.
        """
        added, dimension = np.zeros_like(density), self.grid.dimension
        for direction in range(dimension):
            axis = direction - dimension  # of both arrays, from the end
            product = np.moveaxis(density * speeds[:, direction], axis, -1)
            right, missing = product[..., -3:] @ _TO_THE_WALL[::-1], self._missing[direction]
            left = product[..., :3] @ _TO_THE_WALL
            change = right[..., None] * missing - left[..., None] * missing[::-1]
            added += np.moveaxis(change, -1, axis)
        return added

    @cached_property
    def _missing(self) -> list[Float]:
        """`psi'' - Lap psi - e / h` along each axis."""
        found: list[Float] = []
        for count, width in zip(self.grid.cells, self.grid.widths.tolist(), strict=True):
            length = count * width
            lift = ((np.arange(count) + 0.5) * width) ** 2 / (2.0 * length)
            bent = dct(_eigenvalues(count, width) * dct(lift, norm="ortho"), type=3, norm="ortho")
            missing = 1.0 / length - bent
            missing[-1] -= 1.0 / width
            found.append(missing)
        return found


def _eigenvalues(count: int, width: float) -> Float:
    """Of the second derivative between walls, on so many cells of that width."""
    values: Float = -np.square(np.pi / (count * width) * np.arange(count, dtype=np.float64))
    return values
