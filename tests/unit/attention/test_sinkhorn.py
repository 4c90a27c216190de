"""Doubly stochastic attention: marginals, convergence, failure."""

import gc
import itertools

import mpmath
import numpy as np
import pytest
from kernel_examples import matrix, tokens

import mfpde
from mfpde.attention import sinkhorn


def marginals(law, measure):
    """`int k dmu` over keys and over queries, from the potentials."""
    found = law.potentials(measure)
    nodes, weights = measure.nodes()
    A = law.query_matrix(nodes.shape[1])
    logs = nodes @ A.T @ nodes.T + found.f[:, None] + found.g
    there = weights > 0
    kernel = np.exp(logs[np.ix_(there, there)])
    return kernel @ weights[there], weights[there] @ kernel


@pytest.mark.parametrize("count", [5, 300, 1200])
@pytest.mark.parametrize("size", [1.0, 20.0, 100.0])
def test_both_marginals(count, size):
    law, measure = mfpde.Sinkhorn(A=matrix(2, size, 3)), tokens(2, count, 1)
    rows, columns = marginals(law, measure)
    assert measure.weights @ np.abs(rows - 1) < 3e-12
    assert measure.weights @ np.abs(columns - 1) < 3e-12
    found = law.potentials(measure)
    assert found.error <= 1e-12
    assert found.iterations <= (60 if size == 100 else 20)  # the plain iteration takes up to a thousand


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.5], [1.0, 0.0, 1.0]])
@pytest.mark.parametrize("scale", [1.0, 30.0, 300.0])
def test_few_points_far_apart(weights, scale):
    """Sinkhorn's own iteration would take about e^20 sweeps."""
    measure = mfpde.Particles([[0.0, 1.0], [1.0, 0.0], [-1.0, -0.7]], weights)
    law = mfpde.Sinkhorn(A=np.array([[1.0, 2.0], [-1.0, 0.5]]) * scale)
    rows, columns = marginals(law, measure)
    np.testing.assert_allclose(rows, 1, atol=1e-11)
    np.testing.assert_allclose(columns, 1, atol=1e-11)
    mean = measure.weights @ law.drift(measure, measure.points)
    np.testing.assert_allclose(mean, measure.mean, atol=1e-12)


@pytest.mark.parametrize(
    ("points", "weights", "size"),
    [
        ([-0.38, 0.978, -0.842], [0.0094, 0.716, 0.2746], -472.0),  # every key has eyes for one query only
        ([-0.0636, 1.03], [0.49, 0.51], -75.7),
        ([3.0], [1.0], 80.0),
        ([1.0, 1.0], [0.3, 0.7], 50.0),
    ],
)
def test_kernels_that_are_all_but_permutations(points, weights, size):
    measure = mfpde.Particles(points, weights)
    law = mfpde.Sinkhorn(A=size)
    for marginal in marginals(law, measure):
        assert measure.weights @ np.abs(marginal - 1) < 1e-11
    assert measure.weights @ law.drift(measure, points) == pytest.approx(measure.mean[0], abs=1e-12)


@pytest.mark.parametrize("space", [None, mfpde.Circle(), mfpde.Sphere()])
def test_the_mean_moves_by_v_alone(space):
    measure = tokens(3, 900, 2, space)
    dimension = measure.ambient_dimension
    law = mfpde.Sinkhorn(A=matrix(dimension, 4.0), V=matrix(dimension, 1.0, 5))
    output = law.outputs(measure, measure.space.queries(measure.points)).T
    np.testing.assert_allclose(measure.weights @ output, matrix(dimension, 1.0, 5) @ measure.mean, atol=1e-12)


def test_grids_are_balanced_as_their_points():
    axis = np.linspace(-1, 1, 40)
    density = mfpde.GridDensity.of([axis, axis], np.random.default_rng(0).random((40, 40)), averages=False)
    nodes, weights = density.nodes()
    law, particles = mfpde.Sinkhorn(A=matrix(2, 8.0)), mfpde.Particles(nodes, weights)
    np.testing.assert_allclose(law.drift(density, nodes[:50]), law.drift(particles, nodes[:50]), atol=1e-11)


def test_the_kernel_is_the_one_that_stays_doubly_stochastic_under_its_own_scaling():
    """Adding any f(x) + g(y) to the scores changes nothing; with A = 0 it is the mean."""
    measure = tokens(2, 400, 3)
    law = mfpde.Sinkhorn(A=matrix(2, 6.0))
    shifted = mfpde.Particles(measure.points + np.array([5.0, -3.0]), measure.weights)
    np.testing.assert_allclose(
        law.drift(shifted, shifted.points) - [5.0, -3.0], law.drift(measure, measure.points), atol=1e-10
    )
    np.testing.assert_allclose(
        mfpde.Sinkhorn(A=0).drift(measure, measure.points), np.tile(measure.mean, (400, 1)), atol=1e-13
    )


def test_fewer_iterations_from_a_measure_nearby():
    law, measure = mfpde.Sinkhorn(A=matrix(2, 60.0, 3)), tokens(2, 1500, 1)
    near = mfpde.Particles(measure.points + 1e-5 * np.sin(measure.points), measure.weights)
    cold = law.potentials(near)
    again = mfpde.Particles(near.points, near.weights)
    law.prepare(measure)
    law.prepare(again, measure)
    warm = law.potentials(again)
    assert warm.iterations < cold.iterations
    np.testing.assert_allclose(law.drift(again, near.points), law.drift(near, near.points), atol=1e-10)


def test_a_start_nearby_is_no_less_accurate():
    """Whoever ends as soon as the tolerance is reached leaves all of it; steppers then follow what is left."""
    law, fine = (mfpde.Sinkhorn(A=[[2, 0.5], [-1, 1]], tolerance=tolerance) for tolerance in (1e-12, 1e-14))
    points, before = tokens(2, 700, 2).points, None
    for _ in range(5):
        measure = mfpde.Particles(points)
        law.prepare(measure, before)
        drift = law.drift(measure, points)
        assert (
            np.abs(drift - fine.drift(mfpde.Particles(points.copy()), points.copy())).max() < 1e-14
        )  # a hundredth of 1e-12
        before, points = measure, points + 0.03 * drift


def test_potentials_are_found_once_and_go_with_the_measure(monkeypatch):
    calls = []
    balance = sinkhorn.balance
    monkeypatch.setattr(sinkhorn, "balance", lambda *given: calls.append(1) or balance(*given))
    law, measure = mfpde.Sinkhorn(A=1), tokens(2, 200, 1)
    first = law.drift(measure, measure.points)
    np.testing.assert_array_equal(law.drift(measure, measure.points), first)
    assert len(calls) == 1
    mfpde.Sinkhorn(A=2).drift(measure, measure.points)
    assert len(calls) == 2
    kept = len(sinkhorn._known)
    del measure
    gc.collect()
    assert len(sinkhorn._known) < kept


def test_tokens_that_are_moved_in_place_are_balanced_again():
    points = tokens(2, 300, 1).points
    measure, law = mfpde.Particles(points), mfpde.Sinkhorn(A=3)
    before = law.drift(measure, points)
    points *= 0.5
    expected = law.drift(mfpde.Particles(points.copy()), points)
    np.testing.assert_array_equal(law.drift(measure, points), expected)
    assert np.abs(before - expected).max() > 1e-2


def random_tokens(seed, count, size, power):
    random = np.random.default_rng(seed)
    points = random.standard_normal((count, 2)) * size
    return mfpde.Particles(points, random.random(count) ** power + 1e-9)


def exact_marginals(law, measure, digits=40):
    """`int |1 - marginal| dmu` over keys and over queries, of the potentials that were found, to so many digits."""
    found, points = law.potentials(measure), measure.points
    with mpmath.workdps(digits):
        A, y, w, f, g = (
            mpmath.matrix(np.asarray(part).tolist())
            for part in (law.query_matrix(2), points, measure.weights, found.f, found.g)
        )
        scores, total = y * A.T * y.T, mpmath.fsum(w)
        kernel = [[mpmath.exp(scores[i, j] + f[i] + g[j]) for j in range(len(w))] for i in range(len(w))]
        over_keys = [mpmath.fsum(k * m for k, m in zip(row, w, strict=True)) / total for row in kernel]
        columns = zip(*kernel, strict=True)
        over_queries = [mpmath.fsum(k * m for k, m in zip(column, w, strict=True)) / total for column in columns]
        return [
            float(mpmath.fsum(abs(1 - part) * m for part, m in zip(parts, w, strict=True)))
            for parts in (over_keys, over_queries)
        ]


STALLING = [[0.03984152610075942, 1.079242241866825], [2.964802673373722, 0.1966882884219192]]


@pytest.mark.parametrize(
    ("seed", "count", "size", "power"), [(1111501863, 7, 3.0, 1), (2731238547, 12, 5.0, 4), (7, 9, 60.0, 1)]
)
def test_a_marginal_is_not_refused_for_its_last_digit(seed, count, size, power):
    """Newton's method and the fast sums measure the same marginals a few roundings apart, and potentials that have a
    large constant in common are rounded more."""
    law, measure = mfpde.Sinkhorn(A=STALLING), random_tokens(seed, count, size, power)
    found = law.potentials(measure)
    assert found.error <= found.sufficient
    largest = np.abs(measure.points @ np.array(STALLING).T).max(axis=0) @ np.abs(measure.points).max(axis=0)
    assert found.sufficient < 1e-12 + 4e-15 * (largest + 25)
    assert max(exact_marginals(law, measure)) <= 2 * found.sufficient


def test_a_token_far_out_is_held_to_the_rounding_of_terms_that_cancel_in_its_score():
    point = np.array([[900.0, 700.0]])
    A = np.array([[1.0, 2.0], [-2.0, -(900.0**2) / 700.0**2]])  # its score is 0, of terms of 1e6
    found = mfpde.Sinkhorn(A=A).potentials(mfpde.Particles(point))
    assert found.sufficient > 1e-10


def test_potentials_that_have_far_to_go():
    """Scores of ten thousand: with steps of a bounded length it would take 527."""
    random = np.random.default_rng(369)
    measure, A = mfpde.Particles(random.standard_normal((5, 3))), random.standard_normal((3, 3)) * 1e3
    assert mfpde.Sinkhorn(A=A).potentials(measure).iterations < 250


def true_error(law, measure):
    """Of either marginal, in long double."""
    found, (keys, weights) = law.potentials(measure), measure.embedded_nodes()
    there = weights > 0
    mass, keys, weights = weights.sum(), np.longdouble(keys[there]), np.longdouble(weights[there] / weights.sum())
    A, f, g = (np.longdouble(part) for part in (law.query_matrix(keys.shape[1]), found.f[there], found.g[there]))
    kernel = mass * np.exp(keys @ A.T @ keys.T + f[:, None] + g)
    return max(weights @ np.abs(kernel @ weights - 1), weights @ np.abs(weights @ kernel - 1))


def random_grid(seed, shape, power, mass=1.0):
    random = np.random.default_rng(seed)
    values = random.random(shape) ** power
    density = mfpde.GridDensity.of([np.linspace(-1, 1, count) for count in shape], values, averages=False)
    (panel,) = density.panels
    return mfpde.GridDensity([mfpde.Panel(panel.lattice, panel.values * mass / density.mass, averages=False)])


FORMS, SCORES, POWERS = ("line", "plane", "sphere", "row", "square"), (1e-6, 1.0, 60.0, 1e3, 6e3), (0, 1, 8, 20)
EVERY_CASE = list(itertools.product(FORMS, SCORES, POWERS))
#: each form with each score, and with each power; the rest is for the long tests
PAIRS = [(form, score, POWERS[(i + j) % 4]) for i, form in enumerate(FORMS) for j, score in enumerate(SCORES)]


@pytest.mark.parametrize(
    ("form", "score", "power"),
    [pytest.param(*case, marks=() if case in PAIRS else pytest.mark.long) for case in EVERY_CASE],
)
def test_no_potentials_are_refused_without_need_nor_worse_than_said(form, score, power):
    """Weights of any size, particles, grids: what 30,000 random cases have shown, in short."""
    for seed in range(3):
        random = np.random.default_rng([seed, power])
        if form in ("row", "square"):
            measure, dimension = random_grid(seed, {"row": (9,), "square": (6, 7)}[form], power), len(form) // 6 + 1
        else:
            dimension = {"line": 1, "plane": 2, "sphere": 3}[form]
            points = random.standard_normal((int(random.integers(1, 40)), dimension))
            points /= np.linalg.norm(points, axis=1, keepdims=True) if form == "sphere" else 1.0
            weights = random.random(len(points)) ** power + 1e-9
            measure = mfpde.Particles(points, weights, mfpde.Sphere() if form == "sphere" else None)
        A, keys = random.standard_normal((dimension, dimension)), measure.embedded_nodes()[0]
        law = mfpde.Sinkhorn(A=A * score / np.abs(keys @ A.T @ keys.T).max())
        assert true_error(law, measure) <= 1.2 * law.potentials(measure).sufficient


def test_a_common_constant_of_the_potentials_does_not_grow():
    """It once came to 3e12, whose rounding is 3e-4."""
    measure = random_grid(0, (9,), 20)
    found = mfpde.Sinkhorn(A=-4000.0).potentials(measure)
    assert np.abs(found.f).max() < 1e5
    assert np.abs(found.g).max() < 1e5


@pytest.mark.parametrize(
    ("shape", "mass"), [((8, 8), 1e-3), ((8, 8), 7.0), ((8, 8), 500.0), ((40, 40), 1e-3), ((40, 40), 500.0)]
)
def test_grids_of_any_mass_are_balanced_alike(shape, mass):
    law, points = mfpde.Sinkhorn(A=[[60, 0.3], [-2, 30]]), np.array([[0.1, 0.2], [-0.5, 0.9]])
    measure = random_grid(3, shape, 8, mass)
    assert true_error(law, measure) <= 1.2 * law.potentials(measure).sufficient
    np.testing.assert_allclose(law.drift(measure, points), law.drift(random_grid(3, shape, 8), points), atol=1e-11)


def test_a_tolerance_below_what_newton_is_given_is_not_taken_for_reached():
    """A few points for which three steps do not do."""
    measure = random_tokens(2731238547, 12, 5.0, 4)
    with pytest.raises(mfpde.ProblemError, match="after 6 iterations the marginals are off"):
        mfpde.Sinkhorn(A=STALLING, iterations=3).potentials(measure)


def test_a_clear_failure():
    law = mfpde.Sinkhorn(A=matrix(2, 100.0), iterations=3)
    with pytest.raises(mfpde.ProblemError, match=r"sinkhorn: after 3 iterations the marginals are off by .* 1e-12 is"):
        law.drift(tokens(2, 1500, 1), [[0.0, 0.0]])


def test_drift_between_the_tokens_is_a_half_transform():
    """At any point the kernel is normalised over the keys, and goes through the values at the tokens."""
    measure, law = tokens(2, 800, 1), mfpde.Sinkhorn(A=matrix(2, 10.0))
    points = np.vstack([measure.points[:3], [[2.0, -1.0]]])
    found = law.drift(measure, points)
    np.testing.assert_allclose(found[:3], law.drift(measure, measure.points)[:3], atol=1e-12)
    tilt = points[3] @ matrix(2, 10.0).T @ measure.points.T + law.potentials(measure).g
    weights = measure.weights * np.exp(tilt - tilt.max())
    np.testing.assert_allclose(found[3], weights @ measure.points / weights.sum(), atol=1e-12)
