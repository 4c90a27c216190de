"""Tables and room for slopes of one profile about an axis (`solvers.kernels.axis_slope`)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.geometry.gauss import gauss_on_sphere
from mfpde.solvers.kernels.axis_slope import AxisRoom
from mfpde.transform.legendre_kernels import WORK
from mfpde.transform.legendre_tables import Rings, make_orders, make_rings, pairs_for
from mfpde.typing import Float

__all__ = ["axis_room", "no_axis"]

_SPARE = 8  # degrees that sums read beyond those that matter


def axis_room(dimension: int, modes: int, reach: int, bandwidth: int) -> AxisRoom:
    """For that many modes, drifts of degrees up to `reach`, and rings for velocities of the degree `bandwidth` (0:
    there is no normaliser, and there are none)."""
    lifts, gains, carries = _recurrences(dimension, modes + reach + _SPARE)
    rings = _rings(dimension, modes if bandwidth else 1, bandwidth)
    orders = make_orders(2 * rings.cosines.size - 2, dimension=dimension, about_axis=True)
    return AxisRoom(
        lifts=lifts,
        gains=gains,
        carries=carries,
        shift=dimension - 2.0,
        speed=np.zeros(reach + _SPARE),
        clenshaw=np.zeros((3, modes + reach + _SPARE)),
        orders=orders,
        rings=rings,
        ones=np.ones(orders.top + 2),
        given=np.zeros((2, orders.size)),
        prepared=np.zeros((4, 2, orders.size)),
        sums=np.zeros((2, 2, orders.size)),
        work=np.zeros(WORK),
    )


@lru_cache(maxsize=1)
def no_axis() -> AxisRoom:
    """Of the circle."""
    return axis_room(3, 1, 1, 0)


def _recurrences(dimension: int, count: int) -> tuple[Float, Float, Float]:
    """`e_l`, and the factors of `p_{l+1}' = gain_l p_l + carry_{l-1} p_{l-1}'`."""
    half, degree = 0.5 * (dimension - 2), np.arange(count + 2.0)
    square = degree * (degree + 2 * half - 1) / (4 * (degree + half) * np.maximum(degree + half - 1, half))
    lifts = np.sqrt(square)
    gains = (degree[:-1] + 1) / lifts[1:]
    inner = degree[1:-1]
    carries = (inner + 1) * inner / (4 * (inner + half) * (inner + half - 1) * lifts[2:] * lifts[1:-1])
    return lifts, gains, carries


@lru_cache(maxsize=8)
def _rings(dimension: int, modes: int, bandwidth: int) -> Rings:
    """As many Gauss nodes as make sums over products of two states and a velocity exact, the pole first."""
    pairs = pairs_for(-(-(2 * modes + bandwidth) // 4))
    cosines, weights = gauss_on_sphere(2 * pairs, dimension)
    single = make_orders(2 * pairs - 2, dimension=dimension, about_axis=True)
    return make_rings(cosines[::-1][:pairs].copy(), weights[::-1][:pairs].copy(), single, 4)
