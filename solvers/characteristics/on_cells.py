"""The density that characteristics carry, on cells that follow the mass: for pictures and `run.density`.

Cells have the frame `x = m + S (x_0 - m_0)` that fits the way of the nodes best: straight edges of the initial measure
that its axes run along then stay along cells, as far as the flow is affine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.geometry import Lattice
from mfpde.measure import GridDensity, Panel
from mfpde.typing import Float, Truths

__all__ = ["affine_fit", "density_on_cells", "outline"]

_SAMPLES = 8  # along a side of a cell that an edge crosses
_OUTLINE_POINTS = 65  # along each side of a box
_MARGIN_SHARE = 1e-9  # of a box, so that its own edges lie inside


def affine_fit(before: Float, after: Float, weights: Float) -> tuple[Float, Float, Float]:
    """`(m_0, m, S)` of the map nearest to that of points `(n, d)` in the mean square."""
    start, end = weights @ before, weights @ after
    spread = np.einsum("n,ni,nj->ij", weights, before - start, before - start)
    crossed = np.einsum("n,ni,nj->ij", weights, after - end, before - start)
    return start, end, np.linalg.solve(spread, crossed.T).T.astype(float)


def outline(low: Float, high: Float) -> Float:
    """Points along the border of a box of the line or the plane, `(n, d)`."""
    if low.size == 1:
        return np.stack([low, high])
    t = np.linspace(0.0, 1.0, _OUTLINE_POINTS)
    sides = [np.column_stack([t, np.full_like(t, end)]) for end in (0.0, 1.0)]
    unit = np.concatenate([*sides, *(side[:, ::-1] for side in sides)])
    return low + unit * (high - low)


def density_on_cells(
    density: Callable[[Float], Float], frame: tuple[Float, Float], border: Float, cells: int
) -> GridDensity:
    """Averages over `cells` along each axis of a frame `(origin, matrix)`, within the box there that holds the border.

    Point values where the density is smooth. Cells at an edge are sampled; the mass is made 1.
    """
    origin, matrix = frame
    z = np.linalg.solve(matrix, (border - origin).T)
    margin = _MARGIN_SHARE * (z.max(axis=1) - z.min(axis=1))
    low, high = z.min(axis=1) - margin, z.max(axis=1) + margin
    width = (high - low) / cells
    axes = tuple(start + (np.arange(cells) + 0.5) * step for start, step in zip(low, width, strict=True))
    lattice = Lattice(axes, origin, matrix)
    values = density(lattice.points()).reshape(lattice.shape)
    crossed = _crossed(values > 0)
    inside = np.argwhere(crossed)
    steps = (np.arange(_SAMPLES) + 0.5) / _SAMPLES - 0.5
    offsets = np.stack(np.meshgrid(*[steps] * low.size, indexing="ij"), axis=-1).reshape(-1, low.size)
    corners = low + (inside + 0.5) * width
    samples = (corners[:, None] + offsets * width).reshape(-1, low.size)
    values[crossed] = density(samples @ matrix.T + origin).reshape(len(inside), -1).mean(axis=1)
    mass = values.sum() * np.prod(width) * abs(np.linalg.det(matrix))
    return GridDensity([Panel(lattice, values / mass)])


def _crossed(there: Truths) -> Truths:
    """Cells with both kinds of cells about them, diagonal ones included; there is nothing beyond the box."""
    some, every = np.pad(there, 1), np.pad(there, 1)
    for axis in range(there.ndim):
        shifted = [(np.roll(some, step, axis), np.roll(every, step, axis)) for step in (-1, 1)]
        some = some | shifted[0][0] | shifted[1][0]
        every = every & shifted[0][1] & shifted[1][1]
    inner = (slice(1, -1),) * there.ndim
    return some[inner] & ~every[inner]
