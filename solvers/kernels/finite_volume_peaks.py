"""Widths of clusters, in cells."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["narrowest_peak"]

_PEAK_MIN = 0.2  # share of the largest density, below which a maximum is no cluster


@kernel
def _width(row: Float, top: int) -> float:
    """Cells between the places where a row falls to half of row[top]; beyond its ends it is zero."""
    half, n = 0.5 * row[top], row.size
    right = top
    while right < n and row[right] > half:
        right += 1
    left = top
    while left >= 0 and row[left] > half:
        left -= 1
    width = float(right - left)
    inner, outer = row[right - 1], row[right] if right < n else 0.0
    width -= (half - outer) / (inner - outer)
    inner, outer = row[left + 1], row[left] if left >= 0 else 0.0
    return width - (half - outer) / (inner - outer)


@kernel
def _smooth(density: Float, out: Float) -> None:
    """out = averages (1, 2, 1) / 4 along rows: waves of two cells, which edges leave behind, are no clusters."""
    last = density.shape[1] - 1
    for i in range(density.shape[0]):
        row, averages = density[i], out[i]
        for j in range(row.size):
            beside = (row[j - 1] if j > 0 else 0.0) + (row[j + 1] if j < last else 0.0)
            averages[j] = 0.5 * row[j] + 0.25 * beside


@kernel
def narrowest_peak(density: Float, largest: float, smoothed: Float) -> float:
    """The least width at half height of a cluster, along rows of smoothed densities, for which there is room."""
    rows, columns = density.shape
    _smooth(density, smoothed)
    least, level = float(columns), _PEAK_MIN * largest
    for i in range(rows):
        row = smoothed[i]
        for j in range(columns):
            before = row[j - 1] if j > 0 else 0.0
            after = row[j + 1] if j + 1 < columns else 0.0
            if row[j] > level and row[j] > before and row[j] >= after:
                least = min(least, _width(row, j))
    return least
