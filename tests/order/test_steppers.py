"""Every stepper that splits off a linear part shows the order it claims, with a stiff one and without."""

import inspect

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde.registry import members

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
