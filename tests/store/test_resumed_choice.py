"""A run whose solver was chosen on account of its end goes on with that solver."""

import pytest

import mfpde


@pytest.mark.long
def test_a_resumed_run_keeps_the_solver_that_auto_took(tmp_path):
    data = {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "softmax", "beta": 1},
        "initial": {"kind": "density", "expression": "1 + 0.9*cos(theta)"},
        "solver": {"kind": "auto", "tolerance": 1e-4},
        "time": {"until": 9, "save": False},
    }
    file = tmp_path / "run.h5"
    run = mfpde.solve(mfpde.Problem.from_dict(data), output=file)
    assert run.outcome.message.startswith("auto took characteristics: spectral ends at t = ")
    assert mfpde.load(file).problem.solver.kind == "characteristics"
    resumed = mfpde.solve(mfpde.Problem.from_dict({**data, "time": {"until": 9.5, "save": False}}), file, resume=True)
    assert (resumed.outcome.kind, resumed.times[-1]) == ("finished", 9.5)
