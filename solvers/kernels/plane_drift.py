"""Drifts in the cells of panels of the plane in compiled code: sums over all panels, continued by their closures.

`GridDensity.tilt` and `ClosedDensity.tilt` specify them. Work comes in pieces: those of `plane_sums`, and blocks of
rows, so that threads may share it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mfpde.compilation import kernel
from mfpde.solvers.kernels.cells import Cells, Heads
from mfpde.solvers.kernels.finite_volume_closure import ROOM, ClosureGaussian, add_outside
from mfpde.solvers.kernels.finite_volume_update import largest
from mfpde.solvers.kernels.line_slope import LARGEST_LOG
from mfpde.solvers.kernels.plane_closure import ClosureRoom, close_panel, closure_room, shares_of
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.plane_kernels import piece_room
from mfpde.transform.plane_sums import GridPair, PlaneSums, plan_sums, plane_sums, sum_piece
from mfpde.typing import AnyArray, Float

__all__ = [
    "BLOCK_CELLS",
    "DriftRoom",
    "PieceRoom",
    "add_head",
    "begin_rows",
    "drift_room",
    "is_zero",
    "join_rows",
    "panel_logs",
    "plan_source",
    "row_block",
    "row_blocks",
    "sees",
    "skip_source",
    "sum_source",
    "work_room",
]

BLOCK_CELLS = 2048  # cells of a block of rows, whose numbers stay in the cache
_LEAST_MASS = 1e-300  # about the smallest normal double: logarithms need normal numbers


class DriftRoom(NamedTuple):
    """What the drifts of a solution need; nothing in it outlives a call."""

    logs: Float  # log masses of cells, (panels, rows, columns)
    boxes: AnyArray  # rows and columns that hold all mass, (panels, 4)
    closures: ClosureRoom
    factored: Float  # log masses with a factor, (rows, columns)
    first: Float  # axes of the nodes about their middle
    second: Float
    sums: PlaneSums
    places: Float  # middle of the nodes, matrix and offset of the tilts, level of the factors, (8,)
    out: Float  # log M and means of one source, (3 rows columns,)
    peak: Float  # of all sources so far, (rows, columns)
    total: Float
    mean1: Float
    mean2: Float
    drift: Float  # (2, rows, columns), 0 without heads


class PieceRoom(NamedTuple):
    """What one piece of work needs."""

    sums: Float
    bounds: AnyArray
    places: Float
    tilts: Float  # of a block, (2, cells)
    found: Float  # log M and means there, (3, cells)
    outside: Float


def drift_room(panels: int, rows: int, columns: int) -> DriftRoom:
    """For so many panels of so many cells."""
    count, shape = max(rows, columns), (rows, columns)
    return DriftRoom(
        logs=np.zeros((panels, *shape)),
        boxes=np.zeros((panels, 4), dtype=np.int64),
        closures=closure_room(panels, count),
        factored=np.zeros(shape),
        first=np.zeros(count),
        second=np.zeros(count),
        sums=plane_sums(count),
        places=np.zeros(9),
        out=np.zeros(3 * rows * columns),
        peak=np.zeros(shape),
        total=np.zeros(shape),
        mean1=np.zeros(shape),
        mean2=np.zeros(shape),
        drift=np.zeros((2, *shape)),
    )


def work_room(rows: int, columns: int) -> PieceRoom:
    """For pieces of such panels."""
    count, cells = max(rows, columns), max(BLOCK_CELLS, columns)
    return PieceRoom(
        sums=piece_room(count, count, count),
        bounds=np.zeros((2, count), dtype=np.int64),
        places=np.zeros((2, count)),
        tilts=np.zeros((2, cells)),
        found=np.zeros((3, cells)),
        outside=np.zeros((ROOM, cells)),
    )


@kernel
def panel_logs(panel: int, density: Float, cells: Cells, room: DriftRoom) -> None:
    """Log masses of a panel, the box that holds them, and its closure."""
    volume, box = cells.widths[0] * cells.widths[1], room.boxes[panel]
    low, high, left, right = density.shape[0], 0, density.shape[1], 0
    for i in range(density.shape[0]):
        u, logs, begin, end = density[i], room.logs[panel, i], density.shape[1], 0
        some = largest(u) * volume
        for j in range(u.size):
            mass = u[j] * volume
            found = logarithm(max(mass, _LEAST_MASS))
            logs[j] = found if mass > _LEAST_MASS else -np.inf
        if some > _LEAST_MASS:
            low, high, begin, end = min(low, i), i + 1, 0, u.size
            while logs[begin] == -np.inf:
                begin += 1
            while logs[end - 1] == -np.inf:
                end -= 1
        left, right = min(left, begin), max(right, end)
    box[0], box[1], box[2], box[3] = low, high, left, right
    room.closures.shares[panel] = 0.0
    if cells.closed and low < high:
        close_panel(panel, density, cells, room.closures)


@kernel
def sees(panel: int, source: int, head: int, heads: Heads, cells: Cells, room: DriftRoom) -> bool:
    """Whether the sums of a panel go over another one."""
    if heads.masked[head] and cells.positions[source] > cells.positions[panel]:
        return False
    return bool(room.boxes[source, 0] < room.boxes[source, 1])


@kernel
def _factor(source: int, mean: Float, matrix: Float, form: Float, cells: Cells, room: DriftRoom) -> float:
    """factored = log masses with the factor `-<y, F y>` over the largest one; that."""
    largest = -np.inf
    for part in range(2):
        for i in range(cells.rows.size):
            line, logs = room.factored[i], room.logs[source, i]
            x1, x2 = mean[0] + matrix[0, 0] * cells.rows[i], mean[1] + matrix[1, 0] * cells.rows[i]
            for j in range(cells.axis.size):
                y1, y2 = x1 + matrix[0, 1] * cells.axis[j], x2 + matrix[1, 1] * cells.axis[j]
                g = -(form[0, 0] * y1 * y1 + (form[0, 1] + form[1, 0]) * y1 * y2 + form[1, 1] * y2 * y2)
                if part == 0:
                    largest = max(largest, g if logs[j] > -np.inf else -np.inf)
                else:
                    line[j] = logs[j] + (g - largest)
    return largest


@kernel
def is_zero(form: Float) -> bool:
    """Whether a head has no factor."""
    return bool(form[0, 0] == 0.0 and form[0, 1] == 0.0 and form[1, 0] == 0.0 and form[1, 1] == 0.0)


@kernel
def _pair(source: int, cells: Cells, room: DriftRoom) -> GridPair:
    """Queries in the cells, and the nodes of a source."""
    box, places = room.boxes[source], room.places
    matrix, offset = places[2:6].reshape(2, 2), places[6:8]
    return GridPair(
        matrix, offset, cells.rows, cells.axis, room.first[: box[1] - box[0]], room.second[: box[3] - box[2]]
    )


@kernel
def skip_source(room: DriftRoom) -> int:
    """Nothing is to be summed, in no pieces."""
    room.sums.chosen[5] = 0
    return 0


@kernel
def plan_source(
    panel: int, source: int, mean: Float, matrix: Float, query: Float, form: Float, cells: Cells, room: DriftRoom
) -> int:
    """Plan the sums over a source at the tilts `A x` in the cells of a panel; the number of pieces."""
    places, box, logs = room.places, room.boxes[source], room.logs[source]
    places[8] = 0.0
    if not is_zero(form):
        places[8] = _factor(source, mean[source], matrix[source], form, cells, room)
        logs = room.factored
    places[0] = 0.5 * (cells.rows[box[0]] + cells.rows[box[1] - 1])
    places[1] = 0.5 * (cells.axis[box[2]] + cells.axis[box[3] - 1])
    for i in range(box[1] - box[0]):
        room.first[i] = cells.rows[box[0] + i] - places[0]
    for j in range(box[3] - box[2]):
        room.second[j] = cells.axis[box[2] + j] - places[1]
    for i in range(2):  # S_q^T A (S_p, m_p)
        for j in range(3):
            total = 0.0
            for k in range(2):
                for m in range(2):
                    seen = mean[panel, m] if j == 2 else matrix[panel, m, j]
                    total += matrix[source, k, i] * query[k, m] * seen
            places[6 + i if j == 2 else 2 + 2 * i + j] = total
    for k in range(2, 8):
        if not math.isfinite(places[k]):
            return skip_source(room)
    return plan_sums(logs[box[0] : box[1], box[2] : box[3]], _pair(source, cells, room), room.sums)


@kernel
def sum_source(piece: int, source: int, cells: Cells, room: DriftRoom, work: PieceRoom) -> None:
    """One piece of the sums over a source."""
    rows, columns = (cells.rows.size, cells.axis.size) if room.sums.chosen[2] == 1 else (
        cells.axis.size, cells.rows.size)  # fmt: skip
    out = room.out.reshape(3, rows, columns)
    sum_piece(piece, _pair(source, cells, room), room.sums, work.sums, work.bounds, work.places, out)


@kernel
def row_blocks(cells: Cells) -> int:
    """In how many blocks of rows sums are joined."""
    height = max(1, BLOCK_CELLS // cells.axis.size)
    return (cells.rows.size + height - 1) // height


@kernel
def row_block(block: int, cells: Cells) -> tuple[int, int]:
    """Where a block starts and stops."""
    height = max(1, BLOCK_CELLS // cells.axis.size)
    return block * height, min((block + 1) * height, cells.rows.size)


@kernel
def _read(start: int, stop: int, cells: Cells, room: DriftRoom, work: PieceRoom) -> None:
    """found = what the sums have given in a block of rows; tilts = `S_q^T A x` there."""
    rows, columns, places = cells.rows.size, cells.axis.size, room.places
    turned = room.sums.chosen[2] == 0
    for part in range(3):
        for i in range(start, stop):
            line = work.found[part, (i - start) * columns : (i - start + 1) * columns]
            if turned:
                out = room.out.reshape(3, columns, rows)[part]
                for j in range(columns):
                    line[j] = out[j, i]
            else:
                row = room.out.reshape(3, rows, columns)[part, i]
                for j in range(columns):
                    line[j] = row[j]
    for i in range(start, stop):
        for k in range(2):
            line = work.tilts[k, (i - start) * columns : (i - start + 1) * columns]
            base, slope = places[6 + k] + places[2 + 2 * k] * cells.rows[i], places[3 + 2 * k]
            for j in range(columns):
                line[j] = base + slope * cells.axis[j]


@kernel
def join_rows(
    start: int,
    stop: int,
    source: int,
    mean: Float,
    matrix: Float,
    closed: bool,
    cells: Cells,
    room: DriftRoom,
    work: PieceRoom,
) -> None:
    """Add what a source gives in a block of rows to what others have given: `e^peak (total, mean1, mean2)`."""
    columns, places = cells.axis.size, room.places
    size = (stop - start) * columns
    _read(start, stop, cells, room, work)
    t1, t2 = work.tilts[0, :size], work.tilts[1, :size]
    value, one, other = work.found[0, :size], work.found[1, :size], work.found[2, :size]
    for k in range(size):  # in coordinates z
        value[k] += t1[k] * places[0] + t2[k] * places[1] + places[8]
        one[k] += places[0]
        other[k] += places[1]
    if closed:
        closures = room.closures
        log_share, middle, covariance = math.log(closures.shares[source]), closures.mean[source], closures.covariance
        gaussian = ClosureGaussian(log_share, closures.origin, closures.frame, middle, covariance[source])
        beyond = shares_of(source, 0, closures), shares_of(source, 1, closures)
        add_outside(t1, t2, gaussian, beyond[0], beyond[1], work.outside, value, one, other)
    base, frame = mean[source], matrix[source]
    volume = frame[0, 0] * frame[1, 1] - frame[0, 1] * frame[1, 0]
    # <w, m> = <t, S^{-1} m>
    shift1 = (frame[1, 1] * base[0] - frame[0, 1] * base[1]) / volume
    shift2 = (frame[0, 0] * base[1] - frame[1, 0] * base[0]) / volume
    for i in range(start, stop):
        here = (i - start) * columns
        v, a, b, w1, w2 = (
            value[here : here + columns],
            one[here : here + columns],
            other[here : here + columns],
            t1[here : here + columns],
            t2[here : here + columns],
        )
        peak, total, mean1, mean2 = room.peak[i], room.total[i], room.mean1[i], room.mean2[i]
        for j in range(columns):
            level = v[j] + (w1[j] * shift1 + w2[j] * shift2)
            y1 = base[0] + frame[0, 0] * a[j] + frame[0, 1] * b[j]
            y2 = base[1] + frame[1, 0] * a[j] + frame[1, 1] * b[j]
            top = max(level, peak[j])
            old, new = exponential(peak[j] - top), exponential(level - top)
            peak[j] = top
            total[j] = old * total[j] + new
            mean1[j] = old * mean1[j] + new * y1
            mean2[j] = old * mean2[j] + new * y2


@kernel
def begin_rows(start: int, stop: int, room: DriftRoom) -> None:
    """Nothing has been summed."""
    for i in range(start, stop):
        peak, total, mean1, mean2 = room.peak[i], room.total[i], room.mean1[i], room.mean2[i]
        for j in range(peak.size):
            peak[j], total[j], mean1[j], mean2[j] = -1e300, 0.0, 0.0, 0.0


@kernel
def add_head(start: int, stop: int, value: Float, normalised: bool, first: bool, room: DriftRoom) -> None:
    """drift += V times the means of a head, from 0 for the first one."""
    for i in range(start, stop):
        peak, total, mean1, mean2 = room.peak[i], room.total[i], room.mean1[i], room.mean2[i]
        one, other = room.drift[0, i], room.drift[1, i]
        for j in range(peak.size):
            if normalised:
                factor = 1.0 / total[j]
            else:
                factor = exponential(min(peak[j], LARGEST_LOG)) if peak[j] <= LARGEST_LOG else np.inf
            a, b = factor * mean1[j], factor * mean2[j]
            before, beside = 0.0 if first else one[j], 0.0 if first else other[j]
            one[j] = before + (value[0, 0] * a + value[0, 1] * b)
            other[j] = beside + (value[1, 0] * a + value[1, 1] * b)
