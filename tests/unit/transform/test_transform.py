"""What the engine promises beside accuracy: threads, edges, one node, cells."""

import mpmath
import numba
import numpy as np
import pytest

from mfpde import transform
from mfpde.transform.exponential import arctangent, exponential, logarithm
from mfpde.transform.products import multiply

MATRIX = 9 * np.array([[0.7, 0.4], [-0.3, 0.6]])


def everything():
    axis = np.linspace(-1.0, 1.0, 64)
    grid = transform.tilted_mean_on_grid((axis, axis), np.exp(-np.add.outer(axis**2, axis**2)), MATRIX)
    random = np.random.default_rng(5)
    points, weights = random.standard_normal((40000, 3)), random.random(40000)  # several batches of points
    unit = points / np.sqrt((points**2).sum(axis=1, keepdims=True))
    return [
        grid,
        transform.tilted_mean(points[:, :1], points[:, :1], weights),
        transform.tilted_mean(points[:, :2], points[:, :2], weights),
        transform.tilted_mean_on_circle(3.0, points[:, 0], points[:, 0], weights),
        transform.tilted_mean_on_sphere(2.0, unit, unit, weights),
        transform.tilted_mean_directly(points[:1500], points[:1500], weights[:1500]),
        transform.tilted_mean_directly(
            random.standard_normal((900, 64)), random.standard_normal((900, 64)), weights[:900]
        ),
        transform.cell_correction(points.T, np.array([0.1, 0.2, 0.3])),
        transform.tilted_covariance(points[:900], points[:900], weights[:900]),
        transform.tilted_covariance(points[:, :1], points[:, :1], weights),
        transform.tilted_covariance(points[:, :2], points[:, :2], weights),
        transform.tilted_mean_masked(points[:9000, :1], weights[:9000], points[:, :1], weights, weights),
        transform.tilted_mean_masked(points[:900], weights[:900], points[:900], weights[:900], weights[:900]),
        [transform.sigmoid_sum(points[:900], points[:900], weights[:900])],
        [transform.relu_derivative(points[:900], points[:900], weights[:900])],
    ]


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one thread is all there is")
def test_threads_do_not_change_a_bit():
    before = numba.get_num_threads()
    results = []
    for threads in (1, 2):
        numba.set_num_threads(threads)
        results.append(everything())
    numba.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_one_node_is_the_mean_everywhere(random):
    queries = random.standard_normal((5000, 2)) * 50
    for dimension in (1, 2):
        node = np.array([[0.3, -2.0]])[:, :dimension]
        mean, log_mass = transform.tilted_mean(queries[:, :dimension], node, np.array([4.0]))
        assert np.abs(mean - node).max() < 1e-14
        assert np.allclose(log_mass, queries[:, :dimension] @ node[0] + np.log(4), rtol=1e-14, atol=1e-12)


def test_many_masses_at_one_place(random):
    nodes = np.full((4000, 2), 0.25)
    mean, log_mass = transform.tilted_mean(random.standard_normal((4000, 2)), nodes, np.full(4000, 1 / 4000))
    assert np.abs(mean - 0.25).max() < 1e-13
    assert np.isfinite(log_mass).all()


def test_a_node_without_mass_is_not_there():
    nodes = np.array([[0.0], [1.0], [1e6]])
    mean, _ = transform.tilted_mean_directly(np.array([[30.0]]), nodes, np.array([1.0, 1.0, 0.0]))
    assert mean[0, 0] == pytest.approx(1 / (1 + np.exp(-30.0)), abs=1e-15)


def test_cells_without_mass_cost_nothing(random):
    """A small patch on a large grid gives the very bits that the patch alone gives."""
    axis = np.linspace(-50.0, 50.0, 501)
    masses = np.zeros((501, 501))
    masses[100:130, 300:340] = random.random((30, 40))
    queries = np.linspace(-2.0, 2.0, 50)
    expected = transform.tilted_mean_on_grid(
        (axis[100:130], axis[300:340]), masses[100:130, 300:340], np.eye(2), query_axes=(queries, queries)
    )
    given = transform.tilted_mean_on_grid((axis, axis), masses, np.eye(2), query_axes=(queries, queries))
    factors = np.where(masses > 0, 0.0, -np.inf)
    other = transform.tilted_mean_on_grid(
        (axis, axis), np.ones((501, 501)), np.eye(2), None, (queries, queries), factors
    )
    assert np.array_equal(given[0], expected[0])
    assert np.isfinite(other[0]).all()
    line = transform.tilted_mean_on_grid((axis,), masses[:, 300], np.eye(1), query_axes=(queries,))
    assert np.abs(line[0] - transform.tilted_mean(queries[:, None], axis[:, None], masses[:, 300])[0].T).max() < 1e-12


def test_no_queries():
    assert transform.tilted_mean(np.zeros((0, 2)), np.ones((9000, 2)), np.ones(9000))[0].shape == (0, 2)
    assert transform.tilted_mean(np.zeros((0, 1)), np.ones((9000, 1)), np.ones(9000))[1].shape == (0,)
    assert transform.tilted_mean_on_circle(2.0, np.zeros(0), np.ones(90), np.ones(90))[0].shape == (0, 2)


def test_any_array_will_do(random):
    nodes = random.standard_normal((700, 4))
    expected = transform.tilted_mean(nodes[:, :2].copy(), nodes[:, 2:].copy(), np.ones(700))
    nodes.flags.writeable = False
    given = transform.tilted_mean(nodes[:, :2], nodes[:, 2:], np.ones(700, dtype=int))
    assert all(np.array_equal(a, b) for a, b in zip(given, expected, strict=True))


def test_line_as_a_grid():
    axis = np.linspace(-2.0, 1.0, 300)
    weights = np.exp(-(axis**2))
    mean, log_mass = transform.tilted_mean_on_grid((axis,), weights, np.array([[3.0]]), np.array([0.5]))
    expected = transform.tilted_mean_directly((3.0 * axis + 0.5)[:, None], axis[:, None], weights)
    assert np.abs(mean[0] - expected[0][:, 0]).max() < 1e-13
    assert np.abs(log_mass - expected[1]).max() < 1e-12


@pytest.mark.parametrize("width", [1e-3, 1.0])
def test_cell_correction_is_the_box(width):
    queries = np.array([0.0, 1e-9, 1e-3, 0.1, 0.7, 1.4, 1.49, 1.51, 3.0, 50.0, 1e3, 1e6])
    queries = np.concatenate([queries, -queries])
    shift, log_factor = transform.cell_correction(queries[None], np.array([width]))
    with mpmath.workdps(60):
        for query, here, factor in zip(queries, shift[0], log_factor, strict=True):
            w, h = mpmath.mpf(float(query)), mpmath.mpf(width)
            exact = h / 2 * mpmath.coth(w * h / 2) - 1 / w if query else mpmath.mpf(0)
            exact_factor = mpmath.log(mpmath.sinh(w * h / 2) / (w * h / 2)) if query else mpmath.mpf(0)
            assert abs(here - exact) <= 1e-15 * abs(exact) + 1e-300
            assert abs(factor - exact_factor) <= 1e-15 * (1 + abs(exact_factor))


def test_cell_averages_of_a_gaussian():
    """With the correction cell averages give the Gaussian's own mean, S w, to roundoff; without it they do not."""
    edges = np.linspace(-9.0, 9.0, 65)
    cumulative = np.array([float(mpmath.ncdf(edge)) for edge in edges])
    upper = np.array([float(mpmath.ncdf(-edge)) for edge in edges])
    averages = np.where(edges[1:] < 0, np.diff(cumulative), -np.diff(upper))
    middles, queries = 0.5 * (edges[1:] + edges[:-1]), np.linspace(-1.0, 1.0, 64)
    mean, log_mass = transform.tilted_mean(queries[:, None], middles[:, None], averages)
    shift, factor = transform.cell_correction(queries[None], np.array([18 / 64]))
    assert np.abs(mean[:, 0] - shift[0] - queries).max() < 1e-13
    assert np.abs(log_mass - factor - 0.5 * queries**2).max() < 1e-13
    assert np.abs(mean[:, 0] - queries).max() > 1e-3


def test_exponential_and_logarithm(random):
    x = np.concatenate([random.uniform(-700, 700, 2000), random.uniform(-1, 1, 2000)])
    raised = np.array([exponential(value) for value in x])
    assert np.abs(raised / np.exp(x.astype(np.longdouble)) - 1).max() < 3e-16
    assert exponential(-np.inf) == exponential(-1e9) == 0.0
    back = np.array([logarithm(value) for value in raised])
    exact = np.log(raised.astype(np.longdouble))
    assert (np.abs(back - exact) / np.maximum(np.abs(exact), 1e-2)).max() < 4e-16
    assert logarithm(1.0) == 0.0


def test_arctangent(random):
    x = np.concatenate([random.uniform(-1, 1, 3000), [0.0, 1.0, -1.0, 1e-300, 0.41421356237309503, 0.4142135623730951]])
    given = np.array([arctangent(value) for value in x])
    exact = np.arctan(x.astype(np.longdouble))
    assert (np.abs(given - exact) <= 4.4e-16 * np.abs(exact)).all()


@pytest.mark.parametrize("terms", [1, 4, 7])
def test_multiply(terms, random):
    left, right, out = random.random((8, terms)), random.random((terms, 13)), np.full((8, 13), np.nan)
    multiply(left, right, out)
    assert np.abs(out - left @ right).max() < 1e-14
