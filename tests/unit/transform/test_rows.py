"""Sums on grids of the plane row by row, against sums over all pairs."""

import numpy as np
import pytest

from mfpde.transform import tilted_mean_on_grid
from mfpde.transform.direct import tilted_mean_directly
from mfpde.transform.grid import _logarithms
from mfpde.transform.plane_grid import make_plan
from mfpde.transform.plane_rows import evaluate_rows, make_row_plan

NODES, QUERIES = (
    (np.linspace(-4.0, 4.0, 41), np.linspace(-3.0, 3.0, 36)),
    (np.linspace(-5, 4, 33), np.linspace(0, 3, 52)),
)
OFFSET = np.array([0.7, -1.1])


def directly(axes, queries, masses, matrix, offset, log_factors=None):
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.stack(np.meshgrid(*queries, indexing="ij"), axis=-1).reshape(-1, 2)
    factors = None if log_factors is None else log_factors.ravel()
    mean, value = tilted_mean_directly(points @ matrix.T + offset, nodes, masses.ravel(), factors)
    shape = [axis.size for axis in queries]
    return mean.T.reshape(2, *shape), value.reshape(shape)


def holed(random):
    masses = random.random((41, 36)) ** 8
    masses[5:9] = 0.0
    masses[:, 20] = 0.0
    return masses


@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize("below", [False, True], ids=["upper", "lower"])
@pytest.mark.parametrize("coupling", [0.0, 1e-16, 1e-4, 0.02, 0.1, 0.3, 0.6, 3.0])
def test_any_coupling(coupling, below, turned, random):
    """All four entries may be the small one, by panels of every number of points, and by several panels."""
    matrix = np.array([[2.0, 1.5], [coupling, 3.0]])
    matrix = matrix if below else matrix.T
    matrix = matrix[::-1] if turned else matrix
    masses = holed(random)
    plan = make_row_plan(NODES, QUERIES, matrix)
    out = evaluate_rows(plan, NODES, QUERIES, _logarithms(masses, None, plan.row), matrix, OFFSET)
    out = out if plan.column == 1 else out.transpose(0, 2, 1)
    mean, value = directly(NODES, QUERIES, masses, matrix, OFFSET)
    assert np.abs(out[0] - value).max() < 1e-13 * np.abs(value).max()
    assert np.abs(out[1:] - mean).max() < 2e-13


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_large_matrices_are_summed_row_by_row(size, random):
    """Where panels are without number, and the direct sum takes n^4."""
    matrix = np.array([[size, 1e-3], [0.3 * size, -size]])
    assert make_row_plan(NODES, QUERIES, matrix).cost < 0.2 * make_plan(NODES, QUERIES, matrix, OFFSET).cost
    masses, factors = holed(random), 30 * random.standard_normal((41, 36))
    factors[:3] = -np.inf
    mean, value = tilted_mean_on_grid(NODES, masses, matrix, OFFSET, QUERIES, factors)
    expected, exact = directly(NODES, QUERIES, masses, matrix, OFFSET, factors)
    assert np.abs(value - exact).max() < 1e-14 * np.abs(exact).max()
    assert np.abs(mean - expected).max() < 1e-13 * size  # scores are rounded
