"""The affine drifts of Gaussians (physics section 4) against sums over grids that know nothing of them."""

import numpy as np
import pytest
from kernel_examples import KINDS, laws, matrix

import mfpde

MEAN, COVARIANCE = np.array([0.3, -0.2]), np.array([[0.3, 0.1], [0.1, 0.2]])
POINTS = np.random.default_rng(1).standard_normal((40, 2))
CLOSED = ["softmax", "l2", "sinkhorn", "linear", "relu"]


def on_a_grid(mean, covariance, cells=193, reach=11.0):
    """Values of the density on so fine and wide a grid that sums are integrals to roundoff."""
    normal = mfpde.Normal(mean, covariance, mfpde.Plane())
    axes = [m + s * np.linspace(-reach, reach, cells) for m, s in zip(mean, np.sqrt(np.diag(covariance)), strict=True)]
    values = normal.evaluate(mfpde.Lattice.of(axes).points()).reshape(cells, cells)
    return normal, mfpde.GridDensity.of(axes, values, averages=False)


@pytest.mark.parametrize("kind", ["softmax", "l2", "sinkhorn", "linear"])
def test_the_affine_drift_is_the_sum_over_a_grid(kind):
    law = laws(2, 2.5)[kind]
    normal, grid = on_a_grid(MEAN, COVARIANCE)
    affine = law.gaussian_drift(MEAN, COVARIANCE)
    expected = law.drift(grid, POINTS)
    found = affine.c + (POINTS - MEAN) @ affine.B.T
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
    np.testing.assert_allclose(law.drift(normal, POINTS), found, atol=1e-14)
    lattice = mfpde.Lattice.of([[0.0, 1.0, 3.0], [0.5, 2.0]], [1.0, 2.0], [[1.0, 0.2], [-0.3, 0.5]])
    np.testing.assert_allclose(
        law.drift(normal, lattice).reshape(2, -1).T, law.drift(normal, lattice.points()), atol=1e-13
    )
    np.testing.assert_allclose(law.jacobian(normal, POINTS[:2]), [affine.B] * 2, atol=1e-14)


def test_l2_with_heads_smaller_than_the_space():
    law = mfpde.L2(Q=[[0.5, 1.0]], K=[[1.0, 0.0]], V=np.diag([0.0, 1.0]))
    _, grid = on_a_grid([0.0, 0.0], np.array([[1.0, 0.5], [0.5, 1.0]]))
    affine = law.gaussian_drift(np.zeros(2), np.array([[1.0, 0.5], [0.5, 1.0]]))
    expected = law.drift(grid, POINTS)
    assert np.abs(POINTS @ affine.B.T - expected).max() < 1e-12


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", CLOSED)
def test_singular_covariances_are_limits(kind, rank):
    law = laws(2, 2.5)[kind]
    flat = np.outer([1.0, -0.5], [1.0, -0.5]) * rank
    mean = np.zeros(2) if kind == "relu" else MEAN
    near, there = law.gaussian_drift(mean, flat + 1e-13 * np.eye(2)), law.gaussian_drift(mean, flat)
    assert np.isfinite(there.B).all()
    np.testing.assert_allclose(near.B, there.B, atol=1e-11)
    np.testing.assert_allclose(near.c, there.c, atol=1e-11)


@pytest.mark.parametrize("mean", [np.zeros(2), MEAN])
def test_relu_of_a_gaussian_by_one_dimensional_quadrature(mean):
    """`E[s^+ y]` over the Gaussian s and the part of y that goes along with it; affine only where the mean is 0."""
    law = mfpde.Relu(A=matrix(2, 2.0), V=matrix(2, 1.0, 1))
    found = law.drift(mfpde.Normal(mean, COVARIANCE, mfpde.Plane()), POINTS)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    for x, g in zip(POINTS, found, strict=True):
        w = matrix(2, 2.0) @ x
        a, b = w @ mean, np.sqrt(w @ COVARIANCE @ w)
        # y given s is m + S w (s - a) / b^2 on average; s from 0 to its end
        s = 0.5 * max(0.0, a + 12 * b) * (nodes + 1)
        density = np.exp(-0.5 * ((s - a) / b) ** 2) / (b * np.sqrt(2 * np.pi)) * 0.5 * max(0.0, a + 12 * b) * weights
        expected = (density * s) @ (mean + np.outer((s - a) / b**2, COVARIANCE @ w))
        np.testing.assert_allclose(g, matrix(2, 1.0, 1) @ expected, atol=1e-12)
    if not mean.any():
        affine = law.gaussian_drift(mean, COVARIANCE)
        np.testing.assert_allclose(found, POINTS @ affine.B.T, atol=1e-13)
    else:
        with pytest.raises(mfpde.ProblemError, match="centred"):
            law.gaussian_drift(mean, COVARIANCE)


def test_heads_add_up():
    heads = [laws(2, 2.0)["softmax"], mfpde.Sinkhorn(A=matrix(2, 2.0, 8), V=0.5, weight=matrix(2, 1.0, 9))]
    law = mfpde.MultiHead(heads=heads, weight=-2)
    affine = law.gaussian_drift(MEAN, COVARIANCE)
    _, grid = on_a_grid(MEAN, COVARIANCE)
    expected = law.drift(grid, POINTS)
    assert np.abs(affine.c + (POINTS - MEAN) @ affine.B.T - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in CLOSED])
def test_others_say_why_not(kind):
    law = mfpde.Masked(attention=mfpde.Softmax(A=1)) if kind == "masked" else laws(2)[kind]
    if kind == "multi-head":  # of softmax, l2 and relu: the last needs a centred Gaussian
        assert law.gaussian_unfit(2) is None
        law = mfpde.MultiHead(heads=[mfpde.Softmax(A=1), mfpde.Sigmoid(A=1)])
    reason = law.gaussian_unfit(2)
    with pytest.raises(mfpde.ProblemError, match=reason):
        law.gaussian_drift(MEAN, COVARIANCE)


@pytest.mark.parametrize("kind", ["softmax", "unnormalized", "l2", "linear", "sigmoid"])
def test_mixtures_of_gaussians_are_sums_of_their_parts(kind):
    parts = [on_a_grid(MEAN, COVARIANCE), on_a_grid([-0.8, 0.4], 0.5 * np.eye(2))]
    mixture = mfpde.Mixture(components=[
        mfpde.Gaussian(mean=MEAN, covariance=COVARIANCE, weight=0.3),
        mfpde.Gaussian(mean=[-0.8, 0.4], covariance=0.5, weight=0.7),
    ])  # fmt: skip
    nodes = np.concatenate([grid.nodes()[0] for _, grid in parts])
    weights = np.concatenate([share * grid.nodes()[1] for share, (_, grid) in zip((0.3, 0.7), parts, strict=True)])
    law = laws(2, 2.0)[kind]
    expected = law.drift(mfpde.Particles(nodes, weights), POINTS)
    assert np.abs(law.drift(mixture, POINTS) - expected).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["softmax", "l2", "sinkhorn", "linear", "sigmoid"])
def test_cell_averages_are_not_point_values(kind):
    """What is known of a density on a grid of coarse cells, made of their averages, is its integrals to 1e-11."""
    normal = mfpde.Normal(MEAN, COVARIANCE, mfpde.Plane())
    axes = [m + s * np.linspace(-10.5, 10.5, 64) for m, s in zip(MEAN, np.sqrt(np.diag(COVARIANCE)), strict=True)]
    averages = normal.cell_averages(mfpde.Lattice.of(axes))
    law = laws(2, 1.5)[kind]
    expected = law.drift(normal, POINTS)
    found = law.drift(mfpde.GridDensity.of(axes, averages), POINTS)
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()
    mistaken = law.drift(mfpde.GridDensity.of(axes, averages, averages=False), POINTS)
    assert np.abs(mistaken - expected).max() > 1e-3 * np.abs(expected).max()
