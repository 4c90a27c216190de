"""Steps that integrate noise exactly, against many small explicit ones of the same cells."""

from typing import Any

import numpy as np
import pytest

import mfpde
from mfpde.solvers.finite_volume.control import Plan
from mfpde.solvers.finite_volume.exact_stages import ExactStages
from mfpde.solvers.finite_volume.stepping import Start, take_step
from mfpde.solvers.steppers.dop853 import Dop853
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY

SPOTS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": [-0.6, 0.1], "covariance": [[0.5, 0.15], [0.15, 0.4]], "weight": 0.4},
        {"kind": "gaussian", "mean": [0.9, 0.3], "covariance": [[0.6, -0.1], [-0.1, 0.4]], "weight": 0.6},
    ],
}
BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 0.4},
        {"kind": "gaussian", "mean": 1.5, "covariance": 0.5, "weight": 0.6},
    ],
}
IN_TIME = {"times": [0.0, 0.1], "values": [4.0, 1.0], "interpolation": "linear"}
PLANE = {"geometry": {"kind": "plane"}, "initial": SPOTS}
LINE = {"geometry": {"kind": "line"}, "initial": BUMPS}
SOFTMAX = {"attention": {"kind": "softmax", "A": [[1, 0.5], [-0.2, 0.7]], "V": [[-1, 0.3], [-0.4, -0.8]]}}
L2 = {"attention": {"kind": "l2", "Q": 1, "K": 1, "V": 0.5}}
AT_REST = {"cells": 640, "frame": "static"}
#: how long the step is
CASES: dict[str, tuple[dict[str, Any], float]] = {
    "line": ({**LINE, **L2, "noise": {"kappa": IN_TIME}, "solver": {"cells": 96}}, 0.02),
    "line at rest": ({**LINE, **L2, "noise": {"kappa": IN_TIME}, "solver": AT_REST}, 0.02),
    "plane": ({**PLANE, **SOFTMAX, "noise": {"kappa": IN_TIME}, "solver": {"cells": 64}}, 0.005),
}


def begun(given):
    solver = {"kind": "finite-volume", **given["solver"]}
    problem = mfpde.Problem.from_dict({**given, "solver": solver, "time": {"until": 1.0}})
    return problem.solver.start(problem.posed())


def start_of(system, time, solution):
    rates = system.rhs(time, solution)
    return Start(time, solution, rates, system.roughness(solution, rates))


def planned(time, length, *, exact):
    return Plan(Dop853(), length, time + length, jump=False, stiff=False, exact=exact)


def in_small_steps(run, length):
    """The solution after that time, by explicit steps that are stable."""
    system, solution, time = run._system, run.solution, 0.0
    count = int(np.ceil(2.0 * length * start_of(system, 0.0, solution).rates.emptying))
    for _ in range(count):
        tried = take_step(system, start_of(system, time, solution), planned(time, length / count, exact=False), 1.0)
        solution, time = tried.solution, time + length / count
    return solution


def off(found, wanted):
    """The largest difference of densities, relative to the peak, and of frames."""
    density = np.abs(found.density - wanted.density).max() / wanted.density.max()
    return max(density, np.abs(found.mean - wanted.mean).max(), np.abs(found.matrix - wanted.matrix).max())


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_that_of_many_small_ones(case):
    given, length = CASES[case]
    run = begun(given)
    tried = run._noise_steps.step(start_of(run._system, 0.0, run.solution), planned(0.0, length, exact=True), 1e-8)
    wanted = in_small_steps(run, length)
    assert tried.error < 1
    assert off(run.solution, wanted) > 1e-3
    assert off(tried.solution, wanted) < (2e-10 if case == "line at rest" else 1e-12)  # cosines are other differences


def test_fast_modes_follow_transport_that_is_linear_in_time(random):
    """`int_0^1 s e^{(1 - s) E} ds = (e^E - 1 - E) / E^2` of its change; of other modes the stages have that already."""
    run, length = begun(CASES["line"][0]), 0.5
    system, modes, start = run._system, run._noise_steps._modes, start_of(run._system, 0.0, run.solution)
    stages = ExactStages(system, modes, start, planned(0.0, length, exact=True))
    stages.at(1.0, np.ones(1))
    change = random.standard_normal(run.solution.density.shape)
    found = modes.coefficients(stages.followed(change))
    exponents = length * modes.rates(start.rates.conductivities[:, 0])
    fast = exponents < -LARGEST_DECAY
    assert 10 < fast[0].sum() < fast[0].size - 10
    wanted = length * (np.exp(exponents) - 1 - exponents)[fast] / exponents[fast] ** 2 * change[fast]
    assert np.abs(found[fast] - wanted).max() < 1e-12 * np.abs(wanted).max()
    assert np.abs(found[~fast]).max() < 1e-12 * np.abs(wanted).max()
