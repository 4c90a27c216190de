"""What every run of tokens keeps, whatever the numbers are."""

import numpy as np
import pytest

import mfpde
from mfpde.attention import Velocity
from mfpde.contracts import State
from mfpde.transform import threads

CIRCLE = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "softmax", "beta": 9},
    "time": {"until": 50, "save_every": 10},
}


def solved(**blocks):
    return mfpde.solve(mfpde.Problem.from_dict({**CIRCLE, **blocks}))


def equispaced(count):
    return {"kind": "points", "values": 2 * np.pi * np.arange(count) / count + 0.05 * np.sin(np.arange(count))}


def test_merged_tokens_stay_where_the_unmerged_go():
    merged = solved(initial=equispaced(24), solver={"kind": "particles", "merge": 1e-7, "tolerance": 1e-10})
    free = solved(initial=equispaced(24), solver={"kind": "particles", "merge": 0, "tolerance": 1e-10})
    assert merged.provenance["statistics"]["particles"] < 24 == free.provenance["statistics"]["particles"]
    apart = np.abs(np.exp(1j * merged.positions) - np.exp(1j * free.positions))
    assert apart.max() < 1e-6


def test_drifts_without_attention_are_found_at_once(monkeypatch):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "noise": {"kappa": 4},
            "initial": {"kind": "gaussian", "mean": 0, "covariance": 1},
            "solver": {"kind": "particles", "count": 5, "copies": 7},
            "time": {"until": 0.1},
        }
    )
    run, calls, plain = problem.solver.start(problem.posed()), [], Velocity.drift
    monkeypatch.setattr(Velocity, "drift", lambda *given: calls.append(given) or plain(*given))
    found = run.drifts(0.0, run.points())
    assert len(calls) == 1
    assert np.array_equal(found, [run.drift(0.0, points) for points in run.points()])


def test_a_metastable_run_reaches_times_of_e_to_the_twenty():
    task = {"time": {"until": float(np.exp(20)), "save_every": float(np.exp(19))}}
    run = solved(initial=equispaced(32), solver={"kind": "particles"}, **task)
    assert run.outcome == "finished"
    assert run.provenance["statistics"]["steps"] < 2000


@pytest.mark.parametrize("noise", [np.inf, 3.0])
def test_permuted_tokens_move_alike(noise, random):
    points = 2 * np.pi * random.random(12)
    order = random.permutation(12)
    settings = {"kind": "particles", "tolerance": 1e-10}
    blocks = {"noise": {"kappa": noise}, "time": {"until": 2, "save_every": 1}, "solver": settings}
    here = solved(initial={"kind": "points", "values": points}, **blocks)
    there = solved(initial={"kind": "points", "values": points[order]}, **blocks)
    if noise == np.inf:
        np.testing.assert_allclose(here.positions[:, order], there.positions, atol=1e-9)
    else:  # the noise of a token goes with its number
        assert not np.allclose(here.positions[1, order], there.positions[1])


def test_a_rotation_rotates_the_run(random):
    turn = np.linalg.qr(random.standard_normal((5, 5)))[0]
    points = random.standard_normal((9, 5))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    task = {"geometry": {"kind": "sphere", "dimension": 5}, "time": {"until": 4, "save_every": 2}}
    settings = {"kind": "particles", "tolerance": 1e-11}
    runs = [
        solved(initial={"kind": "points", "values": each}, solver=settings, **task)
        for each in (points, points @ turn.T)
    ]
    np.testing.assert_allclose(runs[0].positions @ turn.T, runs[1].positions, atol=1e-9)
    assert np.abs(np.linalg.norm(runs[0].positions, axis=2) - 1).max() < 1e-14


@pytest.mark.parametrize(
    "case",
    [
        {"solver": {"kind": "particles", "count": 300, "copies": 6}},
        {"solver": {"kind": "particles", "count": 30, "copies": 600}, "noise": {"kappa": 2}},
        {"solver": {"kind": "particles", "count": 40_000}, "noise": {"kappa": 2, "common": 0.3}},
        {"solver": {"kind": "particles", "count": 2_000, "tolerance": 1e-5}},
    ],
)
def test_threads_change_no_bit(case, monkeypatch):
    found, brief = [], {"until": 0.1, "save": False}
    for count in (1, 3):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        monkeypatch.setattr("mfpde.solvers.particles.pairwise.thread_count", lambda count=count: count)
        run = solved(initial={"kind": "von-mises", "direction": 1, "concentration": 2}, time=brief, **case)
        found.append(run.positions)
    assert np.array_equal(*found)


def test_looks_change_no_bit_of_a_noisy_run():
    task = {
        "initial": {"kind": "uniform"},
        "noise": {"kappa": 2},
        "solver": {"kind": "particles", "count": 50, "step": 0.1},
    }
    often = solved(time={"until": 1, "save_every": 0.07}, **task)
    seldom = solved(time={"until": 1, "save_every": 0.5}, **task)
    assert np.array_equal(often.positions[-1], seldom.positions[-1])


def test_a_look_inside_a_step_has_the_spread_of_its_time():
    """Brownian motion at times between the ends of steps."""
    task = {
        "geometry": {"kind": "line"},
        "attention": None,
        "noise": {"kappa": 1},
        "initial": {"kind": "points", "values": np.zeros((20_000, 1))},
        "solver": {"kind": "particles", "step": 1.0},
        "time": {"until": 2, "save_at": [0.25, 0.5, 0.9, 1.0, 1.4, 2.0]},
    }
    run = mfpde.solve(mfpde.Problem.from_dict({key: block for key, block in task.items() if block is not None}))
    variances = run.positions[1:, :, 0].var(axis=1)
    np.testing.assert_allclose(variances, 2 * run.times[1:], rtol=0.04)
    increments = run.positions[4, :, 0] - run.positions[2, :, 0]  # from 0.5 to 1
    assert increments.var() == pytest.approx(1.0, rel=0.04)


def test_a_look_inside_a_step_is_on_the_path_of_common_noise():
    """Increments before and after the look are independent, in many copies of one token."""
    task = {
        "geometry": {"kind": "line"},
        "noise": {"common": 1},
        "initial": {"kind": "gaussian", "mean": 0, "covariance": 1},
        "solver": {"kind": "particles", "step": 1.0, "count": 1, "copies": 5000},
        "time": {"until": 1, "save_at": [0.25]},
    }
    before, after = np.diff(mfpde.solve(mfpde.Problem.from_dict(task)).positions[:, :, 0, 0], axis=0)
    assert before.var() == pytest.approx(0.5, rel=0.08)
    assert after.var() == pytest.approx(1.5, rel=0.08)
    assert abs(np.corrcoef(before, after)[0, 1]) < 0.06


def test_what_cannot_be_done_is_said_before_the_first_step():
    def fault(**blocks):
        with pytest.raises(mfpde.ProblemError) as caught:
            solved(initial={"kind": "uniform"}, **blocks)
        return str(caught.value)

    assert "solver.count" in fault(solver={"kind": "particles"})
    assert "bytes" in fault(solver={"kind": "particles", "count": 10**13})
    with pytest.raises(mfpde.ProblemError, match=r"initial\.count: .* bytes"):
        solved(initial={"kind": "points", "random": "uniform-sphere", "count": 10**13}, solver={"kind": "particles"})
    assert "noise.matrix" in fault(solver={"kind": "particles", "count": 5}, noise={"matrix": 1.0})
    assert "layers have no noise" in fault(solver={"kind": "particles", "count": 5, "layers": 3}, noise={"kappa": 1})
    of_spectral = fault(solver={"kind": "spectral"}, time={"until": 1, "clock": "gradient"})
    assert "it has no time.clock: gradient; solvers that can: particles" in of_spectral
    gradient = {"until": 1, "clock": "gradient"}
    for block in ({"noise": {"kappa": 1}}, {"solver": {"kind": "particles", "count": 5, "layers": 3}}):
        assert "gradient is the clock of a flow" in fault(
            **{"solver": {"kind": "particles", "count": 5}, "time": gradient, **block}
        )
    assert "noise.common" in fault(solver={"kind": "spectral"}, noise={"kappa": 1, "common": 1})
    with pytest.raises(mfpde.ProblemError, match="all be the same"):
        solved(initial=equispaced(4), solver={"kind": "particles", "copies": 3})
    many = {"kind": "points", "random": "uniform-sphere", "count": 10**12}
    with pytest.raises(mfpde.ProblemError, match=r"initial\.count: that many tokens need about 2\.08e\+14 bytes"):
        solved(initial=many, solver={"kind": "particles"})
    for key in ("step", "increments"):
        said = f"{key} is of steps with noise, and there is none: leave {key} out"
        assert said in fault(solver={"kind": "particles", "count": 5, key: 2})
    assert "normalization.gain: has 3 numbers; tokens in R^2 need 2" in fault(
        normalization={"kind": "pre", "gain": [1, 2, 3]}, solver={"kind": "particles", "count": 5}
    )
    for wrong, said in (([[1, 0, 0]] * 3, "symmetric"), (np.eye(3), "has shape (3, 3); tokens in R^2 need a square")):
        with pytest.raises(mfpde.ProblemError) as caught:
            mfpde.Equation(geometry={"kind": "plane"}, noise={"matrix": wrong})
        assert said in str(caught.value)


def test_runs_with_a_noise_matrix_are_read_back(tmp_path):
    """A singular D as well, whose least eigenvalue is below 0 by rounding."""
    root = np.array([[0.1, 0.2, 0.7]])
    task = {
        "geometry": {"kind": "space", "dimension": 3},
        "noise": {"matrix": root.T @ root},
        "initial": {"kind": "points", "values": np.zeros((50, 3))},
        "solver": {"kind": "particles", "step": 0.1},
        "time": {"until": 1},
    }
    mfpde.solve(mfpde.Problem.from_dict(task), output=tmp_path / "run.h5")
    run = mfpde.load(tmp_path / "run.h5")
    assert run.problem.noise.matrix is not None
    along = run.positions[-1] @ root[0] / (root @ root.T)
    np.testing.assert_allclose(run.positions[-1], along[0][:, None] * root, atol=1e-8)


def test_tokens_much_nearer_to_each_other_than_to_the_origin_run_away_as_one():
    """Their distance is below the last digits of their places: steps are not short for that; who overflows ends."""
    task = {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": 100},
        "initial": {"kind": "points", "values": [1.0, 2.0]},
        "solver": {"kind": "particles"},
    }
    run = mfpde.solve(mfpde.Problem.from_dict({**task, "time": {"until": 0.6, "save_at": [0.5], "save": True}}))
    np.testing.assert_allclose(run.positions[2] / run.positions[1], np.exp(10.0), rtol=1e-7)
    assert mfpde.solve(mfpde.Problem.from_dict({**task, "time": {"until": 100}})).outcome == "not finite"


@pytest.mark.parametrize("normalization", [{}, {"normalization": {"kind": "pre"}}])
def test_resumed_runs_have_the_same_rows_inside_a_step(normalization):
    """Also those between the checkpoint and the end of the step that it was in, and after looks at other times."""
    given = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "sinkhorn", "A": [[1, 0.4], [0, 0.6]], "V": -1},
            "initial": {"kind": "gaussian", "mean": [1, 0], "covariance": 1},
            "solver": {"kind": "particles", "count": 20, "seed": 1},
            "time": {"until": 0.3},
            **normalization,
        }
    )
    rows = []
    for stops in ((), (2, 5)):
        integration = given.solver.start(given.posed())
        found = []
        for look in range(1, 9):
            while integration.advance(0.02 * look, 10**6).state is not State.REACHED:
                pass
            found.append(integration.points().copy())
            if look in stops:
                state = {name: np.array(array) for name, array in integration.state().items()}
                integration = given.solver.resume(given.posed(), state)
        rows.append(found)
    np.testing.assert_array_equal(*rows)


def test_steps_do_not_depend_on_the_last_digits_of_sums():
    """Under a kernel with kinks steps of other lengths have other errors: orders of summation would part by 1e-12
    within a hundred steps."""
    points = mfpde.VonMises(direction=[0.6, 0, 0.8], concentration=2).sample(1101, seed=3)

    def moved(order):
        run = mfpde.solve(
            mfpde.Problem.from_dict(
                {
                    "geometry": {"kind": "sphere"},
                    "attention": {"kind": "relu", "beta": 2},
                    "initial": {"kind": "points", "values": points[order]},
                    "solver": {"kind": "particles", "merge": 0},
                    "time": {"until": 0.015, "save": False},
                }
            )
        )
        return run.positions[-1]

    assert np.abs(moved(np.s_[::-1])[::-1] - moved(np.s_[:])).max() < 1e-13
