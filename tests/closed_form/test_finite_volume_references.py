"""Finite volumes against the independent program of `tests/reference/flat.py`: 25 laws that are not Gaussian."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde

PROBLEMS = json.loads((Path(__file__).parents[1] / "reference" / "flat.json").read_text(encoding="utf-8"))["problems"]
EDGES = ("interval", "square", "disc")


def rough(entry):
    return entry["name"].endswith(EDGES)


@pytest.mark.parametrize("entry", PROBLEMS, ids=[entry["name"] for entry in PROBLEMS])
def test_moments_and_density(entry):
    line = entry["problem"]["geometry"]["kind"] == "line"
    problem = mfpde.Problem.from_dict(
        {
            **entry["problem"],
            "solver": {"kind": "finite-volume"},
            "time": {"until": entry["times"][-1], "save_at": entry["times"]},
        }
    )
    run = mfpde.solve(problem)
    allowed = 1e-4 if rough(entry) else 1e-9 if line else 1e-7
    for index, expected in zip(np.searchsorted(run.times, entry["times"]), entry["moments"], strict=True):
        measure = run.measure(int(index))
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        assert np.abs(found - expected[: found.size]).max() < allowed
        assert abs(measure.mass - 1) < 1e-13
    if rough(entry):
        assert (run.outcome.accuracy.kept, run.outcome.accuracy.cause) == (False, "edges")
    else:
        assert run.outcome.accuracy.kept
        density = run.measure(-1).evaluate(np.reshape(entry["points"], (-1, measure.mean.size)))
        assert np.abs(density - entry["density"]).max() < (1e-7 if line else 1e-5) * entry["peak"]
