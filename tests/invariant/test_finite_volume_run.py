"""What holds for every solution by finite volumes, whatever the problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfpde
from mfpde.contracts.solver import State
from mfpde.solvers.finite_volume import FiniteVolume, cell_count
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps

BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 2},
        {"kind": "gaussian", "mean": 1.2, "covariance": 0.2},
    ],
}
GAUSSIAN = {"kind": "gaussian", "mean": 0.5, "covariance": 1.0}
SQUARE = {"kind": "uniform", "box": [[-1, 1.5], [-0.5, 1]]}


def problem(initial, solver=None, A=1.0, V=-1.0, kappa=np.inf, until=1.0, **more):
    plane = initial.get("box", [0])[0] != 0 and len(initial["box"]) == 2
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane" if plane else "line"},
            "attention": {"kind": "softmax", "A": A, "V": V},
            "noise": {"kappa": kappa},
            "initial": initial,
            "solver": {"kind": "finite-volume", **(solver or {})},
            "time": {"until": until, "save_every": until / 2},
            **more,
        }
    )


def start(*arguments, **settings):
    asked = problem(*arguments, **settings)
    return asked.solver.start(asked.posed())


def carry(solution, *targets, budget=50_000):
    for target in targets:
        while (progress := solution.advance(target, budget)).state is State.UNDER_WAY:
            pass
    return progress


@given(
    order=st.sampled_from([1, 2, 5, 7, 9]),
    kappa=st.sampled_from([np.inf, 5.0]),
    frame=st.sampled_from(["moving", "static"]),
    initial=st.sampled_from([BUMPS, {"kind": "uniform", "box": [[-1, 0.7]]}]),
)
@settings(max_examples=10)
def test_mass_and_positivity(order, kappa, frame, initial):
    solution = start(initial, {"order": order, "frame": frame, "cells": 96}, kappa=kappa, until=0.4)
    assert carry(solution, 0.4).state is State.REACHED
    assert abs(solution.measure().mass - 1) < 1e-13
    assert solution.fields()["density"].min() >= 0.0


def test_edges_on_the_plane_stay_positive():
    solution = start(SQUARE, {"cells": 40, "frame": "static"}, A=[[1, 0.5], [-0.2, 0.7]], V=[[-1, 0.3], [-0.4, -0.8]])
    assert carry(solution, 0.5).state is State.REACHED
    assert solution.statistics()["limited"] > 0
    assert solution.fields()["density"].min() >= 0.0
    assert abs(solution.measure().mass - 1) < 1e-13


@pytest.mark.parametrize("solver", [{}, {"frame": "static"}, {"rescaled": True}], ids=["moving", "static", "rescaled"])
def test_bits_do_not_depend_on_how_the_way_is_cut_into_calls(solver):
    whole, pieces = start(BUMPS, {"cells": 128, **solver}), start(BUMPS, {"cells": 128, **solver})
    carry(whole, 0.5, 1.0)
    carry(pieces, 0.5, 1.0, budget=1)
    assert np.array_equal(whole.fields()["density"], pieces.fields()["density"])


def test_a_restored_state_goes_on_bit_for_bit():
    first, second = start(BUMPS, kappa=8.0), start(BUMPS, kappa=8.0)
    carry(first, 0.5)
    kept = {name: array.copy() for name, array in first.state().items()}
    carry(first, 1.0)
    second.restore(kept)
    assert second.time == 0.5
    carry(second, 1.0)
    for name, array in first.state().items():
        assert np.array_equal(array, second.state()[name], equal_nan=True), name


def test_steps_end_where_coefficients_jump():
    """Piecewise constant A: `S^{-1}` of a Gaussian grows by `2 A` per unit time, whatever the pieces."""
    layers = {"times": [0, 0.3, 0.7], "values": [1.0, 0.5, 2.0]}
    run = mfpde.solve(problem({"kind": "gaussian", "mean": 0, "covariance": 1}, A=layers))
    grown = 1 + 2 * (0.3 * 1.0 + 0.4 * 0.5 + 0.3 * 2.0)
    assert abs(run.measure(-1).covariance[0, 0] - 1 / grown) < 1e-11


def test_masked_slices_keep_their_mass_and_the_first_sees_only_itself():
    asked = problem({"kind": "gaussian", "mean": 0, "covariance": 1}, {"cells": 64})
    asked = asked.model_copy(
        update={"attention": mfpde.Masked(attention=mfpde.Softmax(A=1, V=-1), positions=(0.1, 0.5, 0.9))}
    )
    run = mfpde.solve(asked)
    panels = run.measure(-1).panels
    assert [panel.position for panel in panels] == [0.1, 0.5, 0.9]
    assert all(abs(panel.mass - 1 / 3) < 1e-14 for panel in panels)
    assert abs(panels[0].moments[1][0, 0] - 1 / 3) < 1e-6  # S^{-1} = 1 + 2 t


def test_a_steady_state_is_kept():
    """`v = - m` pulls every token towards the mean: N(m, D) is steady under softmax with A = 0 and mlp drift -x."""
    asked = problem({"kind": "gaussian", "mean": 0, "covariance": 0.5}, A=0.0, V=0.0, kappa=2.0)
    asked = asked.model_copy(
        update={"drift": mfpde.Mlp(W=[[1.0, -1.0]], U=[[-1.0], [1.0]], b=(0, 0), activation="relu")}
    )
    for solver in ({}, {"frame": "static", "box": ((-7, 7),), "cells": 128}):
        settled = asked.model_copy(update={"solver": FiniteVolume(**solver)})
        solution = settled.solver.start(settled.posed())
        assert solution.residual() < 1e-6
        carry(solution, 3.0)
        assert abs(solution.measure().covariance[0, 0] - 0.5) < 1e-7


def test_stiff_diffusion_in_walls_ends_uniform():
    asked = problem(
        {"kind": "uniform", "box": [[-1, 1]]}, {"box": [[-2, 2]], "cells": 64}, A=0, V=0, kappa=0.2, until=20
    )
    run = mfpde.solve(asked)
    assert np.abs(run.measure(-1).panels[0].values - 0.25).max() < 1e-9


@pytest.mark.parametrize(
    ("initial", "solver", "said"),
    [
        ({"kind": "gaussian", "mean": 0, "covariance": 1}, {"box": [[-2, 2]]}, "cuts off initial data"),
        (
            {"kind": "gaussian", "mean": 0, "covariance": 1e-4},
            {"box": [[-2, 2]], "cells": 64},
            "too few for the initial",
        ),
        ({"kind": "gaussian", "mean": 0, "covariance": 0}, {}, "has no density"),
        ({"kind": "gaussian", "mean": 0, "covariance": 1}, {"cells": [64, 64]}, "must have one entry for the axis"),
    ],
)
def test_what_cannot_work_is_said_before_the_first_step(initial, solver, said):
    with pytest.raises(mfpde.MfpdeError, match=said):
        mfpde.solve(problem(initial, solver))


def test_attention_without_bound_is_said_before_the_first_step():
    asked = problem({"kind": "gaussian", "mean": 0.5, "covariance": 1})
    asked = asked.model_copy(update={"attention": mfpde.Unnormalized(A=1, V=-0.5)})
    with pytest.raises(mfpde.MfpdeError, match="has no bound"):
        asked.solver.start(asked.posed())


@pytest.mark.parametrize("kappa", [np.inf, 5.0])
@pytest.mark.parametrize("strength", [0.5, -0.5])
def test_a_run_whose_tails_become_too_fast_for_cells_ends_with_a_sentence(kappa, strength):
    """Where tokens run to infinity at once, and where they are pulled in as fast."""
    outcome = ended(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "unnormalized", "A": 1, "V": strength},
            "noise": {"kappa": kappa},
            "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5},
            "solver": {"kind": "finite-volume", "cells": 64},
            "time": {"until": 1.0},
        }
    ).outcome
    assert outcome.kind == "not finite"
    assert "this attention of tails has no bound" in str(outcome)


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ({"order": 9, "cells": 12}, "at least 18"),
        ({"frame": "moving", "box": [[-1, 1]]}, "does not go with frame: moving"),
        ({"box": [[1, -1]]}, "from < to"),
        ({"rescaled": True, "frame": "moving"}, "frame of its own"),
    ],
)
def test_settings_that_contradict_each_other(solver, said):
    with pytest.raises(mfpde.MfpdeError, match=said):
        problem(BUMPS, solver)


def test_a_cluster_narrower_than_its_cells_is_reported():
    run = mfpde.solve(
        problem({"kind": "uniform", "box": [[-1, 1]]}, {"frame": "static", "cells": 48}, A=8, V=-1, until=40)
    )
    assert run.outcome.kind == "resolution lost"
    assert "cells" in run.outcome.advice
    assert run.outcome.time < 40


KINK = {
    "geometry": {"kind": "line"},
    "attention": {"kind": "softmax", "A": 1, "V": -1},
    "drift": {"kind": "mlp", "W": [[1.0]], "U": [[1.0]], "b": [0.2], "activation": "relu"},
    "initial": {"kind": "gaussian", "mean": [0.3], "covariance": [[0.5]]},
    "solver": {"kind": "finite-volume"},
    "time": {"until": 0.5, "save": False},
}
WAVES = {
    "geometry": {"kind": "plane"},
    "attention": {"kind": "softmax", "A": [[1.0, 0.5], [0.0, 0.8]], "V": [[-1.0, 0.2], [0.0, -0.7]]},
    "noise": {"kappa": 4},
    "initial": {"kind": "density", "expression": "exp(-x**2 - y**2)*(1 + 0.5*sin(2*x)*cos(y))"},
    "solver": {"kind": "finite-volume", "cells": 64},
    "time": {"until": 0.5, "save": False},
}


def ended(problem):
    return mfpde.solve(mfpde.Problem.from_dict(problem))


def test_a_kink_that_cells_cannot_follow_is_said_at_the_end():
    outcome = ended(KINK).outcome
    assert (outcome.accuracy.kept, outcome.accuracy.cause) == (False, "kinks")
    assert "of the peak or more; raise solver.cells" in str(outcome)


def test_too_few_cells_are_said_at_the_end_and_enough_are_found():
    smooth = {**KINK, "drift": {**KINK["drift"], "activation": "tanh"}}
    few = ended({**smooth, "solver": {"kind": "finite-volume", "box": [[-20, 20]], "cells": 96}})
    assert (few.outcome.accuracy.kept, few.outcome.accuracy.cause) == (False, "cells")
    assert "raise solver.cells" in str(few.outcome)
    assert few.outcome.accuracy.estimate > few.outcome.accuracy.promised
    assert ended(smooth).outcome.accuracy.kept
    (loose,) = ended({**smooth, "solver": {"kind": "finite-volume", "tolerance": 1e-4}}).measure(-1).panels
    (tight,) = ended({**smooth, "solver": {"kind": "finite-volume", "tolerance": 1e-10}}).measure(-1).panels
    assert tight.values.size > 1.5 * loose.values.size


def test_steps_of_a_noisy_run_are_not_refused_for_the_sake_of_its_cells(monkeypatch):
    """A stencil that jumps from one side to the other with the wind is what explicit steps would see; exact ones are
    three here, too few to count."""
    monkeypatch.setattr(NoiseSteps, "limits", lambda *_: None)
    problem = mfpde.Problem.from_dict(WAVES)
    run = problem.solver.start(problem.posed())
    run.advance(0.5, 10**9)
    counts = run.statistics()
    assert counts["rejected"] < 0.25 * counts["steps"]
    assert counts["cells"] < 1.2 * 64**2  # the box has not grown for the sake of tails that nobody sees


def test_peaks_between_cells_and_overflowing_scores_are_said_before_the_first_step():
    peaks = [{"kind": "gaussian", "mean": [k], "covariance": [[1e-4]], "weight": 0.05} for k in range(20)]
    with pytest.raises(mfpde.ProblemError, match="too few for the initial data"):
        start({"kind": "mixture", "components": peaks}, {"cells": 32}, until=0.01)
    with pytest.raises(mfpde.ProblemError, match="overflow"):
        start(GAUSSIAN, A=1e308)
    with pytest.raises(mfpde.ProblemError, match="on a point or a line"):
        start({"kind": "gaussian", "mean": [0.0], "covariance": [[5e-324]]})


def test_a_long_run_is_no_attention_without_bound(monkeypatch):
    monkeypatch.setattr(cell_count, "_PILOT_MICROSECONDS", cell_count._SLICE_MICROSECONDS)  # no pilot comes to its end
    solution = start(GAUSSIAN, until=1e300)
    assert solution.advance(1.0, 10**9).state is State.REACHED


@pytest.mark.parametrize(
    ("initial", "solver", "more", "said"),
    [
        (
            {"kind": "gaussian", "mean": 0.0, "covariance": 1e-4},
            {"frame": "static", "cells": 17, "order": 5},
            {},
            "few",
        ),
        ({"kind": "density", "expression": "1/(1+x**2)**4"}, {"cells": 64}, {"kappa": 4}, "few"),
    ],
)
def test_cells_that_hold_next_to_nothing_are_refused(initial, solver, more, said):
    with pytest.raises(mfpde.ProblemError, match=said):
        start(initial, solver, **more)


@pytest.mark.parametrize("kappa", [4.0, {"times": [0, 0.005, 0.01], "values": [np.inf, 4.0, 4.0]}])
def test_long_tails_and_noise_go_together(kappa):
    """The weight g of moving frames is nothing where such tails end."""
    solution = start(
        {"kind": "density", "expression": "1/(1+x**2)**4"}, {"cells": 2048}, A=0.1, kappa=kappa, until=0.02
    )
    assert carry(solution, 0.02).state is State.REACHED


def test_cheap_steps_are_counted_in_the_budget_of_a_pilot():
    """On few cells a step takes longer than its evaluations: Python plans and watches it."""
    solution = start(BUMPS, {"cells": 32}, V=-300.0)
    solution.advance(1.0, 3000)
    assert 0 < solution.statistics()["steps"] <= 10
