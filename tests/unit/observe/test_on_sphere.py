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
BETA, VALUE, KAPPA = 2.5, -1.5, 3.0


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


def observed(name, measure, equation=EQUATION, **settings):
    return lookup("observable", name)(**settings).evaluate(Instant(0.0, measure, equation, lambda: 0.0))


def under(kind, kappa=None):
    noise = {} if kappa is None else {"noise": {"kappa": kappa}}
    return mfpde.Equation(geometry=Sphere(), attention=lookup("attention", kind)(A=BETA, V=VALUE), **noise)


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


@pytest.fixture(scope="module")
def functionals():
    """A density with its sums over points: the density, its gradient, the kernel, its mean of y."""
    points, weights = grid(24)
    x, w = points.reshape(-1, 3), weights.ravel()
    parts = [(0.6, np.array([2.0, 1.0, 0.4])), (0.4, np.array([-0.6, 2.0, -2.0]))]
    tops = [share * bump(x, c, np.linalg.norm(c)) for share, c in parts]
    density = np.sum(tops, axis=0)
    slope = sum(top[:, None] * (c - (x @ c)[:, None] * x) for top, (_, c) in zip(tops, parts, strict=True))
    kernel = np.exp(BETA * x @ x.T)
    pull = VALUE * kernel @ ((w * density)[:, None] * x)
    pull -= np.einsum("nc,nc->n", pull, x)[:, None] * x
    measure = SphereGridDensity(density.reshape(points.shape[:2]) / (4 * np.pi))
    return measure, w, density, slope, kernel, pull


def test_entropy_energy_and_free_energy_are_their_integrals(functionals):
    measure, w, density, _, kernel, _ = functionals
    entropy = -w @ (density * np.log(density / (4 * np.pi)))
    assert observed("entropy", measure)["entropy"] == pytest.approx(entropy, rel=1e-12)
    masses = w * density
    energy = VALUE * (masses @ kernel @ masses - 1) / (2 * BETA)
    uniform = VALUE * (np.sinh(BETA) / BETA - 1) / (2 * BETA)
    for kind in ("unnormalized", "softmax"):
        assert observed("energy", measure, under(kind))["energy"] == pytest.approx(energy, rel=1e-12)
    free = w @ (density * np.log(density)) / KAPPA - (energy - uniform)
    found = observed("free-energy", measure, under("unnormalized", KAPPA))["free-energy"]
    assert found == pytest.approx(free, rel=1e-12)


@pytest.mark.parametrize("kappa", [None, KAPPA])
def test_dissipation_is_its_integral(functionals, kappa):
    measure, w, density, slope, _, pull = functionals
    force = (0 if kappa is None else slope / density[:, None] / kappa) - pull
    expected = (w * density) @ np.sum(force**2, axis=1)
    found = observed("dissipation", measure, under("unnormalized", kappa))["dissipation"]
    assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("kind", ["unnormalized", "softmax"])
def test_gain_of_energy_is_its_integral(functionals, kind):
    """`int Z |v|^2 dmu` of softmax, `v = pull / Z`; without Z where nothing is divided by it."""
    measure, w, density, _, kernel, pull = functionals
    level = kernel @ (w * density) if kind == "softmax" else 1.0
    expected = (w * density / level) @ np.sum(pull**2, axis=1)
    assert observed("energy-growth", measure, under(kind))["energy-growth"] == pytest.approx(expected, rel=1e-12)


def test_softmax_gains_energy_by_its_own_law():
    """Without noise: what a run gains is the integral of what it says it gains, by Gauss nodes in time."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    times, until = 0.2 * (1 + nodes), 0.4
    problem = {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": "softmax", "beta": BETA},
        "initial": {"kind": "density", "expression": "1 + 0.5*x + 0.3*y*z + 0.2*(x**2 - y**2)*z"},
        "solver": {"kind": "spectral", "tolerance": 1e-10},
        "time": {"until": until, "save_at": [0.0, *times.tolist(), until]},
        "observe": ["energy", "energy-growth"],
    }
    run = mfpde.solve(mfpde.Problem.from_dict(problem))
    gained = run["energy"][-1] - run["energy"][0]
    assert gained > 0.01
    assert 0.2 * weights @ run["energy-growth"][1:-1] == pytest.approx(gained, rel=1e-8)
