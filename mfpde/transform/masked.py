"""Causal sums: a query sees only the nodes at or before its position."""

from __future__ import annotations

import numpy as np

from mfpde.transform.direct import PAIR, centred, log_masses_of, plain, tilt_by_products
from mfpde.transform.line import LinePlan
from mfpde.transform.plane import PlanePlan
from mfpde.typing import AnyArray, Float

__all__ = ["tilted_mean_masked"]


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
    each position, and time linear in nodes and queries.
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
        mean[seeing], log_mass[seeing] = _sum(queries[seeing], ends[seeing], nodes, logs, edges)
    return mean, log_mass


def _sum(queries: Float, ends: AnyArray, nodes: Float, logs: Float, edges: AnyArray) -> tuple[Float, Float]:
    """Query q sees the nodes before ends[q], which ascend; `edges` are where a position's nodes end."""
    if nodes.shape[1] <= 2:
        plan = LinePlan.of(queries, nodes) if nodes.shape[1] == 1 else PlanePlan.of(queries, nodes)
        each, points = plan.work(nodes.shape[0] + queries.shape[0])
        if edges.size * each + points < PAIR * float(ends.sum()):
            return _by_slices(plan, queries, ends, nodes, logs, edges)
    nodes, centre, _ = centred(nodes)
    mean, log_mass = tilt_by_products(queries, nodes, logs, ends)
    return mean + centre, log_mass + queries @ centre


def _by_slices(
    plan: LinePlan | PlanePlan, queries: Float, ends: AnyArray, nodes: Float, logs: Float, edges: AnyArray
) -> tuple[Float, Float]:
    """Values at the Chebyshev points add up, position by position; each query is interpolated once."""
    mean, log_mass = np.empty(queries.shape), np.empty(queries.shape[0])
    values, level = plan.tilt(nodes[: edges[0]], np.ones(edges[0]), logs[: edges[0]])
    for k, end in enumerate(edges):
        if k > 0:
            begin = edges[k - 1]
            own, height = plan.tilt(nodes[begin:end], np.ones(end - begin), logs[begin:end])
            peak = np.maximum(level, height)
            values = _lowered(values, level - peak) + _lowered(own, height - peak)
            level = peak
        here = slice(*np.searchsorted(ends, [end, end + 1]))
        mean[here], log_mass[here] = plan.interpolate(queries[here], values, level)
    return mean, log_mass


def _lowered(values: Float, by: Float) -> Float:
    return values * np.exp(by)[..., None, None]
