"""What Legendre sums on Gauss rings need: recurrences by order, rings by blocks, and where coefficients are kept.

Harmonics are orthonormal with respect to the uniform measure of mass 1: on S^2 `Y_lm = P_lm(cos colatitude) e^{i m
longitude}`, without alternating signs, of which only orders m >= 0 are kept. About an axis in R^d only the order 0 is
there, and P_l is Gegenbauer's polynomial times the root of the number of harmonics of degree l.

Both obey `x P_l = e_{l+1} P_{l+1} + e_l P_{l-1}`. With `P_l = a_l Q_l`, `a_{l+1} = -a_{l-1} e_l / e_{l+1}`, that is
`Q_{l+1} = c_{l+1} x Q_l + Q_{l-1}`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.transform.legendre_kernels import LANES, ROOM
from mfpde.transform.ring_fourier import ring_roots
from mfpde.typing import AnyArray, Float

__all__ = ["Orders", "Rings", "make_orders", "make_rings", "pairs_for"]

_SPARE = 16  # numbers beyond the last row, which sums by eight degrees read
_VALUE_FLOOR = 1e-22  # of functions of the largest size about 10: orders that stay below it on a block are left out


class Orders(NamedTuple):
    """Rows of coefficients, one for each order, from the degree of the order to one more than the last.

    Row i, of order `period i`, starts at `first[i]` and is a multiple of four long; `counts[i]` of its numbers mean
    something, the last of them only within gradients. `degree`, `root` (e_l), `scale` (a_l) and `step` (c_l) are laid
    out like coefficients.
    """

    first: AnyArray
    counts: AnyArray
    order: Float
    degree: Float
    root: Float
    scale: Float
    step: Float
    shift: float
    top: int

    @property
    def size(self) -> int:
        """Of a row of coefficients."""
        return int(self.degree.size)


class Rings(NamedTuple):
    """Gauss rings in pairs at x and -x, from the pole to the equator, filled up to blocks with ones of weight 0.

    Block b has the pairs `bounds[b] .. bounds[b + 1]`; orders from number `reach[b]` on are nothing there. `sectoral`
    is `P_mm`, by order and pair. There are `length` places on a ring, one period of the smallest order.
    """

    cosines: Float
    weights: Float
    inverse_squares: Float
    sectoral: Float
    bounds: AnyArray
    reach: AnyArray
    roots: Float


@lru_cache(maxsize=8)
def make_orders(degree: int, period: int = 1, dimension: int = 3, about_axis: bool = False) -> Orders:
    """Rows for degrees up to `degree`, of the orders 0, period, 2 period, .. on S^2, or of the order 0 in R^d."""
    orders = np.zeros(1) if about_axis else np.arange(0, degree + 1, period, dtype=float)
    count = (degree + 2 - orders).astype(np.int64)
    length = -(-count // 4) * 4
    first = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    size = int(first[-1]) + _SPARE
    tables = {name: np.zeros(size) for name in ("degree", "root", "scale", "step")}
    for start, number, order in zip(first, count, orders, strict=False):
        row = slice(start, start + number)
        made = _recurrence(order + np.arange(number + 0.0), order, dimension)
        for name, values in made.items():
            tables[name][row] = values
    return Orders(first, count, orders, shift=dimension - 2.0, top=degree, **tables)


def _recurrence(degree: Float, order: float, dimension: int) -> dict[str, Float]:
    """e_l, a_l and c_l of one order."""
    d = dimension - 2.0
    with np.errstate(invalid="ignore", divide="ignore"):
        square = (degree - order) * (degree + order + d - 1) / ((2 * degree + d) * (2 * degree + d - 2))
    root = np.sqrt(square)
    root[0] = 0.0
    scale = np.ones(degree.size)
    scale[1] = 1 / root[1]
    for place in range(2, degree.size):
        scale[place] = -scale[place - 2] * root[place - 1] / root[place]
    step = np.zeros(degree.size)
    step[1:] = scale[:-1] / (root[1:] * scale[1:])
    return {"degree": degree, "root": root, "scale": scale, "step": step}


def pairs_for(least: int) -> int:
    """Pairs of rings, at least that many, of which blocks are made without empty ones."""
    return max(LANES, -(-least // LANES) * LANES)


def make_rings(cosines: Float, weights: Float, orders: Orders, length: int) -> Rings:
    """From the Gauss nodes of the northern half, the pole first, and their weights (1 in all, with the southern)."""
    pairs = pairs_for(cosines.size)
    x, w = np.zeros(pairs), np.zeros(pairs)
    x[: cosines.size], w[: weights.size] = cosines, weights
    squares = (1 - x) * (1 + x)
    blocks = -(-pairs // ROOM)
    bounds = LANES * (np.arange(blocks + 1) * (pairs // LANES) // blocks)
    sectoral = _sectoral(np.sqrt(squares), orders.order)
    reach = np.array([_reach(orders, x[end - 1], sectoral[:, end - 1]) for end in bounds[1:]])
    return Rings(x, w, 1 / squares, sectoral, bounds.astype(np.int64), reach.astype(np.int64), ring_roots(length))


def _sectoral(sines: Float, orders: Float) -> Float:
    """`P_mm`, `(orders, rings)`: `sin^m` times the root of `prod (2 k + 1) / (2 k)`. What underflows is never seen."""
    values, rows, order = np.ones(sines.size), [], 0
    for wanted in orders.astype(int):
        for k in range(order + 1, wanted + 1):
            values = values * (sines * np.sqrt((2 * k + 1) / (2 * k)))
        order = max(order, wanted)
        rows.append(values)
    return np.array(rows)


def _reach(orders: Orders, cosine: float, sectoral: Float) -> int:
    """How many orders are more than nothing at that ring: all orders at once, degree by degree from their own."""
    older, newer = sectoral.copy(), sectoral * cosine
    largest = np.maximum(
        np.abs(older), np.abs(newer) * orders.scale[np.minimum(orders.first[:-1] + 1, orders.size - 1)]
    )
    for place in range(2, int(orders.counts[0])):
        there = orders.counts > place
        here = orders.first[:-1][there] + place
        following = orders.step[here] * cosine * newer[there] + older[there]
        older[there], newer[there] = newer[there], following
        largest[there] = np.maximum(largest[there], np.abs(following * orders.scale[here]))
    return int(np.flatnonzero(largest > _VALUE_FLOOR)[-1]) + 1
