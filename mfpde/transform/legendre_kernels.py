"""Compiled Legendre sums over blocks of rings, for one order at a time.

For each order the functions obey `x P_l = e_{l+1} P_{l+1} + e_l P_{l-1}`. Scaled as in `legendre_tables` they need one
product and one sum a degree, `Q_{l+1} = c_{l+1} x Q_l + Q_{l-1}`, whose first two are the sectoral values and x times
them. What a block needs lies in one flat array in rows `ROOM` apart (`legendre_lanes`).

Rings come in pairs at x and -x. Degrees that are even and odd, counted from the order, are summed apart: their sum
belongs to the northern ring of a pair, their difference to the southern one.
"""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.transform.legendre_lanes import (
    FIELDS,
    LANES,
    NEWER,
    OLDER,
    ROOM,
    SUMS,
    VECTORS,
    VECTORS_OF_TWO,
    WORK,
    X,
    analyze_one,
    analyze_one_narrow,
    analyze_two,
    analyze_two_narrow,
    sum_one,
    sum_one_narrow,
    sum_two,
    sum_two_narrow,
)
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
def sum_order(work: Float, steps: Float, real: Float, imaginary: Float, degrees: int, count: int) -> None:
    """One field: sums over the even degrees in rows 0 and 1 of SUMS (real, imaginary), over the odd ones in 2 and 3."""
    wide = count - count % (VECTORS * LANES)
    for ring in range(0, wide, VECTORS * LANES):
        sum_one(work, steps, real, imaginary, degrees, ring)
    for ring in range(wide, count, LANES):
        sum_one_narrow(work, steps, real, imaginary, degrees, ring)


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
    wide = count - count % (VECTORS_OF_TWO * LANES)
    for ring in range(0, wide, VECTORS_OF_TWO * LANES):
        sum_two(work, steps, real, imaginary, real_2, imaginary_2, degrees, ring)
    for ring in range(wide, count, LANES):
        sum_two_narrow(work, steps, real, imaginary, real_2, imaginary_2, degrees, ring)


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
    wide = count - count % (VECTORS * LANES)
    for ring in range(0, wide, VECTORS * LANES):
        analyze_two(work, steps, real, imaginary, real_2, imaginary_2, degrees, ring)
    for ring in range(wide, count, LANES):
        analyze_two_narrow(work, steps, real, imaginary, real_2, imaginary_2, degrees, ring)


@kernel
def analyze_one_field(work: Float, steps: Float, real: Float, imaginary: Float, degrees: int, count: int) -> None:
    """The same for one field."""
    wide = count - count % (VECTORS * LANES)
    for ring in range(0, wide, VECTORS * LANES):
        analyze_one(work, steps, real, imaginary, degrees, ring)
    for ring in range(wide, count, LANES):
        analyze_one_narrow(work, steps, real, imaginary, degrees, ring)
