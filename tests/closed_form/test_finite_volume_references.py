"""Finite volumes against the independent program of `tests/reference/flat.py`: 25 laws that are not Gaussian."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde

PROBLEMS = json.loads((Path(__file__).parents[1] / "reference" / "flat.json").read_text(encoding="utf-8"))["problems"]


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
    rough = entry["problem"]["initial"]["kind"] == "uniform" and not line
    allowed = 1e-4 if rough else 1e-9 if line else 1e-7
    for index, expected in zip(np.searchsorted(run.times, entry["times"]), entry["moments"], strict=True):
        measure = run.measure(int(index))
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        assert np.abs(found - expected[: found.size]).max() < allowed
        assert abs(measure.mass - 1) < 1e-13
    density = run.measure(-1).evaluate(np.reshape(entry["points"], (-1, measure.mean.size)))
    off, accuracy = np.abs(density - entry["density"]) / entry["peak"], run.outcome.accuracy
    if rough:  # some of the points lie where an edge has come to, most do not
        assert (accuracy.kept, accuracy.cause) == (False, "edges")
        assert 1e-3 < accuracy.estimate < 3 * off.max()
        assert np.median(off) < 2e-2
    else:
        assert accuracy.kept
        assert off.max() < (1e-7 if line else 1e-5)
