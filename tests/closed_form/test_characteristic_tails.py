"""Characteristics where the tails of the data decide, and where solutions end."""

from copy import deepcopy

import numpy as np
import pytest
from reference.runs import LINE, PLANE, A, carry, gauss, problem, solve
from scipy.integrate import solve_ivp

import mfpde
from mfpde.contracts.solver import State


def gaussian_way(attention, mean, covariance, until):
    """Mean, covariance and the map of z in m + F z, by `m' = c`, `F' = B F` (physics section 4)."""
    d = mean.size
    A, V = (np.reshape(attention[name], (d, d)) for name in "AV")

    def slope(_time, state):
        m, F = state[:d], state[d:].reshape(d, d)
        B = V @ F @ F.T @ A
        return np.concatenate([V @ m + B @ m, (B @ F).ravel()])

    start = np.concatenate([mean, np.linalg.cholesky(covariance).ravel()])
    end = solve_ivp(slope, [0, until], start, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return end[:d], end[d:].reshape(d, d)


@pytest.mark.parametrize(
    ("dimension", "width"),
    [
        (1, 4.0),
        (2, 1.5),
        (2, 30.0),
        *(pytest.param(*case, marks=pytest.mark.long) for case in [(1, 1.5), (1, 30.0), (2, 4.0)]),
    ],
)
def test_gaussian_tails_that_tilts_look_far_into(dimension, width):
    """|S A| far above 1, matrices that do not commute."""
    here, value = (slice(0, dimension), slice(0, dimension)), np.array([[-0.8, -0.4], [0.3, -0.6]])
    attention = {"kind": "softmax", "A": A[here].tolist(), "V": value[here].tolist()}
    mean, covariance = np.array([0.4, -0.2])[:dimension], width * np.array([[1.0, 0.3], [0.3, 0.5]])
    covariance, until = covariance[here], 0.5
    initial = {"kind": "gaussian", "mean": mean.tolist(), "covariance": covariance.tolist()}
    task = problem(LINE if dimension == 1 else PLANE, attention, initial, until)
    run = mfpde.solve(task)
    m, F = gaussian_way(attention, mean, covariance, until)
    measure, scale = run.measure(-1), np.abs(F @ F.T).max()
    np.testing.assert_allclose(measure.mean, m, atol=1e-12 * np.sqrt(scale))
    np.testing.assert_allclose(measure.covariance, F @ F.T, atol=1e-12 * scale)
    z = np.random.default_rng(0).normal(size=(20, dimension))
    density = np.exp(-np.sum(z * z, axis=1) / 2) / np.sqrt(2 * np.pi) ** dimension / abs(np.linalg.det(F))
    np.testing.assert_allclose(measure.evaluate(m + z @ F.T), density, atol=1e-11 * density.max())


WIDE = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1, "covariance": 1, "weight": 0.4},
        {"kind": "gaussian", "mean": 1, "covariance": 2, "weight": 0.6},
    ],
}


def wide_mixture(query, value, until):
    """Mean, variance and `int cos(2x)` of WIDE by a program with even labels: inside 16 they move by themselves, then
    by the affine drift of the wide component, as far out as anybody looks."""
    y = np.arange(-80, 80.1, 0.25)
    narrow, wide = np.log(0.4) - 0.5 * (y + 1) ** 2, np.log(0.6 / np.sqrt(2)) - 0.25 * (y - 1) ** 2
    logs, inside = np.logaddexp(narrow, wide) + np.log(0.25 / np.sqrt(2 * np.pi)), np.abs(y) < 16

    def places(state):
        x = state[-2] + state[-1] * y
        x[inside] = state[:-2]
        return x

    def slope(_time, state):
        x, (b, B) = places(state), state[-2:]
        scores = query * np.outer(state[:-2], x) + logs
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        m, S = b + B, 2 * B * B
        return value * np.concatenate([raised @ x / raised.sum(axis=1), [m + S * query * b, S * query * B]])

    start = np.concatenate([y[inside], [0.0, 1.0]])
    x = places(solve_ivp(slope, [0, until], start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1])
    w = np.exp(logs)
    return w @ x, w @ (x - w @ x) ** 2, w @ np.cos(2 * x)


@pytest.mark.parametrize(("query", "value", "until"), [(1, -1, 0.4), (1, 0.2, 0.2), (-1, 1, 0.2)])
def test_tails_of_mixtures_that_tilts_look_far_into(query, value, until):
    """|S A| = 2 and more: no reach of nodes is far enough."""
    attention = {"kind": "softmax", "A": query, "V": value}
    measure = mfpde.solve(problem(LINE, attention, WIDE, time={"until": until, "save": False})).measure(-1)
    mean, variance, wave = wide_mixture(query, value, until)
    assert measure.mean[0] == pytest.approx(mean, abs=1e-11)
    assert measure.covariance[0, 0] == pytest.approx(variance, rel=1e-11)
    assert measure.integrate(lambda x: np.cos(2 * x)) == pytest.approx(wave, abs=1e-10)
    x, w = gauss(-14, 14, 400)
    density = measure.evaluate(x)
    assert [w @ density, (w * density) @ np.cos(2 * x)] == pytest.approx([1, wave], abs=1e-10)


@pytest.mark.parametrize(
    ("initial", "value"),
    [(WIDE, 0.2), ({"kind": "gaussian", "mean": 0.4, "covariance": 4}, -0.8)],
    ids=["mixture", "gaussian"],
)
def test_a_loaded_run_with_tails_evaluates_like_the_living_one(initial, value, tmp_path):
    attention = {"kind": "softmax", "A": 1, "V": value}
    task = problem(LINE, attention, initial, time={"until": 0.1, "save_every": 0.05})
    mfpde.solve(task, tmp_path / "run.h5")
    loaded, living = mfpde.load(tmp_path / "run.h5").measure(-1), mfpde.solve(task).measure(-1)
    np.testing.assert_array_equal(loaded.evaluate([0.1, 2.0]), living.evaluate([0.1, 2.0]))


@pytest.mark.long  # six seconds; tests/store/test_resumed_state.py interrupts runs with tails, too
def test_a_resumed_run_knows_as_well_as_the_whole_one_how_long_its_nodes_last():
    """With tails, and the same end: the rule is the one that was chosen, with its end and its difference."""
    parts = [(-1, 0.2, 0.4), (0.8, 0.5, 0.6)]
    parts = [{"kind": "gaussian", "mean": mean, "covariance": S, "weight": share} for mean, S, share in parts]
    initial = {"kind": "mixture", "components": parts}
    task = problem(LINE, {"kind": "softmax", "A": 1, "V": 1}, initial, 1.5, 1e-4)
    whole = task.solver.start(task.posed())
    resumed = deepcopy(whole)
    carry(whole, 0.5)
    resumed.restore({name: array.copy() for name, array in {**whole.state(), **whole.trail(0)}.items()})
    assert resumed.statistics() == whole.statistics()
    wanted, found = (carry(solution, 1.5) for solution in (whole, resumed))
    assert wanted.state is State.RESOLUTION_LOST
    assert found == wanted
    assert resumed.time == whole.time
    assert resumed.statistics() == whole.statistics()


def test_a_mixture_of_equal_gaussians_is_one():
    """|S A| = 12; S^-1 = S_0^-1 + 2 A t."""
    part = {"kind": "gaussian", "mean": 0.5, "covariance": 4.0}
    run = solve(LINE, {"kind": "softmax", "A": 3, "V": -1}, {"kind": "mixture", "components": [part, part]})
    assert run.measure(-1).covariance[0, 0] == pytest.approx(1 / (0.25 + 6.0), rel=1e-11)
    growing = {"kind": "softmax", "A": 0.1, "V": 1}
    early = solve(LINE, growing, {"kind": "mixture", "components": [part, part]})
    assert early.measure(-1).covariance[0, 0] == pytest.approx(1 / (0.25 - 0.2), rel=1e-10)


def test_blow_up_of_a_gaussian():
    """`S^-1 = S_0^-1 - 2 A t`."""
    initial = {"kind": "gaussian", "mean": 0.3, "covariance": 2}
    outcome = mfpde.solve(problem(LINE, {"kind": "softmax", "A": 0.5, "V": 1}, initial, 2.0)).outcome
    assert outcome.kind == "blow-up"
    assert outcome.time == pytest.approx(0.5, rel=1e-11)


def test_a_gaussian_run_resumed_to_a_later_end_as_if_it_had_not_stopped(tmp_path):
    """Nodes enough for the first end are not for the second; those of a wide law stand for it from the start."""
    initial = {"kind": "gaussian", "mean": 0.3, "covariance": 2}
    arguments = (LINE, {"kind": "softmax", "A": 1, "V": -1}, initial)
    mfpde.solve(problem(*arguments, time={"until": 0.2, "save_every": 0.1}), tmp_path / "run.h5")
    later = problem(*arguments, time={"until": 0.5, "save_every": 0.1})
    resumed, whole = mfpde.solve(later, tmp_path / "run.h5", resume=True), mfpde.solve(later)
    assert resumed.outcome.complete
    np.testing.assert_array_equal(resumed.measure(-1).points, whole.measure(-1).points)
    assert resumed.measure(-1).covariance[0, 0] == pytest.approx(1 / (0.5 + 1.0), rel=1e-12)


@pytest.mark.parametrize("expression", ["1/cosh(3*x)", "(1 + x**2)**-4"], ids=["sech", "student"])
def test_long_tails_of_other_kinds(expression):
    """Wherever the drift exists; nodes of another program stand at x = sinh(u), evenly in u: they need no panels."""
    u = np.arange(-6, 6.01, 0.04)
    x = np.sinh(u)
    density = 1 / np.cosh(np.minimum(3 * np.abs(x), 700)) if "cosh" in expression else (1 + x**2) ** -4.0
    w = np.cosh(u) * density
    w = w / w.sum()

    def slope(_time, y):
        raised = np.exp(-((y[:, None] - y) ** 2)) * w
        return -(raised @ y) / raised.sum(axis=1)

    moved = solve_ivp(slope, [0, 1], x, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    run = solve(LINE, {"kind": "l2", "Q": 1, "K": 1, "V": -1}, {"kind": "density", "expression": expression})
    measure = run.measure(-1)
    assert run.provenance["statistics"]["nodes"] < 3000
    assert measure.covariance[0, 0] == pytest.approx(w @ moved**2, rel=1e-11)
    assert measure.integrate(lambda y: np.cos(2 * y)) == pytest.approx(w @ np.cos(2 * moved), abs=1e-11)


def test_sinkhorn_of_long_tails_takes_few_steps():
    """Potentials far out are rounding: steps must not look at them. The mean moves like `e^{tV}` whatever the data."""
    initial = {"kind": "density", "expression": "1/cosh(3*(x - 0.5))"}
    run = solve(LINE, {"kind": "sinkhorn", "A": 1, "V": -1}, initial)
    assert run.provenance["statistics"]["steps"] < 100
    np.testing.assert_allclose(run.measure(-1).mean, 0.5 * np.exp(-1), rtol=1e-11)


def test_blow_up_that_begins_at_the_edge():
    """`x' = V int e^{xy} y dmu`: the outermost tokens go first, and how soon depends on how well nodes show the edge.
    Nodes of another program crowd there, by x = 1.5 - 2.5 u^4: 60, 120 and 240 of them agree to 1e-14."""
    initial = {"kind": "uniform", "box": [[-1, 1.5]]}
    outcome = mfpde.solve(problem(LINE, {"kind": "unnormalized", "A": 1, "V": 0.5}, initial, tolerance=1e-9)).outcome
    assert outcome.kind == "blow-up"
    assert outcome.uncertainty < 1e-6
    assert abs(outcome.time - 0.2950881583557536) < outcome.uncertainty


def test_tails_that_run_to_infinity_at_once():
    """`x' = e^{x^2 / 2} x / 2` takes a token from x to infinity the sooner the larger x is."""
    initial = {"kind": "gaussian", "mean": 0.3, "covariance": 0.6}
    outcome = mfpde.solve(problem(LINE, {"kind": "unnormalized", "A": 1, "V": 0.5}, initial)).outcome
    assert outcome.kind == "not finite"
    assert "there is no solution" in outcome.message


def test_distances_know_the_edges_that_nodes_do_not_reach():
    """Linear attention keeps an interval uniform; Gauss nodes end before it does."""
    data = {"attention": {"kind": "linear", "A": 0.5, "V": -1.0}, "initial": {"kind": "uniform", "box": [[-1, 1]]}}
    solver = {"kind": "characteristics", "tolerance": 1e-9}
    task = {"geometry": {"kind": "line"}, "solver": solver, "time": {"until": 1.0, "save": False}, **data}
    measure = mfpde.solve(mfpde.Problem.from_dict(task)).measure(-1)
    half = float(np.sqrt(3 * measure.covariance[0, 0]))
    exact = mfpde.Uniform(box=[[-half, half]]).on(mfpde.Line())
    assert np.ptp(measure.nodes()[0]) < 0.99 * 2 * half
    np.testing.assert_allclose(np.concatenate(measure.reach()), [-half, half], rtol=1e-8)
    for kind in ("wasserstein-1", "wasserstein-2", "energy"):
        assert mfpde.distance(measure, exact, kind) < 1e-6


def test_gaussian_data_stay_gaussian_under_coefficients_in_time():
    """`S^-1 = S_0^-1 - 2 int V A`, `m = m_0 e^{int V} (S/S_0)^{1/2}`."""
    A = {"times": [0, 0.5], "values": [1, 0.4], "interpolation": "linear"}
    V = {"times": [0, 0.3], "values": [-1, -0.5]}
    initial = {"kind": "gaussian", "mean": 0.5, "covariance": 0.4}
    measure = solve(LINE, {"kind": "softmax", "A": A, "V": V}, initial).measure(-1)
    both = -1 * 0.3 * (1 + 0.64) / 2 - 0.5 * 0.2 * (0.64 + 0.4) / 2 - 0.5 * 0.5 * 0.4
    variance = 1 / (1 / 0.4 - 2 * both)
    np.testing.assert_allclose(measure.covariance, [[variance]], rtol=1e-10)
    np.testing.assert_allclose(measure.mean, [0.5 * np.exp(-0.3 - 0.35) * np.sqrt(variance / 0.4)], rtol=1e-10)


@pytest.mark.parametrize("parts", [[(-0.82, 0.4, 0.58), (0.57, 0.53, 0.71), (-0.35, 0.15, 0.48)], [(0.3, 0.35, 1)]])
def test_auto_takes_characteristics_where_cells_in_tails_would_move_too_fast(parts):
    """Unnormalised attention of three normal laws, whose last cells would cross 1e10 others, or of one, whose cells
    would cross 1e5 at first; Gauss-Hermite nodes."""
    components = [{"kind": "gaussian", "mean": m, "covariance": s, "weight": c} for m, s, c in parts]
    attention = {"kind": "unnormalized", "A": 1.21, "V": -0.68}
    initial = {"kind": "mixture", "components": components}
    run = solve(LINE, attention, initial, until=0.3, solver={"kind": "auto"}, tolerance=1e-8)
    assert run.problem.solver.kind == "characteristics"
    z, w = np.polynomial.hermite_e.hermegauss(60)
    z, w = z[w > 1e-15], w[w > 1e-15]
    x = np.concatenate([m + np.sqrt(s) * z for m, s, _ in parts])
    w = np.concatenate([c * w for _, _, c in parts])
    w /= w.sum()
    moved = solve_ivp(
        lambda _, y: -0.68 * np.exp(1.21 * np.outer(y, y)) @ (w * y), [0, 0.3], x, "BDF", rtol=1e-9, atol=1e-11
    )
    end = moved.y[:, -1]
    measure = run.measure(-1)
    np.testing.assert_allclose(measure.mean, [w @ end], atol=1e-7)
    np.testing.assert_allclose(measure.covariance, [[w @ end**2 - (w @ end) ** 2]], atol=1e-7)
