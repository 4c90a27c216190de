"""Resuming looks for nothing that the start has found: no pilots, no box, no nodes."""

import pytest
from invariant.everywhere import interrupted

import mfpde.run_loop
from mfpde.solvers.characteristics import integration as characteristics
from mfpde.solvers.finite_volume import setup

LINE = {"kind": "gaussian", "mean": 0.5, "covariance": 1}
SOFTMAX = {"kind": "softmax", "A": 1, "V": -1}
SEARCHES = [
    (setup, "enough_cells"),
    (setup, "box_of_run"),
    (setup, "discretised"),
    (characteristics, "chosen_rule"),
]
PROBLEMS = {
    "cells": {"solver": {"kind": "finite-volume"}},
    "box": {"solver": {"kind": "finite-volume", "cells": 64, "frame": "static"}},
    "nodes": {"solver": {"kind": "characteristics"}},
    "tails": {
        "solver": {"kind": "characteristics", "tolerance": 1e-6},
        "initial": {"kind": "mixture", "components": [{**LINE, "mean": -1}, {**LINE, "covariance": 0.5}]},
    },
}


def problem(name: str) -> mfpde.Problem:
    time = {"until": 0.4, "save_every": 0.1}
    block = {"geometry": {"kind": "line"}, "attention": SOFTMAX, "initial": LINE, "time": time}
    return mfpde.Problem.from_dict({**block, **PROBLEMS[name]})


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_nothing_is_looked_for_again(name, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    interrupted(problem(name), path)
    with monkeypatch.context() as searching:
        for module, search in SEARCHES:
            searching.setattr(module, search, _fail)
        resumed = mfpde.solve(problem(name), path, resume=True)
    whole = mfpde.solve(problem(name))
    assert resumed.outcome == whole.outcome
    for field, rows in whole.stored.items():
        assert (resumed.stored[field][-1] == rows[-1]).all(), field


def _fail(*_: object, **__: object) -> None:
    raise AssertionError("a resumed run searches")


def test_the_initial_measure_is_made_once(monkeypatch):
    made = []
    whole = mfpde.Equation.initial_measure

    def counted(equation):
        made.append(equation)
        return whole(equation)

    monkeypatch.setattr(mfpde.Equation, "initial_measure", counted)
    compare = {"kind": "gaussian-closed-form", "distance": "mean"}
    task = mfpde.Problem.from_dict({**problem("cells").canonical(), "compare": compare, "observe": ["mean"]})
    assert mfpde.solve(task).agreement.passed
    assert len(made) == 1
