"""Attention as it is usually written, in double precision."""

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Direct = Callable[[Array, Array, Array], Array]


@numba.njit
def naive_plane(axis: Array, masses: Array, matrix: Array, rows: Array) -> Array:
    """Four loops, one exponential for each pair."""
    out = np.empty((rows.size, axis.size, 2))
    for i in range(rows.size):
        for j in range(axis.size):
            w1 = matrix[0, 0] * rows[i] + matrix[0, 1] * axis[j]
            w2 = matrix[1, 0] * rows[i] + matrix[1, 1] * axis[j]
            total, first, second = 0.0, 0.0, 0.0
            for k in range(axis.size):
                for m in range(axis.size):
                    e = masses[k, m] * math.exp(w1 * axis[k] + w2 * axis[m])
                    total += e
                    first += e * axis[k]
                    second += e * axis[m]
            out[i, j, 0], out[i, j, 1] = first / total, second / total
    return out


@numba.njit(fastmath=True)
def factored_plane(axis: Array, masses: Array, matrix: Array, rows: Array) -> Array:
    """Exact, the exponentials of each axis outside the double loop; fastmath lets its sums vectorise."""
    out = np.empty((rows.size, axis.size, 2))
    e1, e2 = np.empty(axis.size), np.empty(axis.size)
    moment = np.empty(axis.size)
    for i in range(rows.size):
        for j in range(axis.size):
            w1 = matrix[0, 0] * rows[i] + matrix[0, 1] * axis[j]
            w2 = matrix[1, 0] * rows[i] + matrix[1, 1] * axis[j]
            for k in range(axis.size):
                e1[k], e2[k] = math.exp(w1 * axis[k]), math.exp(w2 * axis[k])
                moment[k] = e2[k] * axis[k]
            total, first, second = 0.0, 0.0, 0.0
            for k in range(axis.size):
                row, row_total, row_second = masses[k], 0.0, 0.0
                for m in range(axis.size):
                    row_total += row[m] * e2[m]
                    row_second += row[m] * moment[m]
                total += e1[k] * row_total
                first += e1[k] * axis[k] * row_total
                second += e1[k] * row_second
            out[i, j, 0], out[i, j, 1] = first / total, second / total
    return out


@numba.njit
def naive_line(axis: Array, masses: Array, strength: float, rows: Array) -> Array:
    """Two loops, one exponential for each pair."""
    out = np.empty(rows.size)
    for i in range(rows.size):
        total, first = 0.0, 0.0
        for k in range(axis.size):
            e = masses[k] * math.exp(strength * rows[i] * axis[k])
            total += e
            first += e * axis[k]
        out[i] = first / total
    return out


def with_numpy(queries: Array, nodes: Array, masses: Array) -> Array:
    """The matrix of scores in memory, worked on in place."""
    scores = queries @ nodes.T
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    sums = scores @ np.concatenate([masses[:, None], masses[:, None] * nodes], axis=1)
    return sums[:, 1:] / sums[:, :1]


def contestants() -> dict[str, Direct]:
    """NumPy, and PyTorch and KeOps if they are there; one thread each."""
    found: dict[str, Direct] = {"NumPy": with_numpy}
    try:
        import torch
    except ImportError:
        return found
    torch.set_num_threads(1)

    def with_torch(queries: Array, nodes: Array, masses: Array) -> Array:
        x, y, m = (torch.from_numpy(array) for array in (queries, nodes, masses))
        weights = torch.softmax(x @ y.T + torch.log(m), dim=1)
        return np.asarray((weights @ y).numpy())

    found["PyTorch"] = with_torch
    try:
        from pykeops.torch import LazyTensor
    except ImportError:
        return found

    def with_keops(queries: Array, nodes: Array, masses: Array) -> Array:
        x, y, m = (torch.from_numpy(array) for array in (queries, nodes, masses))
        values = LazyTensor(y[None])
        scores = (LazyTensor(x[:, None, :]) * values).sum(-1) + LazyTensor(torch.log(m)[None, :, None])
        return np.asarray(scores.sumsoftmaxweight(values, axis=1).numpy())

    found["KeOps"] = with_keops
    return found
