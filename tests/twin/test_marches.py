"""Compiled marches on the line, and steps that integrate noise exactly there, against what specifies them."""

from functools import cache

import numpy as np
import pytest
from scipy.fft import dct
from twin.test_compiled_systems import BUMPS, L2, QUARTIC, SOFTMAX, UNIFORM

import mfpde
from mfpde.solvers.finite_volume.control import ExactLimits, Plan
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.diagnostics import inverse_growth, mass_at_walls
from mfpde.solvers.finite_volume.exact_stages import take_exact_step
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.marching import Ahead
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps
from mfpde.solvers.finite_volume.stepping import Start
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.finite_volume.weighted_modes import BoxModes
from mfpde.solvers.kernels.line_exact import exact_room, transformed
from mfpde.solvers.steppers.dop853 import Dop853

PULL = {"expression": "exp(-r**2) - 0.6*exp(-r**2/4)", "external": "-x**4/4"}
SWARM = {"expression": "exp(-r**2) - 0.6*exp(-r**2/4)", "external": "cos(x)"}
BOX = {"cells": 60, "box": [[-3, 3]]}
MARCHES = {
    "bumps": (BUMPS, {"cells": 48}, SOFTMAX, None),
    "at rest": (QUARTIC, {"cells": 128, "frame": "static"}, L2, None),
    "noise": (BUMPS, {"cells": 48}, SOFTMAX, 5.0),
    "interaction": (BUMPS, {"cells": 48}, PULL, 5.0),
    "interaction at walls": (QUARTIC, BOX, PULL, 5.0),
    "walls": (QUARTIC, BOX, L2, None),
}
EXACT = {
    "moving": (BUMPS, {"cells": 96}, L2, 9.0),
    "moving, interaction": (BUMPS, {"cells": 96}, PULL, 9.0),
    "a power of two": (BUMPS, {"cells": 256, "frame": "static"}, SWARM, 3.0),
    "other cells": (BUMPS, {"cells": 250, "frame": "static"}, SWARM, 3.0),
    "a box": (UNIFORM, {"cells": 64, "box": [[-1, 1]]}, L2, 3.0),
    "a box, interaction": (UNIFORM, {"cells": 64, "box": [[-1, 1]]}, SWARM, 3.0),
    "in time": (BUMPS, {"cells": 96}, L2, {"times": [0.0, 0.1], "values": [4.0, 1.0], "interpolation": "linear"}),
}


def problem_of(case):
    initial, solver, law, kappa = {**MARCHES, **EXACT}[case]
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention" if "kind" in law else "interaction": law,
            "noise": {} if kappa is None else {"kappa": kappa},
            "initial": initial,
            "solver": {"kind": "finite-volume", **solver},
            "time": {"until": 1.0},
        }
    )


@cache
def begun(case):
    """An integration, of those of marches after a time in which boxes have grown, which nothing here moves."""
    problem = problem_of(case)
    run = problem.solver.start(problem.posed())
    if case in MARCHES:
        run.advance(0.1, 10**9)
    return run


def ahead_of(run, **more):
    given = {"target": 1.0, "steps": 6, "attempts": 40, "exact_work": np.inf, "wall_error": np.inf}
    return Ahead(**{**given, **more}, crowded=np.array([np.inf, np.inf]), grown=(np.inf, np.inf))


def begin(run):
    system, solution = run._system, run.solution
    rates = system.rhs(run.time, solution)
    return Start(run.time, solution, rates, system.roughness(solution, rates))


def by_single_steps(run, control, steps, exact=None):
    """What a march of so many steps is to do; the errors of the cells after each, and how many were tried."""
    system, start, told, tried = run._system, begin(run), [], 0
    while len(told) < steps:
        rates = start.rates
        plan = control.plan(start.time, 1.0, rates.outflow, rates.spreading, exact)
        if plan.stepper is not control.stepper:
            break
        tried, attempt = tried + 1, system.step(start, plan, control.tolerance)
        if control.judge(plan, attempt.error, attempt.limited):
            rates = system.rhs(plan.end, attempt.solution)
            start = Start(plan.end, attempt.solution, rates, system.roughness(attempt.solution, rates))
            told.append(
                (plan.length, plan.end, start.roughness, inverse_growth(start.solution, rates),
                 mass_at_walls(start.solution.density), start.solution.matrix.ravel())
            )  # fmt: skip
    return start, told, tried


@pytest.mark.parametrize("case", MARCHES)
@pytest.mark.parametrize("tolerance", [1e-7, 1e-3], ids=["short steps", "as long as is stable"])
def test_a_march_is_its_single_steps(case, tolerance):
    """To the last bit, and so is what controls them; what is told of them is what Python finds."""
    run = begun(case)
    mine, other = (type(run._control)(run._control.stepper, run._control.cfl, tolerance) for _ in range(2))
    for control in (mine, other):
        control.begin(0.01)
        control._stiff.length = control._exact.length = 1e-9  # neither of the others pays
    found = run._system.march(begin(run), mine, ahead_of(run))
    end, told, tried = by_single_steps(run, other, len(found.taken))
    assert len(found.taken) >= 2
    assert found.tried == tried
    for here, there in zip(found.solution, end.solution, strict=True):
        np.testing.assert_array_equal(here, there)
    np.testing.assert_array_equal(found.rates.speeds, end.rates.speeds)
    for name, kept in other.arrays().items():
        np.testing.assert_allclose(mine.arrays()[name], kept, rtol=1e-15)
    walls = run._system.scheme.walls
    for (taken, faults), (length, when, rough, growth, at_walls, frames) in zip(found.taken, told, strict=True):
        assert (taken.length, taken.end, taken.roughness) == (length, when, rough)
        assert faults.fluxes == rough
        assert taken.inverse_growth == growth
        assert taken.at_walls == pytest.approx(at_walls if walls else 0.0, rel=1e-12, abs=1e-17)
        assert (taken.least, taken.largest) == (np.abs(frames).min(), np.abs(frames).max())
    plain = CellSystem(problem_of(case).equation, run.grid, run._system.frame, run._system.scheme)
    assert run._system.residual(end.solution, found.rates) == run._system.residual(end.solution, end.rates)
    wanted = plain.residual(end.solution, end.rates)
    assert run._system.residual(end.solution, found.rates) == pytest.approx(wanted, rel=1e-9)
    assert (found.rates.told.residual < np.inf) == (len(found.taken) == 6)


def test_a_march_leaves_to_python_what_it_has_to_see():
    """Other schemes, targets, poles of the growth, crowded ends, walls that cosines do not fit."""
    run = begun("interaction")

    def steps(**more):
        control = type(run._control)(run._control.stepper, run._control.cfl, 1e-3)
        control.begin(more.pop("meant", 0.01))
        control._stiff.length = control._exact.length = more.pop("other", 1e-9)
        found = run._system.march(begin(run), control, ahead_of(run, **{"steps": 30, **more}))
        return 0 if found is None else len(found.taken)

    assert steps() == 30
    assert steps(attempts=4) == 4
    assert 1 <= steps(target=run.time + 0.004) < 30
    assert steps(meant=1.0) == 30
    assert steps(meant=1.0, other=1.0, exact_work=1e-9) == 0  # a long step of another scheme pays
    assert steps(meant=1e-20) == 0
    run = begun("interaction at walls")
    assert steps() == 30
    assert steps(wall_error=1e-30) == 1


def test_crowded_ends_are_told():
    run = begun("interaction")
    for bounds, crowded in (([1.0, 1.0], False), ([1.0, 0.0], True), ([0.0, 1.0], True)):
        control = type(run._control)(run._control.stepper, run._control.cfl, 1e-3)
        control.begin(0.01)
        given = Ahead(1.0, 5, 9, np.inf, np.inf, np.array(bounds), (np.inf, np.inf))
        found = run._system.march(begin(run), control, given)
        assert found.crowded == crowded
        assert len(found.taken) == (1 if crowded else 5)


@pytest.mark.parametrize("times", [1.0, 20.0, 40.0], ids=["short", "with ripples", "with fast modes"])
@pytest.mark.parametrize("case", EXACT)
def test_exact_steps(case, times):
    """The compiled step is the one of `take_exact_step`: solution, error, and what was cleared."""
    run = begun(case)
    start, steps = begin(run), NoiseSteps(run._system)
    if run._system.scheme.walls:
        steps.limits(0.0, start.solution, start.rates, 0, 1e-6)
        assert isinstance(steps._modes, BoxModes)
    exact, longest = ExactLimits(1.0, 13, 0.0, 0.0), 0.1 if case == "in time" else np.inf  # to a kink of the noise
    length = min(times * 0.02 / (1.0 + start.rates.outflow * 0.1), longest)
    plan = Plan(Dop853(), length, length, jump=False, stiff=False, exact=exact)
    followed = steps._nodes_followed
    assert bool(followed) == run._system.scheme.walls
    new, error, clipped = run._system.exact_step(steps._modes, start, plan, followed, (1e-8, 1e-9))
    wanted = take_exact_step(run._system, steps._modes, start, plan, followed, (1e-8, 1e-9))
    assert error == pytest.approx(wanted[1], rel=1e-6, abs=1e-6)
    if wanted[0] is None:
        assert new is None
        return
    scale = wanted[0].density.max()
    assert np.abs(new.density - start.solution.density).max() > 1e-4 * scale
    assert np.abs(new.density - wanted[0].density).max() < 1e-12 * scale
    assert np.abs(new.mean - wanted[0].mean).max() < 1e-13
    assert np.abs(new.matrix - wanted[0].matrix).max() < 1e-13
    assert clipped == pytest.approx(wanted[2], abs=1e-13)
    assert abs(new.density.sum() / start.solution.density.sum() - 1.0) < 1e-14


@pytest.mark.parametrize("cells", [64, 100])
def test_cosines_of_the_line(cells, random):
    """There and back, as SciPy has them."""
    modes = Cosines(Grid(np.zeros(1), np.ones(1), (cells,), gaussian=False))
    given, room = random.standard_normal((3, 1, cells)), exact_room(3, cells)
    found, again = np.empty_like(given), np.empty_like(given)
    transformed(given.copy(), modes.on_line(False), True, room, found)
    assert np.abs(found - dct(given, norm="ortho")).max() < 2e-14
    transformed(found.copy(), modes.on_line(False), False, room, again)
    assert np.abs(again - given).max() < 2e-14


def test_many_cells_have_no_matrices():
    """Products would be slower than SciPy's transforms."""
    assert Cosines(Grid(np.zeros(1), np.ones(1), (1000,), gaussian=False)).on_line(False) is None
    assert Cosines(Grid(np.zeros(1), np.ones(1), (1024,), gaussian=False)).on_line(False) is not None
