"""Fast sums over pairs of tokens against the plain ones, and against mpmath."""

import mpmath
import numpy as np
import pytest

import mfpde
from mfpde.activity import told_to
from mfpde.attention import fast_pair_sums, pair_sums
from mfpde.attention.grid_sums import grid_plan
from mfpde.attention.pair_potential import PairPotential
from mfpde.attention.pair_tables import reach_of, tables_of
from mfpde.transform import radial
from mfpde.transform.neighbour_cells import neighbours
from mfpde.transform.piecewise import values_of
from mfpde.transform.radial import EUCLIDEAN, values_by_pairs
from mfpde.transform.sorted_sums import sorted_plan

LINE, PLANE = mfpde.Line(), mfpde.Plane()
SMOOTH = ["exp(-r**2)", "log(r**2 + 0.05)", "-sqrt(r**2 + 0.3)", "exp(-3*r**2) - r**2*exp(-r**2/2)"]
ROUGH = ["-r", "maximum(0, 1 - r**2)**2", "minimum(r, 0.7)", "-r**1.5", "exp(-r)*cos(5*r)"]
ANGULAR = ["2*maximum(0, 1 - (angle/0.9)**2)**2", "exp(3*cosine)", "-angle**2*cosine", "maximum(0, 2*angle - 5)"]


def tokens(space, count, seed=1):
    """Tokens, two of them in one place, and weights."""
    rng = np.random.default_rng(seed)
    if space.angular:
        x = rng.uniform(0, 2 * np.pi, (count, 1))
    else:
        x = 2 * rng.standard_normal((count, space.ambient_dimension))
    if not space.flat and not space.angular:
        x /= np.linalg.norm(x, axis=1)[:, None]
        x[2] = -x[3]
    x[0] = x[1]
    weights = rng.random(count)
    return x, weights / weights.sum()


def both(space, text, count):
    """Forces, Laplacians and energies, fast and plain."""
    x, weights = tokens(space, count)
    potential = PairPotential(text)
    for name in ("forces", "laplacians"):
        yield fast_and_plain(name, potential, space, x[:50], x, weights)
    measure = mfpde.Particles(x, weights, geometry=space)
    fast = fast_pair_sums.energy_of_pairs(potential, measure)
    yield [np.array([energy]) for energy in (fast, pair_sums.energy_of_pairs(potential, space, x, weights))]


def fast_and_plain(name, potential, space, points, x, weights):
    """Sums of that name, both ways."""
    measure = mfpde.Particles(x, weights, geometry=space)
    fast = getattr(fast_pair_sums, name)(potential, measure, space.queries(points))
    return fast, getattr(pair_sums, name)(potential, space, points, x, weights)


@pytest.mark.parametrize("space", [LINE, PLANE, mfpde.Space(dimension=4)], ids=lambda space: space.name)
@pytest.mark.parametrize("text", [*SMOOTH, *ROUGH[:3]])
def test_tables_in_space(space, text):
    for fast, plain in both(space, text, 130):
        np.testing.assert_allclose(fast, plain, atol=1e-12 * np.abs(plain).max())


@pytest.mark.parametrize("space", [mfpde.Circle(), mfpde.Sphere(), mfpde.Sphere(dimension=5)])
@pytest.mark.parametrize("text", ANGULAR)
def test_tables_on_spheres(space, text):
    for fast, plain in both(space, text, 130):
        np.testing.assert_allclose(fast, plain, atol=1e-12 * np.abs(plain).max())


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("exp(-r**2)", lambda r: -2 * r * mpmath.exp(-(r**2))),
        ("-r**1.5", lambda r: -1.5 * mpmath.sqrt(r)),
        ("log(r**2 + 1e-6)", lambda r: 2 * r / (r**2 + mpmath.mpf("1e-6"))),
        ("exp(-r)*cos(5*r)", lambda r: -mpmath.exp(-r) * (mpmath.cos(5 * r) + 5 * mpmath.sin(5 * r))),
        ("maximum(0, 1 - r**2)**2", lambda r: -4 * r * (1 - r**2) if r < 1 else mpmath.mpf(0)),
    ],
)
def test_tables_have_thirteen_digits_of_their_panel(text, slope):
    """At distances of every size, against forty digits."""
    table = tables_of(PairPotential(text), LINE, 8.0, "slopes")[0]
    distances = np.concatenate([np.geomspace(1e-9, 7.99, 80), np.linspace(0.01, 5.3, 60)])
    found = np.empty(distances.size)
    values_of(table, distances, found)
    with mpmath.workdps(40):
        exact = np.array([float(slope(mpmath.mpf(float(r)))) for r in distances])
    panel = np.searchsorted(table.ends, distances, side="right")
    largest = np.abs(table.coefficients).sum(axis=1)[panel]
    assert (np.abs(found - exact) <= 3e-13 * largest + 1e-300).all()


def test_a_function_too_rough_for_a_table_is_summed_plainly():
    potential, (x, weights) = PairPotential("cos(1e6*r)"), tokens(LINE, 40)
    assert tables_of(potential, LINE, reach_of(LINE, x, x), "slopes") is None
    fast, plain = fast_and_plain("forces", potential, LINE, x, x, weights)
    np.testing.assert_array_equal(fast, plain)


@pytest.mark.parametrize(("space", "count"), [(LINE, 700), (PLANE, 9000)])
@pytest.mark.parametrize("text", ["exp(-r**2)", "exp(-3*r**2) - r**2*exp(-r**2/2)"])
def test_smooth_sums_by_a_grid(space, count, text):
    potential, (x, weights) = PairPotential(text), tokens(space, count)
    reach, some = reach_of(space, x, x), x[:60]
    for what, name in (("slopes", "forces"), ("laplacians", "laplacians")):
        plan = grid_plan(potential, space, what, reach, x, x)
        assert plan is not None
        found = plan.sums(some, x, weights)
        plain = getattr(pair_sums, name)(potential, space, some, x, weights)
        largest = np.abs(plain).max()
        np.testing.assert_allclose(found.T if what == "slopes" else found[0], plain, atol=2e-12 * largest)


@pytest.mark.parametrize("text", ["maximum(0, 1 - r**2)**2", "-r", "minimum(r, 0.7)*(9 - r/20)"])
def test_kinks_on_the_line_by_sorting(text):
    """Two tokens in one place among them, and points that are no keys."""
    potential, (x, weights) = PairPotential(text), tokens(LINE, 3000)
    points = np.concatenate([x[:300], x[:7] + 0.01])
    assert sorted_plan(tables_of(potential, LINE, 32.0, "slopes", coarse=True)[0]) is not None
    for name in ("forces", "laplacians"):
        fast, plain = fast_and_plain(name, potential, LINE, points, x, weights)
        np.testing.assert_allclose(fast, plain, atol=2e-12 * np.abs(plain).max())
    measure = mfpde.Particles(x, weights)
    values = tables_of(potential, LINE, 32.0, "values")
    energy = 0.5 * weights @ values_by_pairs(EUCLIDEAN, x, x, weights, values)
    assert fast_pair_sums.energy_of_pairs(potential, measure) == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("space", [PLANE, mfpde.Space(dimension=3)], ids=lambda space: space.name)
def test_compact_support_by_cells(space, monkeypatch):
    """Tokens far out, two in one place, points that are no keys, and one that has no neighbours."""
    (x, weights), potential = tokens(space, 1500), PairPotential("maximum(0, 1 - r**2)/2")
    x[5:8] *= 30.0
    points = np.concatenate([x[:300], x[300:307] + 0.3, np.full((1, x.shape[1]), -40.0)])
    near, told = neighbours(x, x, 1.0), []
    assert near.pairs < 0.3 * x.shape[0] ** 2
    monkeypatch.setattr(radial, "_TOLD_SECONDS", 0.0)
    with told_to(told.append):
        for name in ("forces", "laplacians"):
            fast, plain = fast_and_plain(name, potential, space, points, x, weights)
            np.testing.assert_allclose(fast, plain, atol=1e-13 * np.abs(plain).max())
    counted = [float(sentence.split()[1]) for sentence in told]
    assert max(counted) < 0.5 * len(points) * len(x)
    energy = pair_sums.energy_of_pairs(potential, space, x, weights)
    assert fast_pair_sums.energy_of_pairs(potential, mfpde.Particles(x, weights)) == pytest.approx(energy, rel=1e-13)


@pytest.mark.parametrize("text", ["2*maximum(0, 1 - (angle/0.9)**2)**2", "-abs(sin(angle))"])
def test_kinks_on_the_circle_by_sorting(text):
    x, weights = tokens(mfpde.Circle(), 3000)
    x[2:] += 40 * np.pi * (np.arange(2998)[:, None] % 3 - 1)  # angles of any size
    fast, plain = fast_and_plain("forces", PairPotential(text), mfpde.Circle(), x[:300], x, weights)
    np.testing.assert_allclose(fast, plain, atol=2e-12 * np.abs(plain).max())


@pytest.mark.parametrize("text", ROUGH)
def test_a_grid_takes_smooth_potentials_alone(text):
    x, _ = tokens(LINE, 5000)
    assert grid_plan(PairPotential(text), LINE, "slopes", 16.0, x, x) is None or text.startswith("exp")


def test_a_bump_between_the_nodes_of_a_coarse_grid_is_seen():
    potential, (x, weights) = PairPotential("exp(-(50*(r - 1.37))**2)"), tokens(LINE, 3000)
    fast, plain = fast_and_plain("forces", potential, LINE, x[:30], x, weights)
    np.testing.assert_allclose(fast, plain, atol=1e-11 * np.abs(plain).max())


def test_the_same_bits_on_any_number_of_threads(monkeypatch):
    (x, weights), found = tokens(PLANE, 40_000), []
    for threads in (1, 2):
        monkeypatch.setattr("mfpde.transform.threads.thread_count", lambda count=threads: count)
        for law, count in (("exp(-r**2)", 40_000), ("-r", 2000)):
            measure = mfpde.Particles(x[:count], weights[:count] / weights[:count].sum())
            found.append(mfpde.Interaction(expression=law).drift(measure, x[:count]))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
