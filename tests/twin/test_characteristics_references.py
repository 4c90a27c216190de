"""Characteristics against the independent program on the line and the plane (reference.flat, kept in flat.json)."""

import json
from pathlib import Path

import numpy as np
import pytest
from reference.flat import moments

import mfpde
from mfpde.contracts.solver import State

STORED = json.loads((Path(__file__).parents[1] / "reference" / "flat.json").read_text(encoding="utf-8"))
WITHOUT_NOISE = {case["name"]: case for case in STORED["problems"] if "noise" not in case["problem"]}


def carry(solution, target):
    progress = solution.advance(target, 1_000_000_000)
    while progress.state is State.UNDER_WAY:
        progress = solution.advance(target, 1_000_000_000)
    assert progress.state is State.REACHED, progress


@pytest.mark.parametrize("name", WITHOUT_NOISE)
def test_moments_and_densities(name):
    case, tolerance = WITHOUT_NOISE[name], 1e-11
    blocks = {"solver": {"kind": "characteristics", "tolerance": tolerance}, "time": {"until": case["times"][-1]}}
    task = mfpde.Problem.from_dict({**case["problem"], **blocks})
    solution, allowed = task.solver.start(task.posed()), case["accuracy"] + 0.1 * tolerance
    for time, wanted in zip(case["times"], case["moments"], strict=True):
        carry(solution, time)
        found = np.array(moments(*solution.measure().nodes()))
        assert np.abs(found - wanted).max() < allowed * max(1.0, np.abs(wanted).max())
    wanted = np.array(case["density"])
    assert np.abs(solution.measure().evaluate(case["points"]) - wanted).max() < allowed * wanted.max()
