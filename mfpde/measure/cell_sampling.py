"""Draws from densities that are known by their values: a cell by its mass, a point anywhere in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.arguments import random_stream
from mfpde.measure.rules import tensor
from mfpde.typing import Float

__all__ = ["draw_from_cells"]

_CELLS_PER_PANEL = {1: 512, 2: 24}  # along each axis, by dimension


def draw_from_cells(density: Callable[[Float], Float], breaks: Sequence[Float], count: int, seed: int) -> Float:
    """Independent draws `(count, d)`. Panels between breaks are divided into cells small enough not to be seen in any
    affordable number of draws."""
    parts = _CELLS_PER_PANEL[len(breaks)]
    faces = [np.append((b[:-1, None] + np.diff(b)[:, None] * np.arange(parts) / parts).ravel(), b[-1]) for b in breaks]
    middles = tensor([0.5 * (face[1:] + face[:-1]) for face in faces])
    widths = tensor([np.diff(face) for face in faces])
    ends = np.cumsum(density(middles) * widths.prod(axis=1))
    draws = random_stream(count, seed).random((count, 1 + len(breaks)))
    chosen = np.minimum(np.searchsorted(ends, draws[:, 0] * ends[-1], side="right"), np.searchsorted(ends, ends[-1]))
    return middles[chosen] + (draws[:, 1:] - 0.5) * widths[chosen]
