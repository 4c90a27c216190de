"""The promise of `tolerance`, kept on problems solved by an independent program (tests/reference/make_circle.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

from mfpde.contracts.solver import State
from mfpde.measure import CircleDensity
from mfpde.problem import Problem

TABLE = json.loads((Path(__file__).resolve().parents[1] / "reference" / "circle.json").read_text())
ANGLES = 2 * np.pi / 64 * np.arange(64)


def integration(case, tolerance):
    problem = Problem.model_validate(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": case["kind"], "beta": case["beta"]},
            "noise": {"kappa": case["kappa"] or "inf"},
            "initial": {"kind": "density", "expression": case["initial"]},
            "solver": {"kind": "spectral", "tolerance": tolerance},
        }
    )
    return problem.solver.start(problem.posed())


def carry(solution, target):
    while (progress := solution.advance(target, 50_000)).state is State.UNDER_WAY:
        pass
    assert progress.state is State.REACHED, progress


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-11])
@pytest.mark.parametrize("case", TABLE["problems"], ids=lambda case: case["name"])
def test_errors_stay_below_ten_tolerances(case, tolerance):
    solution = integration(case, tolerance)
    allowed = 10 * tolerance + case["accuracy"]
    for time, density, peak in zip(case["times"], case["density"], case["peak"], strict=True):
        carry(solution, time)
        error = np.abs(CircleDensity.of(solution.modes()).evaluate(ANGLES) - np.array(density))
        assert error.max() / peak < allowed
        assert error.mean() * 2 * np.pi < allowed
