"""Sums of relu and sigmoid attention against plain numpy, edges of half-planes included."""

import numpy as np
import pytest
from scipy.special import expit

from mfpde import transform


def some(dimension, count=300):
    random = np.random.default_rng(dimension)
    nodes, queries = random.standard_normal((count, dimension)), 30 * random.standard_normal((150, dimension))
    nodes[0] = 0.0
    nodes[1:5], nodes[5:9] = np.eye(dimension)[0], -np.eye(dimension)[-1]
    queries[0] = 0.0
    queries[1:5] = [np.eye(dimension)[0], -np.eye(dimension)[0], np.eye(dimension)[-1], -np.eye(dimension)[-1]]
    queries[5], queries[6] = nodes[20], -nodes[21]
    return queries, nodes, random.standard_normal(count)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 12])
def test_relu(dimension):
    queries, nodes, masses = some(dimension)
    scores = queries @ nodes.T
    wanted = (masses * np.maximum(scores, 0)) @ nodes
    assert np.abs(transform.relu_sum(queries, nodes, masses) - wanted).max() < 1e-14 * np.abs(wanted).max()
    inside = scores > 0
    slope = np.einsum("ij,ja,jb->iab", inside * masses, nodes, nodes)
    assert np.abs(transform.relu_derivative(queries, nodes, masses) - slope).max() < 1e-14 * np.abs(slope).max()


def test_relu_on_half_planes_of_equal_nodes():
    """Nodes on the edge of the half-plane, seen from all sides, and none inside it."""
    nodes = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, -0.0], [-1.0, 0.0]])
    queries = np.array([[0.0, 1.0], [0.0, -1.0], [2.0, 0.0], [-3.0, 0.0], [1e-300, 1.0]])
    wanted = np.maximum(queries @ nodes.T, 0) @ nodes
    assert np.abs(transform.relu_sum(queries, nodes, np.ones(4)) - wanted).max() < 1e-15


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_sigmoid(size, dimension):
    queries, nodes, masses = some(dimension)
    scores = size * queries @ nodes.T
    wanted = (masses * expit(scores)) @ nodes
    given = transform.sigmoid_sum(size * queries, nodes, masses)
    # scores are rounded, which matters where the function is steep: both ways of summing do that
    steepness = expit(scores) * expit(-scores)
    uncertain = 4e-16 * steepness * (size * np.abs(queries) @ np.abs(nodes).T) * np.abs(masses)
    assert (np.abs(given - wanted) <= 1e-13 + uncertain @ np.abs(nodes)).all()
    slope = np.einsum("ij,ja,jb->iab", masses * steepness, nodes, nodes)
    doubtful = np.einsum("ij,ja,jb->iab", uncertain, np.abs(nodes), np.abs(nodes))
    assert (np.abs(transform.sigmoid_derivative(size * queries, nodes, masses) - slope) <= 1e-13 + doubtful).all()


@pytest.mark.parametrize("dimension", [1, 2])
@pytest.mark.parametrize("size", [0.3, 4.0])
def test_sigmoid_by_panels(size, dimension, random):
    """Many points, off the origin, so many that panels are taken: a few of the queries against all nodes."""
    nodes, queries = random.uniform(-1, 2, (8000, dimension)), size * random.uniform(-1.5, 1, (8000, dimension))
    masses, few = random.standard_normal(8000), slice(0, 40)
    scores = queries[few] @ nodes.T
    wanted = (masses * expit(scores)) @ nodes
    assert np.abs(transform.sigmoid_sum(queries, nodes, masses)[few] - wanted).max() < 1e-14 * np.abs(masses).sum()
    slope = np.einsum("ij,ja,jb->iab", masses * expit(scores) * expit(-scores), nodes, nodes)
    given = transform.sigmoid_derivative(queries, nodes, masses)[few]
    assert np.abs(given - slope).max() < 1e-14 * np.abs(masses).sum()
    assert np.abs(transform.sigmoid_sum(queries[few], nodes, masses) - wanted).max() < 1e-11


@pytest.mark.parametrize("function", [transform.relu_sum, transform.sigmoid_sum])
def test_queries_and_nodes_do_not_change_places(function, random):
    points, others = random.standard_normal((50, 3)), random.standard_normal((50, 3))
    assert np.abs(function(points, others, np.ones(50)) - function(others, points, np.ones(50))).max() > 1.0
