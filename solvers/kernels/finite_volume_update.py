"""From fluxes to new densities: conservative, and never negative without anything being cut off."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float

__all__ = ["combine", "limit", "outflow", "update"]


@kernel
def combine(stages: Float, weights: Float, out: Float) -> None:
    """out = sum_s weights[s] stages[s], in the order of the stages; zero weights are skipped."""
    for i in range(out.size):
        out[i] = 0.0
    for stage in range(weights.size):
        weight, row = weights[stage], stages[stage]
        if weight != 0.0:
            for i in range(out.size):
                out[i] += weight * row[i]


@kernel
def update(density: Float, across: Float, along: Float, new: Float) -> float:
    """new = density - differences of the fluxes (which carry dt / h); the smallest value."""
    rows, columns = density.shape
    least = 0.0
    for i in range(rows):
        u, out, below, above, row = density[i], new[i], across[i], across[i + 1], along[i]
        left, right = row[:columns], row[1:]
        for j in range(columns):
            out[j] = u[j] - ((above[j] - below[j]) + (right[j] - left[j]))
        for j in range(columns):
            least = min(least, out[j])
    return least


@kernel
def limit(
    density: Float,
    across: Float,
    along: Float,
    low_across: Float,
    low_along: Float,
    share: float,
    new: Float,
    keep: Float,
) -> None:
    """Moves the fluxes towards `share` times the low ones, no further than new >= 0 needs [zalesak1979].

    The low fluxes alone keep densities non-negative (upwind, within the step limit). What a cell would lose through the
    differences between the fluxes is scaled to what the low fluxes leave in it. `keep` is room for one number a cell.
    """
    rows, columns = density.shape
    update(density, across, along, new)
    for i in range(rows):
        for j in range(columns):
            left = density[i, j] - share * (
                (low_across[i + 1, j] - low_across[i, j]) + (low_along[i, j + 1] - low_along[i, j])
            )
            lost = (
                max(0.0, across[i + 1, j] - share * low_across[i + 1, j])
                + max(0.0, share * low_across[i, j] - across[i, j])
                + max(0.0, along[i, j + 1] - share * low_along[i, j + 1])
                + max(0.0, share * low_along[i, j] - along[i, j])
            )
            # one unit in the last place is left for the roundoff of the update
            keep[i, j] = 1.0 if lost <= max(left, 0.0) * 0.9999999999 else max(left, 0.0) * 0.9999999999 / lost
    for face in range(1, rows):
        for j in range(columns):
            low = share * low_across[face, j]
            more = across[face, j] - low
            across[face, j] = low + more * (keep[face - 1, j] if more > 0.0 else keep[face, j])
    for i in range(rows):
        for face in range(1, columns):
            low = share * low_along[i, face]
            more = along[i, face] - low
            along[i, face] = low + more * (keep[i, face - 1] if more > 0.0 else keep[i, face])
    update(density, across, along, new)


@kernel
def outflow(speeds: Float, widths: Float) -> float:
    """The largest share of a cell that upwind fluxes take out per unit time; speeds `(d, rows, columns)`.

    On the line the only direction is along rows, and `widths` has one entry.
    """
    directions, rows, columns = speeds.shape
    largest = 0.0
    along = speeds[directions - 1]
    for i in range(rows):
        for j in range(columns):
            here = along[i, j]
            right = 0.5 * (here + along[i, j + 1]) if j + 1 < columns else 0.0
            left = 0.5 * (here + along[i, j - 1]) if j > 0 else 0.0
            share = (max(right, 0.0) + max(-left, 0.0)) / widths[directions - 1]
            if directions == 2:
                across = speeds[0]
                here = across[i, j]
                above = 0.5 * (here + across[i + 1, j]) if i + 1 < rows else 0.0
                below = 0.5 * (here + across[i - 1, j]) if i > 0 else 0.0
                share += (max(above, 0.0) + max(-below, 0.0)) / widths[0]
            largest = max(largest, share)
    return largest
