"""Forces of interactions on the cells of the plane that need no sums over pairs: of a quadratic W, and of U."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.programs import POINTS_PER_BLOCK, Program, program_slopes
from mfpde.typing import Float

__all__ = ["add_outer_forces"]


@kernel
def add_outer_forces(
    rows: Float,
    axis: Float,
    frame: tuple[Float, Float],
    centre: Float,
    stiffness: float,
    outer: Program,
    room: tuple[Float, Float],
    drift: Float,
) -> None:
    """drift `(2, rows, columns)` += `stiffness (x - centre) + grad U` at `x = m + S z`; room for x and its drift at a
    block of points `(2, 2, points)`, and for the program."""
    (mean, matrix), (points, answers) = frame, (room[0][0], room[0][1])
    for i in range(rows.size):
        for low in range(0, axis.size, POINTS_PER_BLOCK):
            count = min(POINTS_PER_BLOCK, axis.size - low)
            for k in range(2):
                x, found, start = points[k], answers[k], mean[k] + matrix[k, 0] * rows[i]
                for j in range(count):
                    x[j] = start + matrix[k, 1] * axis[low + j]
                    found[j] = stiffness * (x[j] - centre[k])
            program_slopes(outer, points, count, room[1], answers)
            for k in range(2):
                out, found = drift[k, i, low : low + count], answers[k]
                for j in range(count):
                    out[j] += found[j]
