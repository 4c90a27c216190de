"""Interactions written as expressions: coefficients, forces between tokens, external potentials, what is refused."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import mfpde
from mfpde.attention.external import External
from mfpde.attention.pair_potential import PairPotential
from mfpde.geometry import Harmonics

CIRCLE, SPHERE = mfpde.Circle(), mfpde.Sphere()


def coefficients(text, dimension):
    return PairPotential(text).degrees(Harmonics(dimension))


def by_quad(function, dimension, degree, breaks=()):
    """`int W P_k` over the sphere, by QUADPACK."""
    half = 0.5 * dimension - 1

    def polynomial(t):
        if dimension == 2:
            return math.cos(degree * math.acos(max(-1.0, min(1.0, t))))
        before, here = 1.0, t
        for k in range(1, degree):
            before, here = here, (2 * (k + half) * t * here - k * before) / (k + 2 * half)
        return 1.0 if degree == 0 else here

    ends = [0.0, *breaks, math.pi]
    area = quad(lambda a: math.sin(a) ** (dimension - 2), 0, math.pi)[0]
    parts = [
        quad(lambda a: function(a) * polynomial(math.cos(a)) * math.sin(a) ** (dimension - 2), *pair, limit=400)[0]
        for pair in itertools.pairwise(ends)
    ]
    return sum(parts) / area


# -- coefficients
# ----------------------------------------------------------------------------------------------------------------------


def test_logarithm_on_the_circle():
    found = coefficients("log(1 - cosine)", 2)
    k = np.arange(1, found.potential.size)
    np.testing.assert_allclose(found.potential[1:], -1 / k, rtol=1e-11)
    assert found.potential[0] == pytest.approx(-math.log(2), abs=1e-14)
    assert found.power == pytest.approx(1, abs=2e-3)


def test_logarithm_on_the_sphere():
    potential = coefficients("log((1 - cosine)/2)", 3).potential
    k = np.arange(1, potential.size)
    np.testing.assert_allclose(potential[1:], -1 / (k * (k + 1)), atol=1e-15)


def test_a_singularity_at_the_antipode():
    """As the one at 0, turned by pi."""
    near, far = (coefficients(text, 2).potential for text in ("log(abs(angle))", "log(pi - abs(angle))"))
    np.testing.assert_allclose(far, near * (-1.0) ** np.arange(near.size), atol=1e-14)


@pytest.mark.parametrize("text", ["-sqrt(1 - cosine**2)", "-sin(angle)", "-abs(sin(angle))"])
def test_onsagers_kernel(text):
    """`int_{-1}^1 sqrt(1 - t^2) P_2m dt / 2 = -Gamma(m - 1/2) Gamma(m + 1/2) / (8 m! (m + 1)!)`."""
    found = coefficients(text, 3)
    m = np.arange(1, 250)
    exact = np.exp(gammaln(m - 0.5) + gammaln(m + 0.5) - gammaln(m + 1) - gammaln(m + 2)) / 8
    np.testing.assert_allclose(found.potential[2:500:2], exact, atol=2e-16)
    assert not found.potential[1::2].any()
    assert found.potential[0] == pytest.approx(-math.pi / 4, abs=1e-15)
    assert found.power == pytest.approx(3, abs=0.02)
    assert 0 < found.rest < 1e-4


def test_a_hat_on_the_circle():
    potential = coefficients("maximum(0, 1 - abs(angle))", 2).potential
    k = np.arange(1, potential.size)
    np.testing.assert_allclose(potential[1:], (1 - np.cos(k)) / (math.pi * k**2), atol=1e-15)


@pytest.mark.parametrize("dimension", [2, 3, 4, 7])
def test_kinks_inside(dimension):
    found = coefficients("minimum(0.3, abs(abs(angle) - 1))*exp(cosine)", dimension).potential
    for degree in (0, 1, 2, 5, 12):
        exact = by_quad(lambda a: min(0.3, abs(a - 1)) * math.exp(math.cos(a)), dimension, degree, (0.7, 1.0, 1.3))
        assert found[degree] == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize("dimension", [3, 5])
def test_an_integrable_singularity(dimension):
    found = coefficients("1/angle", dimension).potential
    for degree in (0, 1, 4, 9):
        assert found[degree] == pytest.approx(by_quad(lambda a: 1 / a, dimension, degree), abs=1e-12)


@pytest.mark.parametrize("text", ["exp(3*cosine)/3", "-(1 - cosine)**2*(1.3 + cosine)", "exp(-angle**2*20)"])
@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_a_smooth_potential_needs_few_degrees(text, dimension):
    found = coefficients(text, dimension)
    assert found.rest == 0
    assert found.potential.size < 70
    angles = np.linspace(0, np.pi, 50)
    degree = found.potential.size - 1
    weights = found.potential * Harmonics(dimension).multiplicities(degree)
    summed = weights @ Harmonics(dimension).zonal(np.cos(angles), degree)
    direct = mfpde.measure.expression.Expression(text, ("cosine", "angle"))({"cosine": np.cos(angles), "angle": angles})
    np.testing.assert_allclose(summed, direct, atol=1e-11)


def test_formulas_are_lists():
    formula = mfpde.Interaction(coefficients={"formula": "(-1)**k/k**2", "count": 5})
    listed = mfpde.Interaction(coefficients=[-1, 1 / 4, -1 / 9, 1 / 16, -1 / 25])
    for space in (CIRCLE, SPHERE, mfpde.Sphere(dimension=6)):
        np.testing.assert_array_equal(formula.convolution(space).potential, listed.convolution(space).potential)


@pytest.mark.parametrize("space", [CIRCLE, SPHERE, mfpde.Sphere(dimension=5)])
def test_unnormalized_attention_is_an_interaction(space):
    written = mfpde.Interaction(expression="exp(2*cosine)/2").convolution(space)
    attention = mfpde.Unnormalized(beta=2).convolution(space)
    shown = min(written.potential.size, attention.potential.size)
    np.testing.assert_allclose(written.potential[1:shown], attention.potential[1:shown], atol=1e-15)
    np.testing.assert_allclose(written.growth_rates()[:shown], attention.growth_rates()[:shown], atol=1e-12)


# -- tokens
# ----------------------------------------------------------------------------------------------------------------------


def tokens(dimension, count=30, seed=3):
    x = np.random.default_rng(seed).standard_normal((count, dimension))
    return x / np.linalg.norm(x, axis=1)[:, None]


def plain_forces(slope, x, weights):
    """`sum_j w_j W'(angle) grad angle`, pair by pair."""
    found = np.zeros_like(x)
    for i, here in enumerate(x):
        for there, weight in zip(x, weights, strict=True):
            angle = math.acos(max(-1.0, min(1.0, float(here @ there))))
            if 1e-7 < angle < math.pi - 1e-7:
                direction = (there - (here @ there) * here) / math.sin(angle)
                found[i] -= weight * slope(angle) * direction
    return found


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("-angle**2*cosine", lambda a: -2 * a * math.cos(a) + a * a * math.sin(a)),
        ("exp(cosine)", lambda a: -math.sin(a) * math.exp(math.cos(a))),
        ("maximum(0, 1 - abs(angle))", lambda a: -1.0 if a < 1 else 0.0),
    ],
)
def test_forces_between_tokens(dimension, text, slope):
    space = CIRCLE if dimension == 2 else mfpde.Sphere(dimension=dimension)
    x, weights = tokens(dimension), np.random.default_rng(1).random(30)
    measure = mfpde.Particles(x, weights, geometry=space)
    law = mfpde.Interaction(expression=text)
    expected = plain_forces(slope, x, weights / weights.sum())
    for drift in (law.drift, law.drift_by_quadrature):
        found = drift(measure, x)
        if dimension == 2:
            found = found * np.column_stack([-x[:, 1], x[:, 0]])
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 4])
@pytest.mark.parametrize("distance", [0.0, 1e-200, 1e-12, 1e-9, 1e-4, 0.3])
def test_neighbours_at_any_distance(dimension, distance):
    """W = -chord: each of two equal tokens is pulled by half of cos(angle / 2), whatever rounding makes of cosines."""
    space = CIRCLE if dimension == 2 else mfpde.Sphere(dimension=dimension)
    points = np.zeros((2, dimension))
    points[:, 0], points[1, 1] = 1, distance
    points[1] /= np.linalg.norm(points[1])
    if dimension == 2:
        points = np.array([0.0, math.atan(distance)])
    law = mfpde.Interaction(expression="-sqrt(2 - 2*cosine)")
    drift = law.drift(mfpde.Particles(points, geometry=space), points)
    expected = 0.5 * math.cos(0.5 * math.atan(distance)) if distance > 1e-100 else 0.0
    for each in drift:
        assert np.linalg.norm(np.atleast_1d(each)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("dimension", [3, 5])
def test_many_tokens_by_degrees_as_by_pairs(dimension):
    space, x = mfpde.Sphere(dimension=dimension), tokens(dimension, 700)
    measure, law = mfpde.Particles(x, geometry=space), mfpde.Interaction(expression="1.5*cosine**2 + cosine**3")
    assert (law.quick_convolution(measure) is not None) == (dimension == 3)
    np.testing.assert_allclose(law.drift(measure, x[:40]), law.drift_by_quadrature(measure, x[:40]), atol=1e-13)


@pytest.mark.parametrize("space", [CIRCLE, SPHERE])
def test_the_divergence_is_the_derivative_of_the_drift(space):
    law = mfpde.Interaction(expression="-angle**2*cosine + exp(cosine)", external="x*y + y")
    measure = mfpde.Particles(tokens(space.ambient_dimension, 12), geometry=space)
    x, step = tokens(space.ambient_dimension, 7, seed=8), 1e-5
    if space is CIRCLE:
        x = np.arctan2(x[:, 1], x[:, 0])
        total = (law.drift(measure, x + step) - law.drift(measure, x - step)) / (2 * step)
    else:
        total = np.zeros(7)
        for frames in np.array([np.linalg.svd(each[None])[2][1:] for each in x]).swapaxes(0, 1):
            ends = [x * math.cos(step) + sign * frames * math.sin(step) for sign in (1, -1)]
            apart = law.drift(measure, ends[0]) - law.drift(measure, ends[1])
            total += np.sum(apart * frames, axis=1) / (2 * step)
    np.testing.assert_allclose(law.divergence(measure, x), total, atol=2e-8)


@pytest.mark.parametrize("space", [CIRCLE, SPHERE, mfpde.Sphere(dimension=4)])
def test_energies_of_tokens(space):
    x = tokens(space.ambient_dimension, 9)
    measure = mfpde.Particles(x, geometry=space)
    angles = np.arccos(np.clip(x @ x.T, -1, 1))
    expected = 0.5 * np.mean(1 - angles**2 * np.cos(2 * angles))
    law = mfpde.Interaction(expression="1 - angle**2*(2*cosine**2 - 1)")
    assert law.energy(measure) == pytest.approx(expected, rel=1e-7)  # arccos(1 - 1e-16) is 1e-8
    if space.ambient_dimension < 4:
        field = mfpde.Interaction(expression="1 - angle**2*(2*cosine**2 - 1)", external="x*y")
        assert field.energy(measure) - law.energy(measure) == pytest.approx(np.mean(x[:, 0] * x[:, 1]), rel=1e-12)


# -- external potentials
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("x*y + z**3", lambda p: p[0] * p[1] + p[2] ** 3),
        ("cos(colatitude)*x", lambda p: p[2] * p[0]),
        ("sin(colatitude)**2*cos(2*longitude)", lambda p: p[0] ** 2 - p[1] ** 2),
        ("exp(sin(colatitude)*sin(longitude))", lambda p: math.exp(p[1])),
    ],
)
def test_gradients_on_the_sphere(text, plain):
    x = np.vstack([tokens(3, 6), [[0, 0, 1], [0, 0, -1], [1e-9, 0, 1]]])
    external, step = External(text, SPHERE), 1e-4
    slopes, curves = np.zeros_like(x), np.zeros(len(x))
    for i, point in enumerate(x):
        for direction in np.linalg.svd(point[None])[2][1:]:
            ahead, back = (plain(point * math.cos(step) + s * direction * math.sin(step)) for s in (1, -1))
            slopes[i] += (ahead - back) / (2 * step) * direction
            curves[i] += (ahead - 2 * plain(point) + back) / step**2
    np.testing.assert_allclose(external.slopes(x), slopes, atol=1e-7)
    np.testing.assert_allclose(external.laplacians(x), curves, atol=1e-6)
    ones, series = np.ones(60), external.series()
    np.testing.assert_allclose(series.slopes_and_levels(x[:-1], ones, None)[0], external.slopes(x[:-1]), atol=1e-12)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("-log(abs(x))", "x = 0;"),
        ("1/(x - 1)", "x = 1;"),
        ("-x**4 + 0.01*log(abs(x - 0.3))", "x = 0.3;"),
        ("abs(x)**0.9", "x = 0;"),
        ("log((x - 0.2)**2 + (y + 1)**2)", "x = 0.2, y = -1;"),
    ],
)
def test_singular_external_potentials_are_refused(text, place):
    geometry = mfpde.Plane() if "y" in text else mfpde.Line()
    with pytest.raises(mfpde.ProblemError, match=f"is singular, or its slope is, near {place}"):
        External(text, geometry)


@pytest.mark.parametrize("text", ["-x**4/4", "-abs(x)", "exp(x**2)", "log(x**2 + 1e-8)", "cos(20*x)", "abs(x)**1.1"])
def test_steep_external_potentials_are_none(text):
    External(text, mfpde.Line())
    External(f"{text} + y", mfpde.Plane())


def test_a_potential_with_kinks_is_for_tokens_alone():
    law = mfpde.Interaction(external="abs(sin(theta))", coefficients=[1])
    two = mfpde.Particles([0.3, 4.0], geometry=CIRCLE)
    pull = 0.5 * math.sin(4.0 - 0.3)
    np.testing.assert_allclose(law.drift(two, [0.3, 4.0]), [math.cos(0.3) + pull, -math.cos(4.0) - pull], atol=1e-14)
    assert law.convolution(CIRCLE) is None
    assert "not smooth" in law.convolution_unfit(CIRCLE)


# -- what is refused
# ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "given", "path", "words"),
    [
        (SPHERE, {"expression": "-r"}, "expression", "r, the distance on flat spaces"),
        (CIRCLE, {"expression": "cos(theta)"}, "expression", "theta, a coordinate of one token"),
        (CIRCLE, {"expression": "sin(angle/2)"}, "expression", "is 1 at angle pi and -1 at -pi"),
        (CIRCLE, {"expression": "1/abs(angle)"}, "expression", "not finite: |W| has no integral near angle = 0"),
        (SPHERE, {"expression": "1/(1 - cosine)"}, "expression", "not finite"),
        (SPHERE, {"expression": "log(cosine)"}, "expression", "is not a finite number at angle = 1.57"),
        (SPHERE, {"expression": "cosin"}, "expression", "did you mean 'cosine'"),
        (SPHERE, {"expression": 3}, "expression", "is constant"),
        (mfpde.Line(), {"expression": "cosine"}, "expression", "on the line write r"),
        (mfpde.Plane(), {"coefficients": [1]}, "coefficients", "write an expression in r"),
        (mfpde.Line(), {"external": "y"}, "external", "coordinates are x"),
        (CIRCLE, {"external": "z"}, "external", "coordinates are theta, x, y"),
        (SPHERE, {"external": "theta"}, "external", "coordinates are x, y, z, colatitude, longitude"),
        (mfpde.Sphere(dimension=4), {"external": "z"}, "external", "R^4 has no names"),
        (CIRCLE, {"external": "theta"}, "external", "is not periodic"),
        (SPHERE, {"external": "longitude*z"}, "external", "is not periodic"),
        (CIRCLE, {"external": "1/sin(theta)"}, "external", "is not finite at theta = 0"),
        (CIRCLE, {"expression": "cosine", "coefficients": [1]}, "expression", "cannot both be given"),
        (CIRCLE, {}, "", "needs coefficients or an expression"),
        (CIRCLE, {"coefficients": {"formula": "1/j", "count": 3}}, "formula", "does not know 'j'"),
        (CIRCLE, {"coefficients": {"formula": "1/(k - 1)", "count": 3}}, "coefficients", "must be finite"),
    ],
)
def test_bad_interactions_are_refused(space, given, path, words):
    with pytest.raises(mfpde.ProblemError) as error:
        mfpde.Interaction(**given).check(space)
    (fault,) = error.value.faults
    assert words in fault.message
    assert not path or path in fault.path


@pytest.mark.parametrize("text", ["log(1 - cosine)", "1/sqrt(1.0 - cosine)", "sqrt(abs(angle))"])
def test_tokens_do_not_take_singular_forces(text):
    law = mfpde.Interaction(expression=text)
    assert "angle 0" in law.token_unfit(SPHERE, noisy=True)
    with pytest.raises(mfpde.ProblemError, match="singular"):
        law.drift(mfpde.Particles(tokens(3), geometry=SPHERE), tokens(3))


@pytest.mark.parametrize("text", ["log(r)", "1/r", "sqrt(r)"])
@pytest.mark.parametrize("space", [mfpde.Line(), mfpde.Plane()], ids=["line", "plane"])
def test_no_solver_of_flat_spaces_takes_singular_forces(space, text):
    """So the expression is at fault and not a solver; a slope that jumps at 0 is none."""
    with pytest.raises(mfpde.ProblemError, match=r"interaction.expression: is singular.* at r = 0"):
        mfpde.Interaction(expression=text).check(space)
    for regular in ("-r", "-r**1.5", "log(r**2 + 0.01)"):
        mfpde.Interaction(expression=regular).check(space)


def test_tokens_do_not_collide():
    """W = -angle brings tokens together in finite time; noise keeps them apart, repulsion as well."""
    for text in ("-abs(angle)", "-sqrt(1 - cosine)"):
        law = mfpde.Interaction(expression=text)
        assert "meet in finite time" in law.token_unfit(SPHERE, noisy=False)
        assert law.token_unfit(SPHERE, noisy=True) is None
    for text in ("abs(angle)", "-angle**2", "maximum(0, 1 - angle**2)"):
        assert mfpde.Interaction(expression=text).token_unfit(SPHERE, noisy=False) is None


@pytest.mark.parametrize(
    ("text", "place"), [("1/(r - 1.2345)", 1.2345), ("1/(r - 15)", 15.0), ("log(abs(r - 1.7123))", 1.7123)]
)
def test_poles_between_the_distances_that_are_looked_at(text, place):
    with pytest.raises(mfpde.ProblemError, match=rf"singular, or its slope is, near r = {place:g};"):
        mfpde.Interaction(expression=text).check(mfpde.Line())


@pytest.mark.parametrize("text", ["exp(r**2)", "r**40", "-abs(r - 1.3)", "minimum(1, maximum(0, 1e9*(1 - r)))"])
def test_steep_slopes_are_no_poles(text):
    mfpde.Interaction(expression=text).check(mfpde.Line())
