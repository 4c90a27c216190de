"""Sums of many normal laws on lattices of the plane."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential
from mfpde.typing import AnyArray, Float

__all__ = ["add_normals"]


@kernel
def add_normals(
    rows: Float, columns: Float, heights: Float, means: Float, forms: Float, spans: AnyArray, out: Float
) -> None:
    """out += `sum_n heights_n e^{-<z - m_n, F_n (z - m_n)> / 2}` at z = (rows, columns), of each law within its span:
    the first row, the one after the last, and the columns likewise."""
    for law in range(heights.size):
        height, begin, end = heights[law], spans[law, 2], spans[law, 3]
        across, both, along = -0.5 * forms[law, 0, 0], -forms[law, 0, 1], -0.5 * forms[law, 1, 1]
        places, middle = columns[begin:end], means[law, 1]
        for row in range(spans[law, 0], spans[law, 1]):
            x, line = rows[row] - means[law, 0], out[row, begin:end]
            level, slope = across * x * x, both * x
            for k in range(places.size):
                y = places[k] - middle
                line[k] += height * exponential(level + y * (slope + along * y))
