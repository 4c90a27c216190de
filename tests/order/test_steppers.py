"""Every stepper that splits off a linear part shows the order it claims, with a stiff one and without."""

import inspect

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde.registry import members
from mfpde.solvers.steppers.explicit import explicit_step
from mfpde.solvers.steppers.rkc2 import rkc2, stages_for

STEPPERS = {
    name: part for name, part in members("stepper").items() if "linear" in inspect.signature(part.step).parameters
}
START = np.array([1.5, 0.5])


def predator_prey(state):
    return np.array([state[0] * (1 - state[1]), -state[1] * (1 - state[0])])


def distances(stepper, linear, counts):
    """Errors at t = 4 of Lotka-Volterra, any part of which may be called linear, against another method."""
    exact = solve_ivp(lambda _, u: predator_prey(u), [0, 4], START, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    errors = []
    for count in counts:
        state = START
        for _ in range(count):
            state, _ = stepper.step(state, 4 / count, linear, lambda u: predator_prey(u) - linear * u)
        errors.append(np.abs(state - exact).max())
    return errors


@pytest.mark.parametrize("name", STEPPERS)
@pytest.mark.parametrize("linear", [np.array([0.0, 0.0]), np.array([-1.0, -3.0])], ids=["classical", "exponential"])
def test_observed_order(name, linear):
    stepper = STEPPERS[name]
    counts = [14, 18, 23, 29]
    slope = np.polyfit(np.log(counts), np.log(distances(stepper, linear, counts)), 1)[0]
    assert abs(-slope - stepper.order) < 0.15


@pytest.mark.parametrize("name", STEPPERS)
def test_steady_states_of_the_equation_are_steady_for_the_stepper(name):
    linear = np.array([-40.0, -3.0])
    state = np.array([0.7, -0.2])
    stepped, errors = STEPPERS[name].step(state, 0.5, linear, lambda _: -linear * state)
    assert np.abs(stepped - state).max() < 1e-14
    assert max(np.abs(error).max() for error in errors) < 1e-14


@pytest.mark.parametrize("stages", [3, 4, 8, 30, 150])
def test_chebyshev_schemes_are_of_order_two_and_damp_all_that_they_promise_to_reach(stages):
    exact = solve_ivp(lambda _, u: predator_prey(u), [0, 1], START, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    counts, errors = [40, 60, 90], []
    for count in counts:
        state = START
        for _ in range(count):
            state, _ = explicit_step(rkc2(stages), state, 1 / count, predator_prey)
        errors.append(np.abs(state - exact).max())
    assert abs(-np.polyfit(np.log(counts), np.log(errors), 1)[0] - 2) < 0.15
    stiffness = np.linspace(1e-3, 0.65 * (stages**2 - 1), 20_000)
    damped, _ = explicit_step(rkc2(stages), np.ones_like(stiffness), 1.0, lambda u: -stiffness * u)
    assert np.abs(damped).max() < 1


@pytest.mark.parametrize("stiffness", [0.0, 1.0, 30.0, 1e3, 1e5])
def test_there_are_enough_stages_and_few_more(stiffness):
    stages = stages_for(stiffness)
    assert 0.65 * (stages**2 - 1) > stiffness
    assert stages == 3 or 0.65 * (stages - 2) ** 2 < 1.2 * stiffness
