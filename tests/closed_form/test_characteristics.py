"""Characteristics against closed forms and against programs of a few lines."""

import numpy as np
import pytest
from reference.closed_forms import moebius_density
from reference.runs import CIRCLE, LINE, PLANE, A, V, carry, gauss, problem, solve
from scipy.integrate import solve_ivp
from scipy.special import i0e, i1e

import mfpde
from mfpde.errors import ProblemError

BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1, "covariance": 0.1, "weight": 0.4},
        {"kind": "gaussian", "mean": 0.8, "covariance": 0.16, "weight": 0.6},
    ],
}
CONTRACTING = {"kind": "softmax", "A": 1, "V": -1}


# -- closed forms
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "initial",
    [{"kind": "uniform", "box": [[-1, 1], [0, 2]]}, {"kind": "uniform", "ball": {"center": [0.5, 0], "radius": 1}}],
    ids=["square", "disc"],
)
def test_linear_attention_moves_any_data_linearly(initial):
    """`x(t) = L(t) x_0` with `L' = V M_2 A L` (physics section 4)."""
    start = mfpde.Uniform(**{key: value for key, value in initial.items() if key != "kind"})
    second = start.covariance + np.outer(start.mean, start.mean)

    def slope(_time, state):
        L, M = state.reshape(2, 2, 2)
        B = V @ M @ A
        return np.concatenate([(B @ L).ravel(), (B @ M + M @ B.T).ravel()])

    L = solve_ivp(slope, [0, 2], [*np.eye(2).ravel(), *second.ravel()], "DOP853", rtol=1e-13, atol=1e-15).y[:4, -1]
    L = L.reshape(2, 2)
    measure = solve(PLANE, {"kind": "linear", "A": A, "V": V}, initial, until=2.0).measure(-1)
    np.testing.assert_allclose(measure.mean, L @ start.mean, atol=1e-12)
    np.testing.assert_allclose(measure.covariance, L @ start.covariance @ L.T, atol=1e-12)
    inside = start.sample(20, seed=1)
    inside = start.mean + 0.9 * (inside - start.mean)
    wanted = start.evaluate(inside) / abs(np.linalg.det(L))
    np.testing.assert_allclose(measure.evaluate(inside @ L.T), wanted, rtol=1e-11)
    assert not measure.evaluate([[5.0, 5.0]]).any()


def test_sinkhorn_moves_the_mean_of_any_data_linearly():
    initial = {"kind": "uniform", "box": [[-1, 2]]}
    run = solve(LINE, {"kind": "sinkhorn", "A": 1.3, "V": -0.7}, initial, tolerance=1e-12)
    np.testing.assert_allclose(run.measure(-1).mean, 0.5 * np.exp(-0.7), rtol=1e-11)


@pytest.mark.parametrize("geometry", [LINE, PLANE], ids=["line", "plane"])
def test_gaussian_data_stay_gaussian(geometry):
    """`S^-1 = S_0^-1 + t (A + A^T)` for V = -I."""
    d = 1 if geometry is LINE else 2
    matrix, start = A[:d, :d], 0.5 * np.array([[1.0, 0.3], [0.3, 0.5]])[:d, :d]
    initial = {"kind": "gaussian", "mean": [0.4, 0.0][:d], "covariance": start}
    attention = {"kind": "softmax", "A": matrix, "V": -1}
    measure = solve(geometry, attention, initial, tolerance=1e-11 if d == 1 else 1e-8).measure(-1)
    wanted = np.linalg.inv(np.linalg.inv(start) + matrix + matrix.T)
    np.testing.assert_allclose(measure.covariance, wanted, atol=1e-12 if d == 1 else 1e-9)
    x = measure.mean + np.random.default_rng(0).normal(size=(30, d)) @ np.linalg.cholesky(wanted).T
    distance = np.einsum("mi,ij,mj->m", x - measure.mean, np.linalg.inv(wanted), x - measure.mean)
    density = np.exp(-distance / 2) / np.sqrt(np.linalg.det(2 * np.pi * wanted))
    np.testing.assert_allclose(measure.evaluate(x), density, atol=(1e-12 if d == 1 else 1e-9) * density.max())


def test_kuramoto_moves_densities_by_moebius_maps():
    angles = np.linspace(0, 2 * np.pi, 40)
    run = solve(
        CIRCLE,
        {"kind": "unnormalized", "beta": 0},
        {"kind": "density", "expression": "exp(cos(theta) + 0.5*sin(2*theta))"},
        2.0,
    )
    wanted = moebius_density(angles, 2.0, lambda t: np.exp(np.cos(t) + 0.5 * np.sin(2 * t)))
    np.testing.assert_allclose(run.measure(-1).evaluate(angles), wanted, atol=1e-11 * wanted.max())


def test_on_the_circle_as_the_spectral_solver():
    angles, initial = (
        np.linspace(0, 2 * np.pi, 40),
        {"kind": "density", "expression": "1 + 0.5*cos(theta - 1) + 0.3*sin(2*theta)"},
    )
    run = solve(CIRCLE, {"kind": "softmax", "beta": 3}, initial)
    other = mfpde.solve(
        mfpde.Problem.from_dict({**run.problem.canonical(), "solver": {"kind": "spectral", "tolerance": 1e-10}})
    )
    for index in range(run.times.size):
        wanted = other.measure(index).evaluate(angles)
        np.testing.assert_allclose(run.measure(index).evaluate(angles), wanted, atol=1e-9 * wanted.max())


def test_on_the_sphere_as_heights_alone():
    """About the axis: `z' = (1 - z^2) d/dz log Z(z) / beta`, `Z(z) = int e^{beta z z'} I_0(beta s s') dmu`."""
    beta, concentration = 2.0, 3.0
    z, w = gauss(-1, 1, 80)
    w = w * np.exp(concentration * z)
    w /= w.sum()

    def slope(_time, y):
        s = np.sqrt(1 - y**2)
        q = beta * np.outer(s, s)
        score = beta * np.outer(y, y) + q
        raised = w * np.exp(score - score.max())
        tilted = raised * (y * i0e(q) - np.outer(y / s, s) * i1e(q))
        return s**2 * tilted.sum(axis=1) / (raised * i0e(q)).sum(axis=1)

    heights = solve_ivp(slope, [0, 1.5], z, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    initial = {"kind": "von-mises", "direction": [0, 0, 1], "concentration": concentration}
    measure = solve({"kind": "sphere"}, {"kind": "softmax", "beta": beta}, initial, 1.5, tolerance=1e-9).measure(-1)
    np.testing.assert_allclose(measure.mean, [0, 0, w @ heights], atol=1e-10)
    np.testing.assert_allclose(measure.integrate(lambda x: x[:, 2] ** 4), w @ heights**4, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(measure.points, axis=1), 1, rtol=1e-14)


# -- programs of a few lines
# ------------------------------------------------------------------------------------------------------------------


def test_masked_attention_by_double_sums():
    slices, (y, w) = np.array([0.125, 0.375, 0.625, 0.875]), gauss(-1, 1, 40)
    sees = slices[:, None] >= slices

    def slope(_time, state):
        x = state.reshape(4, -1)
        raised = np.exp(np.multiply.outer(x, x)) * w * sees[:, None, :, None]
        return -((raised * x).sum(axis=(2, 3)) / raised.sum(axis=(2, 3))).ravel()

    moved = solve_ivp(slope, [0, 1], np.tile(y, 4), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1].reshape(4, -1)
    attention = {"kind": "masked", "attention": CONTRACTING, "positions": 4}
    measure = solve(LINE, attention, {"kind": "uniform", "box": [[-1, 1]]}, tolerance=1e-10).measure(-1)
    at_zero = []
    for place, points in zip(slices, moved, strict=True):
        mine = measure.positions == place
        assert measure.weights[mine].sum() == pytest.approx(0.25)
        assert 4 * measure.weights[mine] @ measure.points[mine, 0] ** 2 == pytest.approx(0.5 * w @ points**2, abs=1e-11)
        at_zero.append(0.5 / np.polynomial.Legendre.fit(y, points, 30).deriv()(0.0))
    assert measure.evaluate([0.0])[0] == pytest.approx(np.mean(at_zero), rel=1e-10)


def test_a_kernel_with_a_kink():
    """relu on the line: tokens on either side of the origin see their own side only, `G(x) = V M_2(side) x`."""
    initial = {"kind": "density", "expression": "exp(-(x - 0.3)**2/0.4)"}
    measure = solve(LINE, {"kind": "relu", "A": 1, "V": -1}, initial).measure(-1)
    mass = np.sqrt(0.4 * np.pi)
    for side in (1, -1):
        y, w = gauss(0, 5 * side, 100)
        w = np.abs(w) * np.exp(-((y - 0.3) ** 2) / 0.4) / mass
        wanted = w @ y**2 / (1 + 2 * w @ y**2)  # M' = -2 M^2
        mine = side * measure.points[:, 0] > 0
        assert measure.weights[mine] @ measure.points[mine, 0] ** 2 == pytest.approx(wanted, rel=1e-11)


def test_a_kink_on_the_plane_takes_more_nodes_than_there_are():
    disc = {"kind": "uniform", "ball": {"center": [0.5, 0], "radius": 1}}
    with pytest.raises(ProblemError, match=r"nodes give the drift to .* only; ask for a larger solver\.tolerance"):
        solve(PLANE, {"kind": "relu", "A": 1, "V": -1}, disc, solver={"max_nodes": 1000})


def test_a_density_with_kinks_on_the_plane():
    """A pyramid; nodes of another program stand on its four sides."""
    (t, share), points, weights = gauss(0, 1, 14), [], []
    for right in (1, -1):
        for up in (1, -1):
            y = np.multiply.outer(1 - t, t) * up
            x = np.broadcast_to((0.2 + right * t)[:, None], y.shape)
            points.append(np.stack([x, y], -1).reshape(-1, 2))
            weights.append(((share * (1 - t))[:, None] * share * (1 - np.abs(x - 0.2) - np.abs(y))).ravel())
    start, w = np.concatenate(points), np.concatenate(weights) / np.sum(weights)

    def slope(_time, state):
        z = state.reshape(-1, 2)
        raised = np.exp(z @ A.T @ z.T) * w
        return (raised @ z / raised.sum(axis=1, keepdims=True) @ V.T).ravel()

    moved = solve_ivp(slope, [0, 1], start.ravel(), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1].reshape(-1, 2)
    attention = {"kind": "softmax", "A": A, "V": V}
    run = solve(PLANE, attention, {"kind": "density", "expression": "maximum(0, 1 - abs(x - 0.2) - abs(y))"})
    measure = run.measure(-1)
    assert run.provenance["statistics"]["nodes"] < 10_000
    np.testing.assert_allclose(measure.mean, w @ moved, atol=1e-12)
    centred = moved - w @ moved
    np.testing.assert_allclose(measure.covariance, (w[:, None] * centred).T @ centred, atol=1e-12)


def test_layers_and_a_pointwise_drift():
    """Each layer from the end of the one before, by another program."""
    (x, w), values, ends = gauss(-1, 1, 40), [-1.0, 0.7, -2.0], [0.0, 0.4, 0.7, 1.0]
    w = w / 2
    for value, start, end in zip(values, ends, ends[1:], strict=False):

        def slope(_time, y, value=value):
            raised = np.exp(np.outer(y, y)) * w
            return value * (raised @ y) / raised.sum(axis=1) + 0.3 * np.tanh(2 * y + 0.1)

        x = solve_ivp(slope, [start, end], x, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    layers = {"kind": "softmax", "A": 1, "V": {"times": ends[:3], "values": values}}
    drift = {"kind": "mlp", "W": 0.3, "U": 2, "b": [0.1], "activation": "tanh"}
    measure = solve(LINE, layers, {"kind": "uniform", "box": [[-1, 1]]}, drift=drift).measure(-1)
    assert measure.mean[0] == pytest.approx(w @ x, abs=1e-12)
    assert measure.integrate(np.cos) == pytest.approx(w @ np.cos(x), abs=1e-12)
    inside, share = gauss(*np.sort(solve_ends(measure)), 80)
    assert share @ measure.evaluate(inside) == pytest.approx(1, abs=1e-11)


def solve_ends(measure):
    """Where the ends of the interval are now."""
    return measure._trajectory().forward(np.array([[-1.0], [1.0]]), measure._time)[:, 0]


# -- the measure
# ------------------------------------------------------------------------------------------------------------------


def test_density_and_nodes_agree():
    measure = solve(LINE, CONTRACTING, BUMPS, 2.0, tolerance=1e-13).measure(-1)
    x, w = gauss(-4, 4, 300)
    density = measure.evaluate(x)
    assert w @ density == pytest.approx(1, abs=1e-12)
    assert (w * density) @ np.cos(3 * x) == pytest.approx(measure.integrate(lambda y: np.cos(3 * y)), abs=1e-12)


def test_draws_follow_the_density():
    measure = solve(LINE, CONTRACTING, BUMPS).measure(-1)
    draws = measure.sample(4000, seed=3)
    assert draws.shape == (4000, 1)
    np.testing.assert_allclose(measure.sample(10, seed=3), draws[:10], rtol=1e-11)
    spread = np.sqrt(measure.covariance[0, 0])
    assert abs(draws.mean() - measure.mean[0]) < 4 * spread / np.sqrt(4000)
    assert draws.std() == pytest.approx(spread, rel=0.05)


def test_a_loaded_run_evaluates_like_the_living_one(tmp_path):
    task, x = problem(LINE, CONTRACTING, BUMPS), np.linspace(-2, 2, 11)
    stored = mfpde.solve(task, tmp_path / "run.h5")
    loaded, kept = mfpde.load(tmp_path / "run.h5"), mfpde.solve(task)
    solution = task.solver.start(task.posed())
    for index, time in enumerate(loaded.times):
        carry(solution, time)
        wanted = solution.measure().evaluate(x)
        for run in (stored, loaded, kept):
            np.testing.assert_array_equal(run.measure(index).evaluate(x), wanted)
            np.testing.assert_array_equal(run.measure(index).points, solution.measure().points)


@pytest.mark.parametrize("kind", ["softmax", "sinkhorn"])
def test_steps_depend_neither_on_the_budget_nor_on_looks_nor_on_a_restart(kind):
    initial = {"kind": "uniform", "box": [[-1, 1]]}
    task = problem(LINE, {"kind": kind, "A": 1, "V": {"times": [0, 0.5], "values": [-1, 0.3]}}, initial, tolerance=1e-9)
    whole, cut, again = (task.solver.start(task.posed()) for _ in range(3))
    carry(whole, 0.9)
    for target in (0.123, 0.124, 0.5, 0.7):
        carry(cut, target, budget=1)
    again.restore({**cut.state(), **cut.trail(0)})
    carry(again, 0.9, budget=1)
    assert again.statistics() == whole.statistics()
    np.testing.assert_array_equal(again.fields()["position"], whole.fields()["position"])
    for name, rows in whole.trail(0).items():
        np.testing.assert_array_equal(again.trail(0)[name], rows)
    np.testing.assert_array_equal(again.measure().evaluate([0.1]), whole.measure().evaluate([0.1]))


# -- what cannot be done
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"noise": {"kappa": 2}}, "finite-volume and spectral know noise"),
        ({"noise": {"kappa": {"times": [0, 1], "values": [np.inf, 3]}}}, "tokens do not follow the velocity"),
        ({"solver": {"max_nodes": 16}}, "solver.max_nodes: is 16, and the initial measure alone takes"),
        ({"initial": {"kind": "density", "expression": "exp(-x**2/8)*(1 + x**2)"}}, "the tails decide what happens"),
        ({"initial": {"kind": "density", "expression": "1/cosh(x)"}}, "like an exponential or slower it is infinite"),
    ],
    ids=["noise", "late-noise", "nodes", "tails", "infinite"],
)
def test_what_is_refused_before_the_first_step(blocks, message):
    given = {"attention": CONTRACTING, "initial": BUMPS, **blocks}
    with pytest.raises(ProblemError, match=message):
        solve(LINE, given.pop("attention"), given.pop("initial"), **given)


def test_nodes_that_are_not_enough_any_more():
    """Two bumps that become two clusters: the flow between them steepens for ever."""
    initial = {"kind": "uniform", "box": [[-1, 1]]}
    outcome = mfpde.solve(
        problem(LINE, {"kind": "softmax", "A": 4, "V": 1}, initial, 3.0, solver={"max_nodes": 200})
    ).outcome
    assert outcome.kind == "resolution lost"
    assert 0 < outcome.time < 3
    assert "raise solver.max_nodes" in outcome.advice


def test_fewer_nodes_for_less_tolerance():
    loose, tight = (
        solve(LINE, CONTRACTING, BUMPS, tolerance=t).provenance["statistics"]["nodes"] for t in (1e-4, 1e-11)
    )
    assert loose < tight


def test_blow_up_of_compact_data():
    """Linear attention in one dimension has `M_2' = 2 V A M_2^2`, whatever the data."""
    initial = {"kind": "uniform", "box": [[-1, 1]]}
    outcome = mfpde.solve(problem(LINE, {"kind": "linear", "A": 1, "V": 1}, initial, 5.0)).outcome
    assert outcome.kind == "blow-up"
    assert outcome.uncertainty < 1e-10
    assert outcome.time == pytest.approx(1.5, rel=1e-12)


def test_points_that_no_token_can_have_come_to():
    """Back in time a strong contraction throws far points to infinity: nothing is there."""
    initial = {"kind": "uniform", "box": [[-1, 1]]}
    measure = solve(LINE, {"kind": "unnormalized", "A": 1, "V": -1}, initial, 0.5, tolerance=1e-8).measure(-1)
    density = measure.evaluate([-30.0, -8.0, 0.0, 8.0, 30.0])
    assert density[2] > 0.5
    np.testing.assert_array_equal(density[[0, 1, 3, 4]], 0.0)


def test_a_run_resumed_to_a_later_end_keeps_its_nodes_and_knows_how_long_they_last(tmp_path):
    """The flow steepens: what was enough for the first end need not be for the second."""
    arguments = (LINE, {"kind": "softmax", "A": 4, "V": 1}, {"kind": "uniform", "box": [[-1, 1]]})
    mfpde.solve(problem(*arguments, time={"until": 0.3, "save_every": 0.1}), tmp_path / "run.h5")
    later = problem(*arguments, time={"until": 0.7, "save_every": 0.1})
    run = mfpde.solve(later, tmp_path / "run.h5", resume=True)
    assert run.outcome.kind == "resolution lost"
    assert 0.3 < run.outcome.time < 0.7
    assert mfpde.solve(later).outcome.complete


def test_two_clusters_from_an_interval():
    """Nodes of another program crowd where tokens part, by y = s^5."""
    s, w = np.polynomial.legendre.leggauss(300)
    x, w = s**5, 2.5 * s**4 * w

    def slope(_time, y):
        score = 4 * np.outer(y, y)
        raised = np.exp(score - score.max(axis=1, keepdims=True)) * w
        return (raised @ y) / raised.sum(axis=1)

    moved = solve_ivp(slope, [0, 1.2], x, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    run = solve(LINE, {"kind": "softmax", "A": 4, "V": 1}, {"kind": "uniform", "box": [[-1, 1]]}, 1.2)
    measure = run.measure(-1)
    assert run.provenance["statistics"]["nodes"] < 2000
    assert measure.covariance[0, 0] == pytest.approx(w @ moved**2, rel=1e-10)
    assert measure.integrate(lambda y: np.cos(2 * y)) == pytest.approx(w @ np.cos(2 * moved), abs=1e-10)


def test_a_cluster_far_from_the_origin():
    """A pointwise drift gathers tokens at 1 until rounding is all that is between them; no number of nodes helps then.
    Alone it makes `sinh(x - 1)` fall like `e^{-5 t}`."""
    drift = {"kind": "mlp", "W": -5, "U": 1, "b": [-1.0], "activation": "tanh"}
    initial = {"kind": "uniform", "box": [[0.5, 1.5]]}
    run = solve(LINE, {"kind": "linear", "A": 0, "V": 0}, initial, 6.0, drift=drift)
    assert run.provenance["statistics"]["nodes"] < 100
    assert run.provenance["statistics"]["steps"] < 1000
    z, w = gauss(-0.5, 0.5)
    for time, measure in zip(run.times, (run.measure(k) for k in range(run.times.size)), strict=True):
        wanted = w @ np.arcsinh(np.sinh(z) * np.exp(-5 * time)) ** 2
        assert np.sqrt(measure.covariance[0, 0]) == pytest.approx(np.sqrt(wanted), rel=1e-11, abs=2e-14)


def test_looks_into_many_steps_take_little_room():
    solution = (task := problem(LINE, CONTRACTING, BUMPS, 4.0, tolerance=1e-13)).solver.start(task.posed())
    carry(solution, 4.0)
    path = solution._trajectory
    assert len(path.times) > 30
    x = solution.measure().evaluate([0.1])
    assert len(path._shapes) < 10
    np.testing.assert_array_equal(solution.measure().evaluate([0.1]), x)


def test_tokens_in_one_place_move_as_one():
    """A point mass under softmax attention with V = -1 moves like e^-t, whatever A: steps must not look for a width."""
    problem = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": -1},
        "initial": {"kind": "points", "values": [[0.5], [0.5]]},
        "solver": {"kind": "characteristics"},
        "time": {"until": 0.3},
    }
    assert abs(mfpde.solve(mfpde.Problem.from_dict(problem)).measure(-1).mean[0] - 0.5 * np.exp(-0.3)) < 1e-12
