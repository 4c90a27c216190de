"""Distances in the plane, in space and on spheres, and those of any space."""

import importlib.util
import sys

import numpy as np
import pytest
from reference.linear_program import shares, transport
from scipy.linalg import sqrtm

import mfpde
from mfpde.distances.assignment import costs_between
from mfpde.measure import GridDensity, Normal, Panel, Positioned

CIRCLE, LINE, PLANE, SPHERE = mfpde.Circle(), mfpde.Line(), mfpde.Plane(), mfpde.Sphere()
WITH_POT = pytest.mark.skipif(importlib.util.find_spec("ot") is None, reason="POT is not installed")


@pytest.fixture
def random():
    return np.random.default_rng(7)


def on_sphere(random, count, dimension=3):
    drawn = random.normal(size=(count, dimension))
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


def gaussian(mean, covariance):
    return mfpde.Gaussian(mean=mean, covariance=covariance)


def grid(law, cells=128, reach=9.0):
    lattice = mfpde.Lattice.of([(np.arange(cells) + 0.5) * 2 * reach / cells - reach] * 2)
    return GridDensity([Panel(lattice, law.cell_averages(lattice))])


# -- normal laws


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_bures(random, dimension):
    """`tr(S + S' - 2 (S^1/2 S' S^1/2)^1/2)`."""
    roots = random.normal(size=(2, dimension, dimension))
    s, t = (root @ root.T for root in roots)
    mean, other = random.normal(size=(2, dimension))
    root = sqrtm(s)
    expected = np.sqrt(np.sum((mean - other) ** 2) + np.trace(s + t - 2 * sqrtm(root @ t @ root)).real)
    one, two = Normal(mean, s), Normal(other, t)
    for kind in ("bures", "wasserstein-2"):
        assert mfpde.distance(one, two, kind) == pytest.approx(expected, rel=1e-10)
    assert mfpde.distance(one, one, "bures") < 1e-14
    close = Normal(mean, s * (1 + 2e-12))  # sqrt(tr S) 1e-12: the trace formula would lose all of it
    assert mfpde.distance(one, close, "bures") == pytest.approx(np.sqrt(np.trace(s)) * 1e-12, rel=1e-2)


def test_bures_is_below_wasserstein(random):
    x, y = random.normal(size=(2, 30, 2))
    one, other = mfpde.Particles(x), mfpde.Particles(y**3)
    assert mfpde.distance(one, other, "bures") <= mfpde.distance(one, other)


def test_the_map_of_normal_laws():
    one, other = gaussian([1, 0], [[1, 0.3], [0.3, 0.5]]), gaussian([0, 2], [[2, -0.5], [-0.5, 1]])
    there = mfpde.optimal_map(one, other)
    points, weights = one.nodes()
    moved = mfpde.Particles(there(points), weights)
    np.testing.assert_allclose(moved.mean, other.mean, atol=1e-12)
    np.testing.assert_allclose(moved.covariance, other.covariance, atol=1e-12)
    cost = np.sqrt(weights @ np.sum((there(points) - points) ** 2, axis=1))
    assert mfpde.distance(one, other) == pytest.approx(cost, rel=1e-12)


# -- points


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("space", ["plane", "sphere"])
def test_equal_points_against_a_linear_program(random, space, power):
    x, y = (on_sphere(random, 8) if space == "sphere" else random.normal(size=(8, 2)) for _ in range(2))
    geometry = SPHERE if space == "sphere" else PLANE
    even = np.full(8, 1 / 8)
    found = mfpde.distance(*(mfpde.Particles(each, None, geometry) for each in (x, y)), f"wasserstein-{power}")
    assert found == pytest.approx(transport(geometry, x, even, y, even, power), rel=1e-12)


@WITH_POT
@pytest.mark.parametrize("power", [1, 2, 3])
def test_weighted_points_against_a_linear_program(random, power):
    x, y, a, b = on_sphere(random, 6), on_sphere(random, 4), shares(random, 6), shares(random, 4)
    found = mfpde.distance(mfpde.Particles(x, a, SPHERE), mfpde.Particles(y, b, SPHERE), "exact-transport", p=power)
    assert found == pytest.approx(transport(SPHERE, x, a, y, b, power), rel=1e-12)


def test_without_pot(random, monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    x, y = (mfpde.Particles(random.normal(size=(4, 2)), shares(random, 4)) for _ in range(2))
    with pytest.raises(
        mfpde.ProblemError, match=r"^kind: exact transport of weighted points needs POT: pip install POT$"
    ):
        mfpde.distance(x, y, "exact-transport")


def test_a_point_and_a_cloud(random):
    x, a = random.normal(size=(50, 3)), shares(random, 50)
    expected = np.sqrt(a @ np.sum((x - 1) ** 2, axis=1))
    assert mfpde.distance(mfpde.Particles(x, a), mfpde.Particles([[1.0, 1.0, 1.0]])) == pytest.approx(
        expected, rel=1e-12
    )


def test_costs_are_made_in_blocks(random, monkeypatch):
    monkeypatch.setattr("mfpde.distances.assignment._ROWS", 5)
    x, y = random.normal(size=(7, 2)), random.normal(size=(3, 2))
    expected = np.linalg.norm(x[:, None] - y[None], axis=2)
    np.testing.assert_allclose(costs_between(mfpde.Particles(x), x, y), expected, rtol=1e-14)


# -- slices


def test_sliced_normal_laws():
    """For multiples of the identity every slice is the same but for `<e, m>`: the mean of its square is `|m|^2 / d`."""
    one, other = gaussian([0, 0], 1), gaussian([3, 4], 4)
    assert mfpde.distance(one, other, "sliced-wasserstein-2") == pytest.approx(np.sqrt(25 / 2 + 1), rel=1e-13)
    one, other = gaussian([0, 0, 0], 1), gaussian([3, 4, 0], 4)
    found = mfpde.distance(one, other, "sliced-wasserstein-2", projections=20_000)
    assert found == pytest.approx(np.sqrt(25 / 3 + 1), rel=2e-2)
    assert found == mfpde.distance(one, other, "sliced-wasserstein-2", projections=20_000)
    assert found != mfpde.distance(one, other, "sliced-wasserstein-2", projections=20_000, seed=1)


def test_sliced_points_that_are_moved(random):
    x, a = random.normal(size=(200, 2)), shares(random, 200)
    found = mfpde.distance(mfpde.Particles(x, a), mfpde.Particles(x + np.array([3, 4]), a), "sliced-wasserstein-2")
    assert found == pytest.approx(5 / np.sqrt(2), rel=1e-12)
    few = mfpde.distance(mfpde.Particles(x), mfpde.Particles(x**3), "sliced-wasserstein-2")
    many = mfpde.distance(mfpde.Particles(x), mfpde.Particles(x**3), "sliced-wasserstein-2", projections=2000)
    assert few == pytest.approx(many, rel=1e-4)


def test_sliced_densities(random):
    one, other = gaussian([0, 0], [[1, 0.3], [0.3, 0.5]]), gaussian([1, 0], [[2, -0.3], [-0.3, 0.5]])
    known = mfpde.distance(one, other, "sliced-wasserstein-2")
    assert mfpde.distance(grid(one), grid(other), "sliced-wasserstein-2") == pytest.approx(known, rel=1e-3)
    assert mfpde.distance(grid(one), other, "sliced-wasserstein-2", projections=9) == pytest.approx(known, rel=1e-3)
    half = mfpde.Mixture(components=[one, one])
    assert mfpde.distance(half, other, "sliced-wasserstein-2") == pytest.approx(known, rel=1e-11)


def test_sliced_on_the_line_is_wasserstein():
    one, other = gaussian(0, 1), mfpde.Uniform(box=[[0, 1]])
    assert mfpde.distance(one, other, "sliced-wasserstein-2") == mfpde.distance(one, other)


def test_spherical_slices(random):
    """Of two points: their angle on each circle, averaged; the same for any rotation in the limit."""
    x = on_sphere(random, 100)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    one, other = mfpde.Particles(x[:50], None, SPHERE), mfpde.Particles(x[50:], None, SPHERE)
    turned = [mfpde.Particles(points @ turn.T, None, SPHERE) for points in (x[:50], x[50:])]
    options = {"kind": "spherical-sliced", "projections": 1000}
    found = mfpde.distance(one, other, **options)
    assert mfpde.distance(*turned, **options) == pytest.approx(found, rel=5e-3)
    assert mfpde.distance(one, one, **options) < 1e-12
    opposite = [mfpde.Particles([[0.0, 0.0, side]], None, SPHERE) for side in (1.0, -1.0)]
    assert mfpde.distance(*opposite, **options) == pytest.approx(np.pi, rel=1e-12)


def test_spherical_slices_of_densities():
    north, east = (mfpde.VonMises(direction=d, concentration=3) for d in ([0, 0, 1], [1, 0, 0]))
    flat = mfpde.Uniform().on(SPHERE)
    assert mfpde.distance(north, north, "spherical-sliced") < 1e-12
    apart = [mfpde.distance(each, flat, "spherical-sliced", projections=500) for each in (north, east)]
    assert apart[0] == pytest.approx(apart[1], rel=1e-2)


# -- energy


def test_energy_on_the_line(random):
    x, y, a, b = random.normal(size=20), random.normal(size=30), shares(random, 20), shares(random, 30)
    one, other = mfpde.Particles(x, a), mfpde.Particles(y, b)
    expected = _energy(x[:, None], a, y[:, None], b)
    assert mfpde.distance(one, other, "energy") == pytest.approx(expected, rel=1e-12)
    assert mfpde.distance(one, one, "energy") == 0
    # E|X - X'| = 2 / sqrt(pi), E|X| = sqrt(2 / pi)
    point = mfpde.Particles([0.0])
    assert mfpde.distance(gaussian(0, 1), point, "energy") == pytest.approx(
        np.sqrt(2 * np.sqrt(2 / np.pi) - 2 / np.sqrt(np.pi)), rel=1e-11
    )


def _energy(x, a, y, b):
    def mean(u, p, v, q):
        return p @ np.linalg.norm(u[:, None] - v[None], axis=2) @ q

    return np.sqrt(2 * mean(x, a, y, b) - mean(x, a, x, a) - mean(y, b, y, b))


@pytest.mark.parametrize("space", ["circle", "plane", "sphere"])
def test_energy_of_points(random, space):
    """Distances are those of the ambient space."""
    a, b = shares(random, 20), shares(random, 30)
    geometry = {"circle": CIRCLE, "plane": PLANE, "sphere": SPHERE}[space]
    draws = {
        "circle": lambda n: 6 * random.random((n, 1)),
        "plane": lambda n: random.normal(size=(n, 2)),
        "sphere": lambda n: on_sphere(random, n),
    }
    x, y = draws[space](20), draws[space](30)
    found = mfpde.distance(mfpde.Particles(x, a, geometry), mfpde.Particles(y, b, geometry), "energy")
    assert found == pytest.approx(_energy(geometry.embed(x), a, geometry.embed(y), b), rel=1e-10)


def test_energy_of_densities():
    """The circle's uniform law is 4/pi from every point and from itself."""
    point = mfpde.Particles([1.0], None, CIRCLE)
    assert mfpde.distance(mfpde.Uniform(), point, "energy") == pytest.approx(np.sqrt(4 / np.pi), rel=1e-12)
    one, other = mfpde.VonMises(direction=0, concentration=2), mfpde.VonMises(direction=1, concentration=2)
    points = [mfpde.Particles(*each.nodes(), CIRCLE) for each in (one, other)]
    assert mfpde.distance(one, other, "energy") == pytest.approx(mfpde.distance(*points, "energy"), rel=1e-5)
    # points and a density: the density as many points
    tokens = mfpde.Particles([0.3, 2.0, 2.5], [0.5, 0.2, 0.3], CIRCLE)
    assert mfpde.distance(one, tokens, "energy") == pytest.approx(mfpde.distance(points[0], tokens, "energy"), rel=1e-5)
    assert mfpde.distance(tokens, one, "energy") == pytest.approx(mfpde.distance(one, tokens, "energy"), rel=1e-12)
    # in the plane, |x - y| of independent normal laws: the mean of a Rayleigh variable is sqrt(pi / 2)
    here, far = gaussian([0, 0], 1), mfpde.Particles([[0.0, 0.0]])
    expected = np.sqrt(2 * np.sqrt(np.pi / 2) - np.sqrt(2) * np.sqrt(np.pi / 2))
    assert mfpde.distance(here, far, "energy") == pytest.approx(expected, rel=1e-3)
    assert mfpde.distance(here, grid(here), "energy") < 1e-9
    ball = mfpde.Uniform().on(SPHERE)  # E|X - Y| = 4/3
    north = mfpde.Particles([[0.0, 0.0, 1.0]], None, SPHERE)
    assert mfpde.distance(ball, north, "energy") == pytest.approx(np.sqrt(4 / 3), rel=1e-3)


# -- densities


def test_densities_of_every_pair():
    known = 2 * 0.19741265136584746  # 2 Phi(1/4) - 1, of the laws below
    one, other = gaussian(0, 1), gaussian(0.5, 1)
    assert mfpde.distance(one, other, "l1") == pytest.approx(known, rel=1e-6)
    one, other = gaussian([0, 0], 1), gaussian([0.5, 0], 1)
    assert mfpde.distance(one, other, "l1") == pytest.approx(known, rel=3e-3)
    for pair in ((grid(one), other), (one, grid(other)), (grid(one), grid(other))):
        assert mfpde.distance(*pair, "l1") == pytest.approx(known, rel=3e-3)
    cap = mfpde.VonMises(direction=[0, 0, 1], concentration=2)
    flat = mfpde.Uniform().on(SPHERE)
    # rho > 1 / 4 pi where cos > (log(sinh(2) / 2)) / 2
    edge = np.log(np.sinh(2) / 2) / 2
    expected = 2 * ((np.exp(2) - np.exp(2 * edge)) / (2 * np.sinh(2)) - (1 - edge) / 2)
    assert mfpde.distance(cap, flat, "l1") == pytest.approx(expected, rel=1e-4)
    assert mfpde.distance(cap, flat, "maximum") == pytest.approx(2 / np.sinh(2) * np.exp(2) - 1, rel=1e-3)


@pytest.mark.parametrize("kind", ["l1", "maximum"])
def test_points_have_no_density(kind):
    points = mfpde.Particles([0.0, 1.0])
    for pair in ((points, gaussian(0, 1)), (gaussian(0, 1), points), (points, points)):
        with pytest.raises(
            mfpde.ProblemError, match=f"^measure: the {kind} distance compares densities, and point masses"
        ):
            mfpde.distance(*pair, kind)


# -- positions


def test_slice_by_slice():
    laws = [[Normal(float(m), 1.0, LINE) for m in means] for means in ([0, 1], [2, 0])]
    one, other = (Positioned([0.25, 0.75], each, [0.3, 0.7]) for each in laws)
    for p in (1, 2):
        expected = (0.3 * 2**p + 0.7 * 1**p) ** (1 / p)
        assert mfpde.distance(one, other, "conditional-wasserstein", p=p) == pytest.approx(expected, rel=1e-12)
    # marginally they are closer
    assert mfpde.distance(one, other) < mfpde.distance(one, other, "conditional-wasserstein")


def test_positions_of_points_and_of_panels():
    x = mfpde.Lattice.of([np.linspace(-9, 9, 200)])
    panels = [
        Panel(x, m * Normal(c, 1.0, LINE).evaluate(x.axes[0]), averages=False, position=s)
        for s, c, m in ((0.2, 0.0, 0.5), (0.7, 1.0, 0.5))
    ]
    density = GridDensity(panels)
    other = Positioned([0.2, 0.7], [Normal(0.5, 1.0, LINE), Normal(1.0, 1.0, LINE)])
    assert mfpde.distance(density, other, "conditional-wasserstein") == pytest.approx(0.5 / np.sqrt(2), rel=1e-9)
    one = mfpde.Particles([3.0, 0.0, 1.0], [0.5, 0.25, 0.25], LINE, [0.7, 0.2, 0.2])
    two = mfpde.Particles([0.0, 4.0], [0.5, 0.5], LINE, [0.2, 0.7])
    assert mfpde.distance(one, two, "conditional-wasserstein", p=1) == pytest.approx(0.5 * 0.5 + 0.5 * 1, rel=1e-13)


def test_positions_that_do_not_fit():
    one = Positioned([0.25, 0.75], [Normal(0.0, 1.0, LINE)] * 2)
    with pytest.raises(mfpde.ProblemError, match="needs positions, as tokens of masked attention have them"):
        mfpde.distance(one, Normal(0.0, 1.0, LINE), "conditional-wasserstein")
    for places, masses in (([0.25, 0.7], None), ([0.25, 0.75], [0.4, 0.6])):
        other = Positioned(places, [Normal(0.0, 1.0, LINE)] * 2, masses)
        with pytest.raises(mfpde.ProblemError, match="has other positions than the other one, or another mass"):
            mfpde.distance(one, other, "conditional-wasserstein")


# -- refusals


@pytest.mark.parametrize(
    ("one", "other", "kind", "message"),
    [
        (gaussian(0, 1), mfpde.Uniform(), "l1", "measure: lives on the line, the other one on the circle"),
        (gaussian([0, 0], 1), gaussian([0, 0, 0], 1), "bures", "measure: lives on the plane, the other one"),
        (gaussian([0, 0], 1), gaussian([0, 0], 1), "spherical-sliced", "kind: the spherical-sliced distance is for"),
        (mfpde.Uniform(), mfpde.Uniform(), "sliced-wasserstein-2", "kind: .* on the circle take spherical-sliced"),
        (gaussian([0, 0], 1), mfpde.Uniform(box=[[0, 1], [0, 1]]), "wasserstein-2", "measure: has a density"),
        (gaussian([0, 0], 1), gaussian([0, 0], 1), "wasserstein-infinity", "kind: .* is for line and circle, not"),
        (gaussian(0, 1), gaussian(0, 1), "wasserstien-2", "no distance is called 'wasserstien-2' .did you mean"),
    ],
)  # fmt: skip
def test_refusals(one, other, kind, message):
    with pytest.raises(mfpde.MfpdeError, match=message) as caught:
        mfpde.distance(one, other, kind)
    assert len(str(caught.value).splitlines()) == 1


def test_wrong_arguments():
    law = gaussian(0, 1)
    with pytest.raises(mfpde.ProblemError, match=r"^second: must be a measure such as"):
        mfpde.distance(law, 3)
    with pytest.raises(mfpde.ProblemError, match="projection"):
        mfpde.distance(law, law, "sliced-wasserstein-2", projection=3)
    with pytest.raises(mfpde.ProblemError, match=r"^kind: must be wasserstein-1 or wasserstein-2, not 'l1'"):
        mfpde.optimal_map(law, law, "l1")
    with pytest.raises(mfpde.ProblemError, match=r"^measure: optimal maps are those of line and circle"):
        mfpde.optimal_map(gaussian([0, 0], 1), mfpde.Uniform(box=[[0, 1], [0, 1]]))


def test_too_many_pairs(monkeypatch, random):
    points = mfpde.Particles(random.normal(size=(30, 2)))
    monkeypatch.setattr("mfpde.distances.energy._MOST_POINTS", 50)
    monkeypatch.setattr("mfpde.distances.assignment._MOST_PAIRS", 800)
    with pytest.raises(mfpde.ProblemError, match="30 and 30 points needs too many pairs"):
        mfpde.distance(points, points, "energy")
    with pytest.raises(mfpde.ProblemError, match="is for 800 pairs of points at most"):
        mfpde.distance(points, points)
