"""The nonlinear part of the equation about an axis in R^d, for one profile: `N_l = int grad Y_l . v dmu`.

With x the cosine of the colatitude a drift is `v = u(x) grad x`, and `N_l = int (1 - x^2) p_l' u dmu`, p_l the
orthonormal zonal harmonics. Without a normaliser u is a short series, and the product with it is Clenshaw's sum of the
operator that multiplies by x: exact, no quadrature. With one, u is a quotient, and products are made on Gauss rings.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.transform.legendre_kernels import FIELDS, ROOM, SUMS, analyze_one_field, load_rings, start_order, sum_order
from mfpde.transform.legendre_tables import Orders, Rings
from mfpde.transform.ring_fields import prepare_field, prepare_slopes, vector_products
from mfpde.typing import Float

__all__ = ["AxisRoom", "quotient_slope", "series_slope"]

_ZERO_DEGREE_PLACE = 1  # place of degree 0 in rows of Clenshaw's sum: the place before it stays zero


class AxisRoom(NamedTuple):
    """Tables of a profile, and room for its slopes; `lifts` are the roots `e_l` of `x p_l = e_{l+1} p_{l+1} + e_l
    p_{l-1}`, `gains` and `carries` turn a series into its derivative, `shift` is d - 2.

    `orders` and `rings` are those of quadrature; without a normaliser they belong to a profile of degree 1.
    """

    lifts: Float
    gains: Float
    carries: Float
    shift: float
    speed: Float
    clenshaw: Float
    orders: Orders
    rings: Rings
    ones: Float
    given: Float
    prepared: Float
    sums: Float
    work: Float


@kernel
def _speed(room: AxisRoom, coefficients: Float, potential: Float, count: int) -> None:
    """`u = S'` of `S = sum W_l c_l p_l`, l < count, from the top: `p_{l+2}' = carry_l p_l' + gain_{l+1} p_{l+1}`."""
    one, two = 0.0, 0.0
    for degree in range(count - 1, 0, -1):
        here = fused(room.carries[degree], two, potential[degree] * coefficients[degree])
        room.speed[degree - 1] = room.gains[degree - 1] * here
        one, two = here, one


@kernel
def _multiply(room: AxisRoom, coefficients: Float, count: int, modes: int) -> None:
    """Row 0 of `clenshaw` = coefficients of u times the density, `count` and `modes` coefficients long, exact up to
    degree `modes`: `b_k = u_k c + x b_{k+1} / e_{k+1} - (e_{k+1} / e_{k+2}) b_{k+2}`, b_k in row k mod 3."""
    lifts = room.lifts
    for row in range(3):
        empty = room.clenshaw[row]
        for place in range(modes + count + 4):
            empty[place] = 0.0
    for k in range(count - 1, -1, -1):
        one, two, new = room.clenshaw[(k + 1) % 3], room.clenshaw[(k + 2) % 3], room.clenshaw[k % 3]
        share, scale, back = room.speed[k], 1.0 / lifts[k + 1], -lifts[k + 1] / lifts[k + 2]
        width = modes + min(count - k, k + 2)
        left, middle, right = (
            one[:width],
            two[_ZERO_DEGREE_PLACE : _ZERO_DEGREE_PLACE + width],
            one[2 * _ZERO_DEGREE_PLACE : 2 * _ZERO_DEGREE_PLACE + width],
        )
        below, beyond, out = lifts[:width], lifts[1 : 1 + width], new[_ZERO_DEGREE_PLACE : _ZERO_DEGREE_PLACE + width]
        known = coefficients[:width]
        for place in range(width):
            moved = fused(below[place], left[place], beyond[place] * right[place])
            out[place] = fused(share, known[place], fused(scale, moved, back * middle[place]))


@kernel
def series_slope(room: AxisRoom, coefficients: Float, potential: Float, count: int, modes: int, slope: Float) -> None:
    """slope[0] = N of `modes` coefficients (zeros beyond them), the drift of degree below `count`."""
    _speed(room, coefficients, potential, count)
    _multiply(room, coefficients, count - 1, modes)
    product, lifts = room.clenshaw[0], room.lifts
    for degree in range(modes):
        lower, upper = product[degree], product[degree + 2]  # of degree - 1 and degree + 1
        slope[0, degree] = (degree + room.shift) * lifts[degree] * lower - degree * lifts[degree + 1] * upper
        slope[1, degree] = 0.0


@kernel
def _ring_flux(work: Float, squares: Float, weights: Float, bound: float, count: int) -> None:
    """Even and odd parts of `weight sin v mu`, from those of the density and of `(1 - x^2) S'` (real and imaginary
    sums), and of the normaliser (rows 0 and 1 of FIELDS).

    |v| <= bound holds for every measure, and is kept where the normaliser has sunk below the roundoff of its largest
    value.
    """
    for ring in range(count):
        north, south = 0.0, 0.0
        for side in range(2):
            sign = 1.0 - 2.0 * side
            density = work[SUMS + ring] + sign * work[SUMS + 2 * ROOM + ring]
            downhill = work[SUMS + ROOM + ring] + sign * work[SUMS + 3 * ROOM + ring]
            level = work[FIELDS + ring] + sign * work[FIELDS + ROOM + ring]
            most = bound * max(level, 0.0) / math.sqrt(squares[ring])
            share = 0.0
            if most > 0.0:
                bounded = abs(downhill) > most
                share = math.sqrt(squares[ring]) * bound / abs(downhill) if bounded else squares[ring] / level
            flux = weights[ring] * density * downhill * share
            north, south = (flux, south) if side == 0 else (north, flux)
        work[FIELDS + ring], work[FIELDS + 4 * ROOM + ring] = north + south, north - south
        work[FIELDS + ROOM + ring] = work[FIELDS + 5 * ROOM + ring] = 0.0


@kernel
def _fields(room: AxisRoom, block: int, reach: int, modes: int, bound: float) -> None:
    """Of one block of rings: the normaliser, then density and slope, then their flux."""
    orders, rings, work = room.orders, room.rings, room.work
    first, count = rings.bounds[block], rings.bounds[block + 1] - rings.bounds[block]
    load_rings(work, rings.cosines[first : first + count], count)
    sectoral = rings.sectoral[0, first : first + count]
    start_order(work, sectoral, count)
    sum_order(work, orders.step, room.prepared[2, 0], room.prepared[2, 1], reach + 1, count)
    for ring in range(count):
        work[FIELDS + ring] = work[SUMS + ring]
        work[FIELDS + ROOM + ring] = work[SUMS + 2 * ROOM + ring]
    start_order(work, sectoral, count)
    sum_order(work, orders.step, room.prepared[0, 0], room.prepared[1, 0], max(modes, reach + 2), count)
    squares, weights = rings.inverse_squares[first : first + count], rings.weights[first : first + count]
    _ring_flux(work, squares, weights, bound, count)
    start_order(work, sectoral, count)


@kernel
def quotient_slope(
    room: AxisRoom,
    coefficients: Float,
    potential: Float,
    normaliser: Float,
    bound: float,
    modes: int,
    looks: bool,
    slope: Float,
) -> float:
    """The same with a normaliser. Where it `looks`, returns what rings can hardly hold of the flux, relative to its
    bound: its last degrees of those that they tell apart."""
    orders, rings, given = room.orders, room.rings, room.given
    reach = min(potential.size - 1, modes - 1)
    for degree in range(modes):
        given[0, degree] = coefficients[degree]
    prepare_field(orders, given, room.ones, modes - 1, room.prepared[0])
    prepare_slopes(orders, given, potential, reach, room.prepared[1], room.prepared[3])
    prepare_field(orders, given, normaliser, reach, room.prepared[2])
    sums, degrees = room.sums, orders.counts[0] if looks else modes + 1
    for place in range(sums.shape[2]):
        sums[0, 0, place] = 0.0
    for block in range(rings.bounds.size - 1):
        _fields(room, block, reach, modes, bound)
        count = rings.bounds[block + 1] - rings.bounds[block]
        analyze_one_field(room.work, orders.step, sums[0, 0], sums[0, 1], degrees, count)
    products = room.prepared[0]
    vector_products(orders, sums[0], sums[1], products)
    for degree in range(modes):
        slope[0, degree], slope[1, degree] = products[0, degree], 0.0
    largest = 0.0
    for degree in range(orders.top - orders.top // 8, orders.top + 1):
        largest = max(largest, abs(products[0, degree]))
    return largest / (orders.top * bound) if looks and bound > 0.0 else 0.0
