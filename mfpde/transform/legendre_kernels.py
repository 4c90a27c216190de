"""Compiled Legendre sums over blocks of rings, for one order at a time.

For each order the functions obey `x P_l = e_{l+1} P_{l+1} + e_l P_{l-1}`. Scaled as in `legendre_tables` they need one
product and one sum a degree, `Q_{l+1} = c_{l+1} x Q_l + Q_{l-1}`, whose first two are the sectoral values and x times
them. Four degrees are made in one pass over the rings of a block. Everything a pass touches lies in one flat array at
constant distances, `ROOM` apart, so that the compiler knows that nothing overlaps and uses vector instructions.

Rings come in pairs at x and -x. Degrees that are even and odd, counted from the order, are summed apart: their sum
belongs to the northern ring of a pair, their difference to the southern one.
"""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.fused import fused
from mfpde.transform.row_products import LANES, products_of_one, products_of_two
from mfpde.typing import Float

__all__ = [
    "FIELDS",
    "LANES",
    "ROOM",
    "SUMS",
    "WORK",
    "analyze_one_field",
    "analyze_order",
    "load_rings",
    "start_order",
    "sum_order",
    "sum_order_of_two",
]

#: most pairs of rings in a block, and the distance between rows of the work array
ROOM = 64
# rows of the work array: x, the last two degrees, then four sums or four new degrees
X, OLDER, NEWER, SUMS = 0, ROOM, 2 * ROOM, 3 * ROOM
D0, D1, D2, D3 = 3 * ROOM, 4 * ROOM, 5 * ROOM, 6 * ROOM
# four fields of each parity, and eight scalar products
FIELDS, PRODUCTS = 7 * ROOM, 15 * ROOM
# eight degrees in a row, for one field
EIGHT = PRODUCTS + 8
WORK = EIGHT + 8 * ROOM


@kernel
def load_rings(work: Float, cosines: Float, count: int) -> None:
    """The cosines of a block."""
    for ring in range(count):
        work[X + ring] = cosines[ring]


@kernel
def start_order(work: Float, sectoral: Float, count: int) -> None:
    """`Q_m` and `Q_{m+1} = x Q_m`."""
    for ring in range(count):
        work[OLDER + ring] = sectoral[ring]
        work[NEWER + ring] = sectoral[ring] * work[X + ring]


@kernel
def _onward(x: float, q0: float, q1: float, steps: Float, degree: int) -> tuple[float, float, float, float]:
    """The four degrees after two of them."""
    q2 = fused(steps[degree + 2] * x, q1, q0)
    q3 = fused(steps[degree + 3] * x, q2, q1)
    q4 = fused(steps[degree + 4] * x, q3, q2)
    return q2, q3, q4, fused(steps[degree + 5] * x, q4, q3)


@kernel
def sum_order(work: Float, steps: Float, real: Float, imaginary: Float, degrees: int, count: int) -> None:
    """One field: sums over the even degrees in rows 0 and 1 of SUMS (real, imaginary), over the odd ones in 2 and 3."""
    for ring in range(4 * ROOM):
        work[SUMS + ring] = 0.0
    for degree in range(0, degrees, 4):
        a0, a1, a2, a3 = real[degree], real[degree + 1], real[degree + 2], real[degree + 3]
        b0, b1, b2, b3 = imaginary[degree], imaginary[degree + 1], imaginary[degree + 2], imaginary[degree + 3]
        for ring in range(count):
            x, q0, q1 = work[ring], work[OLDER + ring], work[NEWER + ring]
            q2, q3, work[OLDER + ring], work[NEWER + ring] = _onward(x, q0, q1, steps, degree)
            work[SUMS + ring] = fused(a2, q2, fused(a0, q0, work[SUMS + ring]))
            work[SUMS + ROOM + ring] = fused(b2, q2, fused(b0, q0, work[SUMS + ROOM + ring]))
            work[SUMS + 2 * ROOM + ring] = fused(a3, q3, fused(a1, q1, work[SUMS + 2 * ROOM + ring]))
            work[SUMS + 3 * ROOM + ring] = fused(b3, q3, fused(b1, q1, work[SUMS + 3 * ROOM + ring]))


@kernel
def sum_order_of_two(
    work: Float,
    steps: Float,
    real: Float,
    imaginary: Float,
    real_2: Float,
    imaginary_2: Float,
    degrees: int,
    count: int,
) -> None:
    """The same for two fields by one recurrence, the second in rows 0 to 3 of FIELDS."""
    for ring in range(4 * ROOM):
        work[SUMS + ring] = 0.0
        work[FIELDS + ring] = 0.0
    for degree in range(0, degrees, 4):
        a0, a1, a2, a3 = real[degree], real[degree + 1], real[degree + 2], real[degree + 3]
        b0, b1, b2, b3 = imaginary[degree], imaginary[degree + 1], imaginary[degree + 2], imaginary[degree + 3]
        c0, c1, c2, c3 = real_2[degree], real_2[degree + 1], real_2[degree + 2], real_2[degree + 3]
        d0, d1, d2, d3 = imaginary_2[degree], imaginary_2[degree + 1], imaginary_2[degree + 2], imaginary_2[degree + 3]
        for ring in range(count):
            x, q0, q1 = work[ring], work[OLDER + ring], work[NEWER + ring]
            q2, q3, work[OLDER + ring], work[NEWER + ring] = _onward(x, q0, q1, steps, degree)
            work[SUMS + ring] = fused(a2, q2, fused(a0, q0, work[SUMS + ring]))
            work[SUMS + ROOM + ring] = fused(b2, q2, fused(b0, q0, work[SUMS + ROOM + ring]))
            work[SUMS + 2 * ROOM + ring] = fused(a3, q3, fused(a1, q1, work[SUMS + 2 * ROOM + ring]))
            work[SUMS + 3 * ROOM + ring] = fused(b3, q3, fused(b1, q1, work[SUMS + 3 * ROOM + ring]))
            work[FIELDS + ring] = fused(c2, q2, fused(c0, q0, work[FIELDS + ring]))
            work[FIELDS + ROOM + ring] = fused(d2, q2, fused(d0, q0, work[FIELDS + ROOM + ring]))
            work[FIELDS + 2 * ROOM + ring] = fused(c3, q3, fused(c1, q1, work[FIELDS + 2 * ROOM + ring]))
            work[FIELDS + 3 * ROOM + ring] = fused(d3, q3, fused(d1, q1, work[FIELDS + 3 * ROOM + ring]))


@kernel
def _four_degrees(work: Float, steps: Float, degree: int, count: int) -> None:
    """Rows D0 .. D3: the next four degrees."""
    for ring in range(count):
        x, q0, q1 = work[ring], work[OLDER + ring], work[NEWER + ring]
        q2, q3, work[OLDER + ring], work[NEWER + ring] = _onward(x, q0, q1, steps, degree)
        work[D0 + ring] = q0
        work[D1 + ring] = q1
        work[D2 + ring] = q2
        work[D3 + ring] = q3


@kernel
def analyze_order(
    work: Float,
    steps: Float,
    real: Float,
    imaginary: Float,
    real_2: Float,
    imaginary_2: Float,
    degrees: int,
    count: int,
) -> None:
    """Add `sum_rings Q_l f` of two fields (rows 0 to 3 of FIELDS for even degrees, 4 to 7 for odd ones) to the rows."""
    for degree in range(0, degrees, 4):
        _four_degrees(work, steps, degree, count)
        for parity in range(2):
            products_of_two(work, D0 + parity * ROOM, 2 * ROOM, FIELDS + 4 * parity * ROOM, ROOM, PRODUCTS, count)
            here = degree + parity
            real[here] += work[PRODUCTS]
            imaginary[here] += work[PRODUCTS + 1]
            real_2[here] += work[PRODUCTS + 2]
            imaginary_2[here] += work[PRODUCTS + 3]
            real[here + 2] += work[PRODUCTS + 4]
            imaginary[here + 2] += work[PRODUCTS + 5]
            real_2[here + 2] += work[PRODUCTS + 6]
            imaginary_2[here + 2] += work[PRODUCTS + 7]


@kernel
def _eight_degrees(work: Float, steps: Float, degree: int, count: int) -> None:
    """Rows from EIGHT on: the next eight degrees."""
    for ring in range(count):
        x, q0, q1 = work[ring], work[OLDER + ring], work[NEWER + ring]
        q2, q3, q4, q5 = _onward(x, q0, q1, steps, degree)
        q6, q7, work[OLDER + ring], work[NEWER + ring] = _onward(x, q4, q5, steps, degree + 4)
        work[EIGHT + ring] = q0
        work[EIGHT + ROOM + ring] = q1
        work[EIGHT + 2 * ROOM + ring] = q2
        work[EIGHT + 3 * ROOM + ring] = q3
        work[EIGHT + 4 * ROOM + ring] = q4
        work[EIGHT + 5 * ROOM + ring] = q5
        work[EIGHT + 6 * ROOM + ring] = q6
        work[EIGHT + 7 * ROOM + ring] = q7


@kernel
def analyze_one_field(work: Float, steps: Float, real: Float, imaginary: Float, degrees: int, count: int) -> None:
    """The same for one field, eight degrees at a time; steps and rows go on for eight numbers beyond the last."""
    for degree in range(0, degrees, 8):
        _eight_degrees(work, steps, degree, count)
        for parity in range(2):
            products_of_one(work, EIGHT + parity * ROOM, 2 * ROOM, FIELDS + 4 * parity * ROOM, ROOM, PRODUCTS, count)
            for number in range(4):
                here = degree + parity + 2 * number
                if here < degrees:
                    real[here] += work[PRODUCTS + 2 * number]
                    imaginary[here] += work[PRODUCTS + 2 * number + 1]
