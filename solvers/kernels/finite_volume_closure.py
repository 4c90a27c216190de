"""Contribution of a Gaussian outside of the cells of a lattice, added to sums over the cells."""

from __future__ import annotations

from typing import NamedTuple

from mfpde.compilation import kernel
from mfpde.transform.exponential import exponential, logarithm
from mfpde.transform.fused import fused
from mfpde.typing import Float

__all__ = [
    "GAUSSIAN_FLOOR",
    "NEGLIGIBLE_DEVIATIONS",
    "POLYNOMIALS_PER_DEVIATION",
    "RING_FRACTIONS",
    "ROOM",
    "SHARE_BOUNDS",
    "SHARE_MAX",
    "TERMS",
    "ClosureGaussian",
    "Shares",
    "add_outside",
]

RING_FRACTIONS = (8, 16)  # one over the share of cells beyond the rows that closures are fitted to
GAUSSIAN_FLOOR = 1e-250  # smaller sums are rounding or underflow
SHARE_BOUNDS = (1e-6, 4.0)  # density over its Gaussian near the ends: outside of them tails are not Gaussian, or none
SHARE_MAX = 100.0  # of the Gaussian, for the heaviest closure
NEGLIGIBLE_DEVIATIONS = 9.0  # 1e-19 of a Gaussian lies beyond
POLYNOMIALS_PER_DEVIATION = 8.0  # of a table of shares: their remainders are roundoff
TERMS = 11  # of the Taylor polynomials of a table
ROOM = 7  # arrays that `add_outside` works in


class Shares(NamedTuple):
    """Share of a Gaussian beyond both ends of an axis, by the place c of its mean: Taylor polynomials of
    `(c - start) per_unit` about 0, 1, 2, .. as rows; constant beyond the first and the last."""

    table: Float
    start: float
    per_unit: float


class ClosureGaussian(NamedTuple):
    """`e^{log_share} N(mean, covariance)` in the coordinates z of `x = origin + frame z`, in two dimensions."""

    log_share: float
    origin: Float
    frame: Float
    mean: Float
    covariance: Float


@kernel
def _look_up(shares: Shares, places: Float, values: Float, slopes: Float) -> None:
    """The shares and their slopes at `places`."""
    table = shares.table
    last = table.shape[0] - 1
    for i in range(places.size):
        place = min(max((places[i] - shares.start) * shares.per_unit, 0.0), float(last))
        row = int(place + 0.5)
        s, c = place - row, table[row]
        value, slope = c[TERMS - 1], 0.0
        for k in range(TERMS - 2, -1, -1):
            slope = fused(slope, s, value)
            value = fused(value, s, c[k])
        values[i] = value
        slopes[i] = slope * shares.per_unit


@kernel
def add_outside(
    w1: Float,
    w2: Float,
    gaussian: ClosureGaussian,
    shares1: Shares,
    shares2: Shares,
    room: Float,
    value: Float,
    mean1: Float,
    mean2: Float,
) -> None:
    """(log M, grad log M) at tilts w, in place: M grows by a multiple of `int e^{<w, x>} N(z) dz` over all z outside of
    the box.

    The Gaussian tilted by w has in z the mean `c = m + C t`, `t = frame^T w`, and the mass `F = e^{<t, m> + <t, C t> /
    2}`; `F (u_1 + u_2 - u_1 u_2)` of it are outside, u_i the shares at c_i. room is for `(7, n)`.
    """
    log_share, origin, frame, mean, covariance = gaussian
    c1, c2, level, u1, u2, s1, s2 = room[0], room[1], room[2], room[3], room[4], room[5], room[6]
    for i in range(value.size):
        t1 = frame[0, 0] * w1[i] + frame[1, 0] * w2[i]
        t2 = frame[0, 1] * w1[i] + frame[1, 1] * w2[i]
        p1 = covariance[0, 0] * t1 + covariance[0, 1] * t2
        p2 = covariance[1, 0] * t1 + covariance[1, 1] * t2
        c1[i] = mean[0] + p1
        c2[i] = mean[1] + p2
        mass = (mean[0] + 0.5 * p1) * t1 + (mean[1] + 0.5 * p2) * t2
        level[i] = mass + (origin[0] * w1[i] + origin[1] * w2[i]) + log_share
    _look_up(shares1, c1[: value.size], u1, s1)
    _look_up(shares2, c2[: value.size], u2, s2)
    for i in range(value.size):
        top = max(value[i], level[i])
        inside, whole = exponential(value[i] - top), exponential(level[i] - top)
        share = u1[i] + u2[i] - u1[i] * u2[i]
        g1, g2 = s1[i] * (1.0 - u2[i]), s2[i] * (1.0 - u1[i])
        z1 = whole * (share * c1[i] + covariance[0, 0] * g1 + covariance[0, 1] * g2)
        z2 = whole * (share * c2[i] + covariance[1, 0] * g1 + covariance[1, 1] * g2)
        outside = whole * share
        total = inside + outside
        value[i] = top + logarithm(total)
        mean1[i] = (inside * mean1[i] + origin[0] * outside + frame[0, 0] * z1 + frame[0, 1] * z2) / total
        mean2[i] = (inside * mean2[i] + origin[1] * outside + frame[1, 0] * z1 + frame[1, 1] * z2) / total
