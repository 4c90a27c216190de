"""Characteristics against the independent program on the line and the plane (reference.flat, kept in flat.json)."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde

STORED = json.loads((Path(__file__).parents[1] / "reference" / "flat.json").read_text(encoding="utf-8"))
WITHOUT_NOISE = {case["name"]: case for case in STORED["problems"] if "noise" not in case["problem"]}
TOLERANCE = 1e-13
#: two seconds; the same law with the transposed matrix takes one
LONG = {"contracting-spots"}


def moments(measure):
    """As in the table: mean, covariance, third central moments, mean of cos(x_1 + 2 x_2)."""
    dimension = measure.mean.size
    third = measure.integrate(lambda x: (x.reshape(-1, dimension) - measure.mean) ** 3)
    wave = measure.integrate(lambda x: np.cos(x.reshape(-1, dimension) @ np.arange(1, dimension + 1)))
    return np.concatenate([measure.mean, measure.covariance.ravel(), third, [wave]])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in WITHOUT_NOISE]
)
def test_moments_and_densities(name):
    case = WITHOUT_NOISE[name]
    time = {"until": case["times"][-1], "save_at": case["times"]}
    solver = {"kind": "characteristics", "tolerance": TOLERANCE}
    run = mfpde.solve(mfpde.Problem.from_dict({**case["problem"], "solver": solver, "time": time}))
    allowed = case["accuracy"] + 10 * TOLERANCE
    measures = [run.measure(int(index)) for index in np.searchsorted(run.times, case["times"])]
    for measure, wanted in zip(measures, case["moments"], strict=True):
        assert np.abs(moments(measure) - wanted).max() < allowed * max(1.0, np.abs(wanted).max())
    wanted = np.array(case["density"])
    assert np.abs(measures[-1].evaluate(case["points"]) - wanted).max() < allowed * wanted.max()
