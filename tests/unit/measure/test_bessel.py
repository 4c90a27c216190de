"""The Laplace transforms of what is uniform and round, against their series in many digits."""

import mpmath
import numpy as np
import pytest

from mfpde.measure.bessel import bessel_slopes, log_phi, slope_over_x

ORDERS = [0.0, 0.5, 1.0, 2.5, 25.0, 39.5, 40.0, 500.0, 50000.0]
SIZES = [1e-8, 0.5, 10.0, 15.4, 15.6, 60.0, 1000.0]


def phi(order, x):
    """`sum_k (x^2 / 4)^k / (k! (nu + 1)_k)` in thirty digits."""
    with mpmath.workdps(30):
        quarter, term, total, k = mpmath.mpf(x) ** 2 / 4, mpmath.mpf(1), mpmath.mpf(1), 0
        while k * (order + k) <= quarter or term > total * mpmath.mpf(10) ** -28:
            k += 1
            term = term * quarter / (k * (order + k))
            total += term
        return total


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("x", SIZES)
def test_every_size_and_order(order, x):
    here, next_one = phi(order, x), phi(order + 1, x)
    value = float(mpmath.log(here) - x)
    assert log_phi(order, np.array([x]))[0] == pytest.approx(value, rel=2e-14, abs=1e-14)
    assert slope_over_x(order, np.array([x]))[0] == pytest.approx(float(next_one / here) / (2 * order + 2), rel=2e-15)


@pytest.mark.parametrize("order", [0.0, 0.5, 10.0, 39.0])
def test_the_expansion_for_large_arguments_joins_on(order):
    for x in (0.99e5, 1.01e5, 1e8):
        with mpmath.workdps(40):
            here, next_one = (mpmath.besseli(nu, mpmath.mpf(x)) for nu in (order, order + 1))
            norm = mpmath.gamma(order + 1) * (mpmath.mpf(2) / x) ** order
            value, slope = float(mpmath.log(norm * here) - x), float(next_one / here / x)
        assert log_phi(order, np.array([x]))[0] == pytest.approx(value, rel=1e-14)
        assert slope_over_x(order, np.array([x]))[0] == pytest.approx(slope, rel=1e-15)


def test_the_ball_of_the_line_and_the_sphere_of_space_are_hyperbolic_sines():
    x = np.array([1e-5, 1.0, 30.0, 700.0])
    np.testing.assert_allclose(log_phi(0.5, x) + x, x + np.log(-np.expm1(-2 * x) / (2 * x)), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("order", [0.0, 0.5, 3.5, 49.0])
@pytest.mark.parametrize("x", [0.0, 1e-9, 0.7, 12.0, 700.0])
def test_slopes_of_all_orders(order, x):
    """By the functions of mpmath; the last of few orders is as good as the first of many."""
    for count in (1, 6, 40):
        slopes = bessel_slopes(order, x, count)
        for k, found in enumerate(slopes):
            here = mpmath.besseli(order + k, x) * x
            expected = mpmath.besseli(order + k + 1, x) / here if here else 1 / (2 * (order + k + 1))
            assert found == pytest.approx(float(expected), rel=5e-15)
