"""Initial measures on the circle against plain quadrature of their densities."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import i0, ive

import mfpde
from mfpde.measure import CircleDensity

MEASURES = {
    "uniform": mfpde.Uniform(),
    "arc": mfpde.Uniform(box=[[-1.0, 2.5]]),
    "broad": mfpde.VonMises(direction=1.0, concentration=2),
    "flat": mfpde.VonMises(direction=1.0, concentration=0),
    "narrow": mfpde.VonMises(direction=6.0, concentration=3000),
    "vector": mfpde.VonMises(direction=[0.6, 0.8], concentration=4),
    "wave": mfpde.Density(expression="2 + cos(theta) + sin(3*theta) / 2"),
    "vector coordinates": mfpde.Density(expression="exp(x - 2*y) + 0*theta"),
    "kink": mfpde.Density(expression="1 + abs(sin(theta))"),
    "mixture": mfpde.Mixture(
        components=[
            mfpde.VonMises(direction=0.5, concentration=30, weight=3),
            mfpde.Uniform(box=[[2, 4]]),
            mfpde.Density(expression="1 + cos(2*theta)", weight=0.5),
        ]
    ),
}
#: jumps, kinks and narrow peaks, for the reference quadrature
BREAKS = [0, 0.3, 0.5, 0.7, 1.0, 2.0, 2.5, 3.0, np.pi, 4.0, 5.0, 2 * np.pi - 1, 5.9, 6.0, 6.1, 2 * np.pi]


def integral(measure, function) -> float:
    density = measure.on(mfpde.Circle()).evaluate
    pieces = pairwise(BREAKS)
    return math.fsum(
        quad(lambda t: function(t) * density([t])[0], a, b, epsabs=1e-14, epsrel=1e-13, limit=100)[0] for a, b in pieces
    )


def accuracy(name: str) -> float:
    """Kinks are sampled, at 2^15 points, not transformed in closed form."""
    return 1e-8 if name == "kink" else 1e-12


@pytest.mark.parametrize("name", MEASURES)
def test_fourier_modes_are_integrals(name):
    modes = MEASURES[name].on(mfpde.Circle()).harmonics(39).coefficients
    assert modes.shape == (40,)
    for k in (0, 1, 2, 3, 7, 39):
        exact = complex(
            integral(MEASURES[name], lambda t, k=k: math.cos(k * t)),
            -integral(MEASURES[name], lambda t, k=k: math.sin(k * t)),
        )
        assert abs(modes[k] - exact) < accuracy(name)


@pytest.mark.parametrize("name", MEASURES)
def test_fourier_modes_do_not_depend_on_how_many_are_asked_for(name):
    measure = MEASURES[name].on(mfpde.Circle())
    np.testing.assert_array_equal(measure.harmonics(99).coefficients[:10], measure.harmonics(9).coefficients)
    assert measure.harmonics(0).coefficients.shape == (1,)


@pytest.mark.parametrize("name", MEASURES)
def test_mean_and_covariance_are_integrals(name):
    measure = MEASURES[name]
    mean = [integral(measure, math.cos), integral(measure, math.sin)]
    np.testing.assert_allclose(measure.on(mfpde.Circle()).mean, mean, atol=accuracy(name))
    second = [
        [integral(measure, lambda t: math.cos(t) ** 2), integral(measure, lambda t: math.cos(t) * math.sin(t))],
        [integral(measure, lambda t: math.cos(t) * math.sin(t)), integral(measure, lambda t: math.sin(t) ** 2)],
    ]
    covariance = measure.on(mfpde.Circle()).covariance
    np.testing.assert_allclose(covariance, second - np.outer(mean, mean), atol=accuracy(name))


@pytest.mark.parametrize("name", MEASURES)
def test_integrate_takes_functions_of_the_angle(name):
    smooth = name not in ("arc", "mixture", "kink")
    got = MEASURES[name].on(mfpde.Circle()).integrate(lambda theta: np.exp(3 * np.sin(theta)))
    exact = integral(MEASURES[name], lambda t: math.exp(3 * math.sin(t)))
    assert got == pytest.approx(exact, rel=1e-12 if smooth else 2e-4)
    both = MEASURES[name].on(mfpde.Circle()).integrate(lambda theta: np.column_stack([np.cos(theta), np.sin(theta)]))
    np.testing.assert_allclose(both, MEASURES[name].on(mfpde.Circle()).mean, atol=1e-12 if smooth else 2e-4)


@pytest.mark.parametrize("name", [name for name in MEASURES if MEASURES[name].on(mfpde.Circle()).bandwidth is not None])
def test_series_and_density_say_the_same(name):
    measure = MEASURES[name].on(mfpde.Circle())
    series = CircleDensity.of(measure.harmonics(measure.bandwidth - 1).coefficients)
    angles = np.linspace(0.1, 6.2, 50)
    scale = measure.evaluate(angles).max()
    np.testing.assert_allclose(
        series.evaluate(angles), measure.evaluate(angles), atol=max(1e-13 * scale, accuracy(name) * 100)
    )
    grid = 2 * np.pi / 8192 * np.arange(8192)
    np.testing.assert_allclose(
        measure.on_grid(8192), measure.evaluate(grid), atol=max(1e-13 * scale, 1e-4 * (name == "kink"))
    )


@pytest.mark.parametrize("name", MEASURES)
def test_samples_follow_the_density(name):
    measure = MEASURES[name].on(mfpde.Circle())
    draws = measure.sample(20_000, seed=3)
    assert draws.shape == (20_000, 1)
    assert draws.min() >= 0
    assert draws.max() <= 2 * np.pi
    np.testing.assert_array_equal(measure.sample(20_000, seed=3), draws)
    np.testing.assert_array_equal(measure.sample(50, seed=3), draws[:50])
    assert not np.array_equal(measure.sample(50, seed=4), draws[:50])
    np.testing.assert_allclose(measure.mean, [np.cos(draws).mean(), np.sin(draws).mean()], atol=0.03)
    second = measure.harmonics(2).coefficients[2]
    assert abs(np.exp(-2j * draws).mean() - second) < 0.03


def test_samples_of_a_narrow_cluster_have_its_width():
    draws = mfpde.VonMises(direction=3, concentration=1e4).sample(20_000)
    assert draws.std() == pytest.approx(0.01, rel=0.02)


@pytest.mark.parametrize("k", [32, 64, 128, 1024, 4096, 16383])
def test_no_wave_hides_between_samples(k):
    modes = mfpde.Density(expression=f"1 + 0.5*cos({k}*theta)").harmonics(k + 1).coefficients
    assert abs(modes[k] - 0.25) < 1e-10
    assert np.abs(modes[1:k]).max() < 1e-10


def test_no_peak_hides_between_samples():
    peak, angle = "exp(1e5*(cos(theta - 0.05) - 1))", 0.05
    share = ive(0, 1e5) / (1 + ive(0, 1e5))
    expected = share * ive(1, 1e5) / ive(0, 1e5) * np.exp(-1j * angle)
    assert abs(mfpde.Density(expression=f"1 + {peak}").harmonics(1).coefficients[1] - expected) < 1e-13


@pytest.mark.parametrize(
    ("expression", "most"),
    [
        ("1 + 0.5*cos(129*theta)", 130),
        ("exp(345*(cos(theta) - 1))", 180),
        ("exp(10000*(cos(theta - 0.05) - 1))", 950),
        ("1/(1.01 - cos(theta))", 300),
        ("(1 + cos(theta))**8", 9),
        ("1 + 1e-8*cos(3*theta - 1)", 4),
    ],
)
def test_bandwidth_ends_where_noise_begins(expression, most):
    measure = mfpde.Density(expression=expression).on(mfpde.Circle())
    assert measure.bandwidth <= most
    angles = np.linspace(0, 6.2, 99)
    scale = measure.evaluate(angles).max()
    series = CircleDensity.of(measure.harmonics(measure.bandwidth - 1).coefficients)
    np.testing.assert_allclose(series.evaluate(angles), measure.evaluate(angles), rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("count", [1, 2, 32, 33, 200])
def test_densities_at_any_angle_are_sums_of_waves(count, random):
    """Of fewer and of more modes than are summed at once, and more angles than in a block."""
    modes, theta = np.exp(-0.1 * np.arange(count)) * np.exp(2j * np.pi * random.random(count)), 7 * random.random(300)
    modes[0] = 1.0
    density = CircleDensity(lambda wanted: np.pad(modes, (0, max(0, wanted - count)))[:wanted], bandwidth=count)
    waves = np.exp(1j * np.outer(theta, np.arange(count)))
    wanted = ((waves @ modes).real - 0.5) / np.pi
    assert np.abs(density.evaluate(theta) - wanted).max() < 1e-13


def test_uniform_integrates_more_than_its_own_modes():
    """The uniform density has one mode; what is integrated against it has many."""
    assert mfpde.Uniform().integrate(lambda t: np.exp(20 * np.cos(t))) == pytest.approx(i0(20), rel=1e-13)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("cos(theta)", "negative"),
        ("-1", "negative"),
        ("0", "mass"),
        ("0*theta", "mass"),
        ("log(theta)", "not finite"),
        ("sqrt(-1)", "not finite"),
        ("1/sin(theta)**2", "not finite"),
        ("1 + 1e-12 - (theta - 3)**2 / 1e6 - cos(theta + 0.0001)", "negative"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_density_is_refused(expression, why):
    with pytest.raises(mfpde.ProblemError, match=why):
        mfpde.Density(expression=expression).harmonics(3)


def test_weights_of_a_mixture():
    heavy = mfpde.VonMises(direction=0, concentration=5, weight=3)
    light = mfpde.VonMises(direction=2, concentration=5)
    mixture = mfpde.Mixture(components=[heavy, light])
    np.testing.assert_allclose(mixture.mean, 0.75 * heavy.mean + 0.25 * light.mean, atol=1e-15)
    with pytest.raises(ValueError, match="weights"):
        mfpde.Mixture(components=[mfpde.Uniform(weight=-1)])
    with pytest.raises(ValueError, match="weights"):
        mfpde.Mixture(components=[mfpde.Uniform(weight=0)])


def test_particles():
    angles, weights = np.array([0.5, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    measure = mfpde.Particles(angles, weights, mfpde.Circle())
    share = weights / 4
    np.testing.assert_allclose(
        measure.harmonics(199).coefficients,
        (share * np.exp(-1j * np.outer(np.arange(200), angles))).sum(axis=1),
        atol=1e-13,
    )
    np.testing.assert_allclose(measure.mean, [share @ np.cos(angles), share @ np.sin(angles)], atol=1e-15)
    assert measure.integrate(lambda theta: theta**2) == pytest.approx(share @ angles**2)
    draws = measure.sample(4000, seed=1)[:, 0]
    assert set(draws) == set(angles)
    assert (draws == 2.0).mean() == pytest.approx(0.5, abs=0.03)
    np.testing.assert_array_equal(measure.sample(10, seed=1)[:, 0], draws[:10])
    with pytest.raises(mfpde.ProblemError, match="no density"):
        measure.evaluate([0.0])


@pytest.mark.parametrize("weights", [[1.0], [1, -1, 1], [0, 0, 0], [1, np.nan, 1]])
def test_weights_of_particles_are_checked(weights):
    with pytest.raises(mfpde.ProblemError, match="weights"):
        mfpde.Particles([0.0, 1.0, 2.0], weights, mfpde.Circle())


def test_points_of_a_file(tmp_path):
    np.savetxt(tmp_path / "angles.txt", [0.5, 1.5])
    np.save(tmp_path / "angles.npy", np.array([0.5, 1.5]))
    for name in ("angles.txt", "angles.npy"):
        np.testing.assert_allclose(mfpde.Points(file=str(tmp_path / name)).nodes()[0][:, 0], [0.5, 1.5])
    with pytest.raises(mfpde.ProblemError, match="there is no file"):
        mfpde.Points(file=str(tmp_path / "nothing.txt")).mean  # noqa: B018 - reading happens on use


def test_from_values_is_the_interpolant():
    theta = 2 * np.pi / 32 * np.arange(32)
    measure = CircleDensity.from_values((1 + 0.5 * np.cos(3 * theta - 1)) / (2 * np.pi))
    assert measure.bandwidth == 16
    assert measure.evaluate([0.7])[0] == pytest.approx((1 + 0.5 * math.cos(1.1)) / (2 * np.pi), rel=1e-13)
    assert measure.harmonics(3).coefficients[3] == pytest.approx(0.25 * np.exp(-1j), rel=1e-13)
