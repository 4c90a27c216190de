"""Uniform squares and discs without noise: characteristics, which `auto` takes, and cells that show their density."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.plotting.run_plot import portrait_of
from mfpde.registry import lookup

STORED = {
    case["name"]: case
    for store in ("flat", "hard")
    for case in json.loads((Path(__file__).parents[1] / "reference" / f"{store}.json").read_text("utf-8"))["problems"]
}

SPHERE = {
    "geometry": {"kind": "sphere"},
    "attention": {"kind": "softmax", "beta": 1},
    "initial": {"kind": "uniform"},
}


def solved(blocks, until, **more):
    return mfpde.solve(mfpde.Problem.from_dict({**blocks, **more, "time": {"until": until, "save_every": until}}))


@pytest.mark.parametrize("name", ["growing-square", "softmax-disc"])
def test_auto_takes_characteristics_and_says_why(name):
    case = STORED[name]
    run = solved(case["problem"], case["times"][-1])
    assert run.problem.solver.kind == "characteristics"
    assert "edges of the initial density" in run.outcome.message
    measure = run.measure(-1)
    found = np.concatenate([measure.mean, measure.covariance.ravel()])
    assert np.abs(found - case["moments"][-1][: found.size]).max() < 1e-8
    density = measure.evaluate(np.array(case["points"]))
    assert np.abs(density - case["density"]).max() < 1e-7 * case["peak"]


@pytest.mark.parametrize(
    "more",
    [
        {"noise": {"kappa": 5}},
        {"observe": ["box-leak"]},
        {"initial": {"kind": "gaussian", "mean": [0, 0], "covariance": 1}},
    ],
)
def test_auto_stays_with_finite_volumes_where_these_are_wanted(more):
    problem = mfpde.Problem.from_dict({**STORED["softmax-disc"]["problem"], **more, "time": {"until": 0.1}})
    assert mfpde.prepare.prepare(problem).solver.kind != "characteristics"


def test_cell_averages_of_a_disc_under_linear_attention():
    """`x = L x_0`: the averages over cells of the frame L are those of the disc over the cells of its own plane."""
    task = {**STORED["softmax-disc"]["problem"], "attention": {"kind": "linear", "A": [[1, 0.5], [0, 1]], "V": -1}}
    run = solved(task, 1.0, solver={"kind": "characteristics", "cells": 64, "tolerance": 1e-9})
    (panel,) = run.on_cells(-1).panels
    determinant = np.linalg.det(panel.lattice.matrix)
    exact = mfpde.Problem.from_dict(task).initial.on(mfpde.Plane()).cell_averages(mfpde.Lattice.of(panel.lattice.axes))
    assert np.abs(panel.values - exact / determinant).sum() * panel.volume < 2e-3
    assert run.density.shape == run.weight.shape == (2, 1, 64, 64)
    assert (run.density * run.weight).sum(axis=(1, 2, 3)) == pytest.approx([1, 1], abs=1e-13)
    assert type(portrait_of(run)).__name__ == "PlaneRun"


def test_cells_of_the_line_and_none_on_the_sphere():
    run = solved(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": 1},
            "initial": {"kind": "uniform", "box": [[-1, 1]]},
            "solver": {"kind": "characteristics", "cells": 64},
        },
        1.0,
    )
    volumes = solved({**run.problem.written(), "solver": {"kind": "finite-volume", "cells": 64}}, 1.0)
    assert np.abs(run.density[-1, 0] - volumes.density[-1, 0]).max() < 1e-3
    with pytest.raises(mfpde.ProblemError, match="line and the plane only"):
        lookup("solver", "characteristics")(cells=64).refusal(mfpde.Problem.from_dict(SPHERE).equation)


def test_kinks_on_faces_of_cells_are_told(random):
    """There cell averages are the point values, and nothing but the density between them shows the kinks."""
    case = STORED["softmax-tent"]
    run = solved(case["problem"], 1.0, solver={"kind": "finite-volume", "cells": 64, "tolerance": 1e-4})
    points = random.uniform([-1, -2], [1, 2], (4000, 2))
    exact = 0.5 * (1 - np.abs(points[:, 0])) * (1 - 0.5 * np.abs(points[:, 1]))
    at_first = np.abs(run.measure(0).evaluate(points) - exact).max() / 0.5
    in_the_end = np.abs(run.measure(-1).evaluate(np.array(case["points"])) - case["density"]).max() / case["peak"]
    assert run.outcome.accuracy.kept is False
    assert max(at_first, in_the_end) < 1.1 * run.outcome.accuracy.estimate < 2.0 * at_first
