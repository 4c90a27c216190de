"""Observables on spheres against sums over many points that know no harmonics."""

from itertools import pairwise

import numpy as np
import pytest

import mfpde
from mfpde.geometry import Axis, Sphere
from mfpde.measure.sphere_grid import ProfileDensity, SphereGridDensity
from mfpde.measure.von_mises_fisher import VonMisesFisher
from mfpde.observe import Instant
from mfpde.registry import lookup

EQUATION = mfpde.Equation(geometry=Sphere())


def grid(count):
    """Points and weights of sum 1."""
    x, w = np.polynomial.legendre.leggauss(count)
    phi = 2 * np.pi * np.arange(2 * count) / (2 * count)
    side = np.sqrt(1 - x[::-1] ** 2)
    points = np.stack([np.outer(side, np.cos(phi)), np.outer(side, np.sin(phi)), np.outer(x[::-1], phi**0)], -1)
    return points, np.repeat(w[::-1, None], 2 * count, axis=1) / (4 * count)


def bump(points, direction, concentration):
    direction = np.array(direction) / np.linalg.norm(direction)
    return concentration / np.sinh(concentration) * np.exp(concentration * (points @ direction))


def observed(name, measure, **settings):
    return lookup("observable", name)(**settings).evaluate(Instant(0.0, measure, EQUATION, lambda: 0.0))


@pytest.fixture(scope="module")
def law():
    points, weights = grid(32)
    density = 0.6 * bump(points, [1, 0.5, 0.2], 4.0) + 0.4 * bump(points, [-0.3, 1, -1], 7.0)
    return SphereGridDensity(density / (4 * np.pi)), points.reshape(-1, 3), (density * weights).ravel()


@pytest.mark.parametrize("harmonic", [1, 2, 3, 5])
def test_order_parameters_are_sizes_of_degrees(law, harmonic):
    """`|mu_k|^2 / N_k = iint P_k(<x, y>) dmu dmu`, by the addition theorem."""
    measure, points, masses = law
    x, w = points[masses > 1e-9], masses[masses > 1e-9]
    cosines = np.clip(x @ x.T, -1, 1)
    power = w @ np.polynomial.legendre.legval(cosines, np.eye(harmonic + 1)[harmonic]) @ w
    name = "order-parameter" if harmonic == 1 else f"order-parameter-{harmonic}"
    found = observed("order-parameter", measure, harmonic=harmonic)
    assert list(found) == [name]
    assert found[name] == pytest.approx(np.sqrt(power), abs=2e-6)


def test_mean_direction_and_nematic_order(law):
    measure, points, masses = law
    mean, second = masses @ points, (points * masses[:, None]).T @ points
    assert observed("mean-direction", measure)["mean-direction"] == pytest.approx(mean / np.linalg.norm(mean))
    values = np.linalg.eigvalsh((3 * second - np.eye(3)) / 2)
    found = observed("nematic-order", measure)
    assert found["nematic-order"] == pytest.approx(values[2])
    assert found["nematic-order-biaxiality"] == pytest.approx(values[1] - values[0])


def test_clusters_are_the_peaks_that_stand_out():
    """One lies on the seam of longitudes, one on a pole."""
    points, _ = grid(40)
    parts = [(0.5, [1, 0, 0.1], 60.0), (0.3, [0, 0, 1], 80.0), (0.2, [-1, -1, -0.5], 70.0)]
    density = sum(w * bump(points, d, c) for w, d, c in parts) * (1 + 0.01 * points[..., 0]) / (4 * np.pi)
    found = observed("clusters", SphereGridDensity(density), most=4)
    assert found["clusters"] == 3
    by_mass = np.argsort(-found["clusters-mass"][:3])
    assert found["clusters-mass"][:3][by_mass] == pytest.approx([0.5, 0.3, 0.2], rel=0.02)
    for row, (_, direction, c) in zip(by_mass, parts, strict=True):
        expected = (1 / np.tanh(c) - 1 / c) * np.array(direction) / np.linalg.norm(direction)
        assert found["clusters-position"][row] == pytest.approx(expected, abs=2e-3)
        assert found["clusters-width"][row] == pytest.approx(np.sqrt((1 - expected @ expected) / 3), rel=2e-2)
    assert np.isnan(found["clusters-mass"][3])
    assert observed("clusters", SphereGridDensity((1 + 0.2 * points[..., 2]) / (4 * np.pi)))["clusters"] == 0


def test_moments_of_a_profile_are_those_of_its_law():
    geometry, axis, side = Sphere(dimension=5), np.array([0, 0, 0.6, 0.8, 0]), np.eye(5)[0]
    law = VonMisesFisher(axis, 3.0, geometry)
    angle = Axis.of_colatitudes(40, 5).values
    points = np.outer(np.cos(angle), axis) + np.outer(np.sin(angle), side)
    profile = ProfileDensity(law.evaluate(points), axis, geometry)
    assert np.abs(profile.mean - law.mean).max() < 1e-14
    assert np.abs(profile.covariance - law.covariance).max() < 1e-14


def test_clusters_about_an_axis_are_poles_and_rings():
    """Two poles and a ring in five dimensions, by sums over colatitudes alone."""
    geometry, axis = Sphere(dimension=5), np.array([0, 0, 0.6, 0.8, 0])
    angle = Axis.of_colatitudes(120, 5).values

    def written(a):
        return 3 * np.exp(40 * (np.cos(a) - 1)) + np.exp(40 * (-np.cos(a) - 1)) + 2 * np.exp(-50 * (a - 1.5) ** 2)

    a = np.linspace(0, np.pi, 20_001)
    weight = written(a) * np.sin(a) ** 3
    total = np.trapezoid(weight, a)
    values = written(angle) / (total * 2 * np.pi**2)  # area of S^3
    equation = mfpde.Equation(geometry=geometry)
    instant = Instant(0.0, ProfileDensity(values, axis, geometry), equation, lambda: 0.0)
    found = lookup("observable", "clusters")(most=4, prominence=1e-3).evaluate(instant)
    assert found["clusters"] == 3
    cuts = [0, a[a < 1.2][written(a[a < 1.2]).argmin()], a[a > 1.8][written(a[a > 1.8]).argmin()], np.pi]
    for row, (low, high) in zip((2, 1, 0), pairwise(cuts), strict=True):  # in the order of places
        here = (a >= low) & (a <= high)
        mass = np.trapezoid(weight[here], a[here])
        height = np.trapezoid(weight[here] * np.cos(a[here]), a[here]) / mass
        assert found["clusters-mass"][row] == pytest.approx(mass / total, rel=1e-3)
        assert found["clusters-position"][row] == pytest.approx(height * axis, abs=1e-3)
        assert found["clusters-width"][row] == pytest.approx(np.sqrt((1 - height**2) / 5), rel=1e-3)
