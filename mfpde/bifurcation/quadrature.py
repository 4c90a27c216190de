"""Gauss rules and harmonics for functions of the height x = cos(angle to the axis) on S^{d-1}; d = 2 is the circle.

Harmonics of azimuthal order m are `p_l^m(x) Y_m`, orthonormal for the uniform probability measure: on the circle
`sqrt(2) cos l theta` (m = 0) and `sqrt(2) sin l theta` (m = 1), in general orthonormal Gegenbauer polynomials.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from mfpde.typing import AnyArray, Float

__all__ = ["SIZES", "Rule", "harmonic_count", "harmonic_counts", "rule", "size_for", "zonal"]

#: numbers of nodes that are used, so that few tables are made
SIZES = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


class Rule:
    """`count` Gauss nodes x with weights that sum to 1, exact to degree `2 count - 1` against the uniform measure."""

    def __init__(self, dimension: int, count: int) -> None:
        self.dimension, self.count = dimension, count
        if dimension == 2:
            #: from the axis, of the northern half; the others are their mirror images
            self.angles: Float = np.pi * (np.arange(count // 2) + 0.5) / count
            self.weights: Float = np.full(count, 1.0 / count)
        else:
            self.angles, self.weights = _gauss(0.5 * dimension - 1, count)
        self.nodes: Float = _mirrored(np.cos(self.angles), -1.0)
        self.sines: Float = _mirrored(np.sin(self.angles), 1.0)
        self._tables: dict[int, Float] = {}
        self._columns: dict[tuple[int, bytes], Float] = {}

    def table(self, top: int, order: int = 0) -> Float:
        """`p_l^m` at the nodes for l = m .. top, `(node, degree)`."""
        known = self._tables.get(order)
        if known is None or known.shape[1] <= top - order:
            known = np.asfortranarray(self._made(max(top, self.count - 1 if order == 0 else top), order))
            self._tables[order] = known
        return known[:, : max(top - order + 1, 0)]

    @cached_property
    def highest(self) -> tuple[Float, Float]:
        """The harmonics of the highest degrees at the nodes, and `N_l^{1/2}` of each."""
        last = self.table(self.count - 1)[:, -max(self.count // 8, 4) :]
        return last, np.sqrt(harmonic_counts(self.dimension, self.count - 1)[-last.shape[1] :])

    def columns(self, degrees: AnyArray, order: int = 0) -> Float:
        """`p_l^m` at the nodes for these degrees, made once."""
        key = order, degrees.tobytes()
        if key not in self._columns:
            self._columns[key] = np.asfortranarray(self.table(int(degrees[-1]), order)[:, degrees - order])
        return self._columns[key]

    def products(self, shares: Float, degrees: AnyArray, order: int = 0) -> Float:
        """`sum_i shares_i p_j(x_i) p_k(x_i)` for all pairs of degrees, symmetric to the bit, of shares that are not
        negative: on the circle from twice as many sums, as `2 cos j cos k = cos(j - k) + cos(j + k)`."""
        top = int(degrees[-1])
        if self.dimension > 2 or degrees.size < _DEGREES_FOR_SUMS:
            rows = self.columns(degrees, order) * np.sqrt(shares)[:, None]
            return rows.T @ rows
        sums = np.append(self.table(2 * top).T @ shares, 0.0)
        sums[1:] /= np.sqrt(2)
        apart, together = np.abs(np.subtract.outer(degrees, degrees)), np.add.outer(degrees, degrees)
        found: Float = sums[apart] - sums[together] if order else sums[apart] + sums[together]
        if degrees[0] == 0:  # p_0 is 1, not sqrt(2)
            found[0], found[:, 0] = np.sqrt(2) * sums[degrees], np.sqrt(2) * sums[degrees]
            found[0, 0] = sums[0]
        return found

    def _made(self, top: int, order: int) -> Float:
        if self.dimension == 2:
            return self._waves(top, order)
        envelope = self.sines**order
        count = max(top - order + 1, 1)
        north = orthonormal(0.5 * self.dimension - 1 + order, self.angles, count)
        polynomials = _mirrored(north, np.where(np.arange(count) % 2 == 0, 1.0, -1.0))
        polynomials *= (envelope / np.sqrt(self.weights @ envelope**2))[:, None]
        return polynomials[:, : max(top - order + 1, 0)]

    def _waves(self, top: int, order: int) -> Float:
        # the phase is a whole number of quarter steps: exact for any degree
        phase = np.outer(2 * np.arange(self.count) + 1, np.arange(order, top + 1)) % (4 * self.count)
        angle = phase * (0.5 * np.pi / self.count)
        waves: Float = np.sqrt(2) * (np.sin(angle) if order else np.cos(angle))
        if order == 0:
            waves[:, 0] = 1.0
        return waves


_NEWTON_STEPS = 2  # from nodes with sixteen digits of x
_DEGREES_FOR_SUMS = 48  # degrees from which sums of angles are cheaper than products


@lru_cache(maxsize=24)
def rule(dimension: int, count: int) -> Rule:
    """The rule of that size, made once."""
    return Rule(dimension, count)


def size_for(count: int) -> int:
    """The smallest size in use that is at least `count`."""
    return next((size for size in SIZES if size >= count), SIZES[-1])


def recurrence(half: float, count: int) -> Float:
    """`b_k` of `x p_k = b_{k+1} p_{k+1} + b_k p_{k-1}`, k = 0 .. count, for weight `(1 - x^2)^{half - 1/2}`."""
    k = np.arange(1, count + 1, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        squares = k * (k + 2 * half - 1) / (4 * (k + half) * (k + half - 1))
    squares[0] = 1 / (2 * (1 + half))
    return np.concatenate([[0.0], np.sqrt(squares)])


def orthonormal(half: float, angle: Float, count: int) -> Float:
    """The first `count` orthonormal polynomials of x = cos(angle) for that weight, of mass 1.

    By the differences of Gegenbauer's polynomials with value 1 at the pole, `(k + 2 half)(C_{k+1} - C_k) = k (C_k -
    C_{k-1}) - 2 (k + half)(1 - x) C_k`: near the poles x itself would lose the digits of the angle.
    """
    south = np.cos(angle) < 0
    below = 2 * np.sin(0.5 * np.where(south, np.pi - angle, angle)) ** 2
    values = np.ones((below.size, count))
    change = -below
    for k in range(1, count):
        values[:, k] = values[:, k - 1] + change
        change = (k * change - 2 * (k + half) * below * values[:, k]) / (k + 2 * half)
    values *= np.sqrt(harmonic_counts(round(2 * half + 2), count - 1))
    values[south, 1::2] *= -1
    return values


def zonal(dimension: int, angle: Float, degrees: AnyArray) -> Float:
    """`C_l(cos angle)` with value 1 at angle 0, `cos l angle` on the circle: `(angle, degree)`."""
    if dimension == 2:
        return np.cos(np.outer(angle, degrees))
    count = int(degrees[-1]) + 1
    return (orthonormal(0.5 * dimension - 1, angle, count) / np.sqrt(harmonic_counts(dimension, count - 1)))[:, degrees]


def _gauss(half: float, count: int) -> tuple[Float, Float]:
    """Angles of the northern nodes, to the digits of small angles by Newton's method, and Christoffel's weights."""
    from scipy.linalg import eigvalsh_tridiagonal

    b = recurrence(half, count)
    heights: Float = np.asarray(eigvalsh_tridiagonal(np.zeros(count), b[1:count])[::-1], dtype=np.float64)
    angles: Float = np.arccos(heights[: count // 2])
    for _ in range(_NEWTON_STEPS):
        last = orthonormal(half, angles, count + 1)[:, -2:]
        # C_n' (1 - x^2) = (n + 2 half) (x C_n - C_{n+1}) = n (C_{n-1} - x C_n), at a zero of C_n
        below, here = last.T / np.sqrt(harmonic_counts(round(2 * half + 2), count)[-2:, None])
        slope = -count * (below - np.cos(angles) * here) / np.sin(angles)
        angles = angles - here / slope
    weights = _mirrored(1 / np.sum(orthonormal(half, angles, count) ** 2, axis=1), 1.0)
    return angles, weights / weights.sum()


def _mirrored(north: Float, factor: Float | float) -> Float:
    """With the mirror images of rows, times a factor."""
    return np.concatenate([north, (north * factor)[::-1]])


def harmonic_count(dimension: int, degree: int) -> float:
    """N_l, the dimension of the harmonics of that degree on S^{d-1}; on S^0 there are two of degree 0 and 1."""
    return float(harmonic_counts(dimension, degree)[degree])


def harmonic_counts(dimension: int, top: int) -> Float:
    """N_0 .. N_top.

    >>> harmonic_counts(2, 3), harmonic_counts(3, 3)
    (array([1., 2., 2., 2.]), array([1., 3., 5., 7.]))
    """
    degree = np.arange(top + 1, dtype=float)
    if dimension == 1:
        return np.where(degree <= 1, 1.0, 0.0)
    if dimension == 2:
        return np.where(degree == 0, 1.0, 2.0)
    # N_l = (2l + d - 2) / (d - 2) * C(l + d - 3, l), the binomial by its ratios
    steps = np.concatenate([[1.0], (degree[1:] + dimension - 3) / degree[1:]])
    return (2 * degree + dimension - 2) / (dimension - 2) * np.cumprod(steps)
