"""Queries and nodes on grids of the line and the plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.transform.chebyshev import check_finite
from mfpde.transform.direct import PAIR_NANOSECONDS, has_mass, log_of, over_largest, plain, tilted_mean_directly
from mfpde.transform.line import tilted_mean_on_line
from mfpde.transform.plane_grid import evaluate_plan, make_plan
from mfpde.transform.plane_rows import evaluate_rows, make_row_plan
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_mean_on_grid"]

_CELLS_PER_PIECE = 1 << 14  # whose numbers stay in the cache
_COLUMNS_PER_PIECE = 32  # of a transpose


def tilted_mean_on_grid(
    axes: Sequence[Float],
    masses: Float,
    matrix: Float,
    offset: Float | None = None,
    query_axes: Sequence[Float] | None = None,
    log_factors: Float | None = None,
) -> tuple[Float, Float]:
    """`(grad log M(Ax + b), log M(Ax + b))` for `M(w) = sum_j m_j e^{f_j + <w, y_j>}`, y on the tensor grid of `axes`.

    x runs over the grid of `query_axes` (the same grid if None), one or two ascending axes; `matrix` is A, `(d, d)`,
    `offset` b, `log_factors` f (0 if None), shaped as the masses. The mean comes as `(d, n_1, ..)`, the logarithm as
    `(n_1, ..)`. A grid in a moving frame, `y = m + S z`, is a grid in z with matrix `S^T A S` and offset `S^T A m`.

    The sum is direct where that is cheaper: small grids, or |A| L^2 beyond some thousands.
    """
    axes, masses, matrix = [plain(axis) for axis in axes], plain(masses), plain(matrix)
    queries = axes if query_axes is None else [plain(axis) for axis in query_axes]
    shift = np.zeros(len(axes)) if offset is None else plain(offset)
    check_finite(matrix)
    check_finite(shift)
    axes, masses, log_factors = _cropped(axes, masses, log_factors)
    log_factors, common = over_largest(log_factors)
    if len(axes) == 1:
        points = matrix[0, 0] * queries[0] + shift[0]
        mean, log_mass = tilted_mean_on_line(points, axes[0], masses, log_factors)
        return mean[None], _raised(log_mass, common)
    centre = np.array([0.5 * (axis[0] + axis[-1]) for axis in axes])
    centred = (axes[0] - centre[0], axes[1] - centre[1])
    across = (queries[0], queries[1])
    plan, rows = make_plan(centred, across, matrix, shift), make_row_plan(centred, across, matrix)
    pairs = masses.size * queries[0].size * queries[1].size
    if min(plan.cost, rows.cost) > PAIR_NANOSECONDS * pairs:
        mean, log_mass = _on_points(axes, masses, queries, matrix, shift, log_factors)
        return mean, _raised(log_mass, common)
    chosen = plan if plan.cost < rows.cost else rows
    log_masses = _logarithms(masses, log_factors, chosen.row)
    if plan.cost < rows.cost:
        out = evaluate_plan(plan, centred, across, log_masses, float(matrix[plan.row, plan.column]))
    else:
        out = evaluate_rows(rows, centred, across, log_masses, matrix, shift)
    out = out if chosen.column == 1 else _transposed(out)
    mean, log_mass = out[1:], out[0]
    if centre.any():
        w_centre = [matrix[:, i] @ centre * queries[i] for i in range(2)]
        log_mass += w_centre[0][:, None] + (w_centre[1] + shift @ centre)
        mean += centre[:, None, None]
    return mean, _raised(log_mass, common)


def _logarithms(masses: Float, log_factors: Float | None, row: int) -> Float:
    """log m + f, with the axis `row` first."""
    transposed = masses if row == 0 else masses.T
    logs, blocks = (
        np.empty(transposed.shape),
        pieces(transposed.shape[0], max(1, _CELLS_PER_PIECE // transposed.shape[1])),
    )

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        logs[here] = log_of(transposed[here])
        if log_factors is not None:
            logs[here] += (log_factors if row == 0 else log_factors.T)[here]

    run_pieces(work, len(blocks))
    return logs


def _transposed(fields: Float) -> Float:
    """Transpose of each part of `(parts, n, m)`, in blocks of columns that stay in the cache."""
    parts, rows, columns = fields.shape
    transposed, blocks = np.empty((parts, columns, rows)), pieces(columns, _COLUMNS_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        transposed[:, here] = fields[:, :, here].transpose(0, 2, 1)

    run_pieces(work, len(blocks))
    return transposed


def _raised(log_mass: Float, common: float) -> Float:
    return log_mass + common if common != 0.0 else log_mass


def _cropped(axes: list[Float], masses: Float, log_factors: Float | None) -> tuple[list[Float], Float, Float | None]:
    """The box that holds all mass."""
    there = has_mass(masses, log_factors)
    if there.all() or not there.any():
        return axes, masses, log_factors
    used = [np.flatnonzero(there.any(axis=1 - k) if len(axes) == 2 else there) for k in range(len(axes))]
    box = tuple(slice(places[0], places[-1] + 1) for places in used)
    cropped = [plain(axis[places]) for axis, places in zip(axes, box, strict=True)]
    return cropped, plain(masses[box]), None if log_factors is None else log_factors[box]


def _on_points(
    axes: Sequence[Float],
    masses: Float,
    queries: Sequence[Float],
    matrix: Float,
    offset: Float,
    log_factors: Float | None,
) -> tuple[Float, Float]:
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.stack(np.meshgrid(*queries, indexing="ij"), axis=-1).reshape(-1, 2)
    factors = None if log_factors is None else log_factors.ravel()
    mean, log_mass = tilted_mean_directly(points @ matrix.T + offset, nodes, masses.ravel(), factors)
    shape = (queries[0].size, queries[1].size)
    return np.ascontiguousarray(mean.T).reshape(2, *shape), log_mass.reshape(shape)
