"""The kernels of relu and sigmoid attention: `sum_j m_j k(<w, y_j>) y_j` and its derivative in w."""

from __future__ import annotations

import numpy as np

from mfpde.ranks import shared
from mfpde.transform.direct import gathered, plain
from mfpde.transform.half_planes import relu_in_plane
from mfpde.transform.logistic import sum_by_panels
from mfpde.transform.pairwise_kernels import sum_over_pairs
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["relu_derivative", "relu_sum", "sigmoid_derivative", "sigmoid_sum", "sum_pairs"]

_QUERIES_PER_PIECE = 128  # of the products of matrices


def relu_sum(queries: Float, nodes: Float, masses: Float) -> Float:
    """`sum_j m_j max(0, <w, y_j>) y_j` at queries `(m, d)`, nodes `(n, d)`, masses `(n,)` of any sign: `(m, d)`.

    `sum_{<w,y> > 0} m y y^T w`: in one and two dimensions sorted sums over half-lines and half-planes, time
    (m + n) log n; in more all pairs.
    """
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    if nodes.shape[1] > 2:
        nodes, masses = gathered(nodes, masses)
        return sum_pairs(queries, nodes, nodes, masses, logistic=False, slope=False)
    moments = relu_derivative(queries, nodes, masses)
    product: Float = np.einsum("mij,mj->mi", moments, queries)
    return product


def relu_derivative(queries: Float, nodes: Float, masses: Float) -> Float:
    """`D_w` of `relu_sum`: `sum_{<w, y_j> > 0} m_j y_j y_j^T`, `(m, d, d)`."""
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    if nodes.shape[1] == 1:
        squares = masses * nodes[:, 0] ** 2
        above, below = (shared().sum(float(squares[side].sum())) for side in (nodes[:, 0] > 0.0, nodes[:, 0] < 0.0))
        return np.where(queries > 0.0, above, np.where(queries < 0.0, below, 0.0))[:, :, None]
    if nodes.shape[1] == 2:
        return relu_in_plane(queries, *gathered(nodes, masses))
    return _moments(queries, nodes, masses, logistic=False)


def sigmoid_sum(queries: Float, nodes: Float, masses: Float) -> Float:
    """`sum_j m_j y_j / (1 + e^{-<w, y_j>})` at queries `(m, d)`, nodes `(n, d)`, masses `(n,)` of any sign: `(m, d)`.

    By panels in one and two dimensions, time linear in m + n for moderate scores; in more all pairs. Scores of any
    size.
    """

    def pairs(w: Float, y: Float, m: Float) -> Float:
        return sum_pairs(w, y, y, m, logistic=True, slope=False)

    return sum_by_panels(plain(queries), plain(nodes), plain(masses), pairs)


def sigmoid_derivative(queries: Float, nodes: Float, masses: Float) -> Float:
    """`D_w` of `sigmoid_sum`: `sum_j m_j s(1 - s) y_j y_j^T`, `s = 1 / (1 + e^{-<w, y_j>})`, `(m, d, d)`."""

    def pairs(w: Float, y: Float, m: Float) -> Float:
        return _moments(w, y, m, logistic=True).reshape(w.shape[0], -1)

    queries, dimension = plain(queries), nodes.shape[1]
    return sum_by_panels(queries, plain(nodes), plain(masses), pairs).reshape(-1, dimension, dimension)


def _moments(queries: Float, nodes: Float, masses: Float, *, logistic: bool) -> Float:
    dimension = nodes.shape[1]
    rows, columns = np.triu_indices(dimension)
    half = sum_pairs(queries, nodes, nodes[:, rows] * nodes[:, columns], masses, logistic=logistic, slope=True)
    out = np.empty((queries.shape[0], dimension, dimension))
    out[:, rows, columns] = half
    out[:, columns, rows] = half
    return out


def sum_pairs(queries: Float, nodes: Float, values: Float, masses: Float, *, logistic: bool, slope: bool) -> Float:
    """`sum_j m_j k(<w, y_j>) v_j`, `(m, c)` for values `(n, c)`, k the logistic function, the positive part or a
    derivative of them."""
    count = nodes.shape[0] + -nodes.shape[0] % 4
    keys, weights = _filled(nodes, count), np.zeros(count)
    weights[: masses.size] = masses
    carried, rows = np.ascontiguousarray(_filled(values, count).T), _filled(queries, queries.shape[0]).T
    out, blocks = np.empty((carried.shape[0], queries.shape[0])), pieces(queries.shape[0], _QUERIES_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        columns = np.ascontiguousarray(rows[:, here])
        sums = np.empty((carried.shape[0], columns.shape[1]))
        sum_over_pairs(columns, keys, carried, weights, logistic, slope, sums)
        out[:, here] = sums

    run_pieces(work, len(blocks))
    return np.ascontiguousarray(out[: values.shape[1]].T)


def _filled(array: Float, rows: int) -> Float:
    """The array with zero rows, and zero columns up to a multiple of four."""
    out = np.zeros((rows, array.shape[1] + -array.shape[1] % 4))
    out[: array.shape[0], : array.shape[1]] = array
    return out
