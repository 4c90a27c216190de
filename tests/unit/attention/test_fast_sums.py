"""The fast drift of particles is the plain sum, in any dimension."""

import numpy as np
import pytest

import mfpde

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("kind", [mfpde.Softmax, mfpde.Unnormalized])
@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_drift_of_particles_is_the_double_sum(kind, dimension):
    A = RANDOM.standard_normal((dimension, dimension))
    V = RANDOM.standard_normal((dimension, dimension))
    attention = kind(A=A, V=V)
    measure = mfpde.Particles(RANDOM.standard_normal((3000, dimension)), RANDOM.random(3000))
    points = RANDOM.standard_normal((200, dimension))
    expected = attention.drift_by_quadrature(measure, points)
    scale = np.abs(expected).max()
    assert np.abs(attention.drift(measure, points) - expected).max() < 1e-12 * scale
    if dimension > 1:
        assert np.abs(kind(A=A.T, V=V).drift(measure, points) - expected).max() > 1e-2 * scale


def test_large_scores_neither_overflow_nor_underflow():
    measure = mfpde.Particles([[0.0, 0.0], [30.0, 0.0], [0.0, 40.0]])
    points = np.tile([[30.0, 1.0], [-1.0, 50.0], [0.0, 0.0]], (2000, 1))
    expected = np.tile([[30, 0], [0, 40], [10, 40 / 3]], (2000, 1))
    for queries, drifts in ((points, expected), (points[:3], expected[:3])):
        assert np.abs(mfpde.Softmax(A=25).drift(measure, queries) - drifts).max() < 1e-9


def test_matrices_on_the_circle_use_the_projected_sum():
    attention = mfpde.Softmax(A=[[1, 2], [0.5, -1]], V=[[1, -0.3], [0, 2]])
    measure = mfpde.Particles(RANDOM.uniform(0, 6, 2000), geometry=mfpde.Circle())
    theta = np.linspace(0, 6, 40)
    difference = attention.drift(measure, theta) - attention.drift_by_quadrature(measure, theta)
    assert np.abs(difference).max() < 1e-12
