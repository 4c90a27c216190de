"""Noise in a box at rest, integrated exactly in cosines: order at walls, agreement with explicit steps, resume."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mfpde
from mfpde.equation import InitialValueProblem
from mfpde.solvers.finite_volume import noise_steps
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.frames import Static
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem, Scheme
from mfpde.typing import Float

KAPPA = 4.0
PLANE: dict[str, Any] = {
    "geometry": {"kind": "plane"},
    "attention": {"kind": "softmax", "A": [[1, 0.3], [0, 1]], "V": -0.5},
    "noise": {"kappa": 10},
    "initial": {"kind": "gaussian", "mean": [0.3, 0], "covariance": [[0.5, 0.1], [0.1, 0.4]]},
    "solver": {"kind": "finite-volume", "cells": [64, 64], "frame": "static"},
    "time": {"until": 0.4, "save": False},
}


def _law_between_walls(count: int, lifted: bool) -> Float:
    """The stationary density of drift 1 on [0, 1] that the cells have: the null vector of their rates."""
    equation = mfpde.Equation(geometry=mfpde.Line(), drift={"kind": "constant", "value": [1.0]}, noise={"kappa": KAPPA})
    grid = Grid(np.zeros(1), np.ones(1), (count,), gaussian=False)
    cosines, system = Cosines(grid), CellSystem(equation, grid, Static(), Scheme(9, closed=False, walls=True))
    columns = []
    for density in np.eye(count)[:, None, None, :]:
        rates = system.rhs(0.0, Solution(density, np.zeros((1, 1)), np.ones((1, 1, 1))), spreads=False)
        change = -np.diff(rates.fluxes.along, axis=2)
        change += cosines.values(cosines.rates(np.full((1, 1), 1 / KAPPA)) * cosines.coefficients(density))
        if lifted:
            change += cosines.lifting(density, rates.speeds)
        columns.append(change.ravel())
    matrix = np.array(columns).T
    assert np.abs(matrix.sum(axis=0)).max() < 1e-9 * np.abs(matrix).max()  # nothing leaves
    law = np.linalg.svd(matrix)[2][-1]
    return np.asarray(law * count / law.sum(), dtype=np.float64)


def _error(count: int, lifted: bool = True) -> float:
    x = (np.arange(count) + 0.5) / count
    exact = KAPPA * np.exp(KAPPA * x) / np.expm1(KAPPA)
    return float(np.abs(_law_between_walls(count, lifted) - exact).max())


def test_the_stationary_law_at_a_wall_is_of_second_order() -> None:
    coarse, fine = _error(24), _error(48)
    assert fine < 4e-3
    assert np.log2(coarse / fine) > 1.8
    assert _error(48, lifted=False) > 5 * fine


def test_exact_steps_follow_the_gaussian_under_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    run = mfpde.solve(mfpde.Problem.from_dict(PLANE))
    closed = mfpde.solve(mfpde.Problem.from_dict({**PLANE, "solver": {"kind": "gaussian"}})).measure(-1)
    assert run.provenance["statistics"]["exact"] > 0
    assert run.density[-1].min() >= 0.0
    assert abs(run.density[-1].sum() / run.density[0].sum() - 1.0) < 1e-13
    assert np.abs(run.measure(-1).mean - closed.mean).max() < 1e-7
    assert np.abs(run.measure(-1).covariance - closed.covariance).max() < 1e-6
    monkeypatch.setattr(noise_steps.NoiseSteps, "limits", lambda *_: None)
    explicit = mfpde.solve(mfpde.Problem.from_dict(PLANE))
    assert explicit.provenance["statistics"]["exact"] == 0
    assert np.abs(run.density[-1] - explicit.density[-1]).max() < 1e-5 * explicit.density[-1].max()  # both promises


def test_decay_of_a_cosine_is_exact() -> None:
    grid = Grid(np.zeros(2), np.array([2.0, 1.0]), (12, 10), gaussian=False)
    cosines, (x, y) = Cosines(grid), grid.coordinates
    wave = (np.cos(1.5 * np.pi * x) * np.cos(2 * np.pi * y))[None]
    decayed = cosines.values(np.exp(cosines.rates(np.full((1, 2), 0.01))) * cosines.coefficients(wave))
    assert np.abs(decayed - np.exp(-0.01 * 6.25 * np.pi**2) * wave).max() < 1e-14


def test_a_run_goes_on_bit_for_bit() -> None:
    task = InitialValueProblem(mfpde.Problem.from_dict(PLANE).equation, 0.4)
    solver = mfpde.Problem.from_dict(PLANE).solver
    whole = solver.start(task)
    whole.advance(0.2, 10**9)
    state = whole.state()
    resumed = solver.resume(task, state)
    for run in (whole, resumed):
        run.advance(0.4, 10**9)
    assert whole.statistics()["exact"] > 0
    assert resumed.statistics()["exact"] == whole.statistics()["exact"]
    assert all(np.array_equal(part, resumed.state()[name]) for name, part in whole.state().items())


def test_a_fine_line_takes_as_many_steps_as_accuracy_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes with h |L| up to 6000 follow the others; stabilised steps, of order two, are twenty times as many."""
    given = {
        **PLANE,
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": -0.5},
        "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5},
        "solver": {"kind": "finite-volume", "cells": 1024, "frame": "static"},
        "time": {"until": 2.0, "save": False},
    }
    run = mfpde.solve(mfpde.Problem.from_dict(given))
    assert run.provenance["statistics"]["exact"] > 0
    assert run.provenance["statistics"]["evaluations"] < 700
    assert run.density[-1].min() >= 0.0
    assert abs(run.density[-1].sum() / run.density[0].sum() - 1.0) < 1e-13
    closed = mfpde.solve(mfpde.Problem.from_dict({**given, "solver": {"kind": "gaussian"}})).measure(-1)
    x = np.linspace(-3, 3, 61)
    exact = np.exp(-0.5 * (x - closed.mean[0]) ** 2 / closed.covariance[0, 0])
    exact /= np.sqrt(2 * np.pi * closed.covariance[0, 0])
    assert np.abs(run.measure(-1).evaluate(x[:, None]) - exact).max() < 1e-10


def test_what_exact_steps_have_seen_is_kept() -> None:
    """Tails that matter keep them from being taken until the next look."""
    problem = mfpde.Problem.from_dict(PLANE)
    here, again = (problem.solver.start(problem.posed()) for _ in range(2))
    steps, solution = here._noise_steps, here.solution
    asked = {"time": 0.0, "solution": solution, "rates": here._present_rates(), "number": 1, "promised": 1e-5}
    assert steps.limits(**{**asked, "number": 0}) is not None
    steps._unseen = 0.0
    again.restore({name: np.array(value) for name, value in here.state().items()})
    assert again._noise_steps.limits(**asked) is None
    assert again._noise_steps.limits(**{**asked, "number": 16}) is not None
