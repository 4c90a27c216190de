"""Masses times e^{f}: f of any size and range, as sinkhorn's potentials and l2's -|Ky|^2 are."""

import numpy as np
import pytest
from reference.exponential_sums import grid_points, tilted_mean

from mfpde import transform
from mfpde.transform import circle, line, plane, sphere

RANDOM = np.random.default_rng(8)
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


def factors(kind, nodes):
    if kind == "noise":
        return RANDOM.uniform(-3000, 3000, len(nodes))
    return -900 * (nodes**2).sum(axis=1) - 4e4  # e^-|Ky|^2 with a large K


@pytest.fixture
def no_direct(monkeypatch):
    def refuse(*_):
        raise AssertionError("the direct sum was chosen")

    for module in (line, plane, circle, sphere):
        monkeypatch.setattr(module, "tilted_mean_directly", refuse)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize(("dimension", "size"), [(1, 900.0), (2, 40.0)])
def test_scattered(dimension, size, kind, no_direct):
    nodes, masses = RANDOM.uniform(-1, 1, (7000, dimension)), RANDOM.random(7000)
    masses[:9], given = 0.0, factors(kind, nodes)
    queries = size * RANDOM.uniform(-1, 1, (7000, dimension))
    mean, log_mass = transform.tilted_mean(queries, nodes, masses, given)
    check((mean[:80], log_mass[:80]), expected(queries[:80], nodes, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_grid_of_the_plane(size, kind):
    axes = np.linspace(-1.0, 1.0, 48), np.linspace(-0.7, 0.9, 37)
    points, masses = grid_points(*axes), RANDOM.random(48 * 37)
    given, matrix = factors(kind, points), size * GENERAL
    mean, log_mass = transform.tilted_mean_on_grid(
        axes, masses.reshape(48, 37), matrix, log_factors=given.reshape(48, 37)
    )
    check((mean.reshape(2, -1).T, log_mass.ravel()), expected(points @ matrix.T, points, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_directly(dimension, kind):
    nodes, masses = RANDOM.uniform(-1, 1, (300, dimension)), RANDOM.random(300)
    queries, given = RANDOM.uniform(-1e3, 1e3, (90, dimension)), factors(kind, nodes)
    result = transform.tilted_mean_directly(queries, nodes, masses, given)
    check(result, expected(queries, nodes, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
@pytest.mark.parametrize("beta", [3.0, 90.0])
def test_circle(beta, kind, no_direct):
    angles, masses = RANDOM.uniform(0, 2 * np.pi, 6000), RANDOM.random(6000)
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    given = factors(kind, unit * [[1.0, 0.3]])
    mean, log_mass = transform.tilted_mean_on_circle(beta, angles, angles, masses, given)
    check((mean[:80], log_mass[:80]), expected(beta * unit[:80], unit, masses, given), 1e-12)


@pytest.mark.parametrize("kind", ["noise", "smooth"])
def test_sphere(kind, no_direct):
    points, masses = RANDOM.standard_normal((8000, 3)), RANDOM.random(8000)
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    given = factors(kind, points * [[1.0, 0.3, 0.6]])
    mean, log_mass = transform.tilted_mean_on_sphere(3.0, points, points, masses, given)
    check((mean[:80], log_mass[:80]), expected(3.0 * points[:80], points, masses, given), 1e-12)


def test_a_factor_of_minus_infinity_takes_a_node_away():
    nodes, given = RANDOM.uniform(-1, 1, (6000, 1)), np.zeros(6000)
    given[::3] = -np.inf
    some = np.arange(6000) % 3 != 0
    queries = np.linspace(-30, 30, 500)[:, None]
    result = transform.tilted_mean(queries, nodes, np.ones(6000), given)
    check(result, transform.tilted_mean(queries, nodes[some], np.ones(4000)), 1e-13)


@pytest.mark.parametrize("dimension", [1, 2])
def test_queries_around_a_point_far_away(dimension, no_direct):
    """The panels are as few as around 0; factors that undo the offset leave a mild tilt to be seen."""
    offset = np.array([3e4, -2e4])[:dimension]
    nodes, masses = 5.0 + RANDOM.uniform(-1, 1, (6000, dimension)), RANDOM.random(6000)
    given, queries = -(nodes - 5.0) @ offset, offset + RANDOM.uniform(-9, 9, (6000, dimension))
    mean, log_mass = transform.tilted_mean(queries, nodes, masses, given)
    assert np.ptp(mean, axis=0).min() > 1.0
    check((mean[:80], log_mass[:80]), expected(queries[:80], nodes, masses, given), 1e-10)
