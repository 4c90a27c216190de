"""Convolutions on a torus of the plane, wave by wave, in compiled code.

Waves are `e^{i <k, x>}`, `k = 2 pi M^T (w_1, w_2)`, w in turns from node to node, M the inverse of the steps between
nodes; of real fields those with w_1 >= 0 are enough. Transforms go along one axis at a time, of many lines at once, and
only of lines that are not zero, or that are kept. Of two real lines, one is the real part and one the imaginary part of
what is transformed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.transform.ring_fourier import transform_rings
from mfpde.typing import Float

__all__ = ["ACT", "ALL", "ANALYSE", "RESTORE", "Waves", "convolve", "lines_of", "wave_factors"]

ALL, ANALYSE, ACT, RESTORE = range(4)  # what a call does


class Waves(NamedTuple):
    """A torus, and what acts on it."""

    row_roots: Float  # `ring_roots` of the number of rows
    column_roots: Float
    inverse: Float  # M
    factors: Float  # of each wave, `(columns, rows // 2 + 1)`
    slopes: bool  # whether the gradient of the convolution is asked for


@kernel
def _turns(index: int, count: int) -> float:
    """From node to node, of a wave."""
    return (index if 2 * index < count else index - count) / count


@kernel
def wave_factors(
    table: Float, spacing: float, inverse: Float, rows: int, scale: float, laplacian: bool, out: Float
) -> None:
    """out `(columns, rows // 2 + 1)` = scale times a function of |k|, in each interval of that length a row of
    coefficients of powers of the place in it, from -1 to 1, or its product with -k^2; 0 for the shortest waves, which
    have no side to which they move."""
    columns, waves = out.shape
    across, last = 2.0 * math.pi / spacing, table.shape[0] - 1
    for i in range(columns):
        second = across * _turns(i, columns)
        for j in range(waves):
            first = across * j / rows
            x = inverse[0, 0] * first + inverse[1, 0] * second
            y = inverse[0, 1] * first + inverse[1, 1] * second
            place = math.sqrt(fused(x, x, y * y))
            interval = min(int(place), last)
            row, t = table[interval], 2.0 * (place - interval) - 1.0
            value = row[row.size - 1]
            for power in range(row.size - 2, -1, -1):
                value = fused(value, t, row[power])
            out[i, j] = scale * (-value * (spacing * place) ** 2 if laplacian else value)
        if rows % 2 == 0:
            out[i, waves - 1] = 0.0
    for j in range(waves if columns % 2 == 0 else 0):
        out[columns // 2, j] = 0.0


@kernel
def lines_of(kind: int, columns: int, kept: int, waves: int) -> int:
    """Of a part, which calls may share: pairs of columns, waves, columns that are kept."""
    return (columns + 1) // 2 if kind == ANALYSE else waves if kind == ACT else kept


@kernel
def _analyse(masses: Float, begin: int, first: int, stop: int, roots: Float, room: Float, out: Float) -> None:
    """out `(2, columns, waves)` = transforms of some pairs of columns, whose first row has that place."""
    length, (rows, columns), half, lanes = roots.shape[1], masses.shape, (masses.shape[1] + 1) // 2, stop - first
    size = 2 * length * lanes
    data, work = room[0, :size].reshape(2, length * lanes), room[1, :size].reshape(2, length * lanes)
    for place in range(size):
        room[0, place] = 0.0
    for row in range(rows):
        start = (row + begin) % length * lanes
        for lane in range(lanes):
            data[0, start + lane] = masses[row, first + lane]
            if first + lane + half < columns:
                data[1, start + lane] = masses[row, first + lane + half]
    found = work if transform_rings(data, work, roots, lanes) else data
    for lane in range(lanes):
        column = first + lane
        for k in range(out.shape[2]):
            here, there = k * lanes + lane, (length - k) % length * lanes + lane
            ar, ai, br, bi = found[0, here], found[1, here], found[0, there], found[1, there]
            out[0, column, k], out[1, column, k] = 0.5 * (ar + br), 0.5 * (ai - bi)
            if column + half < columns:
                out[0, column + half, k], out[1, column + half, k] = 0.5 * (ai + bi), 0.5 * (br - ar)


@kernel
def _multiply(spectrum: Float, first: int, lanes: int, parts: int, waves: Waves, out: Float) -> None:
    """out = some lanes of waves times what acts on them, for each part; real and imaginary parts are exchanged, as the
    inverse transform wants them."""
    length, inverse = waves.column_roots.shape[1], waves.inverse
    turn, step = 2.0 * math.pi, 2.0 * math.pi / waves.row_roots.shape[1]
    for w in range(length):
        start, end, factors = w * lanes, (w + 1) * lanes, waves.factors[w, first : first + lanes]
        real, imaginary = spectrum[0, start:end], spectrum[1, start:end]
        for part in range(parts):
            start = (w * parts + part) * lanes
            out_imaginary, out_real = out[0, start : start + lanes], out[1, start : start + lanes]
            if waves.slopes:  # i k, of which each part grows evenly along the lanes
                begun, along = turn * _turns(w, length) * inverse[1, part], step * inverse[0, part]
                for lane in range(lanes):
                    k = factors[lane] * fused(along, float(first + lane), begun)
                    out_real[lane], out_imaginary[lane] = -k * imaginary[lane], k * real[lane]
            else:
                for lane in range(lanes):
                    out_real[lane], out_imaginary[lane] = factors[lane] * real[lane], factors[lane] * imaginary[lane]


@kernel
def _act(given: Float, begin: int, first: int, stop: int, waves: Waves, room: Float, out: Float) -> None:
    """out `(parts, 2, kept, waves)` = some waves of rows, transformed along the columns, multiplied, and restored;
    the first column has that place."""
    roots, lanes, parts = waves.column_roots, stop - first, out.shape[0]
    length = roots.shape[1]
    size, width = length * lanes, lanes * parts
    data, work = room[0, : 2 * size].reshape(2, size), room[1, : 2 * size].reshape(2, size)
    for place in range(2 * size):
        room[0, place] = 0.0
    for column in range(given.shape[1]):
        start = (column + begin) % length * lanes
        for part in range(2):
            line, placed = given[part, column, first:stop], data[part, start : start + lanes]
            for lane in range(lanes):
                placed[lane] = line[lane]
    source = 1 if transform_rings(data, work, roots, lanes) else 0
    spectrum, size = room[source, : 2 * size].reshape(2, size), length * width
    data, work = room[1 - source, : 2 * size].reshape(2, size), room[source, : 2 * size].reshape(2, size)
    _multiply(spectrum, first, lanes, parts, waves, data)
    found = work if transform_rings(data, work, roots, width) else data
    for part in range(parts):
        for column in range(out.shape[2]):
            start = column * width + part * lanes
            for lane in range(lanes):
                out[part, 0, column, first + lane] = found[1, start + lane]
                out[part, 1, column, first + lane] = found[0, start + lane]


@kernel
def _restore(given: Float, first: int, stop: int, roots: Float, columns: int, room: Float, out: Float) -> None:
    """out `(parts, rows, kept)` = some columns of what these waves are of, as far as they are kept."""
    length, lanes, (parts, _, _, waves) = roots.shape[1], stop - first, given.shape
    size, scale = length * lanes, 1.0 / (float(length) * columns)
    data, work = room[0, : 2 * size].reshape(2, size), room[1, : 2 * size].reshape(2, size)
    for lane in range(lanes):
        one, other = given[0, :, first + lane], given[parts - 1, :, first + lane]
        for k in range(waves):
            here, there = k * lanes + lane, (length - k) % length * lanes + lane
            ar, ai = scale * one[0, k], scale * one[1, k]
            br, bi = (scale * other[0, k], scale * other[1, k]) if parts == 2 else (0.0, 0.0)
            if here == there:
                data[1, here], data[0, here] = ar, br
            else:
                data[1, here], data[0, here] = ar - bi, ai + br
                data[1, there], data[0, there] = ar + bi, br - ai
    found = work if transform_rings(data, work, roots, lanes) else data
    for row in range(out.shape[1]):
        for part in range(parts):
            for lane in range(lanes):
                out[part, row, first + lane] = found[1 - part, row * lanes + lane]


@kernel
def convolve(kind: int, first: int, stop: int, most: int, masses: Float, begins: tuple[int, int], waves: Waves,
             rooms: tuple[Float, Float, Float], out: Float) -> None:  # fmt: skip
    """out `(parts, rows, columns)` = the convolution, of masses on a lattice, at the first nodes of the torus, of which
    that of the masses has the places `begins`; or a part of that, of some lines. At most so many lines go at once."""
    analysed, moved, room = rooms
    columns = waves.column_roots.shape[1]
    for each in range(ANALYSE, RESTORE + 1):
        if kind not in (ALL, each):
            continue
        low, high = first, stop
        if kind == ALL:
            low, high = 0, lines_of(each, masses.shape[1], out.shape[2], analysed.shape[2])
        calls = max(1, -(-(high - low) // most))
        step = max(1, -(-(high - low) // calls))  # lines are shared evenly: few take as long as many
        for begin in range(low, high, step):
            end = min(begin + step, high)
            if each == ANALYSE:
                _analyse(masses, begins[0], begin, end, waves.row_roots, room, analysed)
            elif each == ACT:
                _act(analysed, begins[1], begin, end, waves, room, moved)
            else:
                _restore(moved, begin, end, waves.row_roots, columns, room, out)
