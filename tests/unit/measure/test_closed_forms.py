"""Closed forms where quadrature says nothing: huge tilts, tails, singular laws, cut cells, many dimensions."""

import itertools

import mpmath
import numpy as np
import pytest

from mfpde import Gaussian, Lattice, Line, Mixture, Normal, Plane, ProblemError, Space, Sphere, Uniform, VonMises

TURN = np.array([[0.8, -0.6], [0.6, 0.8]])


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("dimension", [1, 2, 3, 7])
def test_box_ball_and_sphere_for_any_tilt(size, dimension):
    w = np.full((1, dimension), size)
    box = Uniform(box=[[-1, 1]] * dimension).on(Space(dimension=dimension))
    value, mean = box.log_laplace(w, gradient=True)
    with mpmath.workdps(60):
        a = mpmath.mpf(size)
        each = mpmath.log(mpmath.sinh(a) / a) if size else 0
        slope = mpmath.coth(a) - 1 / a if size else 0
    assert value[0] == pytest.approx(float(dimension * each), rel=1e-14, abs=1e-30)
    np.testing.assert_allclose(mean[0], float(slope), rtol=1e-14, atol=1e-30)
    for measure in (
        Uniform(ball={"center": [0.0] * dimension, "radius": 1}).on(Space(dimension=dimension)),
        *([Uniform().on(Sphere(dimension=dimension))] if dimension > 1 else []),
    ):
        value, mean = measure.log_laplace(w, gradient=True)
        length = size * np.sqrt(dimension)
        # between the first two terms of the series and the asymptotics of a linear function
        assert value[0] <= length
        assert value[0] == pytest.approx(length**2 / 2 * measure.covariance[0, 0], rel=1e-5) or size > 1e-2
        assert np.linalg.norm(mean[0]) <= 1 + 1e-15
        assert np.linalg.norm(mean[0]) == pytest.approx(1, abs=1e-6) or size < 1e8


def test_a_ball_of_the_line_is_an_interval():
    ball = Uniform(ball={"center": 1, "radius": 2}).on(Line())
    interval = Uniform(box=[[-1, 3]]).on(Line())
    w = np.array([[-3.0], [0.0], [50.0]])
    np.testing.assert_array_equal(ball.log_laplace(w), interval.log_laplace(w))


@pytest.mark.parametrize("concentration", [0.0, 1e-3, 5.0, 1e3, 1e6])
@pytest.mark.parametrize("dimension", [3, 4, 50])
def test_von_mises_fisher_of_any_dimension(concentration, dimension):
    direction = np.zeros(dimension)
    direction[:2] = 0.6, 0.8
    law = VonMises(direction=direction, concentration=concentration).on(Sphere(dimension=dimension))
    with mpmath.workdps(40):
        c = mpmath.mpf(concentration)
        order = mpmath.mpf(dimension) / 2 - 1
        length = mpmath.besseli(order + 1, c) / mpmath.besseli(order, c) if concentration else mpmath.mpf(0)
        across = length / c if concentration else mpmath.mpf(1) / dimension
        along = 1 - (dimension - 1) * across - length**2
    np.testing.assert_allclose(law.mean, float(length) * direction, rtol=1e-14, atol=1e-17)
    expected = float(across) * (np.eye(dimension) - np.outer(direction, direction))
    expected += float(along) * np.outer(direction, direction)
    np.testing.assert_allclose(law.covariance, expected, rtol=1e-12, atol=4e-16)
    draws = law.sample(4000, seed=1)
    np.testing.assert_allclose(np.linalg.norm(draws, axis=1), 1, rtol=1e-14)
    heights = draws @ direction
    assert heights.mean() == pytest.approx(float(length), abs=5 * np.sqrt(float(along) / 4000) + 1e-14)
    assert heights.var() == pytest.approx(float(along), rel=0.2)
    # the gradient of log M is the mean of the tilted law, which is one of the same family
    w = np.random.default_rng(2).standard_normal(dimension)
    pushed = concentration * direction + w
    tilted = VonMises(direction=pushed / np.linalg.norm(pushed), concentration=float(np.linalg.norm(pushed)))
    np.testing.assert_allclose(
        law.log_laplace(w[None], gradient=True)[1][0],
        tilted.on(Sphere(dimension=dimension)).mean,
        rtol=1e-13,
        atol=1e-14,
    )


def test_cells_of_a_normal_law_in_the_far_tail():
    law = Gaussian(mean=0.5, covariance=4).on(Line())
    for count in (30, 300):
        edges = np.linspace(-35, 37, count + 1)
        averages = law.cell_averages(Lattice.of([0.5 * (edges[1:] + edges[:-1])]))
        with mpmath.workdps(300):
            tail = [mpmath.erfc((mpmath.mpf(e) - 0.5) / mpmath.sqrt(8)) / 2 for e in edges]
            exact = np.array([float((a - b) / (mpmath.mpf(72) / count)) for a, b in itertools.pairwise(tail)])
        # an argument of size a is known to a * eps, and so is e^{-a^2/2} to a^2 eps
        reach = 1 + (np.abs(edges).max() / 2) ** 2
        np.testing.assert_allclose(averages, exact, rtol=reach * 4e-16)


def test_cells_of_a_correlated_normal_law_are_those_of_its_frame():
    spread = TURN @ np.diag([1.0, 0.09]) @ TURN.T
    law = Gaussian(mean=[0.2, -0.1], covariance=spread).on(Plane())
    z = Lattice.of([np.linspace(-6, 6, 41), np.linspace(-3, 3, 31)], [0.2, -0.1], TURN)
    straight = Gaussian(mean=[0, 0], covariance=[[1, 0], [0, 0.09]]).on(Plane()).cell_averages(Lattice.of(z.axes))
    np.testing.assert_allclose(law.cell_averages(z), straight, rtol=1e-12, atol=1e-300)
    skew = Lattice.of([np.linspace(-7, 7, 33), np.linspace(-6, 6, 29)], [0.1, 0.0], [[1, 0.3], [0.1, 0.9]])
    middle = skew.points().reshape(33, 29, 2)[14, 15]
    averages = law.cell_averages(skew)
    s, weights = np.polynomial.legendre.leggauss(40)
    grid = np.stack(np.meshgrid(s * 14 / 64, s * 12 / 56, indexing="ij"), axis=-1).reshape(-1, 2)
    density = law.evaluate(middle + grid @ skew.matrix.T)
    assert averages[14, 15] == pytest.approx(np.outer(weights, weights).ravel() @ density / 4, rel=1e-13)
    with pytest.raises(ProblemError, match="take more of them"):
        Gaussian(mean=[0, 0], covariance=1e-9 * spread).on(Plane()).cell_averages(skew)


def test_a_disc_cut_by_one_cell():
    """The share of [0, 1]^2 in the unit disc is pi / 4, of [0.6, 1.6] x [-0.4, 0.6] what the circular segments say."""
    disc = Uniform(ball={"center": [0, 0], "radius": 1}).on(Plane())
    cells = Lattice.of([[-0.5, 0.5], [-0.5, 0.5]])
    np.testing.assert_allclose(disc.cell_averages(cells), 0.25, rtol=1e-15)
    turned = Lattice.of([[-0.5, 0.5], [-0.5, 0.5]], [0, 0], TURN)
    np.testing.assert_allclose(disc.cell_averages(turned), 0.25, rtol=1e-15)
    beside = Lattice.of([[1.1, 2.1], [0.1, 1.1]])
    y = mpmath.quad(lambda t: max(0, mpmath.sqrt(1 - t * t) - 0.6), [-0.4, 0, 0.6])
    assert disc.cell_averages(beside)[0, 0] == pytest.approx(float(y) / np.pi, rel=1e-13)
    assert disc.cell_averages(beside)[1, 1] == 0


@pytest.mark.parametrize("frame", [np.eye(2), np.diag([1.0, -1.0]), TURN @ np.diag([-0.5, 0.8])])
@pytest.mark.parametrize("centre", [(0.1, 0.2), (0.5, 0.45), (0.5, 0.5)], ids=["inside", "edge", "corner"])
def test_a_disc_smaller_than_a_cell(frame, centre):
    """Wherever it lies, and whichever way round the cells do, all of it is in the cells it touches."""
    origin = np.array([0.3, -0.2])
    disc = Uniform(ball={"center": origin + frame @ centre, "radius": 0.03}).on(Plane())
    lattice = Lattice.of([np.arange(-2.0, 3.0), np.arange(-1.0, 3.0)], origin, frame)
    shares = disc.cell_averages(lattice) * abs(np.linalg.det(frame))
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares[2, 1] == pytest.approx({0.1: 1.0, 0.5: 0.25}[centre[0]], abs=1e-12) or centre[1] == 0.45
    assert np.count_nonzero(shares > 1e-12) == {(0.1, 0.2): 1, (0.5, 0.45): 2, (0.5, 0.5): 4}[centre]


def test_a_turned_square_on_a_grid_has_its_moments_to_the_square_of_the_cells():
    square = Uniform(box=[[-1, 1], [0, 3]]).on(Plane())
    axis = np.linspace(-4, 4, 81)
    lattice = Lattice.of([axis, axis], [0.1, 0.2], TURN)
    averages = square.cell_averages(lattice).ravel() * 0.01
    assert averages.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(averages @ lattice.points(), square.mean, atol=1e-3)
    inside = square.cell_averages(Lattice.of([np.linspace(-0.9, 0.9, 10), np.linspace(0.1, 2.9, 15)]))
    np.testing.assert_array_equal(inside, 1 / 6)


def test_a_singular_gaussian_has_everything_but_a_density():
    law = Normal([1.0, 2.0, 3.0], np.outer([1, 2, 0], [1, 2, 0]))
    assert law.rank == 1
    draws = law.sample(2000, seed=4)
    np.testing.assert_allclose(draws[:, 1] - 2, 2 * (draws[:, 0] - 1), atol=1e-14)
    np.testing.assert_array_equal(draws[:, 2], 3)
    points, weights = law.nodes()
    np.testing.assert_allclose(weights @ points, law.mean, atol=1e-14)
    np.testing.assert_allclose(
        (weights[:, None] * (points - law.mean)).T @ (points - law.mean), law.covariance, atol=1e-13
    )
    assert law.log_laplace([[1.0, 1.0, 1.0]])[0] == pytest.approx(6 + 4.5, rel=1e-15)
    with pytest.raises(ProblemError, match="rank 1 in R\\^3"):
        law.evaluate([[0.0, 0.0, 0.0]])


def test_variances_of_very_different_size_keep_their_density():
    law = Normal([0.0, 0.0], [[1.0, 0.5e-9], [0.5e-9, 1e-18]])
    assert law.rank == 2
    assert law.evaluate([[0.0, 0.0]])[0] == pytest.approx(1 / (2 * np.pi * np.sqrt(0.75) * 1e-9), rel=1e-13)


def test_many_dimensions_without_nodes():
    law = Gaussian(mean=[0.0] * 200, covariance=2).on(Space(dimension=200))
    np.testing.assert_allclose(law.log_laplace(np.full((1, 200), 0.1)), 2.0, rtol=1e-14)
    for measure in (law, Uniform(box=[[0, 1]] * 9).on(Space(dimension=9)), Uniform().on(Sphere(dimension=30))):
        assert measure.sample(5).shape == (5, measure.ambient_dimension)
        with pytest.raises(ProblemError, match=r"Particles\(measure.sample\(count\)\)"):
            measure.nodes()


def test_a_mixture_of_gaussians_is_a_weighted_sum():
    parts = [
        Gaussian(mean=[0, 0], covariance=1, weight=1),
        Gaussian(mean=[3, 0], covariance=[[2, 0.5], [0.5, 1]], weight=3),
    ]
    law = Mixture(components=parts).on(Plane())
    w = 400 * np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 0.0]])
    each = [part.log_laplace(w, gradient=True) for part in parts]
    shares = np.exp([np.log(0.25) + each[0][0], np.log(0.75) + each[1][0]] - law.log_laplace(w))
    np.testing.assert_allclose(shares.sum(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(
        law.log_laplace(w, gradient=True)[1],
        shares[0][:, None] * each[0][1] + shares[1][:, None] * each[1][1],
        rtol=1e-9,
    )
