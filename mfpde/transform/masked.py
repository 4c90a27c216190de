"""Causal sums: a query sees only the nodes at or before its position."""

from __future__ import annotations

import numpy as np

from mfpde.transform.direct import centred, log_masses_of, plain, tilt_by_products
from mfpde.transform.joining import joined
from mfpde.transform.scattered import tilted_mean
from mfpde.typing import AnyArray, Float

__all__ = ["tilted_mean_masked"]

_PER_QUERY = (40.0, 150.0)  # nanoseconds of a query of a fast sum, on the line and in the plane
_PER_SUM = (1e5, 1e6)  # of the fast sum beside that


def tilted_mean_masked(
    queries: Float,
    query_positions: Float,
    nodes: Float,
    positions: Float,
    masses: Float,
    log_factors: Float | None = None,
) -> tuple[Float, Float]:
    """`(grad log M, log M)` of `M(w, t) = sum_{s_j <= t} m_j e^{f_j + <w, y_j>}` at queries `(m, d)` with positions t.

    Nodes `(n, d)` have positions s, masses and log_factors f `(n,)`. A query before all mass has log M = -inf and no
    mean, NaN. Half of all pairs; where few positions are shared by many nodes of the line or the plane, a fast sum for
    each position.
    """
    queries, query_positions = plain(queries), plain(query_positions)
    logs = log_masses_of(masses, log_factors)
    order = np.argsort(positions, kind="stable")
    order = order[logs[order] > -np.inf]
    nodes, positions, logs = plain(nodes)[order], plain(positions)[order], logs[order]
    ends = np.searchsorted(positions, query_positions, side="right")
    seeing = np.argsort(ends, kind="stable")
    seeing = seeing[ends[seeing] > 0]
    mean, log_mass = np.full(queries.shape, np.nan), np.full(queries.shape[0], -np.inf)
    if seeing.size:
        edges = np.append(np.flatnonzero(np.diff(positions)) + 1, positions.size)
        way = _by_slices if _slices_are_cheaper(edges, ends[seeing], nodes.shape) else _by_pairs
        mean[seeing], log_mass[seeing] = way(queries[seeing], ends[seeing], nodes, logs, edges)
    return mean, log_mass


def _slices_are_cheaper(edges: AnyArray, ends: AnyArray, shape: tuple[int, ...]) -> bool:
    dimension = shape[1]
    if dimension > 2:
        return False
    met = ends.size - np.searchsorted(ends, edges)  # queries that see each slice
    fast = float(met.sum()) * _PER_QUERY[dimension - 1] + edges.size * _PER_SUM[dimension - 1] + 100.0 * shape[0]
    return fast < 1.0 * float(ends.sum())


def _by_pairs(queries: Float, ends: AnyArray, nodes: Float, logs: Float, edges: AnyArray) -> tuple[Float, Float]:
    del edges
    nodes, centre, _ = centred(nodes)
    mean, log_mass = tilt_by_products(queries, nodes, logs, ends)
    return mean + centre, log_mass + queries @ centre


def _by_slices(queries: Float, ends: AnyArray, nodes: Float, logs: Float, edges: AnyArray) -> tuple[Float, Float]:
    mean, log_mass = np.zeros(queries.shape), np.full(queries.shape[0], -np.inf)
    begin = 0
    for end in edges:
        first = int(np.searchsorted(ends, end))  # queries from here on see the whole slice
        own = tilted_mean(queries[first:], nodes[begin:end], np.ones(end - begin), logs[begin:end])
        mean[first:], log_mass[first:] = joined([(mean[first:], log_mass[first:]), own])
        begin = int(end)
    return mean, log_mass
