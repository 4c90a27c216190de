"""The quick form of every validation case; and that each of them can fail."""

import dataclasses
import importlib
import json

import numpy as np
import pytest

import mfpde
from mfpde import run_loop
from mfpde.comparing import moebius
from mfpde.comparing.moebius import moebius_image
from mfpde.registry import members

NAMES = list(members("case"))


@pytest.fixture(autouse=True, scope="module")
def solved_once():
    """Most tests here look at the same runs of the same cases in another way; none changes a run. Gives the function
    that solves each time."""
    solve, runs = run_loop.solve, {}

    def remembered(problem, output=None):
        if output is not None:
            return solve(problem, output)
        key = json.dumps(problem.canonical(), sort_keys=True, default=repr)
        if key not in runs:
            runs[key] = solve(problem)
        return runs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_loop, "solve", remembered)
        yield solve


def module_of(name: str):
    return importlib.import_module(type(members("case")[name]()).__module__)


def test_the_first_cases_are_there():
    assert {"dissipation", "growth-rates", "kuramoto-order-parameter", "moebius"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_quick_case(name):
    report = mfpde.validate(name, quick=True)
    assert report.failed == ()
    assert report.passed
    assert report.title == name
    assert report.claim


def observed(run, **series):
    return dataclasses.replace(run, series={**run.series, **series})


def more(run, size):
    """All that was measured after t = 0, a blow-up included, is larger, relative to itself."""
    stored = dict(run.stored)
    if "density" in stored:
        stored["density"] = np.concatenate([run.density[:1], run.density[1:] * (1 + size)])
    series = {name: np.concatenate([row[:1], row[1:] * (1 + size)]) for name, row in run.series.items()}
    outcome = dataclasses.replace(run.outcome, time=run.outcome.time * (1 + size))
    return dataclasses.replace(run, series=series, stored=stored, outcome=outcome)


def added(run, size):
    """Absolutely: what ought to be 0 is not."""
    return observed(run, **{name: row + size for name, row in run.series.items()})


def dissipated(run, size):
    return observed(run, dissipation=run["dissipation"] * (1 + size))


def risen(run, size):
    energy = np.array(run["free-energy"])
    energy[-1] = energy[-2] + size * (energy[0] - energy[-1])
    return observed(run, **{"free-energy": energy})


#: what each case measures, wrong by a size; what one does not show another does
WRONG = {
    "dissipation": [dissipated, risen],
    "gaussian-closed-form": [more],
    "growth-rates": [more],
    "kuramoto-order-parameter": [added],
    "moebius": [added],
}


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_of_a_case_fails_when_what_was_measured_is_off_by_ten_tolerances(name, monkeypatch):
    """A check that is held against itself passes whatever was measured, and so does one with a loose tolerance."""
    solve, size = run_loop.solve, 10 * members("case")[name]().card.tolerance
    claims, failed = set(), set()
    for change in WRONG[name]:
        monkeypatch.setattr(
            run_loop, "solve", lambda problem, output=None, change=change: change(solve(problem, output), size)
        )
        report = mfpde.validate(name, quick=True)
        claims |= {check.claim for check in report.checks}
        failed |= {check.claim for check in report.failed}
    assert claims - failed == set()


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_tolerances_are_no_looser_than_errors_are(name):
    report = mfpde.validate(name)
    assert report.passed
    assert max(check.error / check.tolerance for check in report.checks) > 0.02


@pytest.mark.parametrize(
    ("name", "expectation"),
    [
        ("kuramoto-order-parameter", "order_parameter"),
        ("gaussian-closed-form", "softmax_covariance"),
        ("gaussian-closed-form", "softmax_pole"),
        ("growth-rates", "growth_rate"),
        ("moebius", "poisson_order_parameter"),
    ],
)
def test_a_wrong_expectation_fails(name, expectation, monkeypatch):
    module = module_of(name)
    right, wrong = getattr(module, expectation), 20 * members("case")[name]().card.tolerance
    monkeypatch.setattr(module, expectation, lambda *given: right(*given) * (1 + wrong))
    assert not mfpde.validate(name, quick=True).passed


def test_a_wrong_image_fails(monkeypatch, solved_once):
    monkeypatch.setattr(run_loop, "solve", solved_once)  # a run holds its distance from the image
    monkeypatch.setattr(moebius, "moebius_image", lambda *given: moebius_image(*given) * (1 + 1e-8))
    assert not mfpde.validate("moebius", quick=True).passed


def test_a_run_that_ends_early_is_a_failed_check(monkeypatch):
    def cut_short(problem, output=None):
        return dataclasses.replace(solve(problem, output), outcome=mfpde.Outcome("resolution lost", 0.5, "too narrow"))

    solve = run_loop.solve
    monkeypatch.setattr(run_loop, "solve", cut_short)
    report = mfpde.validate("moebius", quick=True)
    assert not report.passed
    assert "too narrow" in report.checks[0].claim


PROBLEM = {
    "geometry": {"kind": "circle"},
    "initial": {"kind": "density", "expression": "exp(cos(theta) + 0.3*sin(2*theta))"},
    "solver": {"kind": "spectral", "tolerance": 1e-8},
    "time": {"until": 1, "save_every": 0.25},
}


EQUATIONS = {
    "unnormalized": {"attention": {"kind": "unnormalized", "beta": 2}, "noise": {"kappa": 2}},
    "noiseless": {"attention": {"kind": "unnormalized", "beta": 1}, "time": {"until": 0.5}},
    "softmax": {"attention": {"kind": "softmax", "beta": 5}, "noise": {"kappa": 10}},
    "interaction": {"interaction": {"coefficients": [0, 1]}, "noise": {"kappa": 4}},
    "diffusion": {"noise": {"kappa": 1}},
}
EVERY_EQUATION = pytest.mark.parametrize("equation", EQUATIONS.values(), ids=EQUATIONS)


@EVERY_EQUATION
def test_any_problem_can_be_checked(equation):
    report = mfpde.validate(mfpde.Problem.from_dict({**PROBLEM, **equation}), quick=True, limit=False)
    assert report.failed == ()
    claims = " ".join(check.claim for check in report.checks)
    assert "mass" in claims
    assert "positive" in claims
    assert ("free energy" in claims) == (equation.get("attention", {}).get("kind") != "softmax")


@pytest.mark.long
@EVERY_EQUATION
def test_tokens_tend_to_any_problem(equation):
    """Reduced to the limit alone: tests/unit/validation/test_mean_field.py."""
    report = mfpde.validate(mfpde.Problem.from_dict({**PROBLEM, **equation}), quick=True)
    assert report.failed == ()
    assert report.rates


def test_a_problem_file_can_be_checked(tmp_path):
    problem = mfpde.Problem.from_dict({**PROBLEM, "attention": {"kind": "unnormalized", "beta": 0}})
    (tmp_path / "problem.yaml").write_text(problem.to_yaml(), encoding="utf-8")
    for given in (tmp_path / "problem.yaml", str(tmp_path / "problem.yaml")):
        report = mfpde.validate(given, quick=True, limit=False)
        assert report.passed
        assert report.title == "problem.yaml"


def test_checks_of_a_problem_can_fail(monkeypatch):
    from mfpde.validation import solution

    solved = solution.solved_so_far

    def wrong(problem):
        run = solved(problem)
        series = {
            "mass": run["mass"] + 1e-6,
            "minimum": run["minimum"] * 0 - 1e-3,
            "free-energy": run["free-energy"][::-1],
            "dissipation": run["dissipation"],
        }
        return dataclasses.replace(run, series=series, stored={"density": run.density * np.array([[1]])})

    monkeypatch.setattr(solution, "solved_so_far", wrong)
    problem = {**PROBLEM, "attention": {"kind": "unnormalized", "beta": 2}, "noise": {"kappa": 2}}
    report = mfpde.validate(mfpde.Problem.from_dict(problem), quick=True, limit=False)
    assert len(report.failed) == 4


def test_unknown_names_are_answered_with_near_ones():
    with pytest.raises(mfpde.MfpdeError, match="did you mean 'moebius'"):
        mfpde.validate("mobius")
