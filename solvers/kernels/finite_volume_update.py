"""Densities from fluxes: conservative and non-negative, with nothing clipped but rounding."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["combine", "limit", "outflow", "update"]

UNDERFLOW = 1e-290  # smaller densities become 0: subnormal numbers lose digits and are a hundred times slower
ROUNDING = 1e-15  # relative to the sum of the fluxes of a cell

_USABLE_SHARE = 1.0 - 1e-10  # of what is left in a cell; the rest is for the rounding of the update


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
def limit(
    density: Float, across: Float, along: Float, low_across: Float, low_along: Float, keep: Float, new: Float
) -> None:
    """Moves the fluxes towards the low ones, no further than new >= 0 needs [zalesak1979].

    The low fluxes alone keep densities non-negative. What a cell would lose through the differences between the fluxes
    is scaled to what the low fluxes leave in it. `keep` is room for a number in each cell.
    """
    rows, columns = density.shape
    for i in range(rows):
        for j in range(columns):
            left = density[i, j] - ((low_across[i + 1, j] - low_across[i, j]) + (low_along[i, j + 1] - low_along[i, j]))
            left = max(left, 0.0) * _USABLE_SHARE
            lost = (
                max(0.0, across[i + 1, j] - low_across[i + 1, j])
                + max(0.0, low_across[i, j] - across[i, j])
                + max(0.0, along[i, j + 1] - low_along[i, j + 1])
                + max(0.0, low_along[i, j] - along[i, j])
            )
            keep[i, j] = 1.0 if lost <= left else left / lost
    for face in range(rows + 1):
        for j in range(columns):
            more = across[face, j] - low_across[face, j]
            source = face - 1 if more > 0.0 else face
            across[face, j] = low_across[face, j] + more * (keep[source, j] if 0 <= source < rows else 1.0)
    for i in range(rows):
        for face in range(columns + 1):
            more = along[i, face] - low_along[i, face]
            source = face - 1 if more > 0.0 else face
            along[i, face] = low_along[i, face] + more * (keep[i, source] if 0 <= source < columns else 1.0)
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
