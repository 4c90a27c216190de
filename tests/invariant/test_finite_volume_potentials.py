"""Potentials of sinkhorn in a step: from those of the stage before; cold where a step begins."""

import numpy as np
import pytest

import mfpde
from mfpde.attention import Velocity, sinkhorn
from mfpde.contracts.solver import State

BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 2},
        {"kind": "gaussian", "mean": 1.2, "covariance": 0.2},
    ],
}
LAWS = {
    "sinkhorn": {"kind": "sinkhorn", "A": 2, "V": -0.5},
    "masked": {"kind": "masked", "attention": {"kind": "sinkhorn", "A": 2, "V": -0.5}, "positions": [0.2, 0.7]},
}


def start(law):
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": LAWS[law],
            "initial": BUMPS,
            "solver": {"kind": "finite-volume", "cells": 48},
            "time": {"until": 1.0, "save": False},
        }
    )
    return problem.solver.start(problem.posed())


def carry(solution, target):
    while solution.advance(target, 10**6).state is State.UNDER_WAY:
        pass


@pytest.mark.parametrize("law", LAWS)
def test_stages_take_up_where_the_stage_before_has_ended(law, monkeypatch):
    balance, prepare, iterations = sinkhorn.balance, Velocity.prepare, []

    def counted(*given):
        found = balance(*given)
        iterations.append(found.iterations)
        return found

    def taken():
        solution = start(law)
        iterations.clear()
        solution.advance(1.0, 1)
        return sum(iterations), solution.measure()

    monkeypatch.setattr(sinkhorn, "balance", counted)
    warm, found = taken()
    monkeypatch.setattr(Velocity, "prepare", lambda self, measure, _: prepare(self, measure))
    cold, expected = taken()
    assert warm < 0.85 * cold
    assert np.abs(found.mean - expected.mean).max() < 1e-12
    assert np.abs(found.covariance - expected.covariance).max() < 1e-11


@pytest.mark.parametrize("law", LAWS)
def test_a_restored_run_goes_on_bit_for_bit(law):
    first, second = start(law), start(law)
    carry(first, 0.1)
    second.restore({name: array.copy() for name, array in first.state().items()})
    carry(first, 0.2)
    carry(second, 0.2)
    for name, array in first.state().items():
        assert np.array_equal(array, second.state()[name], equal_nan=True), name
