"""Gauss rules on [-1, 1]."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.typing import Float

__all__ = ["gauss_jacobi", "gauss_legendre", "gauss_on_sphere", "last_coefficients"]

_NEWTON_STEPS = 6  # from the first guess, which is off by less than 1 / count^3, to the last digit


@lru_cache(maxsize=64)
def gauss_legendre(count: int) -> tuple[Float, Float]:
    """Points in [-1, 1] and weights of sum 1, each to its last digit: a tilt magnifies what is wrong near the ends."""
    x = np.cos(np.pi * (np.arange(count, 0, -1) - np.longdouble(0.25)) / (count + np.longdouble(0.5)))
    for _ in range(_NEWTON_STEPS):
        value, before = np.ones_like(x), np.zeros_like(x)
        for k in range(1, count + 1):
            value, before = ((2 * k - 1) * x * value - (k - 1) * before) / k, value
        slope = count * (before - x * value) / ((1 - x) * (1 + x))
        x = x - value / slope
    weights = 1 / ((1 - x) * (1 + x) * slope**2)
    return x.astype(float), (weights / weights.sum()).astype(float)


def last_coefficients(values: Float) -> Float:
    """|Legendre coefficients| of the two highest orders, of the polynomials through `values` `(m, n)` at n Gauss
    points: about the size of the interpolation error."""
    count = values.shape[1]
    points, weights = gauss_legendre(count)
    order = np.arange(count - 2, count)
    shapes = np.polynomial.legendre.legvander(points, count - 1)[:, order]
    return np.abs(values @ (weights[:, None] * shapes * (2 * order + 1)))


def gauss_jacobi(count: int, alpha: float, beta: float) -> tuple[Float, Float]:
    """Points in [-1, 1] and weights of sum 1 for the weight `(1 - t)^alpha (1 + t)^beta`."""
    from scipy.special import roots_jacobi

    points, weights = roots_jacobi(count, alpha, beta)
    return points, weights / weights.sum()


def gauss_on_sphere(count: int, dimension: int) -> tuple[Float, Float]:
    """For `t = <x, m>`, x uniform on S^{d-1}: the weight `(1 - t^2)^{(d-3)/2}`."""
    exponent = 0.5 * (dimension - 3)
    return gauss_legendre(count) if dimension == 3 else gauss_jacobi(count, exponent, exponent)
