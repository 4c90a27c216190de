"""Short runs by characteristics, and what they are compared with."""

import numpy as np

import mfpde
from mfpde.contracts.solver import State

LINE, PLANE, CIRCLE = {"kind": "line"}, {"kind": "plane"}, {"kind": "circle"}
A, V = np.array([[1.0, 0.5], [-0.3, 0.8]]), np.array([[0.2, -0.4], [0.1, -0.6]])


def problem(geometry, attention, initial, until=1.0, tolerance=1e-11, solver=(), **blocks):
    data = {
        "geometry": geometry,
        "initial": initial,
        "attention": attention,
        "time": {"until": until, "save_every": until / 3},
    }
    return mfpde.Problem.from_dict(
        {**data, "solver": {"kind": "characteristics", "tolerance": tolerance, **dict(solver)}, **blocks}
    )


def solve(*arguments, **blocks):
    run = mfpde.solve(problem(*arguments, **blocks))
    assert run.outcome.complete, run.outcome
    return run


def gauss(low, high, count=60):
    x, w = np.polynomial.legendre.leggauss(count)
    return 0.5 * (low + high) + 0.5 * (high - low) * x, 0.5 * (high - low) * w


def carry(solution, target, budget=1_000_000_000):
    progress = solution.advance(target, budget)
    while progress.state is State.UNDER_WAY:
        progress = solution.advance(target, budget)
    return progress
