"""The fast sums against long-double direct ones, for densities and a few point masses alike."""

import numpy as np
import pytest
from reference.exponential_sums import grid_points, tilted_mean

from mfpde import transform
from mfpde.transform import circle as circle_module
from mfpde.transform import line, plane
from mfpde.transform import sphere as sphere_module

GENERAL = np.array([[0.7, 0.4], [-0.3, 0.6]])
MATRICES = {
    "general": GENERAL,
    "small pivot": np.array([[0.02, 0.9], [-0.8, 0.1]]),
    "diagonal": np.diag([0.9, -0.5]),
    "singular": np.outer([0.3, 0.8], [0.5, -0.7]),
    "one entry": np.array([[0.0, 0.0], [0.9, 0.0]]),
    "zero": np.zeros((2, 2)),
}


def masses(random, kind, count):
    if kind == "density":
        return np.exp(-4 * np.linspace(-1, 1, count) ** 2) * (1 + 0.3 * np.cos(np.arange(count)))
    if kind == "tails":
        return np.exp(-random.uniform(0, 200, count))
    weights = np.full(count, 1e-280)  # nothing, but still there
    weights[random.integers(0, count, 3)] = 1.0, 0.2, 1e-6
    return weights


def check(result, expected, chosen, accuracy, log_accuracy=1e-12):
    mean, log_mass = result
    assert np.isfinite(mean).all()
    assert np.isfinite(log_mass).all()
    assert np.abs(mean[chosen] - expected[0]).max() < accuracy
    assert (np.abs(log_mass[chosen] - expected[1]) / (1 + np.abs(expected[1]))).max() < log_accuracy


@pytest.fixture
def no_direct(monkeypatch):
    """What follows must be computed by panels."""

    def refuse(*_):
        raise AssertionError("the direct sum was chosen")

    for module in (line, plane, circle_module, sphere_module):
        monkeypatch.setattr(module, "tilted_mean_directly", refuse)


@pytest.mark.parametrize("kind", ["density", "tails", "points"])
@pytest.mark.parametrize("size", [3.0, 20.0, 200.0])
@pytest.mark.parametrize("name", MATRICES)
def test_grid_of_the_plane(name, size, kind, random):
    axes = np.linspace(-1.0, 1.0, 48), np.linspace(-0.7, 0.9, 37)
    weights, matrix = masses(random, kind, 48 * 37), size * MATRICES[name]
    mean, log_mass = transform.tilted_mean_on_grid(axes, weights.reshape(48, 37), matrix)
    points, chosen = grid_points(*axes), random.integers(0, 48 * 37, 150)
    expected = tilted_mean(points[chosen] @ matrix.T, points, weights)
    check((mean.reshape(2, -1).T, log_mass.ravel()), expected, chosen, 1e-12)


def test_other_queries_far_from_the_origin(random):
    nodes = np.linspace(9.0, 11.0, 40), np.linspace(-3.0, -2.0, 33)
    queries = np.linspace(0.0, 3.0, 45), np.linspace(5.0, 6.0, 50)
    weights, matrix, offset = masses(random, "density", 40 * 33), 7 * GENERAL, np.array([-4.0, 3.0])
    mean, log_mass = transform.tilted_mean_on_grid(nodes, weights.reshape(40, 33), matrix, offset, queries)
    chosen = random.integers(0, 45 * 50, 100)
    expected = tilted_mean(grid_points(*queries)[chosen] @ matrix.T + offset, grid_points(*nodes), weights)
    check((mean.reshape(2, -1).T, log_mass.ravel()), expected, chosen, 1e-11)


def test_the_transposed_matrix_is_another_matrix(random):
    axis = np.linspace(-1.0, 1.0, 40)
    weights = masses(random, "density", 1600).reshape(40, 40)
    given = transform.tilted_mean_on_grid((axis, axis), weights, 8 * GENERAL)[0]
    turned = transform.tilted_mean_on_grid((axis, axis), weights, 8 * GENERAL.T)[0]
    assert np.abs(given - turned).max() > 0.1


@pytest.mark.parametrize("kind", ["density", "tails", "points"])
@pytest.mark.parametrize("size", [0.0, 3.0, 20.0, 200.0])
def test_line(kind, size, no_direct, random):
    count = 6000
    nodes, weights = random.uniform(-1, 1, (count, 1)), masses(random, kind, count)
    queries, chosen = size * random.uniform(-1, 1, (count, 1)), random.integers(0, count, 100)
    result = transform.tilted_mean(queries, nodes, weights)
    check(result, tilted_mean(queries[chosen], nodes, weights), chosen, 1e-12)


@pytest.mark.parametrize("kind", ["density", "tails", "points"])
@pytest.mark.parametrize("size", [0.0, 3.0, 20.0, 60.0])
def test_plane(kind, size, no_direct, random):
    count = 8000
    nodes, weights = random.uniform(-1, 1, (count, 2)), masses(random, kind, count)
    queries, chosen = size * nodes @ GENERAL.T, random.integers(0, count, 100)
    result = transform.tilted_mean(queries, nodes, weights)
    check(result, tilted_mean(queries[chosen], nodes, weights), chosen, 1e-12)


@pytest.mark.parametrize("kind", ["density", "tails", "points"])
@pytest.mark.parametrize("beta", [0.0, -3.0, 4.0, 20.0, 200.0])
def test_circle(kind, beta, no_direct, random):
    count = 9000
    angles, weights = random.uniform(-20, 20, count), masses(random, kind, count)
    angles[:3] = 0.0, 2 * np.pi, -1e-17
    unit, chosen = np.stack([np.cos(angles), np.sin(angles)], axis=1), random.integers(0, count, 100)
    result = transform.tilted_mean_on_circle(beta, angles, angles, weights)
    check(result, tilted_mean(beta * unit[chosen], unit, weights), chosen, 1e-12)


@pytest.mark.parametrize("kind", ["density", "tails", "points"])
@pytest.mark.parametrize("beta", [0.0, 2.0, -3.0, 4.1, 5.5])
def test_sphere(kind, beta, no_direct, random):
    count = 9000
    points, weights = random.standard_normal((count, 3)), masses(random, kind, count)
    points[:6] = [[1, 1, 1], [-1, 1, 1], [0, 0, 1], [1, -1, 0], [0, 1, -1], [-1, 0, 0]]  # corners, edges, middles
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    chosen = np.concatenate([np.arange(6), random.integers(0, count, 100)])
    result = transform.tilted_mean_on_sphere(beta, points, points, weights)
    check(result, tilted_mean(beta * points[chosen], points, weights), chosen, 1e-12)


@pytest.mark.slow
def test_several_panels_on_a_face(no_direct, random):
    count = 40000
    points = random.standard_normal((count, 3))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    weights, chosen = masses(random, "points", count), random.integers(0, count, 60)
    result = transform.tilted_mean_on_sphere(9.0, points, points, weights)
    check(result, tilted_mean(9.0 * points[chosen], points, weights), chosen, 2e-12)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 17, 64])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e5])
def test_direct(dimension, size, random):
    nodes, weights = random.standard_normal((700, dimension)), masses(random, "tails", 700)
    nodes /= np.abs(nodes).max()
    weights[5:9] = 0.0
    queries = size * random.uniform(-1, 1, (330, dimension))
    expected = tilted_mean(queries, nodes, weights)
    check(transform.tilted_mean_directly(queries, nodes, weights), expected, slice(None), 1e-15 * size + 1e-13)


@pytest.mark.parametrize("size", [2e3, 1e5])
def test_huge_exponents(size, random):
    axis = np.linspace(-1.0, 1.0, 24)
    points, weights = grid_points(axis, axis), masses(random, "tails", 576)
    mean, log_mass = transform.tilted_mean_on_grid((axis, axis), weights.reshape(24, 24), size * GENERAL)
    expected = tilted_mean(size * points @ GENERAL.T, points, weights)
    check((mean.reshape(2, -1).T, log_mass.ravel()), expected, slice(None), 1e-9)
    nodes = random.uniform(-1, 1, (3000, 1))
    weights = masses(random, "tails", 3000)
    check(
        transform.tilted_mean(size * nodes, nodes, weights),
        tilted_mean(size * nodes[:200], nodes, weights),
        slice(0, 200),
        1e-9,
    )


@pytest.mark.parametrize("beta", [4.0, -4.7, 4.9])
def test_opposite_the_only_mass(beta, no_direct, random):
    """Where M is e^-beta and rounding of e^beta is seen best."""
    points = random.standard_normal((9000, 3))
    points[0] = 0.3, -0.5, 0.2
    points[1:300] = -points[0] + 1e-2 * random.standard_normal((299, 3))
    points /= np.sqrt((points**2).sum(axis=1, keepdims=True))
    weights = np.zeros(9000)
    weights[0] = 2.0
    mean, log_mass = transform.tilted_mean_on_sphere(beta, points, points, weights)
    assert np.abs(mean - points[0]).max() < 1e-12
    assert np.abs(log_mass - beta * points @ points[0] - np.log(2)).max() < 1e-12
