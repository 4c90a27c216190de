"""Wasserstein distances on the line: closed forms, a linear program, invariances, extremes."""

import itertools
import time

import mpmath
import numpy as np
import pytest
from reference.linear_program import longest_way, shares, transport
from scipy.special import ndtr, ndtri
from scipy.stats import wasserstein_distance

import mfpde
from mfpde.distances.law import law_of
from mfpde.measure import GridDensity, Normal

LINE = mfpde.Line()
KINDS = {1: "wasserstein-1", 2: "wasserstein-2", np.inf: "wasserstein-infinity"}
PARABOLA = mfpde.Density(expression="maximum(0, 1 - x**2)")
BOX = mfpde.Uniform(box=[[-1, 1]])


def points(values, weights=None):
    return mfpde.Particles(np.asarray(values, dtype=float), weights, LINE)


@pytest.fixture
def random():
    return np.random.default_rng(5)


def wasserstein(one, other, power):
    if power in KINDS:
        return mfpde.distance(one, other, KINDS[power])
    return mfpde.distance(one, other, "exact-transport", p=power)


@pytest.mark.parametrize("power", [1, 1.5, 2, 3])
@pytest.mark.parametrize(("count", "others"), [(1, 1), (1, 6), (5, 7), (9, 9)])
def test_points_against_a_linear_program(random, count, others, power):
    x, y = random.normal(size=count), random.normal(size=others) + 0.3
    a, b = shares(random, count), shares(random, others)
    expected = transport(LINE, x[:, None], a, y[:, None], b, power)
    assert wasserstein(points(x, a), points(y, b), power) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("count", "others"), [(1, 6), (5, 7), (8, 8)])
def test_the_longest_way_against_a_linear_program(random, count, others):
    x, y, a, b = random.normal(size=count), random.normal(size=others), shares(random, count), shares(random, others)
    expected = longest_way(LINE, x[:, None], a, y[:, None], b)
    assert wasserstein(points(x, a), points(y, b), np.inf) == pytest.approx(expected, rel=1e-12)


def test_normal_laws():
    one, other = Normal(0.0, 1.0, LINE), Normal(0.3, 4.0, LINE)
    assert wasserstein(one, other, 2) == pytest.approx(np.hypot(0.3, 1.0), rel=1e-14)
    # the general path, by quantiles, of a mixture that is the same law
    same = mfpde.Mixture(components=[mfpde.Gaussian(mean=0.3, covariance=4)] * 2)
    assert wasserstein(one, same, 2) == pytest.approx(np.hypot(0.3, 1.0), rel=1e-12)
    with mpmath.workdps(30):
        expected = 2 * float(mpmath.quad(lambda z: abs(0.3 + z) * mpmath.npdf(z), [-20, -0.3, 20])) / 2
    assert wasserstein(one, other, 1) == pytest.approx(expected, rel=1e-11)
    assert wasserstein(one, Normal(0.3, 1.0, LINE), np.inf) == 0.3
    assert wasserstein(one, other, np.inf) == np.inf


def test_an_interval_and_a_point():
    """`int_0^1 |u - a|^p du`."""
    box = mfpde.Uniform(box=[[0, 1]])
    for power, a in itertools.product([1, 2, 3], [0.0, 0.3, 1.0]):
        expected = ((a ** (power + 1) + (1 - a) ** (power + 1)) / (power + 1)) ** (1 / power)
        assert wasserstein(box, points([a]), power) == pytest.approx(expected, rel=1e-13)
    assert wasserstein(box, points([0.3]), np.inf) == pytest.approx(0.7, rel=1e-14)


def test_densities_with_edges():
    """G(y) = (2 + 3 y - y^3) / 4, so that T(y) = (3 y - y^3) / 2 takes the parabola to the box."""
    assert wasserstein(BOX, PARABOLA, 1) == pytest.approx(1 / 8, rel=1e-12)
    with mpmath.workdps(30):
        square = mpmath.quad(lambda y: ((y - y**3) / 2) ** 2 * 3 * (1 - y * y) / 4, [-1, 1])
    assert wasserstein(BOX, PARABOLA, 2) == pytest.approx(float(mpmath.sqrt(square)), rel=1e-12)
    assert wasserstein(BOX, PARABOLA, np.inf) == pytest.approx(1 / np.sqrt(27), rel=1e-12)


def test_points_and_a_density():
    x = np.array([-1.0, 0.2, 0.5])
    edges = [-mpmath.inf, *(mpmath.mpf(float(ndtri(k / 3))) for k in (1, 2)), mpmath.inf]
    for power in (1, 2):
        with mpmath.workdps(30):
            parts = [
                mpmath.quad(
                    lambda z, k=k, power=power: abs(z - x[k]) ** power * mpmath.npdf(z),
                    sorted({*edges[k : k + 2], *_inside(x[k], edges, k)}),
                )
                for k in range(3)
            ]
        assert wasserstein(points(x), Normal(0.0, 1.0, LINE), power) == pytest.approx(
            float(sum(parts)) ** (1 / power), rel=1e-11
        )


def _inside(x, edges, k):
    return [mpmath.mpf(x)] if edges[k] < x < edges[k + 1] else []


def test_grids_are_the_densities_that_they_show():
    x = np.linspace(-12, 12, 301)
    grid = GridDensity.of([x], np.exp(-((x - 1) ** 2) / 2) / np.sqrt(2 * np.pi), averages=False)
    assert wasserstein(grid, Normal(0.0, 4.0, LINE), 2) == pytest.approx(np.sqrt(2), rel=1e-11)
    assert wasserstein(grid, Normal(0.0, 1.0, LINE), 1) == pytest.approx(1.0, rel=1e-11)


@pytest.mark.parametrize("power", [1, 2, np.inf])
def test_a_narrow_part_is_not_overlooked(power):
    """All mass moves by 1."""
    parts = [{"kind": "gaussian", "mean": m, "covariance": s} for m, s in ((0, 1e-8), (5, 1), (-7, 1e-4))]
    there = [{**part, "mean": part["mean"] + 1} for part in parts]
    one, other = (mfpde.Mixture.model_validate({"components": each}).on(LINE) for each in (parts, there))
    if np.isinf(power):
        with pytest.raises(mfpde.ProblemError, match="has tails without end"):
            wasserstein(one, other, power)
    else:
        assert wasserstein(one, other, power) == pytest.approx(1.0, rel=1e-11)


def test_points_and_densities_in_one_measure():
    """Half a point at 0, half an interval, moved by 2."""
    law = [
        mfpde.Mixture(components=[mfpde.Points(values=[at]), mfpde.Uniform(box=[[at - 1, at + 1]])]).on(LINE)
        for at in (0.0, 2.0)
    ]
    for power in (1, 2, np.inf):
        assert wasserstein(*law, power) == pytest.approx(2.0, rel=1e-12)
        assert wasserstein(law[0], law[0], power) < 1e-13
    # |x| over the interval, nothing at the point
    assert wasserstein(law[0], points([0.0]), 1) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("power", [1, 2, 3, np.inf])
def test_invariances(random, power):
    x, y = random.normal(size=40), random.normal(size=30)
    a, b = shares(random, 40), shares(random, 30)
    known = wasserstein(points(x, a), points(y, b), power)
    order = random.permutation(40)
    split = points(np.concatenate([x, x]), np.concatenate([0.3 * a, 0.7 * a])[:80])
    assert wasserstein(points(x[order], a[order]), points(y, b), power) == pytest.approx(known, rel=1e-12)
    assert wasserstein(points(y, b), points(x, a), power) == pytest.approx(known, rel=1e-12)
    assert wasserstein(split, points(y, b), power) == pytest.approx(known, rel=1e-12)
    assert wasserstein(points(x + 7, a), points(y + 7, b), power) == pytest.approx(known, rel=1e-12)
    assert wasserstein(points(-3 * x, a), points(-3 * y, b), power) == pytest.approx(3 * known, rel=1e-12)
    assert wasserstein(points(x, a), split, power) < 1e-7 if power == 1 else known > 0


def test_extreme_weights_and_places():
    tiny = points([0.0, 1e6], [1.0, 1e-300])
    assert wasserstein(tiny, points([3.0]), 2) == pytest.approx(3.0, rel=1e-14)
    assert wasserstein(points([2.0] * 5), points([2.0] * 3), 2) == 0.0
    assert wasserstein(points([1e-200, 3e-200]), points([0.0, 0.0]), 2) == pytest.approx(np.sqrt(5) * 1e-200, rel=1e-14)
    assert wasserstein(points([1e200]), points([-1e200]), 2) == pytest.approx(2e200, rel=1e-14)


def test_a_million_points_take_less_than_a_second(random):
    x, y, a = random.normal(size=1_000_000), random.normal(size=1_000_000) + 1, shares(random, 1_000_000)
    wasserstein(points(x[:9], a[:9]), points(y[:9]), 2)  # compiled
    start = time.process_time()
    found = wasserstein(points(x), points(y), 2), wasserstein(points(x, a), points(y), 2)
    assert time.process_time() - start < 4  # of both, on a busy machine
    assert found == pytest.approx((1.0, 1.0), abs=5e-3)


def test_the_map_takes_one_to_the_other():
    there = mfpde.optimal_map(PARABOLA, BOX)
    y = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(there(y), (3 * y - y**3) / 2, atol=1e-13)
    there = mfpde.optimal_map(Normal(0.0, 1.0, LINE), mfpde.Uniform(box=[[0, 1]]))
    np.testing.assert_allclose(there(3 * y), ndtr(3 * y), atol=1e-13)


def test_the_map_of_points():
    there = mfpde.optimal_map(points([3.0, 1.0, 2.0]), points([10.0, 30.0, 20.0]))
    np.testing.assert_allclose(there([1.0, 2.0, 3.0]), [10, 20, 30])
    split = mfpde.optimal_map(points([0.0]), points([1.0, 2.0], [0.25, 0.75]))
    np.testing.assert_allclose(split([0.0]), [1.75])
    np.testing.assert_allclose(mfpde.optimal_map(points([0.0]), mfpde.Uniform(box=[[1, 3]]))([0.0]), [2.0])


def test_many_weighted_points_against_scipy(random):
    """Of both signs, and so near to each other that the numbers in their last digits put them in another order."""
    x, y = random.standard_normal(3000), 0.3 + random.standard_normal(2000)
    x[:5] = x[0] * (1 + 1e-13 * np.array([4.0, 3.0, 2.0, 1.0, 0.0]))
    a, b = random.random(3000) ** 4, random.random(2000)
    np.testing.assert_array_equal(law_of(points(x, a)).points, np.sort(x))
    expected = wasserstein_distance(x, y, a, b)
    assert wasserstein(points(x, a), points(y, b), 1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("spread", [0.0, 1e-14, 1e-3])
def test_points_in_a_heap(random, spread):
    """Where many agree in nearly all digits they are put in order by their places alone."""
    x, a = 1 - spread * np.sort(random.random(4000)), random.random(4000)
    law = law_of(points(x, a))
    np.testing.assert_array_equal(law.points, np.sort(x))
    order = np.argsort(x, kind="stable")
    there = np.flatnonzero(np.diff(law.points) > 0)  # equal points may come in any order
    np.testing.assert_allclose(law.ends[there], (np.cumsum(a[order]) / a.sum())[there], atol=1e-13)


def test_crossings_that_no_node_sees():
    """`W_1 = int |F - G|` has a kink where the quantile functions cross, here (at 1.94438825) so near to an end of a
    stretch that Gauss nodes do not see it; by mpmath with 30 digits."""
    line = mfpde.Line()
    normal, box = mfpde.Gaussian(mean=0.2, covariance=0.7).on(line), mfpde.Uniform(box=[[-1, 2]]).on(line)
    deviation = mpmath.sqrt(mpmath.mpf("0.7"))

    def apart(x):
        return mpmath.ncdf((x - mpmath.mpf("0.2")) / deviation) - min(max((x + 1) / mpmath.mpf(3), 0), 1)

    with mpmath.workdps(30):
        crossing = mpmath.findroot(apart, (1.9, 1.95), solver="anderson")
        ends = [-12, -5, -1, 0, 1, crossing, 2, 4, 12]
        expected = sum(abs(mpmath.quad(apart, pair)) for pair in itertools.pairwise(ends))
    assert mfpde.distance(normal, box, kind="wasserstein-1") == pytest.approx(float(expected), abs=1e-14)


def test_rounding_below_zero_is_no_distance(monkeypatch):
    """Equal densities of two panels cost -5e-19, whose root is no number."""
    monkeypatch.setattr("mfpde.distances.coupling._cost", lambda *_: (-5e-19, 0.0))
    box = mfpde.Uniform(box=[[0, 1]])
    assert wasserstein(box, box, 2) == 0.0
