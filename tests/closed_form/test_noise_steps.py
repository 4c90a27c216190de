"""Noise integrated exactly, in cosines where cells rest and in Hermite modes where they move: order at walls, closed
forms, an independent program, agreement with explicit steps, resume, threads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import mfpde
from mfpde.equation import InitialValueProblem
from mfpde.solvers.finite_volume import noise_steps
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.diagnostics import mass_at_walls
from mfpde.solvers.finite_volume.frames import Static
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.scheme import STAGGERED, Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.finite_volume.weighted_modes import BoxModes, HermiteModes
from mfpde.transform import threads
from mfpde.typing import Float

REFERENCES = Path(__file__).parents[1] / "reference"
PROBLEMS = [
    each
    for name in ("flat.json", "hard.json")
    for each in json.loads((REFERENCES / name).read_text(encoding="utf-8"))["problems"]
]
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


def test_slopes_at_walls_go_by_what_flows_there(random: np.random.Generator) -> None:
    """By its value at the wall, exact for parabolas; alike at both walls, and along both axes."""
    line, x = Cosines(Grid(np.zeros(1), np.ones(1), (16,), gaussian=False)), (np.arange(16) + 0.5) / 16
    flux = (3.0 - 4.0 * x + 5.0 * x**2)[None, None]
    straight = (3.0 + x)[None, None]  # the same at 0 and 1
    still = np.ones((1, 1, 1, 16))
    lifted = line.lifting(flux, still)
    assert np.abs(lifted - line.lifting(straight, still)).max() < 1e-12 * np.abs(lifted).max()
    assert np.abs(line.lifting(flux[..., ::-1], -still) - lifted[..., ::-1]).max() < 1e-12 * np.abs(lifted).max()
    plane = Cosines(Grid(np.zeros(2), np.ones(2), (16, 16), gaussian=False))
    density, speeds = random.random((1, 16, 16)), random.random((1, 2, 16, 16))
    rows = [line.lifting(density[:, i, None], speeds[:, 1, i][:, None, None])[0, 0] for i in range(16)]
    columns = [line.lifting(density[:, None, :, j], speeds[:, 0, :, j][:, None, None])[0, 0] for j in range(16)]
    assert np.abs(plane.lifting(density, speeds)[0] - np.array(rows) - np.array(columns).T).max() < 1e-11


def test_mass_at_walls_is_not_for_cosines(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        **PLANE,
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 1, "V": -0.5},
        "initial": {"kind": "uniform", "box": [[-1, 1]]},
        "solver": {"kind": "finite-volume", "cells": 64, "box": [[-1, 1]]},
    }
    problem = mfpde.Problem.from_dict(given)
    run = problem.solver.start(problem.posed())
    asked = {"time": 0.0, "solution": run.solution, "rates": run._present_rates(), "number": 0}
    with monkeypatch.context() as without:
        without.setattr(noise_steps, "box_modes", lambda *_: None)
        run._noise_steps._next_modes = 0
        run._noise_steps._modes = Cosines(run.grid)
        assert run._noise_steps.limits(**asked, promised=1e-5) is None
        assert run._noise_steps.limits(**asked, promised=1.0) is not None
    run._noise_steps._next_modes = 0
    assert run._noise_steps.limits(**asked, promised=1e-5) is not None
    assert isinstance(run._noise_steps._modes, BoxModes)


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


def test_sums_over_cells_differ_from_integrals_at_walls() -> None:
    """Of e^x on [0, 1], and of e^{x + 2y}, by their integrals."""
    errors = []
    for count in (40, 80):
        x = (np.arange(count) + 0.5) / count
        lost = 1.0 - np.exp(x).sum() / count / np.expm1(1.0)
        # slopes add up here, as moduli, where the integral of e^x has their difference
        wanted = lost * (np.e + 1.0) / (np.e - 1.0)
        errors.append(abs(mass_at_walls(np.exp(x)[None, None]) / wanted - 1.0))
        both = mass_at_walls(np.exp(2.0 * x[:, None] + x)[None])
        across = 2.0 * (np.exp(2.0) + 1.0) / np.expm1(2.0)
        assert both == pytest.approx((across * 2.0 + (np.e + 1.0) / (np.e - 1.0)) / (24.0 * count**2), rel=0.02)
    assert errors[0] < 1e-2
    assert errors[1] < 0.3 * errors[0]


def test_decay_of_a_cosine_is_exact() -> None:
    grid = Grid(np.zeros(2), np.array([2.0, 1.0]), (12, 10), gaussian=False)
    cosines, (x, y) = Cosines(grid), grid.coordinates
    wave = (np.cos(1.5 * np.pi * x) * np.cos(2 * np.pi * y))[None]
    decayed = cosines.values(np.exp(cosines.rates(np.full((1, 2), 0.01))) * cosines.coefficients(wave))
    assert np.abs(decayed - np.exp(-0.01 * 6.25 * np.pi**2) * wave).max() < 1e-14


#: what moves with frames of its own: two bumps on the line
MOVING: dict[str, Any] = {
    "geometry": {"kind": "line"},
    "attention": {"kind": "l2", "Q": 1, "K": 1, "V": 0.5},
    "noise": {"kappa": 1},
    "initial": {
        "kind": "mixture",
        "components": [
            {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 0.4},
            {"kind": "gaussian", "mean": 1.5, "covariance": 0.5, "weight": 0.6},
        ],
    },
    "solver": {"kind": "finite-volume", "cells": 160},
    "time": {"until": 1.0, "save": False},
}


#: what comes to the walls of a box
WALLS: dict[str, Any] = {
    **MOVING,
    "attention": {"kind": "softmax", "A": 1, "V": 1},
    "noise": {"kappa": 4},
    "initial": {"kind": "gaussian", "mean": 0.2, "covariance": 0.01},
    "solver": {"kind": "finite-volume", "cells": 160, "box": [[-1, 1]]},
}


@pytest.mark.parametrize("given", [PLANE, MOVING, WALLS], ids=["cosines", "hermite", "walls"])
def test_a_run_goes_on_bit_for_bit(given: dict[str, Any]) -> None:
    until = given["time"]["until"]
    task = InitialValueProblem(mfpde.Problem.from_dict(given).equation, until)
    solver = mfpde.Problem.from_dict(given).solver
    whole = solver.start(task)
    whole.advance(0.5 * until, 10**9)
    state = whole.state()
    resumed = solver.resume(task, state)
    for run in (whole, resumed):
        run.advance(until, 10**9)
    assert whole.statistics()["exact"] > 0
    assert resumed.statistics()["exact"] == whole.statistics()["exact"]
    assert all(np.array_equal(part, resumed.state()[name]) for name, part in whole.state().items())


def test_hermite_functions_decay_as_they_do() -> None:
    """`He_n g` at the rate -n K, on cells of different sizes along both axes."""
    grid = Grid(np.full(2, -9.0), np.array([9.0, 9.5]), (128, 144), gaussian=True)
    modes, (x, y) = HermiteModes(grid, STAGGERED[9]), grid.coordinates
    wave = ((x**3 - 3 * x) * (y**2 - 1) * np.multiply.outer(*grid.weights))[None]
    decay = np.exp(modes.rates(np.array([[0.1, 0.3]])))
    decayed = modes.values(decay * modes.coefficients(wave))
    assert np.abs(decayed - np.exp(-3 * 0.1 - 2 * 0.3) * wave).max() < 2e-9
    steady = np.multiply.outer(*grid.weights)[None]
    again = modes.values(decay * modes.coefficients(steady))
    assert (np.abs(again - steady) / modes.scale).max() < modes.floor * (steady / modes.scale).max()


@pytest.mark.parametrize("name", ["noisy-bumps", "noisy-masked", pytest.param("noisy-spots", marks=pytest.mark.long)])
def test_moving_frames_follow_an_independent_program(name: str) -> None:
    """On few steps; conductivities change by factors in a run, and on the plane have parts beside the diagonal."""
    entry = next(each for each in PROBLEMS if each["name"] == name)
    times, line = entry["times"], entry["problem"]["geometry"]["kind"] == "line"
    given = {**entry["problem"], "solver": {"kind": "finite-volume", "cells": 160 if line else 64}}
    run = mfpde.solve(mfpde.Problem.from_dict({**given, "time": {"until": times[-1], "save_at": times}}))
    statistics = run.provenance["statistics"]
    assert statistics["exact"] > 0.6 * statistics["steps"]
    assert statistics["steps"] < 40
    for index, expected in zip(np.searchsorted(run.times, times), entry["moments"], strict=True):
        measure = run.measure(int(index))
        found = np.concatenate([measure.mean, measure.covariance.ravel()])
        within_a_step = 1e-9 if index < len(run.times) - 1 else 1e-10  # where a tenth of the promise, 1e-8, is allowed
        assert np.abs(found - expected[: found.size]).max() < (within_a_step if line else 2e-8)
        assert abs(measure.mass - 1.0) < 1e-13
        assert min(panel.masses.min() for panel in measure.panels) >= 0.0


def test_threads_do_not_matter_in_moving_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_MIN_NUMBERS_TO_SPLIT", 0)
    states = []
    for count in (1, 2):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        with threadpool_limits(count, user_api="blas"):
            problem = mfpde.Problem.from_dict(MOVING)
            run = problem.solver.start(problem.posed())
            run.advance(0.3, 10**9)
        assert run.statistics()["exact"] > 0
        states.append(run.state())
    assert all(np.array_equal(part, states[1][name]) for name, part in states[0].items())


def test_loose_tolerances_take_stabilised_steps() -> None:
    """400 cells at 1e-4: cosines of a number that is no power of two, and of too many for matrices, cost more."""
    given = {**PLANE, "geometry": {"kind": "line"}, "attention": {"kind": "softmax", "A": 1, "V": -0.5}}
    given |= {"initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5}, "time": {"until": 2.0, "save": False}}
    solver = {"kind": "finite-volume", "cells": 400, "frame": "static", "tolerance": 1e-4}
    statistics = mfpde.solve(mfpde.Problem.from_dict({**given, "solver": solver})).provenance["statistics"]
    assert statistics["stiff"] > statistics["exact"]


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
    steps._unseen, steps._noticed, steps._next_look, steps._next_modes = 0.0, 3.0, 16, 5
    steps._doubt = 0.5
    again.restore({name: np.array(value) for name, value in here.state().items()})
    assert again._noise_steps.limits(**asked) is None
    assert (again._noise_steps._noticed, again._noise_steps._next_modes, again._noise_steps._doubt) == (3.0, 5, 0.5)
    steps._failed = True  # another look at once
    again.restore({name: np.array(value) for name, value in here.state().items()})
    assert again._noise_steps.limits(**asked) is not None
    again.restore({name: np.array(value) for name, value in here.state().items()})
    steps._failed = False
    assert again._noise_steps.limits(**{**asked, "number": 16}) is not None


def test_exact_steps_go_on_soon_after_ripples_that_the_drift_noticed(monkeypatch):
    """Strong noise at rest from a law of thin tails, as explicit steps have it on the same cells."""
    given = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "l2", "Q": 1, "K": 1, "V": -1},
            "initial": {"kind": "density", "expression": "exp(-x**4)"},
            "noise": {"kappa": 0.1},
            "solver": {"kind": "finite-volume", "cells": 256, "frame": "static"},
            "time": {"until": 1.0, "save": False},
        }
    )
    run = mfpde.solve(given)
    counts = run.provenance["statistics"]
    assert counts["exact"] > 0.3 * counts["steps"]
    monkeypatch.setattr(noise_steps.NoiseSteps, "limits", lambda *_: None)
    explicit = mfpde.solve(given)
    assert explicit.provenance["statistics"]["exact"] == 0
    assert run.measure(-1).covariance[0, 0] == pytest.approx(explicit.measure(-1).covariance[0, 0], rel=1e-9)


def test_tails_that_softmax_sees_go_on_within_the_cells_and_beyond(monkeypatch):
    """Strong noise: tilts reach 25 deviations far, where no mode knows a density. Steps that integrate noise exactly
    are as far from explicit ones as tails beyond the cells are told to matter, and a quarter as many."""
    parts = [
        {"kind": "gaussian", "mean": [-1.0, 0.0], "covariance": [[0.3, 0.05], [0.05, 0.4]], "weight": 0.4},
        {"kind": "gaussian", "mean": [1.5, 0.3], "covariance": [[0.5, 0.0], [0.0, 0.3]], "weight": 0.6},
    ]
    given = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "plane"},
            "attention": {"kind": "softmax", "A": 1, "V": -1},
            "noise": {"kappa": 0.1},
            "initial": {"kind": "mixture", "components": parts},
            "solver": {"kind": "finite-volume", "cells": 72},
            "time": {"until": 0.02, "save": False},
        }
    )
    run = mfpde.solve(given)
    told, counts = run.outcome.accuracy, run.provenance["statistics"]
    assert counts["exact"] > 0.8 * counts["steps"]
    assert run.density[-1].min() > 0.0
    assert abs(sum(panel.values.sum() * panel.volume for panel in run.measure(-1).panels) - 1.0) < 1e-13
    monkeypatch.setattr(noise_steps.NoiseSteps, "limits", lambda *_: None)
    explicit = mfpde.solve(given)
    assert explicit.provenance["statistics"]["steps"] > 4 * counts["steps"]
    apart = run.measure(-1).covariance - explicit.measure(-1).covariance
    assert np.abs(apart).max() < told.estimate


def test_boxes_grow_with_the_tails_that_they_have() -> None:
    grid = Grid(-4.0 * np.ones(2), 4.0 * np.ones(2), (16, 20), gaussian=True)
    longer = grid.longer(np.array([[2, 0], [0, 3]]))
    density, wanted = (np.multiply.outer(*each.weights)[None] for each in (grid, longer))
    found = grid.lengthened(density, np.array([[2, 0], [0, 3]]), longer)
    assert np.abs(found / wanted - 1.0).max() < 1e-13
    assert grid.lengthened(density, np.array([[2, 0], [0, 3]]), None)[0, :2].max() == 0.0


def test_modes_that_do_not_pay_are_not_found() -> None:
    """Eigenvectors of 1024 cells take longer than a whole run in usual steps."""
    given = {**PLANE, "geometry": {"kind": "line"}, "attention": {"kind": "softmax", "A": 1, "V": -0.5}}
    given |= {"initial": {"kind": "gaussian", "mean": 0.3, "covariance": 0.5}, "noise": {"kappa": 1e4}}
    problem = mfpde.Problem.from_dict({**given, "solver": {"kind": "finite-volume", "cells": 1024}})
    run: Any = problem.solver.start(problem.posed())
    run.advance(0.4, 10**9)
    modes = run._noise_steps._modes
    assert run.counts()["steps"] > 0
    assert run._system.knows_modes(modes)
    assert "_vectors" not in vars(modes)
