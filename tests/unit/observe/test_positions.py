"""Order parameters, directions, modes, minima and clusters against closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive

import mfpde
from mfpde.measure import CircleDensity
from mfpde.observe import Instant
from mfpde.registry import lookup

CIRCLE = mfpde.Circle()
EQUATION = mfpde.Equation(geometry=CIRCLE)


def observe(kind: str, measure, **options):
    return lookup("observable", kind)(**options).evaluate(Instant(0.0, measure, EQUATION, lambda: 0.0))


@pytest.mark.parametrize("harmonic", [1, 2, 7])
@pytest.mark.parametrize("direction", [0.0, 0.3, 3.0, 5.5])
def test_order_parameter_of_von_mises(harmonic, direction):
    values = observe("order-parameter", mfpde.VonMises(direction=direction, concentration=8), harmonic=harmonic)
    name = "order-parameter" if harmonic == 1 else f"order-parameter-{harmonic}"
    assert values[name] == pytest.approx(ive(harmonic, 8) / ive(0, 8), rel=1e-13)
    turn = values[f"{name}-phase"] - harmonic * direction
    assert math.remainder(turn, 2 * math.pi) == pytest.approx(0, abs=1e-13)
    assert -math.pi < values[f"{name}-phase"] <= math.pi


def test_order_parameter_of_particles():
    angles, weights = np.array([0.1, 2.0, 4.0]), np.array([0.5, 0.2, 0.3])
    measure = mfpde.Particles(angles, weights, CIRCLE)
    z = (weights * np.exp(2j * angles)).sum()
    values = observe("order-parameter", measure, harmonic=2)
    assert values["order-parameter-2"] == pytest.approx(abs(z), rel=1e-14)
    assert values["order-parameter-2-phase"] == pytest.approx(np.angle(z), rel=1e-13)


def test_no_phase_at_roundoff():
    nothing = CircleDensity.of(np.array([1.0, 1e-17 + 1e-17j]))
    assert math.isnan(observe("order-parameter", nothing)["order-parameter-phase"])
    assert math.isnan(observe("mean-direction", nothing)["mean-direction"])
    assert observe("order-parameter", nothing)["order-parameter"] < 1e-16


@pytest.mark.parametrize("direction", [0.0, 1.0, 3.5, 6.0])
def test_mean_direction(direction):
    angle = observe("mean-direction", mfpde.VonMises(direction=direction, concentration=2))["mean-direction"]
    assert angle == pytest.approx(direction, abs=1e-14)
    mean = mfpde.VonMises(direction=direction, concentration=2).mean
    assert np.arctan2(mean[1], mean[0]) % (2 * np.pi) == pytest.approx(direction, abs=1e-14)


def test_mean_direction_never_reaches_two_pi():
    below = CircleDensity.of(np.array([1.0, 0.5 + 1e-18j]))  # angle -2e-18
    assert observe("mean-direction", below)["mean-direction"] == 0


def test_modes_are_integrals():
    measure = mfpde.Mixture(
        components=[mfpde.VonMises(direction=1, concentration=3), mfpde.Density(expression="2 + sin(3*theta)")]
    )
    values = observe("modes", measure, count=5)
    for index in range(5):
        for name, wave in (("modes-cosine", np.cos), ("modes-sine", np.sin)):
            exact = quad(
                lambda t, w=wave, k=index + 1: w(k * t) * measure.evaluate([t])[0], 0, 2 * np.pi, epsabs=1e-13
            )[0]
            assert values[name][index] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.234567])
def test_minimum_lies_between_grid_points(shift):
    wave = mfpde.Density(expression=f"1 + 0.5*cos(theta - {shift}) + 0.1*cos(5*(theta - {shift}))")
    exact = (1 - 0.6) / (2 * math.pi)  # both waves are lowest at theta = shift + pi
    assert observe("minimum", wave)["minimum"] == pytest.approx(exact, rel=1e-13)


def test_minimum_sees_negative_values():
    assert observe("minimum", CircleDensity.of(np.array([1.0, 0.6])))["minimum"] == pytest.approx(-0.2 / (2 * math.pi))


def test_minimum_of_the_uniform_state():
    assert observe("minimum", mfpde.Uniform())["minimum"] == 1 / (2 * math.pi)


def test_a_nearly_uniform_state_has_no_cluster():
    for expression in ("1", "1 + 0.2*cos(theta)", "1 + 0.2*cos(7*theta)"):
        values = observe("clusters", mfpde.Density(expression=expression))
        assert values["clusters"] == 0
        assert np.isnan(values["clusters-position"]).all()
    assert observe("clusters", mfpde.Density(expression="1 + 0.2*cos(7*theta)"), prominence=0.3)["clusters"] == 7


@pytest.mark.parametrize("concentration", [5.0, 300.0, 1e4])
def test_one_cluster_is_the_whole_measure(concentration):
    values = observe("clusters", mfpde.VonMises(direction=6.2, concentration=concentration), most=2)
    assert values["clusters"] == 1
    assert values["clusters-position"][0] == pytest.approx(6.2, abs=1e-12)
    assert values["clusters-mass"][0] == pytest.approx(1, abs=1e-13)
    width = math.sqrt(-2 * math.log(ive(1, concentration) / ive(0, concentration)))
    assert values["clusters-width"][0] == pytest.approx(width, rel=1e-8)
    assert np.isnan(values["clusters-width"][1])


def test_clusters_are_cut_at_the_minima():
    parts = [(0.5, 60.0, 0.5), (2.0, 20.0, 0.3), (4.5, 200.0, 0.2)]
    measure = mfpde.Mixture(components=[mfpde.VonMises(direction=d, concentration=c, weight=w) for d, c, w in parts])
    values = observe("clusters", measure, most=5)
    assert values["clusters"] == 3
    fine = np.linspace(0, 2 * np.pi, 200_001)
    density = measure.evaluate(fine)
    lows = [
        start + density[(fine > start) & (fine < end)].argmin() * fine[1] for start, end in ((0.5, 2.0), (2.0, 4.5))
    ]
    lows.append(4.5 + density[fine > 4.5].argmin() * fine[1] - 2 * np.pi)
    a, b = lows[0], lows[1]
    mass = quad(lambda t: measure.evaluate([t])[0], a, b, epsabs=1e-13, points=[2.0])[0]
    z = sum(
        quad(lambda t, f=f: f(t) * measure.evaluate([t])[0], a, b, epsabs=1e-13)[0] * u
        for f, u in ((np.cos, 1), (np.sin, 1j))
    )
    assert values["clusters-mass"][1] == pytest.approx(mass, rel=1e-8)
    assert values["clusters-position"][1] == pytest.approx(np.angle(z), rel=1e-7)
    assert values["clusters-width"][1] == pytest.approx(math.sqrt(-2 * math.log(abs(z) / mass)), rel=1e-6)
    assert np.nansum(values["clusters-mass"]) == pytest.approx(1, abs=1e-13)
    assert np.isnan(values["clusters-mass"][3:]).all()


def test_the_heaviest_clusters_are_kept_in_the_order_of_their_angles():
    parts = [(0.5, 0.2), (2.0, 0.1), (3.5, 0.3), (5.0, 0.4)]
    measure = mfpde.Mixture(components=[mfpde.VonMises(direction=d, concentration=200, weight=w) for d, w in parts])
    values = observe("clusters", measure, most=2)
    assert values["clusters"] == 4
    assert values["clusters-position"].round(6).tolist() == [3.5, 5.0]


def test_ripples_do_not_split_a_cluster_and_rotation_does_not_matter():
    for turn in (0.0, 0.01, 2.0, 6.1):
        text = f"(1 + cos(theta - {turn}))**4 * (1 + 0.02*cos(40*(theta - {turn})))"
        values = observe("clusters", mfpde.Density(expression=text))
        assert values["clusters"] == 1
        assert values["clusters-position"][0] == pytest.approx(turn, abs=1e-9)


def test_clusters_move_smoothly():
    """Cuts are refined between grid points: a slow motion gives no staircase."""
    masses = []
    for gap in np.linspace(1.6, 1.61, 11):
        pair = [mfpde.VonMises(direction=d, concentration=6, weight=w) for d, w in ((0.0, 0.6), (gap, 0.4))]
        masses.append(observe("clusters", mfpde.Mixture(components=pair))["clusters-mass"][0])
    steps = np.diff(masses)
    assert np.abs(np.diff(steps)).max() < 1e-2 * np.abs(steps).max()
