"""Densities on the circle whose integral is not 1: written ones are divided by it, values given on a grid are not."""

import numpy as np
import pytest
from scipy.special import i0, i1

import mfpde
from mfpde.measure import CircleDensity

THETA = np.linspace(0.1, 6.2, 23)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 40.0])
@pytest.mark.parametrize(
    ("shape", "norm", "first"),
    [
        ("exp(2*cos(theta))", 2 * np.pi * i0(2), i1(2) / i0(2)),
        ("maximum(0, cos(theta))", 2.0, np.pi / 4),
    ],
    ids=["smooth", "edges"],
)
def test_written_densities_are_divided_by_their_integral(shape, norm, first, factor):
    measure = mfpde.Density(expression=f"{factor}*{shape}").on(mfpde.Circle())
    values = {"exp(2*cos(theta))": np.exp(2 * np.cos(THETA))}.get(shape, np.maximum(0, np.cos(THETA)))
    assert measure.norm == pytest.approx(factor * norm, rel=1e-12)
    np.testing.assert_allclose(measure.evaluate(THETA), values / norm, rtol=1e-12)
    np.testing.assert_allclose(measure.harmonics(1).coefficients, [1.0, first], rtol=1e-12)
    points, weights = measure.nodes()
    assert weights.sum() == pytest.approx(1, rel=1e-14)
    assert weights @ np.cos(points[:, 0]) == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("mass", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("count", [16, 17])
def test_values_on_a_grid_keep_their_mass(mass, count):
    def rho(theta):
        return mass * (1 + 0.4 * np.cos(theta - 1) - 0.3 * np.sin(5 * theta)) / (2 * np.pi)

    measure = CircleDensity.from_values(rho(2 * np.pi / count * np.arange(count)))
    np.testing.assert_allclose(measure.evaluate(THETA), rho(THETA), rtol=1e-13)
    np.testing.assert_allclose(measure.on_grid(40), rho(2 * np.pi / 40 * np.arange(40)), rtol=1e-13)
    assert measure.harmonics(2).coefficients[0] == pytest.approx(mass, rel=1e-14)
