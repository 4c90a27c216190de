"""Finite volumes between walls, with noise: drift 1 on [0, 1] from a uniform law.

The reference is the mass below x, `F' = D F'' - F_x` with F(0) = 0 and F(1) = 1, collocated in Chebyshev points and
integrated by SciPy's Radau: walls are values there, and nothing is shared with cells.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Chebyshev
from scipy.integrate import solve_ivp

import mfpde
from mfpde.contracts.solver import State
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration
from mfpde.typing import Float

KAPPA, NODES, UNTIL = 4.0, 40, 0.1


def _density(time: float) -> Chebyshev:
    """As a polynomial on [0, 1]."""
    k = np.arange(NODES + 1)
    x, signs = 0.5 * (1.0 - np.cos(np.pi * k / NODES)), (-1.0) ** k
    signs[[0, -1]] *= 2.0
    slope = np.outer(signs, 1.0 / signs) / (x[:, None] - x + np.eye(NODES + 1))
    slope -= np.diag(slope.sum(axis=1))
    rate = slope @ slope / KAPPA - slope
    inner = rate[1:-1, 1:-1]
    found = solve_ivp(
        lambda _, mass: inner @ mass + rate[1:-1, -1], (0.0, time), x[1:-1], method="Radau", rtol=1e-10, atol=1e-12
    )
    return Chebyshev.fit(x, np.concatenate([[0.0], found.y[:, -1], [1.0]]), NODES, domain=[0, 1]).deriv()


def _begun(count: int, tolerance: float) -> FiniteVolumeIntegration:
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 0, "V": 0},
            "drift": {"kind": "constant", "value": [1.0]},
            "noise": {"kappa": KAPPA},
            "initial": {"kind": "uniform", "box": [[0, 1]]},
            "time": {"until": 2.0},
            "solver": {"kind": "finite-volume", "cells": count, "box": [[0, 1]], "tolerance": tolerance},
        }
    )
    run = problem.solver.start(problem.posed())
    assert isinstance(run, FiniteVolumeIntegration)
    return run


def _carried(run: FiniteVolumeIntegration, time: float) -> Float:
    while run.advance(time, 10**6).state is State.UNDER_WAY:
        pass
    return run.solution.density.ravel()


def _middles(count: int) -> Float:
    return (np.arange(count) + 0.5) / count


@pytest.mark.parametrize(("side", "told"), [(3.0, True), (8.0, False)])
def test_a_box_that_noise_would_leave_is_told(side: float, told: bool, caplog: pytest.LogCaptureFixture) -> None:
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 0, "V": 0},
            "noise": {"kappa": 2.0},
            "initial": {"kind": "gaussian", "mean": 0, "covariance": 0.1},
            "time": {"until": 1.0},
            "solver": {"kind": "finite-volume", "cells": 64, "box": [[-side, side]]},
        }
    )
    problem.solver.start(problem.posed())
    assert ("let nothing through" in caplog.text) == told
    assert ("they need [[-6.2" in caplog.text) == told  # six times sqrt(0.1 + 2 / kappa)


def test_order_at_walls() -> None:
    exact = _density(UNTIL)
    errors = [np.abs(_carried(_begun(n, 1e-7), UNTIL) - exact(_middles(n))).max() for n in (24, 48)]
    assert errors[1] < 1.2e-3  # of densities up to 2
    assert np.log2(errors[0] / errors[1]) > 1.8


@pytest.mark.parametrize("count", [24, 48])
def test_a_stationary_law_stays(count: int) -> None:
    """`rho ~ e^{kappa x}`: fluxes through all faces are zero to order five, and nothing leaves."""
    run = _begun(count, 1e-7)
    law = np.exp(KAPPA * _middles(count))
    law *= count / law.sum()
    run.restore({**run.state(), "density": law.reshape(1, 1, -1)})
    moved = np.abs(_carried(run, 2.0) - law).max() / law.max()
    assert moved < (1e-5 if count == 24 else 4e-7)
    assert run.residual() < 1e-5
    assert abs(run.solution.density.sum() / count - 1.0) < 1e-13
