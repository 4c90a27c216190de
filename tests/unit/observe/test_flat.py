"""Observables on line and plane against closed forms."""

import numpy as np
import pytest
from scipy.special import ndtr

import mfpde
from mfpde.measure import GridDensity, Normal, Panel
from mfpde.observe import Instant
from mfpde.registry import lookup

LINE, PLANE = mfpde.Line(), mfpde.Plane()
MEANS, COVARIANCE = np.array([[-2.0, 0.5], [1.5, -1.0]]), np.array([[0.5, 0.2], [0.2, 0.3]])
SHARES = (0.25, 0.75)


def value(name, measure, attention=None, **settings):
    equation = mfpde.Equation(geometry=measure.geometry, attention=attention)
    return lookup("observable", name)(**settings).evaluate(Instant(0.0, measure, equation, lambda: 0.0))


def static(law, reach=9.0, cells=120):
    lattice = mfpde.Lattice.of([(np.arange(cells) + 0.5) * 2 * reach / cells - reach] * law.ambient_dimension)
    return GridDensity([Panel(lattice, law.cell_averages(lattice))])


def framed(means, covariance, shares, cells=48, reach=6.5):
    """One frame for each component, `x = m + S^{1/2} z`."""
    root = np.linalg.cholesky(covariance)
    axes = [(np.arange(cells) + 0.5) * 2 * reach / cells - reach] * len(root)
    panels = []
    for mean, share in zip(means, shares, strict=True):
        lattice = mfpde.Lattice.of(axes, mean, root)
        standard = Normal(np.zeros(len(root)), np.eye(len(root))).cell_averages(mfpde.Lattice.of(axes))
        panels.append(Panel(lattice, share * standard / np.linalg.det(root)))
    return GridDensity(panels)


def gaussian(dimension):
    return Normal(MEANS[1][:dimension], COVARIANCE[:dimension, :dimension], (LINE, PLANE)[dimension - 1])


BOTH = pytest.mark.parametrize("dimension", [1, 2], ids=["line", "plane"])


@BOTH
@pytest.mark.parametrize("frame", [False, True], ids=["static", "frame"])
def test_densities_of_gaussians_have_the_values_of_gaussians(dimension, frame):
    law = gaussian(dimension)
    grid = framed([law.mean], law.covariance, [1.0], 64, 8.5) if frame else static(law)
    for name, tolerance in (("mass", 1e-9), ("mean", 1e-9), ("covariance", 1e-8), ("entropy", 1e-7)):
        expected, found = value(name, law), value(name, grid)
        for key in expected:
            np.testing.assert_allclose(found[key], expected[key], rtol=tolerance, atol=tolerance, err_msg=key)
    attention = mfpde.Softmax(A=0.7, V=-1)
    expected, found = value("energy", law, attention), value("energy", grid, attention)
    assert found["energy"] == pytest.approx(expected["energy"], rel=1e-7)
    assert value("attention-tilt", grid, attention)["attention-tilt"] == pytest.approx(
        value("attention-tilt", law, attention)["attention-tilt"], rel=1e-8
    )


def test_entropy_of_frames_that_overlap():
    frames, law = framed(MEANS, COVARIANCE, SHARES), [Normal(mean, COVARIANCE, PLANE) for mean in MEANS]
    together = mfpde.measure.Superposition(SHARES, law)
    assert value("entropy", frames)["entropy"] == pytest.approx(value("entropy", together)["entropy"], rel=1e-6)
    apart = framed([[-50.0, 0.0], [50.0, 0.0]], COVARIANCE, SHARES)
    mixing = -sum(share * np.log(share) for share in SHARES)
    expected = value("entropy", Normal([0, 0], COVARIANCE, PLANE))["entropy"] + mixing
    assert value("entropy", apart)["entropy"] == pytest.approx(expected, rel=1e-8)


def test_entropy_without_a_density():
    assert value("entropy", Normal([0, 0], [[1, 1], [1, 1]], PLANE)) == {"entropy": -np.inf}


def test_energy_of_a_gaussian_by_quadrature():
    x, weights = np.polynomial.hermite_e.hermegauss(80)
    points, weights = 0.4 + np.sqrt(0.6) * x, weights / weights.sum()
    for a, v in ((0.7, 1.5), (-0.7, 1.0), (1e-9, 2.0)):
        pairs = np.expm1(a * np.outer(points, points))
        expected = v * float(weights @ pairs @ weights) / (2 * a)
        found = value("energy", Normal(0.4, 0.6, LINE), mfpde.Unnormalized(A=a, V=v))
        assert found["energy"] == pytest.approx(expected, rel=1e-8)
    assert value("energy", Normal(0.4, 0.6, LINE), mfpde.Unnormalized(A=0, V=2))["energy"] == pytest.approx(0.16)
    assert value("energy", Normal(0.4, 0.6, LINE), mfpde.Unnormalized(A=2, V=2))["energy"] == np.inf
    two = mfpde.Particles([[1.0, 0.0], [0.0, 2.0]], geometry=PLANE)
    expected = (np.expm1(0.5) + np.expm1(2.0)) / 4 / (2 * 0.5)
    assert value("energy", two, mfpde.Unnormalized(A=0.5))["energy"] == pytest.approx(expected, rel=1e-12)


def test_energy_needs_multiples_of_the_identity():
    energy = lookup("observable", "energy")()
    for attention in (mfpde.Softmax(A=[[1, 1], [0, 1]]), mfpde.Linear(A=1), None):
        assert energy.unfit(mfpde.Equation(geometry=PLANE, attention=attention)) is not None


def test_support_radius():
    lattice = mfpde.Lattice.of([np.arange(-4.0, 5.0)])
    grid = GridDensity([Panel(lattice, np.array([0, 0, 1e-9, 1, 2, 1, 1, 0, 0]) / 5)])
    assert value("support-radius", grid)["support-radius"] == 2.0
    assert value("support-radius", grid, beyond=0.3)["support-radius"] == 1.0
    lopsided = GridDensity([Panel(lattice, np.array([0, 1e-9, 0, 1, 2, 1, 1, 0, 0]) / 5)])
    assert value("support-radius", lopsided)["support-radius"] == 2.0
    assert value("support-radius", lopsided, beyond=0)["support-radius"] == 3.0
    points = mfpde.Particles([[3.0, 4.0], [0.0, 1.0]], weights=[1e-8, 1.0], geometry=PLANE)
    assert value("support-radius", points)["support-radius"] == 1.0
    assert value("support-radius", points, beyond=0)["support-radius"] == 5.0


@BOTH
def test_minimum_is_the_smallest_average(dimension):
    grid = static(gaussian(dimension), reach=2.0, cells=10)
    assert value("minimum", grid)["minimum"] == grid.panels[0].values.min() > 0


# -- clusters


def positions(found):
    return found["clusters-position"][: int(found["clusters"])]


@pytest.mark.parametrize("frames", [False, True], ids=["static", "frames"])
def test_two_clusters_on_the_plane(frames):
    parts = [Normal(mean, COVARIANCE, PLANE) for mean in MEANS]
    mixture = mfpde.measure.Superposition(SHARES, parts)
    found = value("clusters", framed(MEANS, COVARIANCE, SHARES) if frames else static(mixture, 7.0, 96), most=3)
    assert found["clusters"] == 2
    np.testing.assert_allclose(positions(found), MEANS, atol=0.02)
    np.testing.assert_allclose(found["clusters-mass"], [0.25, 0.75, np.nan], atol=0.01)
    np.testing.assert_allclose(found["clusters-width"][:2], np.sqrt(0.4), rtol=0.05)


def test_clusters_narrower_than_any_grid_have_their_own_frames():
    found = value("clusters", framed([[-2.0], [1.0]], np.array([[1e-16]]), SHARES))
    assert found["clusters"] == 2
    np.testing.assert_allclose(positions(found), [-2.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found["clusters-width"][:2], 1e-8, rtol=1e-6)


def test_frames_that_have_met_are_one_cluster():
    close = framed([[0.0, 0.0], [0.3, 0.1]], COVARIANCE, SHARES)
    found = value("clusters", close)
    assert found["clusters"] == 1
    assert found["clusters-mass"][0] == pytest.approx(1, abs=1e-8)
    np.testing.assert_allclose(positions(found)[0], [0.225, 0.075], atol=1e-8)
    assert found["clusters-width"][0] == pytest.approx(np.sqrt(np.trace(close.covariance) / 2), rel=1e-8)


def test_ripples_do_not_split_a_cluster_and_dips_do():
    x = np.linspace(-4, 4, 161)
    lattice = mfpde.Lattice.of([x])

    def count(density, **settings):
        grid = GridDensity([Panel(lattice, density / (density.sum() * 0.05), averages=False)])
        return value("clusters", grid, **settings)["clusters"]

    bump = np.exp(-(x**2))
    assert count(bump * (1 + 0.2 * np.cos(20 * x))) == 1
    two = np.exp(-3 * (x - 1) ** 2) + np.exp(-3 * (x + 1) ** 2)
    middle = two[80] / two.max()
    assert count(two, dip=middle - 0.01) == 1
    assert count(two, dip=middle + 0.01) == 2
    assert count(np.ones(161)) == 1  # a plateau is one
    second = bump**4 + 1e-9 * np.exp(-3 * (x - 3) ** 2)
    assert count(second) == 1  # too light
    assert count(second, least=1e-11) == 2


# -- attention


def test_tilt_of_several_heads_and_of_l2():
    law = Normal([0, 0], COVARIANCE, PLANE)
    A, K, Q = np.array([[1.0, 0.5], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.3, 1.0]]), np.array([[0.5, 0.1], [0.0, 1.0]])
    heads = [mfpde.Softmax(A=0.1), mfpde.Softmax(A=A)]
    found = value("attention-tilt", law, mfpde.MultiHead(heads=heads))["attention-tilt"]
    assert found == pytest.approx(np.linalg.norm(COVARIANCE @ A, 2), rel=1e-12)
    seen = np.linalg.inv(np.linalg.inv(COVARIANCE) + 2 * K.T @ K)
    found = value("attention-tilt", law, mfpde.L2(Q=Q, K=K))["attention-tilt"]
    assert found == pytest.approx(np.linalg.norm(seen @ (2 * K.T @ Q), 2), rel=1e-12)
    unfit = lookup("observable", "attention-tilt")().unfit
    assert "exponential" in unfit(mfpde.Equation(geometry=PLANE, attention=mfpde.Relu(A=1)))
    assert "exponential" in unfit(mfpde.Equation(geometry=PLANE))


def test_mass_at_the_edge_grows_with_the_tilt():
    def edge(a, cells=64):
        grid = static(Normal(0, 1, LINE), reach=8.0, cells=cells)
        return value("attention-tilt", grid, mfpde.Softmax(A=a))["attention-tilt-edge"]

    for a in (1.0, 1.5):  # a token at 3 looks at N(3 a, 1): what lies in the last two cells, 0.0025 wide
        far = ndtr(3 * a - np.array([-8, 8 - 2 * 0.0025, 8]))
        assert edge(a, 6400) == pytest.approx((far[1] - far[2]) / (far[0] - far[2]), rel=2e-5)
    assert edge(0.5) < 1e-8
    assert edge(4.0) > 0.8
