"""Convolutions by degree on circle and spheres, against closed forms, quadrature and differences."""

import numpy as np
import pytest
from scipy import special

import mfpde
from mfpde.attention.exponential_convolution import exponential_convolution
from mfpde.geometry import CircleSeries, Harmonics, ZonalSeries
from mfpde.measure import CircleDensity
from mfpde.measure.spherical_cap import SphericalCap
from mfpde.measure.superposition import Superposition
from mfpde.measure.von_mises_fisher import VonMisesFisher

SPACES = {
    "circle": mfpde.Circle(),
    "S^1": mfpde.Sphere(dimension=2),
    "S^2": mfpde.Sphere(),
    "S^4": mfpde.Sphere(dimension=5),
}
LAWS = {
    "unnormalized": mfpde.Unnormalized(beta=3),
    "repelling": mfpde.Unnormalized(A=-4, V=2),
    "softmax": mfpde.Softmax(A=5, V=-1.5),
    "no scale": mfpde.Softmax(beta=0),
    "linear": mfpde.Linear(A=2, V=-1.5, weight=0.5),
    "interaction": mfpde.Interaction(coefficients=[1, -0.5, 0, 0.25]),
    "heads": mfpde.MultiHead(heads=[mfpde.Unnormalized(beta=1), mfpde.Linear(A=3)], weight=-0.5),
}


def directions(space, count, seed):
    points = np.random.default_rng(seed).standard_normal((count, space.ambient_dimension))
    return space.points(points / np.linalg.norm(points, axis=1, keepdims=True))


def tokens(space, count=7):
    return mfpde.Particles(directions(space, count, 1), np.arange(1.0, count + 1), space)


def multiplier(dimension, beta, k):
    """`g_k` of physics section 2, by Bessel functions."""
    half = 0.5 * dimension - 1
    return special.gamma(half + 1) * (2 / beta) ** half * special.iv(k + half, beta)


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
@pytest.mark.parametrize("beta", [1e-3, 0.5, 3.0, 40.0, 600.0])
def test_multipliers_of_the_exponential_kernel(dimension, beta):
    harmonics = Harmonics(dimension)
    found = exponential_convolution(harmonics, beta, 2.0, False).potential
    for k in range(1, min(found.size, 40)):
        assert found[k] == pytest.approx(2 * multiplier(dimension, beta, k) / beta, rel=2e-13)
    if 0.1 < beta < 100:
        kernel = lambda t: np.exp(beta * (t - 1)) / beta  # noqa: E731
        by_quadrature = 2 * np.exp(beta) * harmonics.multipliers(kernel, found.size - 1)
        np.testing.assert_allclose(found[1:], by_quadrature[1:], rtol=0, atol=4e-15 * np.exp(beta) / beta)
    repelled = exponential_convolution(harmonics, -beta, 2.0, False).potential
    np.testing.assert_allclose(repelled, found * (-1.0) ** np.arange(1, found.size + 1), rtol=1e-13)
    normalised = exponential_convolution(harmonics, beta, 2.0, True)
    np.testing.assert_allclose(normalised.potential * np.exp(beta), found, rtol=1e-13)
    assert normalised.normaliser[0] == pytest.approx(multiplier(dimension, beta, 0) * np.exp(-beta), rel=2e-13)


@pytest.mark.parametrize("order", [0, 5, 120])
@pytest.mark.parametrize("beta", [1e4, 1e6])
def test_multipliers_at_scales_where_e_overflows(order, beta):
    found = exponential_convolution(Harmonics(2), beta, 1.0, True)
    assert found.normaliser[order] == pytest.approx(special.ive(order, beta), rel=1e-13)


@pytest.mark.parametrize("dimension", [2, 3, 6, 1000])
def test_without_a_scale_only_degree_one_is_left(dimension):
    tiny, nothing = (exponential_convolution(Harmonics(dimension), beta, 3.0, False) for beta in (1e-200, 0.0))
    for convolution in (tiny, nothing):
        np.testing.assert_allclose(convolution.potential[:2], [0, 3 / dimension], rtol=1e-15)
        assert abs(convolution.potential[2:]).max(initial=0.0) < 1e-199
    rates = nothing.growth_rates()
    assert rates[1] == pytest.approx(3 * (dimension - 1) / dimension, rel=1e-15)  # kappa_1 = d for V = 1


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_growth_rates_of_the_uniform_state(space):
    """`l (l + d - 2)` times `g_l / beta`, `g_l / (beta g_0)`, `w_l / N_l` (physics sections 5 and 14)."""
    d, beta, k = space.ambient_dimension, 2.5, np.arange(1, 5)
    g, eigenvalues = multiplier(d, beta, k), k * (k + d - 2)
    rates = mfpde.Unnormalized(beta=beta).convolution(space).growth_rates()
    np.testing.assert_allclose(rates[1:5], eigenvalues * g / beta, rtol=1e-13)
    rates = mfpde.Softmax(beta=beta).convolution(space).growth_rates()
    np.testing.assert_allclose(rates[1:5], eigenvalues * g / (beta * multiplier(d, beta, 0)), rtol=1e-13)
    rates = mfpde.Interaction(coefficients=[1, -2, 0.5, 3]).convolution(space).growth_rates()
    counts = [special.binom(d + n - 1, n) - special.binom(d + n - 3, n - 2) for n in k]
    np.testing.assert_allclose(rates[1:5], eigenvalues * np.array([1, -2, 0.5, 3]) / counts, rtol=1e-13)


@pytest.mark.parametrize("name", ["unnormalized", "softmax", "linear", "interaction"])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_growth_rates_are_those_of_the_linearised_equation(space, name):
    """`-div(v' / |X|)` of a zonal change of degree 3 is its growth rate times the change."""
    convolution, degree, d = LAWS[name].convolution(space), 4, space.ambient_dimension
    axis, step = directions(space, 1, 3), 1e-4
    moment = np.zeros(degree + 1)
    moment[2] = 1.0
    if name == "circle" or space.angular:
        uniform, change = (CircleSeries(np.array(each, dtype=complex)) for each in ([1, 0, 0, 0, 0], moment))
        zonal = lambda points: 2 * np.cos(2 * points[:, 0])  # noqa: E731
        points = np.array([[0.4]])
        ends = points + step * np.array([[1.0], [-1.0]])
        slopes = convolution.variation(ends, uniform, change)[:, 0]
        divergence = (slopes[0] - slopes[1]) / (2 * step)
    else:
        uniform, change = ZonalSeries(axis, np.eye(degree + 1)[:1]), ZonalSeries(axis, moment[None])
        sphere = Harmonics(d)
        zonal = lambda points: sphere.multiplicities(2)[2] * sphere.zonal(points @ axis[0], 2)[2]  # noqa: E731
        points = directions(space, 1, 4)
        frame = np.linalg.svd(points)[2][1:]
        divergence = 0.0
        for tangent in frame:
            ends = space.retract(points + step * np.array([[1.0], [-1.0]]) * tangent)
            slopes = convolution.variation(ends, uniform, change) @ tangent
            divergence += (slopes[0] - slopes[1]) / (2 * step)
    assert -divergence == pytest.approx(convolution.growth_rates()[2] * zonal(points)[0], rel=1e-6)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_drifts_by_degree_are_sums_over_pairs(space, law):
    measure, points, convolution = tokens(space), directions(space, 9, 2), law.convolution(space)
    by_degree = convolution.drift(points, measure.harmonics(convolution.degree))
    expected = law.drift_by_quadrature(measure, points).reshape(9, -1)
    np.testing.assert_allclose(by_degree, expected, rtol=0, atol=1e-12 * convolution.bound)
    assert np.linalg.norm(expected, axis=1).max() <= convolution.bound * (1 + 1e-12)
    np.testing.assert_allclose(law.drift(measure, points).reshape(9, -1), expected, atol=1e-12 * convolution.bound)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_the_bound_of_an_interaction_is_sharp(space):
    """Of one token: `P_1 = t` pulls hardest at a right angle, `P_2 = (d t^2 - 1) / (d - 1)` half way to it."""
    d = space.ambient_dimension
    at, frame = np.eye(d)[:1], np.eye(d)[:2]
    turns = np.linspace(0, np.pi, 181)
    points = np.column_stack([np.cos(turns), np.sin(turns)]) @ frame
    for coefficients, largest in (([3.0], 3.0), ([0.0, 1.0], d / (d - 1))):
        law = mfpde.Interaction(coefficients=coefficients)
        drift = law.drift(mfpde.Particles(space.points(at), geometry=space), space.points(points)).reshape(181, -1)
        speed = np.linalg.norm(drift, axis=1).max()
        assert speed == pytest.approx(largest, rel=1e-12)
        bound = law.convolution(space).bound
        assert speed * (1 - 1e-12) <= bound <= np.sqrt(2) * speed * (1 + 1e-12)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_an_interaction_with_the_multipliers_of_a_kernel_is_that_kernel(space):
    kernel, points = mfpde.Unnormalized(beta=2), directions(space, 9, 2)
    convolution = kernel.convolution(space)
    coefficients = convolution.potential * space.harmonics.multiplicities(convolution.degree)
    law = mfpde.Interaction(coefficients=coefficients[1:])
    measures = [tokens(space), mfpde.VonMises(direction=points[0], concentration=3).on(space)]
    for measure in measures[: 1 if space.ambient_dimension > 4 else 2]:  # which have nodes
        expected = kernel.drift(measure, points)
        np.testing.assert_allclose(law.drift(measure, points), expected, atol=1e-13 * convolution.bound)
        divergence = kernel.divergence(measure, points)
        np.testing.assert_allclose(law.divergence(measure, points), divergence, atol=1e-12 * np.abs(divergence).max())
        excess = convolution.energy_offset + law.energy(measure)
        assert excess == pytest.approx(kernel.energy(measure), rel=1e-12)


@pytest.mark.parametrize("name", ["unnormalized", "softmax", "interaction"])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_variation_is_the_derivative_of_the_drift(space, name):
    law, points = LAWS[name], directions(space, 6, 5)
    convolution = law.convolution(space)
    one, two = tokens(space), mfpde.Particles(directions(space, 3, 6), geometry=space)
    here, there = (measure.harmonics(convolution.degree) for measure in (one, two))
    towards = here.mixed(np.array([-1.0, 1.0]), [here, there])
    step = 1e-5
    ends = [here.mixed(np.array([1 - h, h]), [here, there]) for h in (-step, step)]
    low, high = (convolution.drift(points, end) for end in ends)
    expected = (high - low) / (2 * step)
    found = convolution.variation(points, here, towards)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_harmonics_of_laws_about_an_axis(dimension):
    space = mfpde.Sphere(dimension=dimension)
    axis = directions(space, 1, 7)[0]
    for law in (VonMisesFisher(axis, 3.0, space), VonMisesFisher(axis, 0.0, space), SphericalCap(axis, 0.8, space)):
        angle, shares = np.polynomial.legendre.leggauss(200)
        angle = (1 + angle) * (0.4 if isinstance(law, SphericalCap) else np.pi / 2)
        shares = shares * np.exp(law.log_shape(angle)) * np.sin(angle) ** (dimension - 2)
        expected = space.harmonics.zonal(np.cos(angle), 12) @ shares / shares.sum()
        powers = space.harmonics.multiplicities(12) * expected**2
        np.testing.assert_allclose(law.harmonics(12).powers(), powers, atol=1e-13)
    moments = law.harmonics(100).powers() / space.harmonics.multiplicities(100)
    assert np.abs(moments[:13] - expected**2).max() < 2e-14
    assert np.abs(moments).max() <= 1 + 1e-12


def test_harmonics_of_sums_and_of_anything_with_nodes():
    space, axes = mfpde.Sphere(), directions(mfpde.Sphere(), 2, 8)
    parts = [VonMisesFisher(axis, 2.0, space) for axis in axes]
    mixture = Superposition([0.25, 0.75], parts)
    points, weights = mixture.nodes()
    by_nodes = ZonalSeries(points, np.repeat(weights[:, None], 7, axis=1))
    for asked in (directions(space, 5, 9),):
        one, two = (
            mfpde.Interaction(coefficients=[1, 2, 3, 4, 5, 6]).convolution(space).drift(asked, each)
            for each in (mixture.harmonics(6), by_nodes)
        )
        np.testing.assert_allclose(one, two, atol=1e-12)
    np.testing.assert_allclose(mixture.harmonics(6).powers(), by_nodes.powers(), atol=1e-13)


def test_powers_on_the_circle_and_on_its_twin():
    series = CircleDensity.of(np.array([1, 0.3 - 0.2j, 0.1j])).harmonics(4)
    np.testing.assert_allclose(series.powers(), [1, 2 * 0.13, 0.02, 0, 0], rtol=1e-15)
    measure = tokens(SPACES["circle"])
    twin = mfpde.Particles(measure.embedded_nodes()[0], measure.weights, SPACES["S^1"])
    np.testing.assert_allclose(measure.harmonics(9).powers(), twin.harmonics(9).powers(), atol=1e-14)


def test_no_harmonics_on_flat_spaces():
    assert mfpde.Softmax(beta=1).convolution(mfpde.Plane()) is None
    with pytest.raises(mfpde.ProblemError, match="they belong to circle and spheres"):
        mfpde.Particles([[0.0, 1.0]]).harmonics(3)
    with pytest.raises(mfpde.ProblemError, match="by degrees of harmonics, on circle and spheres"):
        mfpde.Interaction(coefficients=[1]).check(mfpde.Line())


@pytest.mark.parametrize("scale", [1.5, -2.0])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_relu_by_degree(space, scale):
    """`W_k` of `c max(0, a cos)^2 / (2 a)` by Gauss nodes of the angles where it is not 0."""
    d, degree = space.ambient_dimension, 20
    x, w = np.polynomial.legendre.leggauss(60)
    angle, w = np.pi / 4 * (1 + x), np.pi / 4 * w
    area = np.sqrt(np.pi) * special.gamma((d - 1) / 2) / special.gamma(d / 2)
    zonal = Harmonics(d).zonal(np.sign(scale) * np.cos(angle), degree)
    expected = zonal @ (w * np.sin(angle) ** (d - 2) * 0.7 * scale * np.cos(angle) ** 2 / 2) / area
    found = mfpde.Relu(A=scale, V=0.7).convolution(space)
    np.testing.assert_allclose(found.potential[1 : degree + 1], expected[1:], rtol=0, atol=2e-15)
    assert found.energy_offset == pytest.approx(expected[0] / 2, rel=1e-12)
    heads = mfpde.MultiHead(heads=[mfpde.Relu(A=scale, V=0.7), mfpde.Linear(A=1)]).convolution(space)
    assert found.cut
    assert heads.cut
    assert mfpde.Relu(A=np.diag(np.arange(1.0, d + 1))).convolution(space) is None
