"""What runs say about their work is what they did."""

import numpy as np
import pytest

import mfpde
from mfpde.contracts import State
from mfpde.solvers.finite_volume.line_system import LineSystem
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.stepping.adaptive_ode import March, Verdict


@pytest.mark.parametrize("kappa", [np.inf, 4.0], ids=["quiet", "noisy"])
def test_evaluations_of_cells(kappa, monkeypatch):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": -0.5},
            "noise": {"kappa": kappa},
            "initial": {"kind": "density", "expression": "exp(-x**4)"},
            "solver": {"kind": "finite-volume", "cells": 64},
            "time": {"until": 0.3},
        }
    )
    compiled = problem.solver.start(problem.posed())
    calls, rates = [], CellSystem.rhs
    monkeypatch.setattr(LineSystem, "fits", lambda *_: False)
    monkeypatch.setattr(
        CellSystem, "rhs", lambda system, *given, **asked: calls.append(given) or rates(system, *given, **asked)
    )
    solution = problem.solver.start(problem.posed())
    calls.clear()
    assert solution.statistics()["evaluations"] == 1  # that of the beginning
    while solution.advance(0.3, 10**6).state is State.UNDER_WAY:
        pass
    assert solution.statistics()["evaluations"] == 1 + len(calls)
    if kappa < np.inf:  # what exact steps of noise save depends on what an evaluation costs, in compiled code or not
        return
    while compiled.advance(0.3, 10**6).state is State.UNDER_WAY:
        pass
    assert compiled.statistics()["evaluations"] == solution.statistics()["evaluations"]


def test_whoever_watches_a_run_costs_it_no_evaluations(monkeypatch):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": -0.5},
            "initial": {"kind": "density", "expression": "exp(-x**4)"},
            "solver": {"kind": "finite-volume", "cells": 64},
            "time": {"until": 3},
        }
    )
    solution, asked, find = problem.solver.start(problem.posed()), [], LineSystem._call
    while solution.counts()["steps"] < 1:
        assert solution.advance(3, 1).state is State.UNDER_WAY
    monkeypatch.setattr(LineSystem, "_call", lambda *given: asked.append(given) or find(*given))
    counts = solution.counts()
    assert not asked
    assert counts.items() < solution.statistics().items()
    assert asked  # what tails do to drifts


def test_evaluations_of_a_march():
    calls = []

    def slope(time, state):
        calls.append(time)
        return -state * (1 + 0.5 * np.cos(20 * time))

    system = OrdinarySystem.of(slope)
    system.start = np.ones(2)
    march = March(system, 1e-10, 0.3)
    assert all(tried is not Verdict.VANISHED for tried in march.to(2, 1000))
    assert march.time >= 2
    assert march.counts["rejected"] > 0
    assert march.counts["evaluations"] == len(calls)
