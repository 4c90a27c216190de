"""Diffusion in moving frames, where noise relaxes to g = N(0, I): the rates `div(K g grad(u / g))` of a density u are
diagonal in Hermite functions, with eigenvalues -n K.

As boxes end, and cells know waves down to their own size only, the modes are those of the cells: the staggered
differences of the fluxes make a symmetric matrix of `w = u / sqrt(g)` along each axis. Its first eigenvalues are 0, -1,
-2, .. to rounding, its last ones those of diffusion in a box. Rounding errors are relative to sqrt(g), not to the
density at its peak: 1e-9 where g is 1e-18.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.blas import blas_in_one_thread
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.kernels.finite_volume_diffusion import GHOSTS, spread_along
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["HermiteModes"]

_ROWS = 4  # that products of matrices are done in
_PRODUCT_MICROSECONDS = 4e-4  # of a row of two products, by cells and modes: measured up to 512 cells
_EIGEN_MICROSECONDS = 3e-4  # times cells^3, measured from 128 to 512 cells
_STAGES = 208  # that the eigenvectors are to be worth while for: those of sixteen steps


class HermiteModes(Modes):
    """Of a grid in moving frames, for the staggered differences `factors`."""

    floor = 3e-14  # measured at up to 1.5e-14 on 128 x 144 cells, from the eigenvectors
    shares = (1e-11, 1e-9, 1e-7)  # of w: at nine deviations the last one is 2e-16 of the peak of u

    def __init__(self, grid: Grid, factors: Float) -> None:
        super().__init__(grid)
        self._factors = factors

    @cached_property
    def scale(self) -> Float:
        return np.sqrt(np.multiply.outer(*self.grid.weights))

    @cached_property
    def _vectors(self) -> tuple[list[Float], list[Float]]:
        """Eigenvalues and eigenvectors along each axis."""
        both = [self._eigenpairs(axis) for axis in range(2 - self.grid.dimension, 2)]
        return [values for values, _ in both], [vectors for _, vectors in both]

    def _eigenpairs(self, axis: int) -> tuple[Float, Float]:
        inside, faces = self.grid.weights[axis], self.grid.face_weights[axis]
        count, width = inside.size, float(self.grid.widths[axis - 2])
        flux, room = np.zeros((count, count + 1)), np.empty((2, count + 2 * GHOSTS))
        spread_along(False, np.diag(1.0 / inside), self._factors, 1.0 / width**2, np.ones(count), faces, room, flux)
        root = np.sqrt(inside)
        matrix = -np.diff(flux, axis=1) * (root[:, None] / root)
        with blas_in_one_thread():
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        values, vectors = values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
        values[0], vectors[:, 0] = 0.0, root / np.sqrt(np.sum(root * root))
        return values, vectors

    @cached_property
    def _products(self) -> tuple[list[Float], list[Float]]:
        """What densities and coefficients are multiplied by along each axis, from the left for that across rows."""
        vectors = self._vectors[1]
        there, back = [vectors[-1]], [np.ascontiguousarray(vectors[-1].T)]
        if len(vectors) == 2:
            there.insert(0, _padded(vectors[0].T))
            back.insert(0, _padded(vectors[0]))
        return there, back

    @cached_property
    def along(self) -> tuple[Float, Float]:
        values = self._vectors[0]
        return (np.zeros(1), values[0]) if len(values) == 1 else (values[0], values[1])

    def coefficients(self, values: Float) -> Float:
        return self._multiplied(values / self.scale, self._products[0])

    def values(self, coefficients: Float) -> Float:
        return self._multiplied(coefficients, self._products[1]) * self.scale

    def _multiplied(self, given: Float, factors: list[Float]) -> Float:
        if len(factors) == 1:
            rows = _padded(given[:, 0])
            out = np.empty_like(rows)
            multiply(rows, factors[0], out)
            return out[: len(given), None]
        found, (rows, columns) = np.empty_like(given), given.shape[1:]
        across, out = np.empty((2, len(factors[0]), columns))
        for panel, density in enumerate(given):
            multiply(factors[0], np.ascontiguousarray(density), across)
            multiply(across, factors[1], out)
            found[panel] = out[:rows]
        return found

    def microseconds(self, panels: int) -> float:
        cells = self.grid.cells
        rows = max(panels, _ROWS) if len(cells) == 1 else panels * cells[0]
        setup = _EIGEN_MICROSECONDS * sum(count**3 for count in cells) / _STAGES
        return _PRODUCT_MICROSECONDS * rows * cells[-1] * sum(cells) + setup


def _padded(matrix: Float) -> Float:
    """With rows of zeros below, up to a multiple of four."""
    out = np.zeros((-(-len(matrix) // _ROWS) * _ROWS, matrix.shape[1]))
    out[: len(matrix)] = matrix
    return out
