"""Sums of normal laws against the laws themselves."""

import numpy as np
import pytest

from mfpde.geometry import Lattice, Line, Plane
from mfpde.measure.normal import Normal
from mfpde.measure.normal_sum import NormalSum
from mfpde.measure.superposition import Superposition

WEIGHTS = np.array([0.2, 0.5, 0.3])
LINE = WEIGHTS, np.array([[-1.0], [0.2], [0.9]]), np.array([0.02, 0.3, 0.005]).reshape(3, 1, 1)
PLANE = (
    WEIGHTS,
    np.array([[-1.0, 0.3], [0.2, 0.1], [0.5, -0.7]]),
    np.array([[[0.3, 0.1], [0.1, 0.2]], [[0.05, 0.0], [0.0, 0.09]], [[0.2, -0.1], [-0.1, 0.1]]]),
)


@pytest.mark.parametrize(("given", "space"), [(LINE, Line()), (PLANE, Plane())], ids=["line", "plane"])
def test_they_answer_as_the_superposition_does(given, space):
    found, wanted = (
        NormalSum(*given, space),
        Superposition(WEIGHTS, [Normal(*law) for law in zip(*given[1:], strict=True)]),
    )
    d = given[1].shape[1]
    axes = (np.linspace(-3.0, 3.0, 61), np.linspace(-2.0, 2.0, 47))[:d]
    turned = np.eye(1) * 0.8 if d == 1 else np.array([[0.8, 0.3], [-0.2, 0.7]])
    lattice = Lattice(axes, np.full(d, 0.1), turned)
    exact = wanted.evaluate(lattice.points()).reshape(lattice.shape)
    assert np.abs(found.on_lattice(lattice) - exact).max() < 1e-13
    averages = wanted.cell_averages(lattice)
    assert np.abs(found.cell_averages(lattice) - averages).max() < (1e-12 if d == 1 else 1e-9)
    assert np.abs(found.mean - wanted.mean).max() < 1e-14
    assert np.abs(found.covariance - wanted.covariance).max() < 1e-14
