"""The spectral solver on spheres against closed forms and a program without harmonics."""

import numpy as np
import pytest
from reference.sphere import solve as solve_without_harmonics
from scipy.integrate import solve_ivp

import mfpde
from mfpde.attention import Softmax, Unnormalized
from mfpde.geometry import Sphere
from mfpde.solvers.spectral.sphere_shown import AboutAxis
from mfpde.solvers.spectral.sphere_stepping import Limits, Verdict


def solved(expression, until, *, law=None, kappa=None, tolerance=1e-8, **more):
    data = {
        "geometry": {"kind": "sphere"},
        "initial": {"kind": "density", "expression": expression},
        "solver": {"kind": "spectral", "tolerance": tolerance},
        "time": {"until": until, "save": False},
        **more,
    }
    if law is not None:
        data["attention"] = law
    if kappa is not None:
        data["noise"] = {"kappa": kappa}
    return mfpde.solve(mfpde.Problem.from_dict(data))


def places(count=12):
    axis = mfpde.geometry.Axis.of_colatitudes(count).values
    colatitude, longitude = (each.ravel() for each in np.meshgrid(axis, np.linspace(0, 6, 7), indexing="ij"))
    side = np.sin(colatitude)
    return np.column_stack([side * np.cos(longitude), side * np.sin(longitude), np.cos(colatitude)])


def test_heat_decays_degree_by_degree():
    run = solved("1 + 0.5*z + 0.2*x*y + 0.3*(x**2 - y**2)*z", 0.4, kappa=2)
    x, y, z = points = places().T
    decay = np.exp(-0.5 * 0.4 * np.array([2, 6, 12]))
    expected = 1 + decay[0] * 0.5 * z + decay[1] * 0.2 * x * y + decay[2] * 0.3 * (x**2 - y**2) * z
    assert np.abs(4 * np.pi * run.measure(-1).evaluate(points.T) - expected).max() < 1e-14


@pytest.mark.parametrize("law", [Unnormalized(beta=2.5), Softmax(beta=2.5)])
@pytest.mark.parametrize("dimension", [3, 4, 8, 64])
def test_every_degree_grows_as_it_should(law, dimension):
    """Section 5. The mean of a perturbation and its opposite has no part of second order."""
    convolution, kappa, until, size = law.convolution(Sphere(dimension=dimension)), 3.0, 0.05, 2e-5
    axis = np.eye(dimension)[-1]
    for degree in (1, 2, 3, 5):
        found = []
        for sign in (1, -1):
            shown = AboutAxis(axis, False)
            stepping = shown.stepping(convolution, 1 / kappa, Limits.of(1e-9), 24)
            state = np.zeros(17)
            state[0], state[degree] = 1.0, sign * size
            stepping.lay(*shown.laid(16, 24, state))
            stepping.first_step(1e-9)
            assert stepping.advance(until, 1000) is Verdict.REACHED
            found.append(stepping.state[0, degree])
        rate = np.log((found[0] - found[1]) / (2 * size)) / until
        expected = convolution.growth_rates()[degree] - degree * (degree + dimension - 2) / kappa
        assert rate == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("attention", ["unnormalized", "softmax"])
def test_conformal_maps_of_the_uniform_measure(attention):
    """beta = 0 without noise: `f = ((1 - r^2) / |x - r a|^2)^2`, `r' = (1 - r^2) |m| / 2`."""
    start, until = 0.2, 0.8
    z, w = np.polynomial.legendre.leggauss(200)

    def mean(r):
        return 0.5 * w @ (z * ((1 - r * r) / (1 - 2 * r * z + r * r)) ** 2)

    r = solve_ivp(lambda _, r: 0.5 * (1 - r * r) * mean(r[0]), (0, until), [start], rtol=1e-12, atol=1e-13).y[0, -1]
    direction = np.array([2.0, -1.0, 2.0]) / 3
    run = solved(
        f"(1 - 2*{start}*(2*x - y + 2*z)/3 + {start**2})**(-2)",
        until,
        law={"kind": attention, "beta": 0},
        tolerance=1e-9,
    )
    expected = ((1 - r * r) / (1 - 2 * r * places() @ direction + r * r)) ** 2
    assert np.abs(4 * np.pi * run.measure(-1).evaluate(places()) - expected).max() < 1e-8 * expected.max()


@pytest.mark.parametrize(("kind", "normalised"), [("unnormalized", False), ("softmax", True)])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-10])
def test_data_without_an_axis_agree_with_another_method(kind, normalised, tolerance):
    def initial(points):
        return 1 + 0.5 * points[:, 0] + 0.3 * points[:, 1] * points[:, 2] + 0.2 * points[:, 2]

    points, (expected,) = solve_without_harmonics(initial, [0.3], 1.0, 2.0, normalised, 11, 14)
    run = solved("1 + 0.5*x + 0.3*y*z + 0.2*z", 0.3, law={"kind": kind, "beta": 1.0}, kappa=2.0, tolerance=tolerance)
    error = np.abs(run.measure(-1).evaluate(points) - expected).max() / expected.max()
    assert error < max(10 * tolerance, 1e-9)
    assert error < 1e-6


def test_maier_saupe_comes_to_its_stationary_order():
    """`W = w P_2`: `log mu = kappa w m_2 P_2`, m_2 = <P_2>."""
    weight, kappa = 2.0, 6.0
    z, w = np.polynomial.legendre.leggauss(100)
    shape, order = 0.5 * (3 * z**2 - 1), 0.6
    for _ in range(400):
        density = w * np.exp(kappa * weight * order * shape)
        order = density @ shape / density.sum()
    run = solved("1 + 0.6*x**2", 12.0, kappa=kappa, interaction={"coefficients": [0, weight]})
    found = run.measure(-1).covariance[0, 0] + run.measure(-1).mean[0] ** 2
    assert 0.5 * (3 * found - 1) == pytest.approx(order, abs=1e-7)
