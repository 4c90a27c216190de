"""Solvers of the line and the plane on problems solved by an independent program (tests/reference/make_flat.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.measure import Measure

TABLE = json.loads((Path(__file__).resolve().parents[1] / "reference" / "flat.json").read_text())
PROBLEMS = {case["name"]: case for case in TABLE["problems"]}
NOISELESS = [name for name, case in PROBLEMS.items() if "noise" not in case["problem"]]
STATIC = {"line": {"cells": 512}, "plane": {"cells": [96, 96]}}


def solved(name: str, solver: dict) -> list[Measure]:
    case = PROBLEMS[name]
    time = {"until": case["times"][-1], "save_at": case["times"]}
    run = mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "solver": solver, "time": time}))
    assert run.outcome.kind == "finished", run.outcome
    return [run.measure(index) for index in range(1, len(run.times))]


def moments(measure: Measure) -> np.ndarray:
    """As in the table: mean, covariance, third central moments, mean of cos(x_1 + 2 x_2)."""
    dimension = measure.mean.size

    def third(x: np.ndarray) -> np.ndarray:
        return (x.reshape(-1, dimension) - measure.mean) ** 3

    def wave(x: np.ndarray) -> np.ndarray:
        return np.cos(x.reshape(-1, dimension) @ np.arange(1, dimension + 1))

    parts = [measure.mean, measure.covariance.ravel(), measure.integrate(third), [measure.integrate(wave)]]
    return np.concatenate(parts)


def worst_moment(name: str, measures: list[Measure]) -> float:
    expected = np.array(PROBLEMS[name]["moments"])
    return float(np.abs(np.array([moments(measure) for measure in measures]) - expected).max())


def worst_density(name: str, measure: Measure) -> float:
    case = PROBLEMS[name]
    return float(np.abs(measure.evaluate(np.array(case["points"])) - case["density"]).max() / case["peak"])


@pytest.mark.parametrize("name", NOISELESS)
def test_characteristics_have_eleven_digits(name):
    measures = solved(name, {"kind": "characteristics"})
    assert worst_moment(name, measures) < 1e-11 + PROBLEMS[name]["accuracy"]
    assert worst_density(name, measures[-1]) < 1e-10
