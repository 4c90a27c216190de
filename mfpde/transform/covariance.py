"""The covariance of the tilted measure, `D^2 log M(w)`: how the drift of softmax changes with the query."""

from __future__ import annotations

import numpy as np

from mfpde.transform.covariance_kernels import spread_by_products, spread_directly
from mfpde.transform.direct import centred, log_masses_of, only_with_mass, over_largest, plain, rows_of_three
from mfpde.transform.line import interpolate_on_line, panel_indices, plan_on_line
from mfpde.transform.line_tilts import tilt_line
from mfpde.transform.plane import PlanePlan, plan_in_plane
from mfpde.transform.scattered import tilted_mean
from mfpde.transform.scattered_kernels import POINTS
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import Float

__all__ = ["tilted_covariance"]

_MAX_EXPONENT = 1.3  # as in `line`; smaller, since y^2 takes two degrees of the polynomials


def tilted_covariance(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float, Float]:
    """`(log M, grad log M, D^2 log M)` at queries `(m, d)`: `(m,)`, `(m, d)`, `(m, d, d)`.

    `M(w) = sum_j m_j e^{f_j + <w, y_j>}`; nodes `(n, d)`, masses and log_factors f `(n,)`. The second and third are the
    mean and the covariance of the tilted measure. Of few nodes or queries, and from three dimensions on, they are
    moments about the mean itself, over all pairs, m n d^2: however narrow the measure, digits are lost only in its
    weights. Otherwise time is linear, and the covariance has an error of 1e-12 of the support's radius squared, on the
    line of `min(radius, 1 / |w|)^2`.
    """
    nodes, masses, log_factors = only_with_mass(nodes, masses, log_factors)
    queries, nodes, masses = plain(queries), plain(nodes), plain(masses)
    log_factors, common = over_largest(log_factors)
    log_mass, mean, spread = _tilted_covariance(queries, nodes, masses, log_factors)
    return log_mass + common, mean, spread


def _tilted_covariance(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None
) -> tuple[Float, Float, Float]:
    if nodes.shape[1] == 1:
        fast = _on_line(queries[:, 0], nodes[:, 0], masses, log_factors)
        if fast is not None:
            return fast
    if nodes.shape[1] == 2:
        plan = plan_in_plane(queries, nodes, degree=2)
        if plan is not None:
            return _in_plane(plan, queries, nodes, masses, log_factors)
    mean, log_mass = tilted_mean(queries, nodes, masses, log_factors)
    nodes, centre, _ = centred(nodes)
    log_masses = log_masses_of(masses, log_factors)
    spread = _in_few_dimensions if nodes.shape[1] <= 3 else _in_many_dimensions
    return log_mass, mean, spread(queries, nodes, log_masses, log_mass - queries @ centre, mean - centre)


def _in_few_dimensions(queries: Float, nodes: Float, log_masses: Float, level: Float, mean: Float) -> Float:
    count, dimension = queries.shape
    rows, columns, means = rows_of_three(queries), rows_of_three(nodes), rows_of_three(mean)
    out, blocks = np.empty((6, count)), pieces(count, 512)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        part = np.empty((6, here.stop - here.start))
        spread_directly(rows[:, here].copy(), columns, log_masses, level[here], means[:, here].copy(), part)
        out[:, here] = part

    run_pieces(work, len(blocks))
    whole = out[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3, count)[:dimension, :dimension]
    return np.ascontiguousarray(whole.transpose(2, 0, 1))


def _in_many_dimensions(queries: Float, nodes: Float, log_masses: Float, level: Float, mean: Float) -> Float:
    (count, dimension), filled = nodes.shape, nodes.shape[1] + -nodes.shape[1] % 4
    keys, weights = np.zeros((count + -count % 4, filled)), np.full(count + -count % 4, -np.inf)
    keys[:count, :dimension], weights[:count] = nodes, log_masses
    transposed, means = np.ascontiguousarray(keys.T), np.zeros((queries.shape[0], filled))
    rows = np.zeros_like(means)
    rows[:, :dimension], means[:, :dimension] = queries, mean
    out = np.empty((queries.shape[0], filled, filled))

    def work(piece: int) -> None:
        spread_by_products(rows[piece], keys, transposed, weights, float(level[piece]), means[piece], out[piece])

    run_pieces(work, queries.shape[0])
    return np.ascontiguousarray(out[:, :dimension, :dimension])


def _in_plane(
    plan: PlanePlan, queries: Float, nodes: Float, masses: Float, log_factors: Float | None
) -> tuple[Float, Float, Float]:
    values, level = plan.tilt(nodes, masses, log_factors, degree=2)
    log_mass, first, square1, second, product, square2 = plan.parts(queries, values, level)
    mixed = product - first * second
    spread = np.stack([square1 - first * first, mixed, mixed, square2 - second * second], axis=1)
    return log_mass + queries @ plan.centre, np.stack([first, second], axis=1) + plan.centre, spread.reshape(-1, 2, 2)


def _on_line(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None
) -> tuple[Float, Float, Float] | None:
    """By panels, moments about the mean at the middle of the queries' panel; None where the direct sum is cheaper."""
    plan = plan_on_line(queries, nodes, _MAX_EXPONENT)
    if plan is None:
        return None
    moved, common = plan.collect(nodes, masses, log_factors)
    values, level = tilt_line(moved, common, plan.nodes, plan.queries)
    about = values[:, 1, POINTS // 2] / values[:, 0, POINTS // 2]
    values, level = tilt_line(moved, common, plan.nodes, plan.queries, about, degree=2)
    local = queries - plan.offset
    log_mass, first, second = interpolate_on_line(local, plan.queries, values, level)
    mean = first + about[panel_indices(local, plan.queries)] + plan.centre
    return log_mass + plan.centre * queries, mean[:, None], (second - first * first)[:, None, None]
