"""The Gaussians that continue panels of the plane outside of their cells (`gaussian_closure.py` specifies them)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import MOMENTS, Cells, cell_moments, invert
from mfpde.solvers.kernels.finite_volume_closure import (
    GAUSSIAN_FLOOR,
    NEGLIGIBLE_DEVIATIONS,
    POLYNOMIALS_PER_DEVIATION,
    RING_FRACTIONS,
    SHARE_BOUNDS,
    SHARE_MAX,
    TERMS,
    Shares,
)
from mfpde.transform.exponential import exponential
from mfpde.typing import Float

__all__ = ["ClosureRoom", "close_panel", "closure_room", "shares_of", "tabulate_shares"]

_FINER_MAX = 16  # places of a table for each cell: with more, panels are narrower than cells resolve


class ClosureRoom(NamedTuple):
    """Closures of all panels, and what finding one needs."""

    shares: Float  # of the Gaussian, (panels,); 0 is none
    mean: Float  # (panels, 2)
    covariance: Float  # (panels, 2, 2)
    tables: Float  # of shares beyond the ends of both axes, (panels, 2, places, TERMS)
    places: Float  # how many, where the first is, and how many there are per unit, (panels, 2, 3)
    running: Float  # (TERMS + 1, nodes)
    moments: Float
    inverse: Float
    origin: Float  # of the coordinates z in themselves
    frame: Float


def closure_room(panels: int, count: int) -> ClosureRoom:
    """For so many panels of so many cells along the longer axis."""
    most = 2 * math.ceil(NEGLIGIBLE_DEVIATIONS * (POLYNOMIALS_PER_DEVIATION + _FINER_MAX))
    return ClosureRoom(
        shares=np.zeros(panels),
        mean=np.zeros((panels, 2)),
        covariance=np.zeros((panels, 2, 2)),
        tables=np.zeros((panels, 2, _FINER_MAX * count + 2 * most, TERMS)),
        places=np.zeros((panels, 2, 3)),
        running=np.zeros((TERMS + 1, math.ceil(NEGLIGIBLE_DEVIATIONS * count) + 2 * most)),
        moments=np.zeros(MOMENTS),
        inverse=np.zeros((2, 2)),
        origin=np.zeros(2),
        frame=np.eye(2),
    )


@kernel
def _sum_derivatives(x: float, small: float, height: float, column: int, behind: int, running: Float) -> None:
    """Derivatives of a Gaussian at x over their factorials, times powers of the spacing, added to those of the node
    `behind`."""
    before, here = 0.0, height * exponential(-0.5 * x * x)
    for n in range(1, TERMS + 1):
        running[n - 1, column] = here + (running[n - 1, behind] if behind >= 0 else 0.0)
        before, here = here, small / n * (x * here - small * before)


@kernel
def tabulate_shares(axis: Float, width: float, variance: float, running: Float, table: Float, places: Float) -> None:
    """Rows of `gaussian_closure.shares_beyond`: the share of a Gaussian outside of the cells of an axis."""
    deviation = math.sqrt(variance)
    finer = min(max(1, math.ceil(POLYNOMIALS_PER_DEVIATION * width / deviation)), _FINER_MAX)
    fewer = max(1, int(deviation / (POLYNOMIALS_PER_DEVIATION * width)))
    step = width / finer
    far = math.ceil(NEGLIGIBLE_DEVIATIONS * deviation / step)
    size = (2 * far + finer) // finer * finer
    small, height = fewer * step / deviation, width / deviation / math.sqrt(2.0 * math.pi)
    for i in range(size):
        _sum_derivatives((i - far) * (step / deviation), small, height, i, i - finer, running)
    last_cell = (axis.size - 1) * finer
    count = (last_cell + 2 * far + fewer + fewer - 1) // fewer
    for row in range(count):
        place = row * fewer - far
        for k in range(TERMS):
            table[row, k] = 1.0 if k == 0 else 0.0
        for part in range(2):
            index = (last_cell if part == 1 else -finer) - place + far
            if index >= 0:
                # beyond the last node of its kind sums do not change any more
                index = min(index, size - 1 - (size - 1 - index) % finer)
                for k in range(TERMS):
                    table[row, k] += (1.0 if part == 0 else -1.0) * running[k, index]
    places[0], places[1], places[2] = count, axis[0] - far * step, 1.0 / (fewer * step)


@kernel
def shares_of(panel: int, axis: int, room: ClosureRoom) -> Shares:
    """As `add_outside` takes them."""
    count, start, per_unit = room.places[panel, axis]
    return Shares(room.tables[panel, axis, : int(count)], start, per_unit)


@kernel
def _ratio(density: Float, direction: int, end: int, cells: Cells, closure: int, room: ClosureRoom) -> float:
    """Of a density to its Gaussian, summed over a row or a column of cells."""
    mean, inverse, total, gaussian = room.mean[closure], room.inverse, 0.0, 0.0
    length = cells.axis.size if direction == 0 else cells.rows.size
    for k in range(length):
        i, j = (end, k) if direction == 0 else (k, end)
        x, y = cells.rows[i] - mean[0], cells.axis[j] - mean[1]
        total += density[i, j]
        square = inverse[0, 0] * x * x + (inverse[0, 1] + inverse[1, 0]) * x * y + inverse[1, 1] * y * y
        gaussian += exponential(-0.5 * square)
    return total / gaussian if gaussian > GAUSSIAN_FLOOR else 0.0


@kernel
def close_panel(panel: int, density: Float, cells: Cells, room: ClosureRoom) -> None:
    """The closure of a panel: its share, mean and covariance, and where they are not those of N(0, I), tables."""
    moments, mean, covariance = room.moments, room.mean[panel], room.covariance[panel]
    cell_moments(density, cells.rows, cells.axis, moments)
    known = covariance[0, 0] == 1.0 and room.places[panel, 0, 0] > 0.0
    mean[0], mean[1] = moments[2], moments[1]
    covariance[0, 0], covariance[1, 1] = moments[5], moments[3]
    covariance[0, 1] = covariance[1, 0] = moments[4]
    if cells.gaussian:
        mean[0], mean[1] = 0.0, 0.0
        covariance[0, 0], covariance[1, 1] = 1.0, 1.0
        covariance[0, 1] = covariance[1, 0] = 0.0
    invert(covariance, room.inverse)
    least, most = np.inf, 0.0
    for direction in range(2):
        count = cells.rows.size if direction == 0 else cells.axis.size
        for fraction in range(2):
            inset = count // RING_FRACTIONS[fraction]
            for side in range(2):
                ratio = _ratio(density, direction, inset if side == 0 else count - 1 - inset, cells, panel, room)
                least = min(least, ratio)
                if fraction == 1:
                    most = max(most, ratio)
    size = covariance[0, 0] * covariance[1, 1] - covariance[0, 1] * covariance[1, 0]
    unit, mass = 2.0 * math.pi * math.sqrt(size), moments[0] * cells.widths[0] * cells.widths[1]
    share = least * unit
    if not SHARE_BOUNDS[0] * mass <= share <= SHARE_BOUNDS[1] * mass:
        share = 0.0
    room.shares[panel] = min(most * unit, SHARE_MAX * mass) if cells.heaviest else share
    if room.shares[panel] > 0.0 and not (cells.gaussian and known):
        tables, places = room.tables[panel], room.places[panel]
        tabulate_shares(cells.rows, cells.widths[0], covariance[0, 0], room.running, tables[0], places[0])
        tabulate_shares(cells.axis, cells.widths[1], covariance[1, 1], room.running, tables[1], places[1])
