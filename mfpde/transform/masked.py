"""Causal sums: a query sees only the nodes at or before its position."""

from __future__ import annotations

import numpy as np

from mfpde.transform.direct import PAIR_NANOSECONDS, centred, log_masses_of, over_largest, plain, tilt_by_products
from mfpde.transform.line import LinePlan
from mfpde.transform.log_sum import joined
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
    mean, NaN. Half of all pairs; on the line and in the plane fast sums up to each position where these are few
    (linear time), or up to every k-th node (time n^1.5).
    """
    queries, query_positions = plain(queries), plain(query_positions)
    log_factors, common = over_largest(log_factors)
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
    return mean, log_mass + common


def _sum(queries: Float, ends: AnyArray, nodes: Float, logs: Float, edges: AnyArray) -> tuple[Float, Float]:
    """Query q sees the nodes before ends[q], which ascend; `edges` are where a position's nodes end."""
    if nodes.shape[1] <= 2:
        plan = LinePlan.of(queries, nodes) if nodes.shape[1] == 1 else PlanePlan.of(queries, nodes)
        each, points = plan.work(nodes.shape[0] + queries.shape[0])
        stretch = max(1, round((2 * nodes.shape[0] * each / (PAIR_NANOSECONDS * queries.shape[0])) ** 0.5))
        by_stretches = nodes.shape[0] / stretch * each + 0.5 * PAIR_NANOSECONDS * stretch * queries.shape[0]
        if points + min(edges.size * each, by_stretches) < PAIR_NANOSECONDS * float(ends.sum()):
            stops = edges if edges.size * each < by_stretches else np.arange(stretch, nodes.shape[0] + 1, stretch)
            return _by_stops(plan, queries, ends, nodes, logs, stops)
    return _by_pairs(queries, ends, nodes, logs)


def _by_pairs(queries: Float, ends: AnyArray, nodes: Float, logs: Float) -> tuple[Float, Float]:
    nodes, centre, _ = centred(nodes)
    mean, log_mass = tilt_by_products(queries, nodes, logs, ends)
    return mean + centre, log_mass + queries @ centre


def _by_stops(
    plan: LinePlan | PlanePlan, queries: Float, ends: AnyArray, nodes: Float, logs: Float, stops: AnyArray
) -> tuple[Float, Float]:
    """All nodes before a stop by a fast sum, whose values at the Chebyshev points add up from stop to stop; those
    between the last stop and a query's end by pairs."""
    mean, log_mass, begin = np.zeros(queries.shape), np.full(queries.shape[0], -np.inf), 0
    values, level = np.zeros(0), np.zeros(0)
    for stop, beyond in zip(np.append(0, stops), np.append(stops, nodes.shape[0] + 1), strict=True):
        if stop > 0:
            own = plan.tilt(nodes[begin:stop], np.ones(stop - begin), logs[begin:stop])
            values, level = own if begin == 0 else _added((values, level), own)
            begin = stop
        first, between, last = np.searchsorted(ends, [stop, stop + 1, beyond])
        if stop > 0 and last > first:
            mean[first:last], log_mass[first:last] = plan.interpolate(queries[first:last], values, level)
        if last > between:
            these = slice(between, last)
            rest = _by_pairs(queries[these], ends[these] - stop, nodes[stop:beyond], logs[stop:beyond])
            mean[these], log_mass[these] = joined([(mean[these], log_mass[these]), rest])
    return mean, log_mass


def _added(first: tuple[Float, Float], second: tuple[Float, Float]) -> tuple[Float, Float]:
    """Values over e^level of two sums, as one."""
    level = np.maximum(first[1], second[1])
    one, other = (values * np.exp(own - level)[..., None, None] for values, own in (first, second))
    return one + other, level
