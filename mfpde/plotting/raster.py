"""Densities of any panels on the pixels of a picture: averages over the pixels, so that nothing narrow is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.measure import GridDensity, Panel
from mfpde.plotting.subcells import refined
from mfpde.typing import AnyArray, Float, Truths

__all__ = ["borders", "pixels_on_line", "pixels_on_plane", "reach_of"]

#: along each side; a picture shows no more
_MAX_CELL_PARTS = 64
#: of a part of a cell with constant density
_MAX_PART_PIXELS = 1.2
#: thickness of a panel: far below what is visible, far above rounding
_MIN_PANEL_PIXELS = 1e-3
#: of the largest jump of the density: smaller ones are rounding
_JUMP_FLOOR = 1e-16
#: cells around the window that the reconstruction inside of it uses
_NEIGHBOURS = 3


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
    shortest = float(np.diff(edges).min())
    for panel in measure.panels:
        values = panel.values if panel.lattice.matrix[0, 0] > 0 else panel.values[::-1]
        ends = borders(panel)
        parts = int(np.clip(np.ceil((ends[1] - ends[0]) / shortest), 1, _MAX_CELL_PARTS))
        masses = refined(values, parts, 0) * (panel.volume / parts)
        fine = np.interp(np.arange(masses.size + 1) / parts, np.arange(ends.size), ends)
        below += np.interp(edges, fine, np.concatenate([[0.0], np.cumsum(masses)]))
    return np.diff(below) / np.diff(edges)


def borders(panel: Panel) -> Float:
    """Ends of the cells of a panel on the line, ascending."""
    axis, half = panel.lattice.axes[0], 0.5 * panel.widths[0]
    ends = panel.lattice.origin[0] + panel.lattice.matrix[0, 0] * np.append(axis - half, axis[-1] + half)
    return np.sort(ends)


def pixels_on_plane(measure: GridDensity, low: Float, high: Float, count: int) -> Float:
    """Mean density of `count` by `count` pixels of a box, `[x, y]`: mass over area.

    Cells that are wider than pixels are cut into parts. Their constant densities are averaged exactly, whichever way
    the frame turns, stretches or reflects them.
    """
    jumps = np.zeros((count, count))
    for panel in measure.panels:
        values, corners = _parts(panel, low, (high - low) / count, count)
        if values.size:
            sides = _Sides.between(values, corners, _orientation(panel))
            jumps += sides.pixels(count)
    return np.maximum(np.cumsum(jumps, axis=0), 0.0)  # below 0 by rounding alone


def _parts(panel: Panel, low: Float, size: Float, count: int) -> tuple[Float, Float]:
    """Densities `(n, m)` of the parts of cells in the window, and their corners `(2, n + 1, m + 1)` in pixels."""
    frame, share = _widened(panel, panel.lattice.matrix / size[:, None])
    origin, sides = (panel.lattice.origin - low) / size, np.linalg.norm(frame, axis=0) * panel.widths
    values, faces = share * panel.values, []
    seen = np.linalg.solve(frame, count * np.array([[0, 0, 1, 1], [0, 1, 0, 1]]) - origin[:, None])
    for axis in range(2):
        start, width = panel.lattice.axes[axis][0] - 0.5 * panel.widths[axis], panel.widths[axis]
        ends = (np.array([seen[axis].min(), seen[axis].max()]) - start) / width
        ends = np.clip(np.nan_to_num(ends), -1.0, values.shape[axis] + 1.0)
        first = max(int(ends[0]) - _NEIGHBOURS, 0)
        last = min(int(np.ceil(ends[1])) + _NEIGHBOURS, values.shape[axis])
        parts = int(np.clip(np.ceil(sides[axis] / _MAX_PART_PIXELS), 1, _MAX_CELL_PARTS))
        values = refined(np.take(values, range(first, max(first, last)), axis=axis), parts, axis)
        faces.append(start + width * (first + np.arange(values.shape[axis] + 1) / parts))
    corners = origin[:, None, None] + np.einsum("xz,znm->xnm", frame, np.stack(np.meshgrid(*faces, indexing="ij")))
    return values, corners


def _orientation(panel: Panel) -> float:
    """1, or -1 where the frame reflects."""
    return float(np.linalg.slogdet(panel.lattice.matrix)[0])


def _widened(panel: Panel, frame: Float) -> tuple[Float, float]:
    """A panel's frame in pixels, not thinner than numbers can tell pixels' coordinates apart, and the share of the
    density that keeps the mass then."""
    extent = panel.widths * panel.values.shape
    axes, spans, turn = np.linalg.svd(frame * extent)
    wide = np.maximum(spans, _MIN_PANEL_PIXELS)
    if np.array_equal(wide, spans):
        return frame, 1.0
    return axes * wide @ turn / extent, float(np.prod(spans / wide))


@dataclass(frozen=True, eq=False)
class _Sides:
    """Sides of parts of cells, in pixels: from `start` to `end`, each `(2, n)`.

    `jump` is by how much the density to the right of one (at larger x) is above that to its left, times its extent in
    y."""

    start: Float
    end: Float
    jump: Float

    @classmethod
    def between(cls, values: Float, corners: Float, orientation: float) -> _Sides:
        """All sides of neighbouring parts; 0 lies outside."""
        along = np.pad(values, ((0, 0), (1, 1)))
        across = np.pad(values, ((1, 1), (0, 0)))
        starts = [corners[:, :-1, :], corners[:, :, :-1]]
        ends = [corners[:, 1:, :], corners[:, :, 1:]]
        steps = [-np.diff(along, axis=1), np.diff(across, axis=0)]
        start, end = (np.concatenate([one.reshape(2, -1) for one in both], axis=1) for both in (starts, ends))
        rise = end[1] - start[1]
        jump = orientation * np.concatenate([step.ravel() for step in steps]) * rise
        kept = np.abs(jump) > _JUMP_FLOOR * np.abs(values).max()  # which leaves out sides that lie in a row
        return cls(start[:, kept], end[:, kept], jump[kept])

    def cut(self, axis: int, count: int) -> _Sides:
        """Cut where pixels meet along an axis."""
        low, high = np.minimum(self.start[axis], self.end[axis]), np.maximum(self.start[axis], self.end[axis])
        first = np.maximum(np.floor(low) + 1, 0)  # lines of the window alone
        lines = np.minimum(np.ceil(high) - 1, count) - first + 1
        if not (lines > 0).any():
            return self
        cut, whole = self._chosen(lines > 0), self._chosen(lines <= 0)
        parts = cut._at_lines(axis, first[lines > 0], lines[lines > 0].astype(int))
        start, end = (np.hstack([getattr(one, name) for one in (whole, parts)]) for name in ("start", "end"))
        return _Sides(start, end, np.append(whole.jump, parts.jump))

    def _chosen(self, which: Truths) -> _Sides:
        return _Sides(self.start[:, which], self.end[:, which], self.jump[which])

    def _at_lines(self, axis: int, first: Float, lines: AnyArray) -> _Sides:
        """Each cut at so many lines, from the first on."""
        swapped = self.start[axis] > self.end[axis]
        start, end = np.where(swapped, self.end, self.start), np.where(swapped, self.start, self.end)
        pieces = lines + 1
        side = np.repeat(np.arange(pieces.size), pieces)
        number = np.arange(side.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        start, way = start[:, side], (end - start)[:, side]
        share = (first[side] + number - start[axis]) / way[axis]  # of the way, to the end of each piece
        ends = np.where(number < lines[side], share, 1.0)
        begins = np.where(number > 0, np.roll(share, 1), 0.0)
        return _Sides(start + begins * way, start + ends * way, self.jump[side] * (ends - begins))

    def pixels(self, count: int) -> Float:
        """By how much each pixel's mean density is above that of its neighbour at smaller x, `[x, y]`.

        A side is felt by the part of its pixel to the right of it, and by all pixels from there on.
        """
        cut = self.cut(1, count).cut(0, count)
        x, y = 0.5 * (cut.start + cut.end)
        seen = (y > 0) & (y < count) & (x < count)
        x, row, jump = np.maximum(x[seen], 0.0), y[seen].astype(int), cut.jump[seen]
        column = x.astype(int)
        place, later = column * count + row, (x - column) * jump
        found = np.zeros((count + 1) * count)
        found += np.bincount(place, jump - later, found.size)
        found += np.bincount(place + count, later, found.size)
        return found.reshape(count + 1, count)[:count]
