"""Kernels against Python's own reading of them: indices, slices, ranges, tuples, variables of branches."""

from typing import NamedTuple

import numpy as np
import pytest

from mfpde.compilation import kernel


class Room(NamedTuple):
    table: np.ndarray
    row: np.ndarray
    shift: int


class Rooms(NamedTuple):
    inner: Room
    name: float


@kernel
def _inner(room, out):
    rows, columns = room.table.shape
    for i in range(rows):
        line = room.table[i]
        for j in range(columns):
            out[0] += (i + 1) * (j + 2) * line[j] + room.row[j + room.shift]
    return room.table.size


@kernel
def _walk(rooms, start, stop, out):
    room = rooms.inner
    out[1] = _inner(room, out)
    part = room.row[start:stop]
    out[2] = part.size
    for k in range(start, stop):
        out[3] += k
    for k in range(stop, start, -2):
        out[4] += k * k
    for k in range(part.size):
        out[5] += (k + 1) * part[k]
    block = room.table[start:, 1:stop]
    out[6], out[7] = block.shape
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            out[8] += (i + 1) * (j + 3) * block[i, j]
    column = room.table[:, -1]
    for i in range(column.size):
        out[9] += (i + 1) * column[i]
    if start > 1:
        chosen, weight = room.table[-1], 2.0
    else:
        chosen, weight = room.row[::2], 3.0
    out[10] = weight * chosen[1] + rooms.name
    pair = Room(room.table, chosen, 0)
    out[11] = pair.row[0] + pair.table[start % 2][-2]
    square = room.row[:4].reshape(2, 2)
    square[1, 0] += start
    out[12] = square[-1, -2]
    return out[12]


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (2, 9), (-3, -1), (3, 1), (-20, 20), (1, 1)])
def test_kernels_do_what_python_does(start, stop):
    answers = []
    for function in (_walk, _walk.py_func):
        table, row = np.arange(15.0).reshape(3, 5) ** 2, np.sin(np.arange(12.0))
        out = np.zeros(13)
        returned = function(Rooms(Room(table, row, 2), 0.5), start, stop, out)
        answers.append(np.array([*out, *row, returned]))
    assert np.allclose(*answers, rtol=1e-14, atol=0)


def test_what_a_kernel_calls_does_what_python_does():
    room, sums = Room(np.arange(15.0).reshape(3, 5), np.sin(np.arange(12.0)), -7), np.zeros((2, 1))
    assert _inner(room, sums[0]) == _inner.py_func(room, sums[1]) == 15
    assert sums[0] == pytest.approx(sums[1], rel=1e-14)
