"""Wasserstein distances on the circle: a linear program, closed forms, invariances."""

import numpy as np
import pytest
from reference.linear_program import longest_way, shares, transport
from scipy.optimize import minimize_scalar

import mfpde

CIRCLE = mfpde.Circle()
KINDS = {1: "wasserstein-1", 2: "wasserstein-2", np.inf: "wasserstein-infinity"}
TURN = 2 * np.pi
SUN = mfpde.Uniform()


def points(angles, weights=None):
    return mfpde.Particles(np.asarray(angles, dtype=float), weights, CIRCLE)


def bell(direction, concentration):
    return mfpde.VonMises(direction=direction, concentration=concentration)


def arc(start, end):
    return mfpde.Uniform(box=[[start, end]]).on(CIRCLE)


@pytest.fixture
def random():
    return np.random.default_rng(6)


def wasserstein(one, other, power):
    if power in KINDS:
        return mfpde.distance(one, other, KINDS[power])
    return mfpde.distance(one, other, "exact-transport", p=power)


@pytest.mark.parametrize("power", [1, 1.5, 2, 3])
@pytest.mark.parametrize(("count", "others"), [(1, 1), (1, 6), (5, 7), (9, 9)])
@pytest.mark.parametrize("equal", [True, False])
def test_points_against_a_linear_program(random, count, others, power, equal):
    x, y = TURN * random.random(count), TURN * random.random(others) ** 2
    a, b = (np.full(n, 1 / n) if equal else shares(random, n) for n in (count, others))
    expected = transport(CIRCLE, x[:, None], a, y[:, None], b, power)
    assert wasserstein(points(x, a), points(y, b), power) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("count", "others"), [(1, 6), (5, 7), (8, 8)])
def test_the_longest_way_against_a_linear_program(random, count, others):
    for a, b in (
        (np.full(count, 1 / count), np.full(others, 1 / others)),
        (shares(random, count), shares(random, others)),
    ):
        x, y = TURN * random.random(count), TURN * random.random(others) ** 2
        expected = longest_way(CIRCLE, x[:, None], a, y[:, None], b)
        assert wasserstein(points(x, a), points(y, b), np.inf) == pytest.approx(expected, rel=1e-12)


def test_a_point_and_the_uniform_law():
    """The angles from 0 to pi, each on both sides."""
    for power in (1, 2, 3):
        expected = np.pi / (power + 1) ** (1 / power)
        assert wasserstein(SUN, points([1.0]), power) == pytest.approx(expected, rel=1e-12)
    assert wasserstein(SUN, points([1.0]), np.inf) == pytest.approx(np.pi, rel=1e-12)


def test_equal_points_and_the_uniform_law():
    x = TURN * np.arange(12) / 12
    assert wasserstein(SUN, points(x), 1) == pytest.approx(np.pi / 24, rel=1e-12)
    assert wasserstein(SUN, points(x), 2) == pytest.approx(np.pi / 12 / np.sqrt(3), rel=1e-12)
    assert wasserstein(SUN, points(x), np.inf) == pytest.approx(np.pi / 12, rel=1e-11)


@pytest.mark.parametrize("power", [1, 2, 3, np.inf])
@pytest.mark.parametrize("start", [0.0, 1.0, 5.9, 6.2])
def test_arcs_that_are_turned(power, start):
    """Shorter than the way round: all mass moves by the angle."""
    assert wasserstein(arc(start, start + 1), arc(start + 0.3, start + 1.3), power) == pytest.approx(0.3, rel=1e-11)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("direction", [0.0, 1.0, 3.0, 6.2])
def test_narrow_bells_that_are_turned(power, direction):
    one, other = bell(direction, 400), bell((direction + 0.3) % TURN, 400)
    assert wasserstein(one, other, power) == pytest.approx(0.3, rel=1e-11)


def test_tails_that_rounding_hides_do_not_count():
    """Between two bells there is mass below rounding, whose quantiles are noise; what is not looked at costs 1e-6."""
    assert wasserstein(bell(1, 50), bell(1.3, 50), np.inf) == pytest.approx(0.3, rel=1e-6)


@pytest.mark.parametrize("power", [1, 2])
def test_densities_against_many_points(power):
    """Quantiles in the middle of equal masses are as good as a midpoint rule."""
    count = 4000
    one, other = bell(0.3, 2).concrete, bell(2.5, 1).concrete
    drawn = []
    for law in (one, other):
        fine = np.linspace(0, TURN, 200_001)
        mass = np.concatenate(
            [[0], np.cumsum(0.5 * np.diff(fine) * (law.evaluate(fine[1:]) + law.evaluate(fine[:-1])))]
        )
        drawn.append(points(np.interp((np.arange(count) + 0.5) / count, mass / mass[-1], fine)))
    assert wasserstein(one, other, power) == pytest.approx(wasserstein(*drawn, power), rel=3e-7)


@pytest.mark.parametrize("power", [1.5, 2])
def test_many_weighted_points_at_every_shift(random, power):
    """The least cost of couplings made in NumPy; a rough one of few points tells where to look."""
    x, y = np.sort(TURN * random.random(2400)), np.sort(TURN * random.random(2000) ** 3)
    a, b = random.random(2400), random.random(2000) ** 2
    ends, others = np.cumsum(a) / a.sum(), np.cumsum(b) / b.sum()

    def cost(shift):
        u = np.sort(np.concatenate([ends, np.mod(others + shift, 1.0)]))
        lengths = np.diff(u, prepend=0.0)
        middle = u - 0.5 * lengths
        turn = np.floor(middle - shift)
        first = x[np.minimum(np.searchsorted(ends, middle), x.size - 1)]
        second = y[np.minimum(np.searchsorted(others, middle - shift - turn), y.size - 1)] + TURN * turn
        return lengths @ np.abs(first - second) ** power

    best = minimize_scalar(cost, bounds=(-1, 1), method="bounded", options={"xatol": 1e-9})
    assert wasserstein(points(x, a), points(y, b), power) == pytest.approx(best.fun ** (1 / power), rel=1e-9)


def test_slight_differences_are_exact():
    """`W_1 = eps int |sin| / (2 pi)` for 1 + eps cos, however small: F - G is eps sin / (2 pi)."""
    for eps in (0.5, 1e-3, 1e-9):
        wave = mfpde.measure.CircleDensity.of([1.0, eps / 2])
        assert wasserstein(SUN, wave, 1) == pytest.approx(eps * 4 / TURN, rel=1e-5, abs=1e-14)
    wave = mfpde.measure.CircleDensity.of([1.0, 0.25])
    assert wasserstein(SUN, wave, 1) == pytest.approx(2 / TURN, rel=1e-12)


@pytest.mark.parametrize("power", [1, 2, 3, np.inf])
def test_invariances(random, power):
    x, y = TURN * random.random(40), TURN * random.random(30) ** 2
    a, b = shares(random, 40), shares(random, 30)
    known = wasserstein(points(x, a), points(y, b), power)
    split = points(np.concatenate([x, x]), np.concatenate([0.3 * a, 0.7 * a]))
    assert wasserstein(points(y, b), points(x, a), power) == pytest.approx(known, rel=1e-11)
    assert wasserstein(split, points(y, b), power) == pytest.approx(known, rel=1e-11)
    assert wasserstein(points(-x, a), points(-y, b), power) == pytest.approx(known, rel=1e-11)
    for turn in (0.1, 1.0, 3.0, 6.0):
        assert wasserstein(points(x + turn, a), points(y + turn, b), power) == pytest.approx(known, rel=1e-11)


@pytest.mark.parametrize("power", [1, 2, np.inf])
def test_a_law_is_at_no_distance_from_itself(random, power):
    for law in (points([2.0]), points(TURN * random.random(30), shares(random, 30)), bell(1, 3), arc(5, 8), SUN):
        assert wasserstein(law, law, power) < 1e-11
    assert wasserstein(points([1.0] * 4), points([1.0] * 7), power) < 1e-11


def test_a_mixture_of_points_and_a_density(random):
    parts = [mfpde.Points(values=[1.0, 2.0]), mfpde.Uniform(box=[[4, 5]])]
    there = [mfpde.Points(values=[1.1, 2.1]), mfpde.Uniform(box=[[4.1, 5.1]])]
    one, other = (mfpde.Mixture(components=each).on(CIRCLE) for each in (parts, there))
    for power in (1, 2, np.inf):
        assert wasserstein(one, other, power) == pytest.approx(0.1, rel=1e-11)


def test_the_map_takes_one_to_the_other():
    x = np.array([5.9, 6.1, 0.1, 0.4])
    np.testing.assert_allclose(mfpde.optimal_map(arc(5.8, 6.8), arc(6.1, 7.1))(x), (x + 0.3) % TURN, atol=1e-11)
    there = mfpde.optimal_map(points([0.1, 3.0, 6.2]), points([3.2, 0.3, 0.2]))
    np.testing.assert_allclose(there([6.2, 0.1, 3.0]), [0.2, 0.3, 3.2], atol=1e-12)
    np.testing.assert_allclose(mfpde.optimal_map(points([0.1]), arc(-0.3, 0.5))([0.1]), [0.1], atol=1e-11)


def test_the_map_of_densities():
    """It takes one to the other, and `int (T(x) - x) dx` vanishes: no turn of it is better."""
    one, other = bell(0.5, 0.5).concrete, bell(2.0, 0.8).concrete
    angles, weights = one.nodes()
    there = mfpde.optimal_map(one, other)
    moved = there(angles)
    assert moved.shape == angles.shape
    found = mfpde.Particles(moved, weights, CIRCLE).harmonics(6).coefficients
    np.testing.assert_allclose(found, other.harmonics(6).coefficients, atol=1e-11)
    back = mfpde.optimal_map(other, one)
    np.testing.assert_allclose(np.exp(1j * back(moved)), np.exp(1j * angles), atol=1e-11)
    away = np.mod(there(TURN * np.arange(500) / 500) - TURN * np.arange(500) / 500 + np.pi, TURN) - np.pi
    assert abs(away.mean()) < 1e-10
