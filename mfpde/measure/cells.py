"""Boxes that hold a measure, averages over cells of a lattice, and draws from densities known by their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.geometry import Lattice
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.rules import tensor
from mfpde.streams import random_stream
from mfpde.typing import Float

__all__ = ["averages_by_gauss", "draw_from_cells", "reach_of_nodes"]

_GAUSS_POINTS = 10  # along a side of a cell
_POINTS_PER_BATCH = 1 << 20  # bounds memory
_CELLS_PER_PANEL = {1: 512, 2: 24}  # along each axis, by dimension


def reach_of_nodes(points: Float, weights: Float, tolerance: float, tilts: Float | None) -> tuple[Float, Float]:
    """Corners of the smallest box that leaves at most `tolerance` of every tilted mass out, on each side."""
    lows, highs = [], []
    for w in np.zeros((1, points.shape[1])) if tilts is None else tilts:
        there = weights > 0
        exponents = points[there] @ w + np.log(weights[there])
        mass = np.exp(exponents - exponents.max())
        ends = [_ends(points[there, i], mass / mass.sum(), tolerance) for i in range(points.shape[1])]
        lows.append([low for low, _ in ends])
        highs.append([high for _, high in ends])
    return np.min(lows, axis=0), np.max(highs, axis=0)


def _ends(values: Float, mass: Float, tolerance: float) -> tuple[float, float]:
    order = np.argsort(values, kind="stable")
    below, above = np.cumsum(mass[order]), np.cumsum(mass[order][::-1])
    first, last = np.argmax(below > tolerance), np.argmax(above > tolerance)
    return float(values[order[first]]), float(values[order[::-1][last]])


def averages_by_gauss(density: Callable[[Lattice], Float], lattice: Lattice, points: int = _GAUSS_POINTS) -> Float:
    """Averages over the cells by Gauss-Legendre rules, for densities at the points of lattices that are smooth on the
    scale of a cell."""
    nodes, weights = gauss_legendre(points)
    widths = [(axis[-1] - axis[0]) / (axis.size - 1) for axis in lattice.axes]
    axes = [(axis[:, None] + 0.5 * width * nodes).ravel() for axis, width in zip(lattice.axes, widths, strict=True)]
    rows = max(1, _POINTS_PER_BATCH // max(1, int(np.prod([axis.size for axis in axes[1:]])) * points))
    out = np.empty(lattice.shape)
    for start in range(0, lattice.shape[0], rows):
        here = (axes[0][start * points : (start + rows) * points], *axes[1:])
        values = density(Lattice(here, lattice.origin, lattice.matrix))
        count = here[0].size // points
        cells = values.reshape(*(size for n in (count, *lattice.shape[1:]) for size in (n, points)))
        for axis in range(lattice.dimension):
            cells = np.tensordot(cells, weights, axes=([axis + 1], [0]))
        out[start : start + count] = cells
    return out


def draw_from_cells(density: Callable[[Float], Float], breaks: Sequence[Float], count: int, seed: int) -> Float:
    """Independent draws `(count, d)`: a cell by its mass, a point uniformly in it. Cells are so small that no
    affordable number of draws shows them."""
    parts = _CELLS_PER_PANEL[len(breaks)]
    faces = [np.append((b[:-1, None] + np.diff(b)[:, None] * np.arange(parts) / parts).ravel(), b[-1]) for b in breaks]
    middles = tensor([0.5 * (face[1:] + face[:-1]) for face in faces])
    widths = tensor([np.diff(face) for face in faces])
    ends = np.cumsum(density(middles) * widths.prod(axis=1))
    draws = random_stream(count, seed).random((count, 1 + len(breaks)))
    chosen = np.minimum(np.searchsorted(ends, draws[:, 0] * ends[-1], side="right"), np.searchsorted(ends, ends[-1]))
    return middles[chosen] + (draws[:, 1:] - 0.5) * widths[chosen]
