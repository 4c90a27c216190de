"""Densities from fluxes: conservative and non-negative, with nothing clipped but rounding."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["combine", "largest", "limit", "outflow", "update"]

UNDERFLOW = 1e-290  # smaller densities become 0: subnormal numbers lose digits and are a hundred times slower
ROUNDING = 1e-15  # relative to the sum of the fluxes of a cell

_USABLE_SHARE = 1.0 - 1e-10  # of what is left in a cell; the rest is for the rounding of the update


@kernel
def largest(numbers: Float) -> float:
    """Of numbers that are not negative, 0 of none: four maxima, as each waits for the one before it."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    fours = numbers.size // 4
    for k in range(fours):
        a, b = max(a, numbers[4 * k]), max(b, numbers[4 * k + 1])
        c, d = max(c, numbers[4 * k + 2]), max(d, numbers[4 * k + 3])
    for k in range(4 * fours, numbers.size):
        a = max(a, numbers[k])
    return max(a, b, c, d)


@kernel
def combine(flux: Float, weight: float, out: Float) -> None:
    """out += weight flux."""
    for i in range(out.size):
        out[i] += weight * flux[i]


@kernel
def update(density: Float, across: Float, along: Float, new: Float) -> float:
    """new = density - differences of the fluxes (which carry dt / h), 0 where it underflows or is negative by the
    rounding of what goes through the cell; the smallest value."""
    rows, columns = density.shape
    least = 0.0
    for i in range(rows):
        u, out, below, above, row = density[i], new[i], across[i], across[i + 1], along[i]
        left, right = row[:columns], row[1:]
        for j in range(columns):
            value = u[j] - ((above[j] - below[j]) + (right[j] - left[j]))
            through = abs(above[j]) + abs(below[j]) + abs(right[j]) + abs(left[j])
            out[j] = 0.0 if abs(value) <= UNDERFLOW or 0.0 > value >= -ROUNDING * through else value
        for j in range(columns):
            least = min(least, out[j])
    return least


@kernel
def _blend(flux: Float, low: Float, before: Float, after: Float, first: bool, last: bool) -> None:
    """flux = low + so much of the rest as the cell keeps that it leaves; nothing is known of cells beyond the ends."""
    for j in range(flux.size):
        more, ahead, behind = flux[j] - low[j], before[j] if first else 1.0, after[j] if last else 1.0
        flux[j] = low[j] + more * (ahead if more > 0.0 else behind)


@kernel
def limit(
    density: Float, across: Float, along: Float, low_across: Float, low_along: Float, keep: Float, new: Float
) -> None:
    """Moves the fluxes towards the low ones, no further than new >= 0 needs [zalesak1979].

    The low fluxes alone keep densities non-negative. What a cell would lose through the differences between the fluxes
    is scaled to what the low fluxes leave in it. `keep` is room for a number in each cell.
    """
    rows, columns = density.shape
    for i in range(rows):
        u, kept, below, above, row, low_row = density[i], keep[i], across[i], across[i + 1], along[i], low_along[i]
        left, right, low_left, low_right = row[:columns], row[1:], low_row[:columns], low_row[1:]
        low_below, low_above = low_across[i], low_across[i + 1]
        for j in range(columns):
            kept[j] = (
                max(0.0, above[j] - low_above[j])
                + max(0.0, low_below[j] - below[j])
                + max(0.0, right[j] - low_right[j])
                + max(0.0, low_left[j] - left[j])
            )
        for j in range(columns):  # in a loop of its own, as one with that many arrays is not vectorised
            lost, rest = kept[j], u[j] - ((low_above[j] - low_below[j]) + (low_right[j] - low_left[j]))
            rest = max(rest, 0.0) * _USABLE_SHARE
            kept[j] = 1.0 if lost <= rest else rest / lost
    for face in range(rows + 1):
        before, after = keep[max(face - 1, 0)], keep[min(face, rows - 1)]
        _blend(across[face], low_across[face], before, after, face > 0, face < rows)
    for i in range(rows):
        kept, line, low = keep[i], along[i], low_along[i]
        _blend(line[1:columns], low[1:columns], kept[: columns - 1], kept[1:], True, True)
        _blend(line[:1], low[:1], kept[:1], kept[:1], False, True)
        _blend(line[columns:], low[columns:], kept[columns - 1 :], kept[columns - 1 :], True, False)
    update(density, across, along, new)


@kernel
def outflow(speeds: Float, widths: Float, start: int, stop: int) -> float:
    """The largest share of a cell that upwind fluxes take out per unit time, in the rows from start to stop; speeds
    `(d, rows, columns)`.

    On the line the only direction is along rows, and `widths` has one entry.
    """
    directions, rows, columns = speeds.shape
    largest = 0.0
    along = speeds[directions - 1]
    for i in range(start, stop):
        for j in range(columns):
            here = along[i, j]
            right = 0.5 * (here + along[i, j + 1]) if j + 1 < columns else here
            left = 0.5 * (here + along[i, j - 1]) if j > 0 else here
            share = (max(right, 0.0) + max(-left, 0.0)) / widths[directions - 1]
            if directions == 2:
                across = speeds[0]
                here = across[i, j]
                above = 0.5 * (here + across[i + 1, j]) if i + 1 < rows else here
                below = 0.5 * (here + across[i - 1, j]) if i > 0 else here
                share += (max(above, 0.0) + max(-below, 0.0)) / widths[0]
            largest = max(largest, share)
    return largest
