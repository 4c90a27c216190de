"""The Gaussian solver on problems solved in many decimals by another program (tests/reference/make_gaussians.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference.moments import solved

import mfpde

TABLE = json.loads((Path(__file__).resolve().parents[1] / "reference" / "gaussians.json").read_text())
PROBLEMS = {case["name"]: case for case in TABLE["problems"]}
POLES = [name for name, case in PROBLEMS.items() if "pole" in case]
#: the same laws from other data, or with what other problems have: a second each
LONG = {
    *("pole-l2", "pole-softmax", "pole-flat-noise", "pole-near", "pole-thin", "pole-layers", "growing-sinkhorn"),
    *("pole-heads", "pole-relu"),
    *("pole-3-log-2", "pole-linear"),  # in closed_form/test_gaussian_solver.py, too
}


def timed(names):
    return [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in names]


#: of the largest entry
RELATIVE = 1e-11


def run_of(case, tolerance=None):
    time = {"until": case["times"][-1], "save_at": case["times"]}
    solver = {"kind": "gaussian"} if tolerance is None else {"kind": "gaussian", "tolerance": tolerance}
    return mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "solver": solver, "time": time}))


def off(found, wanted, least=0.0):
    wanted = np.array(wanted, dtype=float)
    return np.abs(found - wanted).max() / max(np.abs(wanted).max(), least)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", timed(name for name in PROBLEMS if name not in POLES))
def test_moments_have_eleven_digits(name):
    case = PROBLEMS[name]
    run = run_of(case)
    assert run.outcome.kind == "finished", run.outcome
    for index, (mean, covariance) in enumerate(zip(case["mean"], case["covariance"], strict=True), start=1):
        width = np.sqrt(np.abs(np.array(covariance, dtype=float)).max())
        assert off(run.measure(index).mean, mean, 1e-10 * width) < RELATIVE
        assert off(run.measure(index).covariance, covariance) < RELATIVE


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", timed(POLES))
def test_poles_have_ten_digits(name):
    outcome, pole = run_of(PROBLEMS[name]).outcome, float(PROBLEMS[name]["pole"])
    assert outcome.kind == "blow-up", outcome
    assert abs(outcome.time - pole) < 1e-10 * pole
    assert abs(outcome.time - pole) <= outcome.uncertainty


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7])
@pytest.mark.parametrize("name", ["pole-linear-point", "pole-thin"])
def test_the_uncertainty_of_a_pole_holds_at_loose_tolerances(name, tolerance):
    """Where two marches of few steps agree better than either is right."""
    outcome, pole = run_of(PROBLEMS[name], tolerance).outcome, float(PROBLEMS[name]["pole"])
    assert abs(outcome.time - pole) <= outcome.uncertainty < tolerance * pole


@pytest.mark.parametrize("name", ["softmax", "l2-small-head-noise", "sinkhorn-indefinite", "ramp"])
def test_the_table_is_what_its_program_says(name):
    case = PROBLEMS[name]
    found = solved(case["problem"], case["times"], digits=24, order=28)
    assert off(found.covariances[-1].astype(float), case["covariance"][-1]) < 1e-14


def test_a_pole_of_the_table_is_known():
    assert float(PROBLEMS["pole-3-log-2"]["pole"]) == 3 * np.log(2)
