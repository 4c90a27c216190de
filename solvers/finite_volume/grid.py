"""The cells, in the coordinates z of a frame, and g, the steady state of diffusion there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from mfpde.geometry.lattice import grid_moments
from mfpde.solvers.finite_volume.gaussian_closure import Outside
from mfpde.solvers.kernels.finite_volume_frame import SUMS, remainder, row_sums
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = ["MAX_DEVIATIONS", "Grid", "central_difference", "root"]

_CELLS_PER_PIECE = 1 << 14  # whose numbers stay in the cache
_CONTINUED_FACTOR = 40.0  # times g where it is continued: errors of densities under noise, on 24 and 32 cells
_EDGE_CELLS_MIN = 3  # more than stencils cross in a step
MAX_DEVIATIONS = 37.0  # |z| at which e^{-z^2 / 2} is 1e-297, about the smallest normal double
_LOG_RATIO_MAX = 3.5  # of g in neighbouring cells: from 5 on, stencils across u / g make waves that reach the ends
_LOG_NORMAL_MIN = 680.0  # minus the logarithm of the smallest g; the smallest normal double has 708


class Grid:
    """Equal cells on `[low_i, high_i]`; arrays over them are `(rows, columns)`, with one row on the line.

    `gaussian`: g is that of a moving frame, otherwise 1: the standard Gaussian, along each axis continued by an
    exponential where it would fall by more than e^{3.5} from cell to cell (`excess`). Only ratios of g matter.
    """

    def __init__(self, low: Float, high: Float, cells: Sequence[int], gaussian: bool) -> None:
        self.low, self.high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self.cells = tuple(int(count) for count in cells)
        self.gaussian = gaussian
        self.widths = (self.high - self.low) / self.cells
        self.faces = tuple(
            np.linspace(start, end, count + 1)
            for start, end, count in zip(self.low, self.high, self.cells, strict=True)
        )
        self.axes = tuple(0.5 * (edges[1:] + edges[:-1]) for edges in self.faces)

    def longer(self, cells: AnyArray) -> Grid:
        """With so many cells of the same size more at both ends, `(d, 2)`."""
        low, high = self.low - cells[:, 0] * self.widths, self.high + cells[:, 1] * self.widths
        return Grid(low, high, [int(count) for count in self.cells + cells.sum(axis=1)], self.gaussian)

    def lengthened(self, density: Float, cells: AnyArray, continued: Grid | None) -> Float:
        """Densities `(panels, rows, columns)` on those cells: nothing in new ones, or, where they are continued on such
        a grid, as much of g as at the ends."""
        ends = [(0, 0), *([(0, 0)] if self.dimension == 1 else []), *(tuple(each) for each in cells.tolist())]
        if continued is None:
            return np.pad(density, ends)
        now, then = (np.multiply.outer(*grid.weights) for grid in (self, continued))
        return np.pad(density / now, ends, mode="edge") * then

    @property
    def weighs_everywhere(self) -> bool:
        """Whether g is a normal number in every cell, so that ratios to it have their digits."""
        ends = (np.maximum(-self.low, self.high), self.widths)
        fallen = sum(-float(_log_weight(*each)) for each in zip(*ends, strict=True))
        return not self.gaussian or fallen < _LOG_NORMAL_MIN

    @property
    def continued(self) -> float:
        """What continuing g by exponentials changes of a density under noise, relative to its peak."""
        begin = float((_LOG_RATIO_MAX / self.widths).min())
        within = self.gaussian and begin < float(np.maximum(-self.low, self.high).max())
        return _CONTINUED_FACTOR * math.exp(-0.5 * begin**2) if within else 0.0

    @property
    def dimension(self) -> int:
        return len(self.cells)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the arrays that kernels work on."""
        return (1, self.cells[0]) if self.dimension == 1 else (self.cells[0], self.cells[1])

    @cached_property
    def volume(self) -> float:
        return float(np.prod(self.widths))

    @cached_property
    def coordinates(self) -> Float:
        """z of the cells, `(d, rows, columns)`."""
        found = np.empty((self.dimension, *self.shape))
        for direction, axis in enumerate(self.axes):
            found[direction] = axis if direction == self.dimension - 1 else axis[:, None]
        return found

    def _weights(self, places: tuple[Float, ...]) -> tuple[Float, ...]:
        if not self.gaussian:
            return tuple(np.ones(z.size) for z in places)
        return tuple(
            np.exp(_log_weight(z, width)) / np.sqrt(2 * np.pi) for z, width in zip(places, self.widths, strict=True)
        )

    @cached_property
    def excess(self) -> Float:
        """`z + grad log g`, `(d, rows, columns)`: what pulls tokens inwards besides g; 0 where g is Gaussian."""
        if not self.gaussian:
            return np.zeros_like(self.coordinates)
        steepest = (_LOG_RATIO_MAX / self.widths)[:, None, None]
        return self.coordinates - np.clip(self.coordinates, -steepest, steepest)

    @cached_property
    def is_continued(self) -> bool:
        """Whether there is any excess."""
        return bool(self.excess.any())

    @cached_property
    def weights(self) -> tuple[Float, ...]:
        """g at the middles, one factor for each direction; the line has a trivial one before."""
        factors = self._weights(self.axes)
        return (np.ones(1), *factors) if self.dimension == 1 else factors

    @cached_property
    def face_weights(self) -> tuple[Float, ...]:
        """g at the faces."""
        factors = self._weights(self.faces)
        return (np.ones(2), *factors) if self.dimension == 1 else factors

    def edge_mass(self, density: Float) -> Float:
        """Share of the mass near each end, `(d, 2)`: within a sixteenth of the cells, which no step crosses; density
        `(panels, rows, columns)`."""
        total = density.sum(axis=0)
        shares = np.empty((self.dimension, 2))
        for direction in range(self.dimension):
            along = total if direction == self.dimension - 1 else total.T
            ring = self.rings[direction]
            shares[direction] = along[:, :ring].sum(), along[:, -ring:].sum()
        return shares / float(total.sum())

    @cached_property
    def rings(self) -> list[int]:
        """Cells near an end, along each axis."""
        return [max(_EDGE_CELLS_MIN, count // 16) for count in self.cells]

    @cached_property
    def gaussian_edge_mass(self) -> Float:
        """That of the standard Gaussian."""
        squares: Float = np.square(self.coordinates).sum(axis=0)
        return self.edge_mass(np.exp(-0.5 * squares)[None])

    @cached_property
    def leaks(self) -> Float:
        """Largest share of a cell that leaves it per unit time and conductivity along each direction, `(d,)`."""
        found = []
        for width, inside, faces in zip(
            self.widths, self.weights[-self.dimension :], self.face_weights[-self.dimension :], strict=True
        ):
            out = faces[1:] + faces[:-1]
            out[0] -= faces[0]
            out[-1] -= faces[-1]
            found.append(float((out / inside).max()) / width**2)
        return np.array(found)

    @cached_property
    def outside(self) -> Outside | None:
        """The part of g outside of the cells, where it is a Gaussian."""
        if not self.gaussian:
            return None
        return Outside.of(self.axes, self.widths, np.zeros(self.dimension), np.eye(self.dimension))

    def waves(self, densities: Float) -> Float:
        """`prod cos(z_i (1 + i / 3) + phase)`, z in standard deviations of each panel."""
        waves = np.empty_like(densities)
        for panel, density in enumerate(densities):
            mean, covariance = self.moments(density)
            widths = np.sqrt(np.diag(covariance))
            axes = zip(self.axes, mean, widths, strict=True)
            along = [np.cos((z - m) / w * (1 + i / 3) + 0.5 + i + panel) for i, (z, m, w) in enumerate(axes)]
            waves[panel] = along[0][None, :] if len(along) == 1 else np.multiply.outer(*along)
        return waves

    def moments(self, density: Float) -> tuple[Float, Float]:
        """Mean and covariance of z over the cells of a density `(rows, columns)`."""
        return grid_moments(self.axes, (density / density.sum()).reshape(self.cells))

    def average_change(self, change: Float, weights: Float, frame: Float, density: Float) -> float:
        """Of the change of a drift in some cells of a panel, relative to its width along the axes."""
        apart = np.linalg.solve(frame, change.reshape(self.dimension, -1))
        average = np.abs(apart) @ weights.ravel() / weights.sum()
        return float((average / np.sqrt(np.diag(self.moments(density)[1]))).max())

    def regression(self, values: Float, density: Float) -> tuple[Float, Float]:
        """(c, R) for which `c + R z` is nearest to values `(d, rows, columns)` in the mean square over a density."""
        d, blocks = self.dimension, self.blocks
        levels = values[:, self.shape[0] // 2, self.shape[1] // 2]  # sums about them lose no digits
        sums = np.empty((self.shape[0], SUMS))

        def work(piece: int) -> None:
            row_sums(density, values[0], values[-1], levels[[0, -1]], self.axes[-1], *blocks[piece], sums)

        run_pieces(work, len(blocks))
        x = self.axes[0] if d == 2 else np.zeros(1)
        total, across = sums.sum(axis=0), x @ sums
        middle = np.array([across[0], total[1]])[-d:] / total[0]
        square = np.array([[x * x @ sums[:, 0], across[1]], [across[1], total[2]]])[-d:, -d:] / total[0]
        constant = total[[3, 5]][:d] / total[0]
        products = np.array([[across[3], total[4]], [across[5], total[6]]])[:d, -d:] / total[0]
        spread, crossed = square - np.outer(middle, middle), products - np.outer(constant, middle)
        linear: Float = np.linalg.solve(spread, crossed.T).T.astype(float)
        return levels + constant - linear @ middle, linear

    def remainder(self, drift: Float, constant: Float, linear: Float, inverse: Float, out: Float) -> None:
        """out = `S^{-1} (G - c - R z)`, `(d, rows, columns)`."""
        blocks = self.blocks

        def work(piece: int) -> None:
            remainder(drift, constant, linear, inverse, self.axes[0], self.axes[-1], *blocks[piece], out)

        run_pieces(work, len(blocks))

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """Blocks of rows, a piece of work each."""
        return pieces(self.shape[0], max(1, _CELLS_PER_PIECE // self.shape[1]))


def _log_weight(z: AnyArray, width: float) -> Float:
    """Of g along one axis with cells of that width, but for a constant."""
    steepest = _LOG_RATIO_MAX / width
    near: Float = np.minimum(np.abs(z), steepest)
    return -0.5 * near**2 - steepest * (np.abs(z) - near)


def root(matrix: Float) -> Float:
    """The symmetric square root."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(values)) @ vectors.T


def central_difference(values: Float, axis: int, lines: slice) -> Float:
    """h times the derivative along an axis at some of its places, order eight; walls are mirrors."""
    count, length = values.shape[axis], lines.stop - lines.start
    near = np.arange(lines.start - 4, lines.stop + 4)
    mirrored = np.where(near < 0, -1 - near, np.where(near >= count, 2 * count - 1 - near, near))
    padded = np.moveaxis(values.take(mirrored, axis), axis, 0)
    slope = np.zeros((length, *padded.shape[1:]))
    for shift, factor in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), start=1):
        slope += factor * (padded[4 + shift : 4 + shift + length] - padded[4 - shift : 4 - shift + length])
    return np.moveaxis(slope, 0, axis)
