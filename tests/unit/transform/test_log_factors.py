"""Masses times e^{f}: f of any size and range, as sinkhorn's potentials and l2's -|Ky|^2 are."""

import numpy as np
import pytest
from reference.exponential_sums import grid_points, tilted_mean

from mfpde import transform
from mfpde.transform import circle, line, plane, sphere

GENERAL = np.array([[0.7, 0.4], [-0.3, 0.6]])


def expected(queries, nodes, masses, log_factors):
    """With the factors as one more component of the nodes: `e^{f + <w, y>} = e^{<(w, 1), (y, f)>}`."""
    mean, log_mass = tilted_mean(
        np.column_stack([queries, np.ones(len(queries))]), np.column_stack([nodes, log_factors]), masses
    )
    return mean[:, :-1], log_mass


def check(result, wanted, accuracy):
    for given, exact in zip(result, wanted, strict=True):
        assert (np.abs(given - exact) / (1 + np.abs(exact))).max() < accuracy


def factors(random, kind, nodes):
    if kind == "noise":
        return random.uniform(-3000, 3000, len(nodes))
    return -900 * (nodes**2).sum(axis=1) - 4e4  # e^-|Ky|^2 with a large K


@pytest.fixture
def no_direct(monkeypatch):
    def refuse(*_):
        raise AssertionError("the direct sum was chosen")

    for module in (line, plane, circle, sphere):
        monkeypatch.setattr(module, "tilted_mean_directly", refuse)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize(("dimension", "size"), [(1, 900.0), (2, 40.0)])
def test_scattered(dimension, size, kind, no_direct, random):
    nodes, masses = random.uniform(-1, 1, (7000, dimension)), random.random(7000)
    masses[:9], given = 0.0, factors(random, kind, nodes)
    queries = size * random.uniform(-1, 1, (7000, dimension))
    mean, log_mass = transform.tilted_mean(queries, nodes, masses, given)
    check((mean[:80], log_mass[:80]), expected(queries[:80], nodes, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_grid_of_the_plane(size, kind, random):
    axes = np.linspace(-1.0, 1.0, 48), np.linspace(-0.7, 0.9, 37)
    points, masses = grid_points(*axes), random.random(48 * 37)
    given, matrix = factors(random, kind, points), size * GENERAL
    mean, log_mass = transform.tilted_mean_on_grid(
        axes, masses.reshape(48, 37), matrix, log_factors=given.reshape(48, 37)
    )
    check((mean.reshape(2, -1).T, log_mass.ravel()), expected(points @ matrix.T, points, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_directly(dimension, kind, random):
    nodes, masses = random.uniform(-1, 1, (300, dimension)), random.random(300)
    queries, given = random.uniform(-1e3, 1e3, (90, dimension)), factors(random, kind, nodes)
    result = transform.tilted_mean_directly(queries, nodes, masses, given)
    check(result, expected(queries, nodes, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("beta", [3.0, 90.0])
def test_circle(beta, kind, no_direct, random):
    angles, masses = random.uniform(0, 2 * np.pi, 6000), random.random(6000)
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    given = factors(random, kind, unit * [[1.0, 0.3]])
    mean, log_mass = transform.tilted_mean_on_circle(beta, angles, angles, masses, given)
    check((mean[:80], log_mass[:80]), expected(beta * unit[:80], unit, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
def test_sphere(kind, no_direct, random):
    points, masses = random.standard_normal((8000, 3)), random.random(8000)
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    given = factors(random, kind, points * [[1.0, 0.3, 0.6]])
    mean, log_mass = transform.tilted_mean_on_sphere(3.0, points, points, masses, given)
    check((mean[:80], log_mass[:80]), expected(3.0 * points[:80], points, masses, given), 1e-12)


def test_a_factor_of_minus_infinity_takes_a_node_away(random):
    nodes, given = random.uniform(-1, 1, (6000, 1)), np.zeros(6000)
    given[::3] = -np.inf
    some = np.arange(6000) % 3 != 0
    queries = np.linspace(-30, 30, 500)[:, None]
    result = transform.tilted_mean(queries, nodes, np.ones(6000), given)
    check(result, transform.tilted_mean(queries, nodes[some], np.ones(4000)), 1e-13)


@pytest.mark.parametrize("dimension", [1, 2])
def test_queries_around_a_point_far_away(dimension, no_direct, random):
    """The panels are as few as around 0; factors that undo the offset leave a mild tilt to be seen."""
    offset = np.array([3e4, -2e4])[:dimension]
    nodes, masses = 5.0 + random.uniform(-1, 1, (6000, dimension)), random.random(6000)
    given, queries = -(nodes - 5.0) @ offset, offset + random.uniform(-9, 9, (6000, dimension))
    mean, log_mass = transform.tilted_mean(queries, nodes, masses, given)
    assert np.ptp(mean, axis=0).min() > 1.0
    check((mean[:80], log_mass[:80]), expected(queries[:80], nodes, masses, given), 1e-10)


SPOTS = np.random.default_rng(1).uniform(-1, 1, (6000, 3))
UNIT = SPOTS / np.linalg.norm(SPOTS, axis=1, keepdims=True)
ANGLES = np.arctan2(SPOTS[:, 0], SPOTS[:, 1])
SUMS = {
    "line": lambda *given: transform.tilted_mean(SPOTS[:, :1], SPOTS[:, :1], *given)[0],
    "plane": lambda *given: transform.tilted_mean(SPOTS[:, :2], SPOTS[:, :2], *given)[0],
    "directly": lambda *given: transform.tilted_mean_directly(SPOTS[:50], SPOTS, *given)[0],
    "circle": lambda *given: transform.tilted_mean_on_circle(2.0, ANGLES, ANGLES, *given)[0],
    "sphere": lambda *given: transform.tilted_mean_on_sphere(2.0, UNIT, UNIT, *given)[0],
    "covariance": lambda *given: transform.tilted_covariance(SPOTS[:50], SPOTS, *given)[2],
    "masked": lambda *given: transform.tilted_mean_masked(SPOTS[:50], np.ones(50), SPOTS, np.zeros(6000), *given)[0],
}


@pytest.mark.parametrize("sum_up", SUMS.values(), ids=SUMS.keys())
def test_a_common_factor_costs_no_digits(sum_up, random):
    """To the last bit: these numbers keep all of their digits where e^-65536 is a factor."""
    masses, given = random.random(6000), -900 * (SPOTS**2).sum(axis=1) // 2**-20 * 2**-20
    assert np.array_equal(sum_up(masses, given - 65536), sum_up(masses, given))
