"""Modes of the cells for a weight g: the rates `div(K g grad(u / g))` of a density u, by the staggered differences of
the fluxes, make a symmetric matrix of `w = u / sqrt(g)` along each axis, whose eigenvectors are found by LAPACK.

In moving frames noise relaxes to g = N(0, I), and the modes are Hermite functions with eigenvalues -n K. As boxes end,
and cells know waves down to their own size only, they are those of the cells: the first eigenvalues are 0, -1, -2, ..
to rounding, the last ones those of diffusion in a box. In a box at rest g can be such that its slope is that of the
density at walls, or everywhere: `K grad log g` is then part of the drift.

Rounding errors are relative to sqrt(g), not to the density at its peak: 1e-9 where g is 1e-18.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.blas import blas_in_one_thread
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.modes import Modes, antiderivative
from mfpde.solvers.kernels.finite_volume_diffusion import GHOSTS, spread_along
from mfpde.solvers.kernels.line_exact import LineModes
from mfpde.transform.products import multiply
from mfpde.typing import Float

__all__ = ["BoxModes", "HermiteModes"]

_ROWS = 4  # that products of matrices are done in
_PRODUCT_MICROSECONDS = 1e-4  # of a row of two products, by cells and modes: measured up to 512 cells
_EIGEN_MICROSECONDS = 3e-4  # times cells^3, measured from 128 to 512 cells
_SLOW_WITH_TAILS = 128.0  # |h L|: stages lose e^{0.083 |h L|} of rounding errors of the fastest modes, 4e4
_STAGES = 208  # that the eigenvectors are to be worth while for: those of sixteen steps


class WeightedModes(Modes):
    """Of a grid with the weights g at the middles and at the faces, for the staggered differences `factors`."""

    floor = 3e-14  # measured at up to 1.5e-14 on 128 x 144 cells, from the eigenvectors
    shares = (1e-11, 1e-9, 1e-7)  # of w: at nine deviations the last one is 2e-16 of the peak of u

    def __init__(self, grid: Grid, factors: Float, weights: tuple[Float, ...], faces: tuple[Float, ...]) -> None:
        super().__init__(grid)
        self.weights, self.face_weights, self._factors = weights, faces, factors

    @cached_property
    def scale(self) -> Float:
        roots = [np.sqrt(each) for each in self.weights]
        return np.multiply.outer(*roots) if len(roots) == 2 else roots[0][None]

    @cached_property
    def _vectors(self) -> tuple[list[Float], list[Float]]:
        """Eigenvalues and eigenvectors along each axis."""
        both = [self._eigenpairs(direction) for direction in range(self.grid.dimension)]
        return [values for values, _ in both], [vectors for _, vectors in both]

    def _eigenpairs(self, direction: int) -> tuple[Float, Float]:
        inside, faces = self.weights[direction], self.face_weights[direction]
        count, width = inside.size, float(self.grid.widths[direction])
        flux, room = np.zeros((count, count + 1)), np.empty((2, count + 2 * GHOSTS))
        spread_along(False, np.diag(1.0 / inside), self._factors, 1.0 / width**2, np.ones(count), faces, room, flux)
        root = np.sqrt(inside)
        matrix = -np.diff(flux, axis=1) * (root[:, None] / root)
        with blas_in_one_thread():
            values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        values, vectors = values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])
        values[0], vectors[:, 0] = 0.0, root / np.sqrt(np.sum(root * root))
        return values, vectors

    def spread(self, direction: int, values: Float) -> Float:
        root, (rates, vectors) = np.sqrt(self.weights[direction]), (each[direction] for each in self._vectors)
        with blas_in_one_thread():
            found: Float = root * (vectors @ (rates * (values / root @ vectors)))
        return found

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

    @cached_property
    def _line_tables(self) -> LineModes:
        (there,), (back,) = self._products
        none = np.zeros((2, 0))
        return LineModes(there, back, none, none, self.scale, self.along[1], self._slopes_on_line, none)

    @property
    def _slopes_on_line(self) -> Float:
        return np.zeros(0)

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


class HermiteModes(WeightedModes):
    """Of a grid in moving frames. Where tails that go on beyond the cells are amplified they are `continued` within
    them, too, and no mode may be left out of the stages: that would be seen in tails."""

    def __init__(self, grid: Grid, factors: Float, continued: bool = False) -> None:
        self.continued, self.slow = continued, _SLOW_WITH_TAILS if continued else self.slow
        super().__init__(grid, factors, grid.weights[-grid.dimension :], grid.face_weights[-grid.dimension :])


class BoxModes(WeightedModes):
    """Of a grid at rest, for slopes of log g at the middles along each axis."""

    def __init__(self, grid: Grid, factors: Float, slopes: list[Float]) -> None:
        self.slopes = slopes
        both = [_weights(each, width) for each, width in zip(slopes, grid.widths.tolist(), strict=True)]
        super().__init__(grid, factors, tuple(inside for inside, _ in both), tuple(faces for _, faces in both))

    @property
    def _slopes_on_line(self) -> Float:
        return np.ascontiguousarray(self.slopes[0])

    def remaining(self, speeds: Float, conductivities: Float) -> Float:
        left = speeds.copy()
        for direction, slope in enumerate(self.slopes):
            across = slope[:, None] if direction < self.grid.dimension - 1 else slope
            left[:, direction] -= conductivities[:, direction, None, None] * across
        return left


def _weights(slopes: Float, width: float) -> tuple[Float, Float]:
    """g at the middles and at the faces, from the slopes of log g at the middles; about one at its largest."""
    faces = width * np.arange(slopes.size + 1)
    middles = faces[1:] - 0.5 * width
    both = [antiderivative(middles, slopes, places) for places in (middles, faces)]
    most = max(float(each.max()) for each in both)
    return np.exp(both[0] - most), np.exp(both[1] - most)


def _padded(matrix: Float) -> Float:
    """With rows of zeros below, up to a multiple of four."""
    out = np.zeros((-(-len(matrix) // _ROWS) * _ROWS, matrix.shape[1]))
    out[: len(matrix)] = matrix
    return out
