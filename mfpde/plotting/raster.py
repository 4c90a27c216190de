"""Densities of any panels on the pixels of a picture: masses, so that nothing narrow is lost between pixels."""

from __future__ import annotations

from itertools import product

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.typing import Float

__all__ = ["borders", "pixels_on_line", "pixels_on_plane", "reach_of"]

_MOST_PARTS = 64  # that a cell is cut into along each side
_COVERED = 0.75  # share of a pixel, from which on all of it is
_COARSE = 2.0  # pixels from which on a cell is looked at from the pixels


def reach_of(measure: GridDensity, beyond: float) -> tuple[Float, Float]:
    """A box `(d,)`, `(d,)` that leaves out at most that share of the mass at each of its sides."""
    points = np.concatenate([panel.lattice.points() for panel in measure.panels])
    masses = np.concatenate([panel.masses.ravel() for panel in measure.panels])
    low, high = [], []
    for coordinate in points.T:
        order = np.argsort(coordinate)
        share = np.cumsum(masses[order]) / masses.sum()
        ends = np.searchsorted(share, [beyond, 1 - beyond])
        low.append(coordinate[order[ends[0]]])
        high.append(coordinate[order[min(ends[1], order.size - 1)]])
    return np.array(low), np.array(high)


def pixels_on_line(measure: GridDensity, edges: Float) -> Float:
    """Mean density between ascending edges: mass over length."""
    below = np.zeros(edges.size)
    for panel in measure.panels:
        masses = panel.masses if panel.lattice.matrix[0, 0] > 0 else panel.masses[::-1]
        below += np.interp(edges, borders(panel), np.concatenate([[0.0], np.cumsum(masses)]))
    return np.diff(below) / np.diff(edges)


def borders(panel: Panel) -> Float:
    """Ends of the cells of a panel on the line, ascending."""
    axis, half = panel.lattice.axes[0], 0.5 * panel.widths[0]
    ends = panel.lattice.origin[0] + panel.lattice.matrix[0, 0] * np.append(axis - half, axis[-1] + half)
    return np.sort(ends)


def pixels_on_plane(measure: GridDensity, low: Float, high: Float, count: int) -> Float:
    """Mean density of `count` by `count` pixels of a box, `[x, y]`: mass over area."""
    size = (high - low) / count
    inner = np.zeros((count, count))
    for panel in measure.panels:
        frame = panel.lattice.matrix
        sides = np.linalg.norm(frame, axis=0) * panel.widths
        if frame[0, 1] == frame[1, 0] == 0:
            inner += _overlap(panel, 0, low, size, count) @ panel.masses @ _overlap(panel, 1, low, size, count).T
        elif sides.min() > _COARSE * size.max():
            centres = Lattice.of([low[axis] + size[axis] * (np.arange(count) + 0.5) for axis in range(2)])
            inner += GridDensity([panel]).evaluate(centres.points()).reshape(inner.shape) * float(size.prod())
        else:
            points, masses, area = _cut(panel, sides, float(size.min()))
            place = (points - low) / size + 0.5  # counted in pixel centres, with a margin of one
            inside = np.all((place >= 0) & (place < count + 1), axis=1)
            covered = _deposited(place[inside], np.full(inside.sum(), area / float(size.prod())), count)
            mass = _deposited(place[inside], masses[inside], count)
            inner += mass / np.where(covered > _COVERED, covered, 1.0)  # parts and pixels do not go into each other
    return inner / float(size.prod())


def _overlap(panel: Panel, axis: int, low: Float, size: Float, count: int) -> Float:
    """Shares of the cells (columns) that lie in the pixels (rows), along one axis of a frame that is not turned."""
    z, half = panel.lattice.axes[axis], 0.5 * panel.widths[axis]
    ends = panel.lattice.origin[axis] + panel.lattice.matrix[axis, axis] * np.stack([z - half, z + half])
    left, right = ends.min(axis=0), ends.max(axis=0)
    edges = low[axis] + size[axis] * np.arange(count + 1)
    covered = np.minimum(right, edges[1:, None]) - np.maximum(left, edges[:-1, None])
    return np.maximum(covered, 0.0) / (right - left)


def _cut(panel: Panel, sides: Float, size: float) -> tuple[Float, Float, float]:
    """Cells in parts no wider than a quarter of a pixel, and the area of one; the density runs linearly from cell to
    cell."""
    from scipy.ndimage import zoom

    parts = np.clip(np.ceil(4 * sides / size), 1, _MOST_PARTS).astype(int)
    heavy = panel.masses > 1e-9 * panel.masses.max()
    first = [int(np.flatnonzero(heavy.any(axis=1 - axis))[0]) for axis in range(2)]
    last = [int(np.flatnonzero(heavy.any(axis=1 - axis))[-1]) + 1 for axis in range(2)]
    masses = panel.masses[first[0] : last[0], first[1] : last[1]]
    fine = zoom(masses, parts.tolist(), order=1, mode="nearest", grid_mode=True)
    fine *= masses.sum() / fine.sum()
    axes = [
        panel.lattice.axes[axis][first[axis]] + panel.widths[axis] * ((np.arange(n) + 0.5) / parts[axis] - 0.5)
        for axis, n in enumerate(fine.shape)
    ]
    z = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    return z @ panel.lattice.matrix.T + panel.lattice.origin, fine.ravel(), panel.volume / float(np.prod(parts))


def _deposited(place: Float, masses: Float, count: int) -> Float:
    """Each mass shared among the four nearest pixel centres."""
    side, cell = count + 2, np.floor(place).astype(int)
    share, total = place - cell, np.zeros(side * side)
    for x, y in product((0, 1), (0, 1)):
        weight = np.abs(1 - x - share[:, 0]) * np.abs(1 - y - share[:, 1])
        total += np.bincount((cell[:, 0] + x) * side + cell[:, 1] + y, masses * weight, total.size)
    return total.reshape(side, side)[1:-1, 1:-1]
