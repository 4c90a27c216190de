"""Problems that are no densities on the circle, checked: which claims there are, and that each of them can fail."""

import dataclasses

import numpy as np
import pytest

import mfpde
from mfpde.comparing.finite_volume import FiniteVolume
from mfpde.validation import bounds, solution

GAUSSIAN = {
    "geometry": {"kind": "plane"},
    "attention": {"kind": "softmax", "A": 1, "V": -1},
    "initial": {"kind": "gaussian", "mean": [0.2, 0], "covariance": [[1, 0.3], [0.3, 0.5]]},
    "solver": {"kind": "gaussian"},
    "time": {"until": 0.5},
}
SQUARE = {
    **GAUSSIAN,
    "initial": {"kind": "uniform", "box": [[-1, 1], [-1, 1]]},
    "solver": {"kind": "finite-volume", "cells": 32, "box": [[-2, 2], [-2, 2]]},
    "time": {"until": 0.1},
}
POINTS = {
    **GAUSSIAN,
    "initial": {"kind": "points", "values": [[0, 1], [1, 0], [2, 2]]},
    "solver": {"kind": "characteristics", "tolerance": 1e-8},
}
SPHERE = {
    "geometry": {"kind": "sphere"},
    "attention": {"kind": "softmax", "beta": 2},
    "initial": {"kind": "points", "values": [[0, 0, 1], [1, 0, 0], [0, -0.6, -0.8]]},
    "solver": {"kind": "characteristics", "tolerance": 1e-8},
    "time": {"until": 0.5},
}
MASKED = {**SQUARE, "attention": {"kind": "masked", "positions": 2, "attention": GAUSSIAN["attention"]}}
SINKHORN = {**POINTS, "attention": {"kind": "sinkhorn", "A": 1, "V": [[0, 1], [-1, 0]]}}
L2 = {**GAUSSIAN, "attention": {"kind": "l2", "Q": 1, "K": 1, "V": -1}}
BLOW_UP = {**GAUSSIAN, "attention": {"kind": "softmax", "A": 1, "V": 1}, "time": {"until": 3}}
LAYERS = {**POINTS, "attention": {"kind": "softmax", "A": 1, "V": {"times": [0, 0.2], "values": [-1, 1]}}}
AT_REST = {"geometry": {"kind": "circle"}, "initial": {"kind": "uniform"}, "time": {"until": 1}}

EVERYTHING = {
    "gaussian": (GAUSSIAN, {"covariance is positive", "closed form", "as the equation says", "solver: finite-volume"}),
    "square": (SQUARE, {"positive", "faster", "support", "energy never falls"}),
    "points": (
        POINTS,
        {"faster", "support", "energy never falls", "as the equation says", "plain sum", "plain program"},
    ),
    "sphere": (SPHERE, {"stay on the sphere", "faster"}),
    "masked": (MASKED, {"each position", "faster", "support"}),
    "sinkhorn": (SINKHORN, {"e^{tV}", "faster", "support"}),
    "l2": (L2, {"covariance is positive"}),
    "blow-up": (BLOW_UP, {"to its blow-up", "closed form has it", "that of the closed form"}),
    "layers": (LAYERS, {"faster", "support"}),
    "at rest": (AT_REST, {"mass", "positive"}),
}


def examined(problem, *, quick=False):
    return mfpde.validate(mfpde.Problem.from_dict(problem), quick=quick, limit=False)


@pytest.mark.parametrize(("problem", "wanted"), EVERYTHING.values(), ids=EVERYTHING.keys())
def test_every_kind_of_solution_is_checked(problem, wanted):
    report = examined(problem, quick=problem is L2)  # what the full form adds is checked on the Gaussian
    assert report.failed == ()
    claims = " ".join(check.claim for check in report.checks)
    assert [words for words in wanted if words not in claims] == []


def wrong(problem, monkeypatch, change):
    """The report on a solution that was changed after it was found."""
    solved = solution.solved_so_far
    monkeypatch.setattr(solution, "solved_so_far", lambda task: change(solved(task)))
    return " ".join(check.claim for check in examined(problem, quick=True).failed)


def stored(run, **fields):
    return dataclasses.replace(run, stored={**run.stored, **fields})


def test_a_gaussian_off_its_closed_form_fails(monkeypatch):
    def change(run):
        return stored(run, gaussian_factor=np.asarray(run.stored["gaussian_factor"]) * (1 + 1e-9))

    assert "closed form" in wrong(GAUSSIAN, monkeypatch, change)


def test_a_covariance_that_is_not_positive_fails(monkeypatch):
    def change(run):
        covariances = np.array(run.stored["gaussian_covariance"])
        covariances[-1] = [[1, 2], [2, 1]]
        return stored(run, gaussian_covariance=covariances)

    assert "covariance is positive" in wrong(L2, monkeypatch, change)


@pytest.mark.parametrize("problem", [SQUARE, POINTS, MASKED], ids=["square", "points", "masked"])
def test_tokens_too_far_out_fail(problem, monkeypatch):
    def change(run):
        radius = np.array(run["support-radius"])
        return dataclasses.replace(
            run, series={**run.series, "support-radius": radius * np.linspace(1, 5, radius.size)}
        )

    assert "the support stays" in wrong(problem, monkeypatch, change)


def test_energy_that_falls_and_mass_that_is_lost_fail(monkeypatch):
    def change(run):
        series = {"energy": np.asarray(run["energy"])[::-1], "mass": np.asarray(run["mass"]) - 1e-9}
        return dataclasses.replace(run, series={**run.series, **series})

    failed = wrong(POINTS, monkeypatch, change)
    assert "energy never falls" in failed
    assert "mass is conserved" in failed


def test_tokens_beside_the_sphere_fail(monkeypatch):
    def change(run):
        return stored(run, position=np.asarray(run.stored["position"]) * (1 + 1e-9))

    assert "stay on the sphere" in wrong(SPHERE, monkeypatch, change)


def test_a_mean_that_does_not_turn_fails(monkeypatch):
    def change(run):
        return stored(run, position=np.asarray(run.stored["position"]) + 1e-6 * run.times[:, None, None])

    assert "e^{tV}" in wrong(SINKHORN, monkeypatch, change)


def test_a_drift_beyond_its_bound_fails(monkeypatch):
    bound = bounds.speed_bound
    monkeypatch.setattr(bounds, "speed_bound", lambda *given: 0.2 * bound(*given))
    claims = [check.claim for check in examined(POINTS, quick=True).failed]
    assert len(claims) == 1
    assert "faster" in claims[0]


def test_a_blow_up_at_another_time_fails(monkeypatch):
    def change(run):
        return dataclasses.replace(run, outcome=dataclasses.replace(run.outcome, time=run.outcome.time * 1.001))

    assert "when the closed form has it" in wrong(BLOW_UP, monkeypatch, change)


def test_a_blow_up_of_bounded_support_fails(monkeypatch):
    def change(run):
        return dataclasses.replace(run, outcome=mfpde.Outcome("blow-up", 0.5, uncertainty=1e-6))

    assert "does not blow up" in wrong(POINTS, monkeypatch, change)


def test_a_drift_that_is_not_the_plain_sum_fails(monkeypatch):
    quick = mfpde.Softmax.any_drift
    monkeypatch.setattr(mfpde.Softmax, "any_drift", lambda *given: quick(*given) * (1 + 1e-9))
    assert "the plain sum over all tokens" in " ".join(check.claim for check in examined(POINTS, quick=True).failed)


def test_two_solutions_that_differ_fail(monkeypatch):
    begun = FiniteVolume.begun

    def other(self, task, *given):
        wrong = mfpde.Problem.from_dict({**GAUSSIAN, "attention": {"kind": "softmax", "A": 1, "V": -1.001}})
        return begun(self, wrong.posed(), *given)

    monkeypatch.setattr(FiniteVolume, "begun", other)
    assert [check.claim[:26] for check in examined(GAUSSIAN).failed] == ["the solution is that of so"]


def test_what_was_reached_before_resolution_was_lost_is_checked():
    problem = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "softmax", "beta": 9},
        "initial": {"kind": "von-mises", "direction": 1, "concentration": 2},
        "solver": {"kind": "spectral", "max_modes": 32, "tolerance": 1e-4},
        "time": {"until": 4},
    }
    report = examined(problem, quick=True)
    assert [check.passed for check in report.checks] == [False] + [True] * (len(report.checks) - 1)
    assert "all else is checked up to t = " in report.checks[0].claim
    assert len(report.checks) >= 4


def test_an_interrupted_check_is_no_verdict(monkeypatch):
    from mfpde import run_loop

    solve = run_loop.solve

    def interrupted(*given):
        return dataclasses.replace(solve(*given), outcome=mfpde.Outcome("interrupted", 0.1))

    monkeypatch.setattr(run_loop, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        examined(POINTS, quick=True)


ON_CIRCLE = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 2.0},
    "noise": {"kappa": 3.0},
    "initial": {"kind": "von-mises", "direction": 1, "concentration": 1},
    "time": {"until": 0.5},
}


def test_symmetries_are_found_and_their_loss_is_noticed(monkeypatch):
    problem = {**ON_CIRCLE, "initial": {"kind": "density", "expression": "1 + 0.5*cos(3*theta)"}}
    claims = [check.claim for check in examined(problem, quick=True).checks if "symmetry" in check.claim]
    assert [claim.split(": ")[1] for claim in claims] == [
        "coordinate 2 reflected",
        "1/3 of a turn of the first two coordinates",
    ]

    def change(run):
        tilt = 1 + 1e-6 * np.sin(run.axis("theta")) * run.times[:, None]
        return stored(run, density=np.asarray(run.density) * tilt)

    assert "coordinate 2 reflected" in wrong(problem, monkeypatch, change)


def test_bounds_of_kernels():
    equation = mfpde.Problem.from_dict(SQUARE).equation
    for kind, largest in {"softmax": 1, "sigmoid": 1, "linear": 8, "relu": 8, "unnormalized": np.exp(8)}.items():
        law = mfpde.Problem.from_dict({**SQUARE, "attention": {"kind": kind, "A": 2, "V": 3}}).equation.law
        assert bounds.speed_bound(law, equation, 2.0) == pytest.approx(2 * 3 * largest)


def test_cells_that_are_given_promise_what_the_run_says():
    problem = {**GAUSSIAN, "solver": {"kind": "finite-volume", "cells": 40, "frame": "static"}, "time": {"until": 0.1}}
    (check,) = [check for check in examined(problem).checks if "closed form" in check.claim]
    assert check.tolerance > 1e-4  # a coarse static grid promises little
    assert check.passed


def test_a_drift_that_is_rounding_alone_is_no_failure():
    """About the uniform state all terms cancel, and nothing is left that a relative error could be measured by."""
    data = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 1},
        "noise": {"kappa": 1.0},
        "initial": {"kind": "density", "expression": "1 + 1e-11*cos(theta)"},
        "time": {"until": 0.1},
    }
    report = mfpde.validate(mfpde.Problem.from_dict(data), quick=True, limit=False)
    assert report.failed == ()
    assert any("plain sum over all tokens" in check.claim for check in report.checks)
