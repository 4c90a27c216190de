"""Whoever looks at a run does not change it, and sees what its state says."""

import numpy as np
import pytest

import mfpde
from mfpde.contracts import State

LINE = {
    "geometry": {"kind": "line"},
    "initial": {"kind": "uniform", "box": [[-1, 1.5]]},
    "time": {"until": 1},
}
SINKHORN = {"kind": "sinkhorn", "A": 1.5, "V": -0.6}
PROBLEMS = {
    "characteristics": {**LINE, "attention": SINKHORN, "solver": {"kind": "characteristics"}},
    "finite-volume": {
        **LINE,
        "attention": {"kind": "softmax", "A": 1.5, "V": -0.6},
        "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5},
        "solver": {"kind": "finite-volume", "frame": "static", "cells": 80},
    },
    "spectral": {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "softmax", "beta": 4},
        "noise": {"kappa": 5},
        "initial": {"kind": "von-mises", "direction": 1, "concentration": 2},
        "solver": {"kind": "spectral"},
        "time": {"until": 1},
    },
}


def carried(solution, *targets, look=id):
    for target in targets:
        while solution.advance(target, 20_000).state is State.UNDER_WAY:
            look(solution)
        look(solution)
    return solution


@pytest.mark.parametrize("kind", PROBLEMS)
def test_looks_leave_no_trace(kind):
    problem = mfpde.Problem.from_dict(PROBLEMS[kind])
    seen = []

    def look(solution):
        seen.append(solution.residual())
        solution.measure()
        solution.fields()
        assert solution.residual() == seen[-1]

    alone, watched, again = (problem.solver.start(problem.posed()) for _ in range(3))
    carried(alone, 0.2, 0.5)
    carried(watched, 0.2, 0.5, look=look)
    for name, array in alone.state().items():
        np.testing.assert_array_equal(array, watched.state()[name], err_msg=name)
    again.restore({**alone.state(), **alone.trail(0)})
    assert again.residual() == seen[-1]
