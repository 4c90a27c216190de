"""The direct sum: any dimension, any size of the exponents. The reference of every fast path, and what small or
extreme problems use."""

from __future__ import annotations

import numpy as np

from mfpde.ranks import shared
from mfpde.transform.direct_kernels import sum_by_products, sum_directly
from mfpde.transform.threads import pieces, run_pieces
from mfpde.typing import AnyArray, Float

__all__ = [
    "MIN_PAIRS_TO_PLAN",
    "PAIR_NANOSECONDS",
    "bounds_of",
    "centred",
    "common_bounds",
    "counts_of",
    "gathered",
    "has_mass",
    "log_masses_of",
    "log_of",
    "only_with_mass",
    "over_largest",
    "plain",
    "rows_of_three",
    "tilt_by_products",
    "tilted_mean_directly",
    "with_mass",
]

MIN_PAIRS_TO_PLAN = 20_000  # below it the direct sum is faster than planning panels
PAIR_NANOSECONDS = 0.7  # of the direct sum
_MAX_SCORE = 300.0  # bounded by it, e^score neither overflows nor underflows
_QUERIES_PER_PIECE = 64  # of the products of matrices


def tilted_mean_directly(
    queries: Float, nodes: Float, masses: Float, log_factors: Float | None = None
) -> tuple[Float, Float]:
    """`(grad log M(w), log M(w))`, `M(w) = sum_j m_j e^{f_j + <w, y_j>}`; queries `(m, d)`, nodes `(n, d)`, masses and
    the factors' logarithms f `(n,)`.

    Cost m n. Exponents of any size: the largest is taken out first. Nodes that are shared are gathered.
    """
    queries = plain(queries)
    log_factors, common = over_largest(log_factors)
    log_masses = shared().gathered(log_masses_of(masses, log_factors))
    nodes, log_masses = with_mass(shared().gathered(plain(nodes)), log_masses)
    nodes, centre, reach = centred(nodes)
    sum_up = _in_few_dimensions if nodes.shape[1] <= 3 else _in_many_dimensions
    mean, log_mass = sum_up(queries, nodes, log_masses, reach)
    return mean + centre, log_mass + queries @ centre + common


def counts_of(queries: Float, nodes: Float) -> tuple[int, int]:
    """How many queries and nodes there are on all ranks that share the nodes: what plans are made by."""
    found = shared().sum(np.array([queries.shape[0], nodes.shape[0]]))
    return int(found[0]), int(found[1])


def bounds_of(points: Float) -> tuple[Float, Float]:
    """The box `(d,)` of points `(n, d)`, and of those that are shared."""
    columns = points.T  # numpy is ten times slower along the first axis
    low = np.array([column.min(initial=np.inf) for column in columns])
    high = np.array([column.max(initial=-np.inf) for column in columns])
    return shared().least(low), shared().most(high)


def common_bounds(points: Float, keys: Float) -> tuple[Float, Float]:
    """The box of both."""
    (low, high), (least, most) = bounds_of(points), bounds_of(keys)
    return np.minimum(low, least), np.maximum(high, most)


def gathered(nodes: Float, masses: Float) -> tuple[Float, Float]:
    """All nodes of all ranks that share them, for sums over pairs."""
    return shared().gathered(nodes), shared().gathered(masses)


def centred(nodes: Float) -> tuple[Float, Float, Float]:
    """Nodes about the middle of their box, the middle, and the half-widths of the box."""
    low, high = nodes.min(axis=0), nodes.max(axis=0)
    centre = 0.5 * (low + high)
    return nodes - centre, centre, 0.5 * (high - low)


def plain(array: AnyArray) -> Float:
    """A contiguous, writeable array of doubles, the same one if it is: kernels are compiled for nothing else."""
    return np.require(array, dtype=float, requirements=["C", "W"])


def log_of(masses: Float) -> Float:
    """Logarithms, -inf where there is no mass."""
    with np.errstate(divide="ignore"):
        return np.log(masses)


def log_masses_of(masses: Float, log_factors: Float | None) -> Float:
    """log m + f."""
    return log_of(plain(masses)) if log_factors is None else log_of(plain(masses)) + log_factors


def with_mass(nodes: Float, log_masses: Float) -> tuple[Float, Float]:
    """Only the nodes with mass: others must not move the centre of the box."""
    there = log_masses > -np.inf
    return (nodes, log_masses) if there.all() else (nodes[there], log_masses[there])


def over_largest(log_factors: Float | None) -> tuple[Float | None, float]:
    """Log factors minus the largest, and the largest: with a common one of 1e4 sums would lose four digits."""
    largest = -np.inf if log_factors is None else shared().most(float(np.max(log_factors, initial=-np.inf)))
    if log_factors is None or not np.isfinite(largest):
        return log_factors, 0.0
    return log_factors - largest, largest


def only_with_mass(nodes: Float, masses: Float, log_factors: Float | None) -> tuple[Float, Float, Float | None]:
    """The nodes with mass, before logarithms are taken."""
    there = has_mass(masses, log_factors)
    if there.all() or not there.any():
        return nodes, masses, log_factors
    return nodes[there], masses[there], None if log_factors is None else log_factors[there]


def has_mass(masses: Float, log_factors: Float | None) -> AnyArray:
    """Where m e^f is not 0."""
    there: AnyArray = masses > 0.0
    return there if log_factors is None else there & (log_factors > -np.inf)


def rows_of_three(points: Float) -> Float:
    """Components in rows, filled with zeros to three: kernels are compiled for no other number."""
    rows = np.zeros((3, points.shape[0]))
    rows[: points.shape[1]] = points.T
    return rows


def _in_few_dimensions(queries: Float, nodes: Float, log_masses: Float, reach: Float) -> tuple[Float, Float]:
    count, dimension = queries.shape
    bounded = bool((np.abs(queries).max(axis=0, initial=0.0) * reach).sum() <= _MAX_SCORE)
    common = float(log_masses.max())
    rows, columns, out = rows_of_three(queries), rows_of_three(nodes), np.empty((4, count))
    blocks = pieces(count, 512)

    def work(piece: int) -> None:
        begin, end = blocks[piece]
        sums = np.empty((4, end - begin))
        sum_directly(rows[:, begin:end].copy(), columns, log_masses, bounded, common, sums)
        out[:, begin:end] = sums

    run_pieces(work, len(blocks))
    return np.ascontiguousarray(out[1 : 1 + dimension].T), out[0]


def _in_many_dimensions(queries: Float, nodes: Float, log_masses: Float, reach: Float) -> tuple[Float, Float]:
    del reach  # the largest score of each query is found while summing
    return tilt_by_products(queries, nodes, log_masses, np.full(queries.shape[0], nodes.shape[0]))


def tilt_by_products(queries: Float, nodes: Float, log_masses: Float, ends: AnyArray) -> tuple[Float, Float]:
    """`(grad log M, log M)` over the nodes before a query's end, at least one; ends ascend, nodes are about 0."""
    (count, dimension), filled = nodes.shape, -(-nodes.shape[1] // 4) * 4
    keys, weights = np.zeros((-(-count // 4) * 4, filled)), np.full(-(-count // 4) * 4, -np.inf)
    keys[:count, :dimension], weights[:count] = nodes, log_masses
    transposed, rows = np.ascontiguousarray(keys.T), np.zeros((filled, queries.shape[0]))
    rows[:dimension] = queries.T
    out, blocks = np.empty((1 + filled, queries.shape[0])), pieces(queries.shape[0], _QUERIES_PER_PIECE)

    def work(piece: int) -> None:
        here = slice(*blocks[piece])
        columns = np.ascontiguousarray(rows[:, here])
        sums = np.empty((1 + filled, columns.shape[1]))
        sum_by_products(columns, keys, transposed, weights, ends[here], sums)
        out[:, here] = sums

    run_pieces(work, len(blocks))
    return np.ascontiguousarray(out[1 : 1 + dimension].T), out[0]
