"""Functionals of densities on grids of spheres, against closed forms of von Mises-Fisher laws."""

import numpy as np
import pytest
from scipy import special

import mfpde
from mfpde.geometry import Axis
from mfpde.measure.sphere_grid import ProfileDensity, SphereGridDensity
from mfpde.measure.von_mises_fisher import VonMisesFisher
from mfpde.observe import Instant
from mfpde.registry import members

AXIS = np.array([2.0, -1.0, 2.0]) / 3
CONCENTRATION = 3.0


def grid_points(latitudes):
    angle, turn = np.meshgrid(
        Axis.of_colatitudes(latitudes).values, Axis.of_angles("longitude", 2 * latitudes, "").values, indexing="ij"
    )
    points = np.stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)], axis=-1)
    return points.reshape(-1, 3)


def on_grid(latitudes=40):
    law = VonMisesFisher(AXIS, CONCENTRATION, mfpde.Sphere())
    return SphereGridDensity(law.evaluate(grid_points(latitudes)).reshape(latitudes, -1))


def profile(dimension, count=40):
    space = mfpde.Sphere(dimension=dimension)
    axis = np.arange(1.0, dimension + 1) / np.linalg.norm(np.arange(1.0, dimension + 1))
    law = VonMisesFisher(axis, CONCENTRATION, space)
    angle = Axis.of_colatitudes(count, dimension).values
    side = np.linalg.svd(axis[None])[2][1]
    points = np.cos(angle)[:, None] * axis + np.sin(angle)[:, None] * side
    return ProfileDensity(law.evaluate(points), axis, space)


def bessel(dimension, k, x=CONCENTRATION):
    """`int e^{x t} P_k(t)` over the uniform measure."""
    half = 0.5 * dimension - 1
    return special.gamma(half + 1) * (2 / x) ** half * special.iv(k + half, x)


def observed(name, measure, **keys):
    equation = mfpde.Equation(geometry=measure.space, **keys)
    observable = members("observable")[name]()
    assert observable.unfit(equation) is None
    return observable.evaluate(Instant(0.0, measure, equation, float))[name]


MEASURES = {"S^2": on_grid(), **{f"S^{d - 1} about an axis": profile(d) for d in (2, 3, 4, 7)}}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_entropy_mass_and_minimum(measure):
    """`log(|X| g_0) - c g_1 / g_0`, 1, `e^{-c} / (|X| g_0)` between the nodes."""
    d = measure.space.ambient_dimension
    area = 2 * np.pi ** (d / 2) / special.gamma(d / 2)
    entropy = np.log(area * bessel(d, 0)) - CONCENTRATION * bessel(d, 1) / bessel(d, 0)
    assert observed("entropy", measure) == pytest.approx(entropy, abs=1e-12)
    assert observed("mass", measure) == pytest.approx(1.0, abs=1e-13)
    lowest = np.exp(-CONCENTRATION) / (area * bessel(d, 0))
    assert lowest < observed("minimum", measure) < 1.2 * lowest


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.5])
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_energy(measure, beta):
    """`(sum_k N_k g_k(beta) m_k^2 - 1) / (2 beta)`, `m_k = g_k(c) / g_0(c)`; at beta = 0 `m_1^2 / 2`."""
    d = measure.space.ambient_dimension
    law = mfpde.Unnormalized(beta=beta)
    moments = np.array([bessel(d, k) / bessel(d, 0) for k in range(40)])
    if beta == 0:
        expected = 0.5 * moments[1] ** 2
    else:
        degrees = np.arange(40)
        counts = np.array([1, *(special.binom(d + k - 1, k) - special.binom(d + k - 3, k - 2) for k in degrees[1:])])
        expected = (counts * [bessel(d, k, beta) for k in degrees] @ moments**2 - 1) / (2 * beta)
    assert observed("energy", measure, attention=law) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_free_energy_and_dissipation(measure):
    """Of noise alone the dissipation is `c^2 int |grad t|^2 dmu / kappa^2`, `int t^2 dmu = 1 - (d - 1) m_1 / c`; the
    attraction of Kuramoto's law takes `m_1` off `c / kappa`: nothing is left where they are the same."""
    d = measure.space.ambient_dimension
    moment = bessel(d, 1) / bessel(d, 0)
    gradient = (d - 1) * moment / CONCENTRATION
    relative = CONCENTRATION * moment - np.log(bessel(d, 0))
    noise = {"kappa": 2.0}
    assert observed("free-energy", measure, noise=noise) == pytest.approx(relative / 2, rel=1e-12)
    assert observed("dissipation", measure, noise=noise) == pytest.approx(
        (CONCENTRATION / 2) ** 2 * gradient, rel=1e-11
    )
    law = mfpde.Unnormalized(beta=0)
    both = {"noise": noise, "attention": law}
    expected = (CONCENTRATION / 2 - moment) ** 2 * gradient
    assert observed("dissipation", measure, **both) == pytest.approx(expected, rel=1e-11)
    assert observed("free-energy", measure, **both) == pytest.approx(relative / 2 - moment**2 / 2, rel=1e-12)
    stationary = {"noise": {"kappa": CONCENTRATION / moment}, "attention": law}
    assert observed("dissipation", measure, **stationary) < 1e-24
    alone = observed("dissipation", measure, attention=law)
    assert alone == pytest.approx(moment**2 * gradient, rel=1e-11)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_they_are_measures(measure):
    d = measure.space.ambient_dimension
    axis = AXIS if isinstance(measure, SphereGridDensity) else measure.axis
    law = VonMisesFisher(axis, CONCENTRATION, measure.space)
    points = np.random.default_rng(1).standard_normal((20, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(measure.evaluate(points), law.evaluate(points), rtol=1e-11)
    np.testing.assert_allclose(measure.harmonics(9).powers(), law.harmonics(9).powers(), atol=1e-13)
    np.testing.assert_allclose(measure.harmonics(90).powers(), law.harmonics(90).powers(), atol=1e-13)
    for attention in (mfpde.Softmax(beta=4), mfpde.Unnormalized(A=2, V=-1), mfpde.Interaction(coefficients=[1, 2])):
        np.testing.assert_allclose(attention.drift(measure, points), attention.drift(law, points), atol=1e-11)
    if d > 4:
        return  # no affordable rule about the axis
    np.testing.assert_allclose(measure.mean, law.mean, atol=1e-13)
    np.testing.assert_allclose(measure.covariance, law.covariance, atol=1e-13)
    mean = measure.sample(40_000, seed=2).mean(axis=0)
    assert np.abs(mean - law.mean).max() < 5 / np.sqrt(40_000)
    np.testing.assert_array_equal(measure.sample(5, seed=2), measure.sample(40_000, seed=2)[:5])


def test_nearly_uniform_states_lose_no_digits():
    """Relative entropy `a^2 / 2 int f^2` of `1 + a f` for small a, here f = sqrt(3) x: no difference of logarithms."""
    amplitude = 1e-9
    points = grid_points(8)
    measure = SphereGridDensity((1 + amplitude * np.sqrt(3) * points[:, 0]).reshape(8, 16) / (4 * np.pi))
    assert measure.relative_entropy() == pytest.approx(0.5 * amplitude**2, rel=1e-6, abs=0)
    assert profile(3, 4).relative_entropy() != pytest.approx(profile(3).relative_entropy(), rel=1e-6)


@pytest.mark.parametrize("dimension", [4, 7, 30])
def test_nodes_towards_a_vector_integrate_waves_along_it(dimension):
    """`int e^{i <w, x>} dmu = g_0(|c a + i w|) / g_0(c)`, in dimensions too high for rules of the whole sphere, too."""
    measure = profile(dimension)
    vector = 1.5 * np.cos(np.arange(dimension)) / dimension**0.5 + 0.5 * measure.axis
    points, weights = measure.nodes_towards(vector)
    tilt = CONCENTRATION * measure.axis + 1j * vector
    expected = bessel(dimension, 0, np.sqrt(tilt @ tilt)) / bessel(dimension, 0)
    assert weights @ np.exp(1j * points @ vector) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, rtol=1e-14)
    assert len(weights) <= 40 * 41


def test_nodes_towards_a_vector_are_those_of_measures_about_an_axis_alone():
    assert profile(3).nodes_towards(np.ones(3)) is None
    assert on_grid().nodes_towards(np.ones(3)) is None
