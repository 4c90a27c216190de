"""Diffusion between walls in cosines: values at the middles of equal cells are sums of `cos(pi k (i + 1/2) / n)`, on
which the Laplacian is a number, `-(pi k / L)^2` along each axis."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.fft import dct, dctn, idct, idctn

from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.kernels.fast_fourier import roots_of_unity
from mfpde.solvers.kernels.line_exact import LineModes
from mfpde.typing import Float

__all__ = ["Cosines"]

_MATRIX_CELLS_MAX = 384  # up to which products with matrices are no slower than transforms of SciPy's, and their call
_CELL_MICROSECONDS = 0.05  # of cosines, exponentials and sums in one stage, measured
_COMPILED_CELL_MICROSECONDS = 0.02  # of those on the line, by fast transforms
_PAIR_MICROSECONDS = 4e-4  # of those on the line, by matrices, for each cell and cosine


class Cosines(Modes):
    """Of the cells of a grid at rest, with g = 1; their rates are eigenvalues of the second derivative."""

    floor = 1e-15  # measured at up to 3e-16
    shares = (1e-13, 1e-11)

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid)
        self.weights = tuple(np.ones(count) for count in grid.cells)
        self.face_weights = tuple(np.ones(count + 1) for count in grid.cells)

    @cached_property
    def scale(self) -> Float:
        return np.ones(self.grid.shape)

    @cached_property
    def _each(self) -> list[Float]:
        return [
            -np.square(np.pi / (count * width) * np.arange(count, dtype=np.float64))
            for count, width in zip(self.grid.cells, self.grid.widths.tolist(), strict=True)
        ]

    @property
    def along(self) -> tuple[Float, Float]:
        return (np.zeros(1), self._each[0]) if self.grid.dimension == 1 else (self._each[0], self._each[1])

    @property
    def _fast(self) -> bool:
        """Whether cells on the line are as many as fast transforms take."""
        n = self.grid.cells[0]
        return n & (n - 1) == 0

    @property
    def known_on_line(self) -> bool:
        return self._fast or self.grid.cells[0] <= _MATRIX_CELLS_MAX

    @cached_property
    def _line_tables(self) -> LineModes | None:
        if not self.known_on_line:
            return None
        n, matrix = self.grid.cells[0], np.zeros((0, 0))
        waves, none = np.arange(n), np.zeros((2, 0))
        sizes = np.sqrt(np.where(waves > 0, 2.0, 1.0) / n)
        if self._fast:
            angles = np.pi / (2 * n) * waves
            turns, roots = sizes * np.stack([np.cos(angles), -np.sin(angles)]), roots_of_unity(n)
            return LineModes(matrix, matrix, roots, turns, self.scale, self._each[0], none[0], none)
        back = sizes[:, None] * np.cos(np.pi / (2 * n) * (waves[:, None] * (2 * waves + 1) % (4 * n)))
        return LineModes(np.ascontiguousarray(back.T), back, none, none, self.scale, self._each[0], none[0], none)

    def coefficients(self, values: Float) -> Float:
        if self.grid.dimension == 1:
            return np.asarray(dct(values, norm="ortho"))
        return np.asarray(dctn(values, axes=(1, 2), norm="ortho"))

    def values(self, coefficients: Float) -> Float:
        if self.grid.dimension == 1:
            return np.asarray(idct(coefficients, norm="ortho"))
        return np.asarray(idctn(coefficients, axes=(1, 2), norm="ortho"))

    def spread(self, direction: int, values: Float) -> Float:
        return np.asarray(idct(self._each[direction] * dct(values, norm="ortho"), norm="ortho"))

    def microseconds(self, panels: int) -> float:
        count = math.prod(self.grid.cells)
        if self.grid.dimension == 2 or not self.known_on_line:
            return _CELL_MICROSECONDS * panels * count
        pairs = 0 if self._fast else count**2
        return _COMPILED_CELL_MICROSECONDS * panels * count + _PAIR_MICROSECONDS * pairs
