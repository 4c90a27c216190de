"""Fast paths of the exponential kernels against long double sums: any dimension, any size of the scores."""

import numpy as np
import pytest
from kernel_examples import laws, matrix, reference, tokens

import mfpde


@pytest.mark.parametrize("kind", [mfpde.Softmax, mfpde.Unnormalized])
@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_drift_of_particles_is_the_double_sum(kind, dimension, random):
    A = random.standard_normal((dimension, dimension))
    V = random.standard_normal((dimension, dimension))
    attention = kind(A=A, V=V)
    measure = mfpde.Particles(random.standard_normal((3000, dimension)), random.random(3000))
    points = random.standard_normal((200, dimension))
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


def test_matrices_on_the_circle_use_the_projected_sum(random):
    attention = mfpde.Softmax(A=[[1, 2], [0.5, -1]], V=[[1, -0.3], [0, 2]])
    measure = mfpde.Particles(random.uniform(0, 6, 2000), geometry=mfpde.Circle())
    theta = np.linspace(0, 6, 40)
    difference = attention.drift(measure, theta) - attention.drift_by_quadrature(measure, theta)
    assert np.abs(difference).max() < 1e-12


@pytest.mark.parametrize("beta", [0.0, 1.0, 30.0, 200.0])
@pytest.mark.parametrize("space", [mfpde.Circle(), mfpde.Sphere(), mfpde.Sphere(dimension=4)])
@pytest.mark.parametrize("normalised", [True, False])
def test_tokens_on_spheres(beta, space, normalised):
    measure, queries = tokens(0, 4000, 1, space), tokens(0, 50, 2, space)
    law = mfpde.Softmax(A=beta, V=-1) if normalised else mfpde.Unnormalized(A=beta, V=-1)
    x, y = space.embed(queries.points), space.embed(measure.points)
    outputs = np.asarray(reference(law, x, y, measure.weights), dtype=float)
    expected = space.tangent(queries.points, outputs)
    found = law.drift(measure, queries.points)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(outputs).max()


@pytest.mark.parametrize("kind", ["softmax", "l2"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_scores_up_to_a_hundred_thousand(kind, dimension):
    measure, points = tokens(dimension, 2000, 1), tokens(dimension, 40, 2).points
    for size in (1e3, 1e4, 1e5 / dimension):
        law = laws(dimension, size)[kind]
        found = law.drift(measure, points)
        assert np.abs(found - reference(law, points, measure.points, measure.weights)).max() < 1e-9


@pytest.mark.parametrize("size", [20.0, 200.0])
@pytest.mark.parametrize("shape", ["ramp", "spikes"])
def test_densities_on_grids(size, shape, random):
    """Edges, zeros and lonely cells, at the grid's own points and on a moved lattice."""
    axes = [np.linspace(-1, 1, 33), np.linspace(-0.8, 0.9, 27)]
    values = random.random((33, 27)) if shape == "ramp" else np.zeros((33, 27))
    values[:9] = 0.0
    values[[20, 3, 30], [4, 25, 13]] = [1.0, 1e-9, 3.0]
    density = mfpde.GridDensity.of(axes, values, averages=False)
    nodes, weights = density.nodes()
    for kind in ("softmax", "l2"):
        law = laws(2, size)[kind]
        for lattice in (density.panels[0].lattice, mfpde.Lattice.of(axes, [0.1, -0.2], matrix(2, 0.8, 3))):
            picked = random.choice(33 * 27, 40, replace=False)
            expected = reference(law, lattice.points()[picked], nodes, weights)
            found = law.drift(density, lattice).reshape(2, -1).T[picked]
            assert np.abs(found - expected).max() < 2e-12
