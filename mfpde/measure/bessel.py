"""`Phi_nu(x) = Gamma(nu + 1) (2 / x)^nu I_nu(x)`, the Laplace transform of what is uniform and round.

`nu = d/2 - 1` is the sphere S^{d-1}, `nu = d/2` the ball of R^d, each of radius 1 and mass 1. Any order from 0 on, any
x from 0 on; where which formula is used is decided by size alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial

from mfpde.typing import Float

__all__ = ["bessel_slopes", "log_phi", "slope_over_x"]

_SERIES_SIZE_MAX = 60.0  # x^2 / 4 (nu + 1) up to which the power series, of positive terms, is summed
_DEBYE_ORDER_MIN = 40.0  # order from which the uniform expansion holds to roundoff
_HANKEL_ARGUMENT_MIN = 1e5  # x from which the expansion for large x holds to roundoff at smaller orders
_HANKEL_TERMS = 14  # the last is below rounding at that argument
_SERIES_TERMS = 400  # more than any size up to the largest takes
_SERIES_ROUNDING = 1e-17  # of a term relative to the sum: no later one changes it
_DEBYE_TERMS = 10
_ORDERS_BEYOND = 60  # from which a recurrence downwards starts, and three times the root of x


def log_phi(order: float, x: Float) -> Float:
    """`log Phi - x`, which stays small: the caller adds what he wants of x.

    >>> (log_phi(0.5, np.array([0.0, 2.0])) + [0.0, 2.0]).round(8)          # log(sinh(2) / 2)
    array([0.        , 0.59522019])
    """
    return _pieces(order, np.asarray(x, dtype=float))[0]


def slope_over_x(order: float, x: Float) -> Float:
    """`Phi' / (Phi x) = I_{nu+1}(x) / (x I_nu(x))`, `1 / (2 nu + 2)` at 0.

    >>> slope_over_x(0.5, np.array([0.0, 2.0])).round(8)          # (coth(2) - 1/2) / 2
    array([0.33333333, 0.26865736])
    """
    return _pieces(order, np.asarray(x, dtype=float))[1]


def _pieces(order: float, x: Float) -> tuple[Float, Float]:
    value, slope = np.empty(x.shape), np.empty(x.shape)
    series = x * x <= 4 * _SERIES_SIZE_MAX * (order + 1)
    for here, how in ((series, _by_series), (~series, _by_logarithms)):
        if here.any():
            value[here], slope[here] = how(order, x[here])
    return value, slope


def _by_series(order: float, x: Float) -> tuple[Float, Float]:
    square = 0.25 * x * x
    first, second = _sum(order, square), _sum(order + 1, square)
    return np.log(first) - x, 0.5 / (order + 1) * second / first


def _sum(order: float, square: Float) -> Float:
    """`sum_k q^k / (k! (nu + 1)_k)`."""
    term, total = np.ones(square.shape), np.ones(square.shape)
    for k in range(1, _SERIES_TERMS):
        term = term * (square / (k * (order + k)))
        total = total + term
        if not (term > _SERIES_ROUNDING * total).any():
            break
    return total


def _by_logarithms(order: float, x: Float) -> tuple[Float, Float]:
    from scipy.special import gammaln

    value, slope = _debye(order, x) if order >= _DEBYE_ORDER_MIN else _scaled(order, x)
    return gammaln(order + 1) + order * np.log(2 / x) + value, slope


def _scaled(order: float, x: Float) -> tuple[Float, Float]:
    """`log(I_nu(x) e^{-x})` and the slope, by the Bessel functions themselves or DLMF 10.40.1."""
    from scipy.special import ive

    near, far = np.minimum(x, _HANKEL_ARGUMENT_MIN), np.maximum(x, _HANKEL_ARGUMENT_MIN)
    value, following = (
        np.where(x > _HANKEL_ARGUMENT_MIN, _hankel(nu, far), ive(nu, near) * np.sqrt(2 * np.pi * near))
        for nu in (order, order + 1)
    )
    return np.log(value) - 0.5 * np.log(2 * np.pi * x), following / value / x


def _hankel(order: float, x: Float) -> Float:
    term, total = np.ones(x.shape), np.ones(x.shape)
    for k in range(1, _HANKEL_TERMS):
        term = -term * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        total = total + term
    return total


def _debye(order: float, x: Float) -> tuple[Float, Float]:
    """DLMF 10.41.3 and 10.41.4, with what cancels in `eta - x / nu` and `I' / I - nu / x` taken out."""
    z = x / order
    root = np.hypot(1.0, z)
    p = 1 / root
    here, change = (sum(u(p) / order**k for k, u in enumerate(terms)) for terms in _polynomials())
    value = order * (1 / (root + z) + np.log(z / (1 + root))) - 0.5 * np.log(2 * np.pi * order * root) + np.log(here)
    return value, (z * z / (root + 1) + root * change / here) / (z * x)


@lru_cache(maxsize=1)
def _polynomials() -> tuple[list[Polynomial], list[Polynomial]]:
    """U_k of DLMF 10.41.10 and V_k - U_k of 10.41.11."""
    p = Polynomial([0.0, 1.0])
    values, changes = [Polynomial([1.0])], [Polynomial([0.0])]
    for _ in range(_DEBYE_TERMS):
        last = values[-1]
        changes.append(-0.5 * p * (1 - p**2) * last - p**2 * (1 - p**2) * last.deriv())
        values.append(0.5 * p**2 * (1 - p**2) * last.deriv() + 0.125 * ((1 - 5 * p**2) * last).integ())
    return values, changes


def bessel_slopes(order: float, x: float, count: int) -> Float:
    """`I_{nu+k+1}(x) / (x I_{nu+k}(x))`, k = 0 .. count - 1, `1 / (2 (nu + k + 1))` at 0, each to rounding.

    From the largest order downwards `s_k = 1 / (2 (nu + k + 1) + x^2 s_{k+1})`, in which errors die out.

    >>> bessel_slopes(0.5, 2.0, 1).round(8)          # (coth(2) - 1/2) / 2
    array([0.26865736])
    """
    slopes, following = np.empty(count), 0.0
    for k in range(count + _ORDERS_BEYOND + int(3 * np.sqrt(x)), -1, -1):
        twice = 2 * (order + k + 1)
        # what follows the last is its limit for large orders
        following = 1 / (twice + x * x * following) if following else 2 / (twice + np.hypot(twice, 2 * x))
        if k < count:
            slopes[k] = following
    return slopes
