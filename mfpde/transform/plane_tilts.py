"""Sums over the Chebyshev points of the nodes, at the Chebyshev points of the queries' panels: the plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.compilation import allocating_kernel, kernel
from mfpde.transform.chebyshev import Panels, chebyshev_points
from mfpde.transform.direct import log_of
from mfpde.transform.exponential import exponential
from mfpde.transform.line_tilts import LOG_NEGLIGIBLE
from mfpde.transform.products import multiply
from mfpde.transform.threads import run_pieces
from mfpde.typing import AnyArray, Float

__all__ = ["tilt_plane"]

_LOG_OF_ZERO = -1e300  # stands for log 0: below any logarithm, and finite
_PANELS_PER_PRODUCT = 4  # neighbours, for which the same nodes count; their columns fill vector registers


class _Sources(NamedTuple):
    """Masses on the panels of the nodes, over e^{log_masses} of their panel and column; the panels' middles along the
    first axis, the points along the second."""

    scaled: Float
    log_masses: Float
    middles: Float
    second: Float


@kernel
def _find_rows(log_masses: Float, push: Float, largest: Float, seen: Float) -> None:
    """largest(y_2) = the largest `log m + push` over panels of y_1; seen = the largest difference of a panel's
    exponents to it."""
    for j in range(largest.size):
        largest[j] = _LOG_OF_ZERO
    for s in range(push.size):
        row, lift = log_masses[s], push[s]
        for j in range(largest.size):
            exponent = row[j] + lift
            largest[j] = max(largest[j], exponent)
    for s in range(push.size):
        row, lift, nearest = log_masses[s], push[s], _LOG_OF_ZERO
        for j in range(largest.size):
            nearest = max(nearest, row[j] + lift - largest[j])
        seen[s] = nearest


@kernel
def _span(near: Float, limit: float, span: AnyArray) -> None:
    """The first and last index with near >= limit."""
    low, high = 0, near.size
    while low < high - 1 and near[low] < limit:
        low += 1
    while high > low + 1 and near[high - 1] < limit:
        high -= 1
    span[0], span[1] = low, high


@allocating_kernel
def _sum_rows(sources: _Sources, centre: float, powers: Float, sums: Float, largest: Float) -> None:
    """sums[k, j] = sum over y_1 of (1, y_1) m e^{w_k y_1 - largest(y_2)}, w_k about the centre; a panel has one
    factor for each column."""
    scaled, log_masses, middles = sources.scaled, sources.log_masses, sources.middles
    panels, columns = log_masses.shape
    size = scaled.shape[0] // panels
    seen, span, factor = np.empty(panels), np.empty(2, dtype=np.int64), np.empty(columns)
    _find_rows(log_masses, centre * middles, largest, seen)
    _span(seen, LOG_NEGLIGIBLE, span)
    low, high = span[0], span[1]
    tilted = np.empty(((high - low) * size, columns))
    for s in range(low, high):
        row, lift = log_masses[s], centre * middles[s]
        for j in range(columns):
            factor[j] = exponential(row[j] + lift - largest[j])
        for i in range(size):
            from_row, out = scaled[s * size + i], tilted[(s - low) * size + i]
            for j in range(columns):
                out[j] = from_row[j] * factor[j]
    multiply(powers[:, low * size : high * size], tilted, sums)


@kernel
def _find_columns(largest: Float, second: Float, centres: Float, exponents: Float, level: Float, near: Float) -> None:
    """exponents = largest + c y_2 - level, level the largest of them; near = the largest over these panels."""
    for j in range(near.size):
        near[j] = _LOG_OF_ZERO
    for b in range(centres.size):
        row, centre, peak = exponents[b], centres[b], 2.0 * _LOG_OF_ZERO
        for j in range(near.size):
            row[j] = largest[j] + centre * second[j]
            peak = max(peak, row[j])
        level[b] = peak
        for j in range(near.size):
            row[j] -= peak
            near[j] = max(near[j], row[j])


@allocating_kernel
def _sum_columns(
    sums: Float, largest: Float, second: Float, centres: Float, powers: Float, values: Float, level: Float
) -> None:
    """values[b] = sum over y_2 of sums e^{w_l y_2 + largest(y_2) - level_b}, `(panels, rows, size)`."""
    columns, (panels, rows, size) = second.size, values.shape
    exponents, near, span = np.empty((_PANELS_PER_PRODUCT, columns)), np.empty(columns), np.empty(2, dtype=np.int64)
    room, product = np.empty(columns * _PANELS_PER_PRODUCT * size), np.empty(rows * _PANELS_PER_PRODUCT * size)
    for start in range(0, panels, _PANELS_PER_PRODUCT):
        count = min(_PANELS_PER_PRODUCT, panels - start)
        _find_columns(largest, second, centres[start : start + count], exponents, level[start : start + count], near)
        _span(near, LOG_NEGLIGIBLE, span)
        low, high = span[0], span[1]
        tilts = room[: (high - low) * count * size].reshape(high - low, count * size)
        for b in range(count):
            for j in range(low, high):
                factor, row, out = exponential(exponents[b, j]), powers[j], tilts[j - low, b * size : (b + 1) * size]
                for k in range(size):
                    out[k] = factor * row[k]
        whole = product[: rows * count * size].reshape(rows, count * size)
        multiply(sums[:, low:high], tilts, whole)
        for b in range(count):
            for i in range(rows):
                out, row = values[start + b, i], whole[i, b * size : (b + 1) * size]
                for k in range(size):
                    out[k] = row[k]


@allocating_kernel
def _tilt_row(
    sources: _Sources, centre: float, powers1: Float, centres2: Float, powers2: Float, values: Float, level: Float
) -> None:
    """One row of panels: values[b, :, l] = sum (1, y_1, y_2) m e^{w_k y_1 + w_l y_2 - level_b}.

    The powers times (1, y_1) are given; with (1, y_1, y_1^2) it is (1, y_1, y_1^2, y_2, y_1 y_2, y_2^2).
    """
    second = sources.second
    size, columns, given = powers2.shape[1], second.size, powers1.shape[0]
    sums, largest = np.empty((values.shape[1], columns)), np.empty(columns)
    _sum_rows(sources, centre, powers1, sums[:given], largest)
    for k in range(given, values.shape[1]):
        # y_2 from 1, y_1 y_2 from y_1, y_2^2 from y_2
        out, from_row = sums[k], sums[k - given if k < given + 2 * size else k - 2 * size]
        for j in range(columns):
            out[j] = from_row[j] * second[j]
    _sum_columns(sums, largest, second, centres2, powers2, values, level)


def tilt_plane(
    masses: Float,
    common: Float,
    sources: tuple[Panels, Panels],
    targets: tuple[Panels, Panels],
    order: int,
    degree: int = 1,
) -> tuple[Float, Float]:
    """Values `(panels_1, panels_2, 3 * order, order)` of (M, grad M) over e^level, and level `(panels_1, panels_2)`, of
    masses `(panels_1 * order, panels_2 * order)` over e^common, common `(panels_1, panels_2)`.

    For degree 2 second moments as well, six parts: of 1, y_1, y_1^2, y_2, y_1 y_2, y_2^2.
    """
    second, middles, around = sources[1].points(order), sources[0].centres, sources[0].half * chebyshev_points(order)
    blocks = masses.reshape(middles.size, order, second.size)
    sizes = np.abs(blocks).max(axis=1)
    log_masses = np.maximum(log_of(sizes) + np.repeat(common, order, axis=1), _LOG_OF_ZERO)
    scaled = (blocks / np.where(sizes > 0.0, sizes, 1.0)[:, None, :]).reshape(masses.shape)
    nodes = _Sources(scaled, log_masses, middles, second)
    first, offsets = sources[0].points(order), targets[0].half * chebyshev_points(order)
    powers = np.exp(offsets[:, None] * first)
    powers2 = np.exp(second[:, None] * (targets[1].half * chebyshev_points(order)))
    centres1, centres2 = targets[0].centres, targets[1].centres
    values = np.empty((centres1.size, centres2.size, (degree + 1) * (degree + 2) // 2 * order, order))
    level = np.empty((centres1.size, centres2.size))

    def work(panel: int) -> None:
        centre = float(centres1[panel])
        own = powers * np.tile(np.exp(centre * around), middles.size)
        own = np.concatenate([own * first**k for k in range(degree + 1)])
        _tilt_row(nodes, centre, own, centres2, powers2, values[panel], level[panel])

    run_pieces(work, centres1.size)
    return values, level
