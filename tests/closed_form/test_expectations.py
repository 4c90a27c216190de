"""What the validation cases expect, against the closed forms of tests/reference in many digits."""

import math

import numpy as np
import pytest
from reference import closed_forms

import mfpde
from mfpde.comparing.moebius import moebius_image
from mfpde.validation.cases.growth_rates import growth_rate
from mfpde.validation.cases.kuramoto_order_parameter import order_parameter
from mfpde.validation.cases.moebius import poisson_order_parameter


@pytest.mark.parametrize("kappa", [0.5, 1.999, 2.0, 2.0001, 2.01, 2.5, 4.0, 20.0, 1000.0])
def test_order_parameter(kappa):
    exact = float(closed_forms.kuramoto_order_parameter(kappa))
    assert order_parameter(kappa) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("kind", ["unnormalized", "softmax"])
@pytest.mark.parametrize("beta", [0.0, 1e-9, 1.0, 12.0])
@pytest.mark.parametrize("kappa", [0.5, math.inf])
def test_growth_rate(kind, beta, kappa):
    for mode in (1, 2, 5):
        exact = float(closed_forms.growth_rate(mode, beta, kappa, kind))
        assert growth_rate(kind, beta, kappa, mode) == pytest.approx(exact, rel=1e-12, abs=1e-15)


def test_poisson_order_parameter():
    for start in (0.01, 0.5, 0.99):
        for time in (0.0, 1.0, 10.0):
            exact = closed_forms.poisson_order_parameter(start, time)
            assert poisson_order_parameter(start, time) == pytest.approx(exact, rel=1e-13)


def test_moebius_image():
    initial = mfpde.Density(expression="1 + 0.5*cos(theta - 1) + 0.3*sin(2*theta)")
    theta, times = np.linspace(0, 6, 50), np.array([0.0, 0.5, 2.0])
    measure = initial.on(mfpde.Circle())
    for time in times:
        exact = closed_forms.moebius_density(
            theta, time, lambda t: 1 + np.cos(t - 1) / 2 + 3 * np.sin(2 * t) / 10, nodes=512
        )
        np.testing.assert_allclose(moebius_image(theta, time, measure), exact, atol=1e-11)


def test_a_poisson_kernel_moves_along_its_closed_form():
    r, turn = 0.3, 1.0
    initial = mfpde.Density(expression=f"1 / ({1 + r**2} - {2 * r}*cos(theta - {turn}))")
    theta, time = np.linspace(0, 6, 50), 2.0
    s = poisson_order_parameter(r, time)
    exact = (1 - s**2) / (1 + s**2 - 2 * s * np.cos(theta - turn)) / (2 * np.pi)
    np.testing.assert_allclose(moebius_image(theta, time, initial.on(mfpde.Circle())), exact, rtol=1e-11)
