"""What only some steppers do: interpolation, stiff problems, steps that go on from stored numbers."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.steppers.dop853 import Dop853, interpolate
from mfpde.solvers.steppers.radau9 import NODES, STAGE_WEIGHTS, Radau9, slope_matrix
from mfpde.solvers.stepping.adaptive_ode import March

START = np.array([1.5, 0.5])


def predator_prey(time, state):
    """With a food supply that depends on time."""
    return np.array([state[0] * (1 - state[1]), -state[1] * (1 - state[0]) * (1 + 0.3 * np.cos(time))])


PREY = OrdinarySystem.of(predator_prey)


def largest(error):
    return float(np.abs(error).max())


def exact(times):
    return solve_ivp(predator_prey, [0, times[-1]], START, "DOP853", t_eval=times, rtol=2.3e-14, atol=1e-16).y.T


def test_interpolation_is_of_order_seven():
    parts, errors, steps = np.linspace(0.05, 0.95, 19), [], np.array([0.18, 0.22, 0.26, 0.31])
    for step in steps:
        shape = Dop853().step(PREY, 0.0, START, step).shape(PREY)
        errors.append(max(largest(interpolate(shape, p) - u) for p, u in zip(parts, exact(step * parts), strict=True)))
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 8) < 0.4  # inside one step it is one power more


def test_radau_nodes_and_weights_integrate_polynomials():
    powers = np.arange(1, 10)
    np.testing.assert_allclose(STAGE_WEIGHTS[-1] @ NODES[:, None] ** (powers - 1), 1 / powers, rtol=1e-14)
    low = np.arange(1, 6)
    np.testing.assert_allclose(
        STAGE_WEIGHTS @ NODES[:, None] ** (low - 1), NODES[:, None] ** low / low, rtol=1e-14, atol=1e-17
    )


def test_stiff_problems_are_damped():
    def slope(time, state):
        return np.array([-1e8 * (state[0] - np.cos(time)), -state[1]])

    state = np.array([1.0, 1.0])
    system = OrdinarySystem.of(slope)
    tried = Radau9().step(system, 0.0, state, 0.5)
    np.testing.assert_allclose(tried.end, [np.cos(0.5), np.exp(-0.5)], rtol=1e-8)
    matrix = slope_matrix(system, 0.0, state, 1.0)
    away = Radau9().step(system, 0.0, state + np.array([1.0, 0.0]), 0.5, matrix)
    assert abs(away.end[0] - np.cos(0.5)) < 1e-6


def test_a_step_whose_equations_have_no_solution_is_not_finite():
    system = OrdinarySystem.of(lambda _time, state: state**2)
    tried = Radau9().step(system, 0.0, np.array([1.0]), 3.0, np.array([[2.0]]))
    assert not np.isfinite(tried.end).any()


def test_stiffness_is_noticed():
    def stiffness(rate):
        return Dop853().step(OrdinarySystem.of(lambda _t, u: -rate * u), 0.0, np.array([1.0]), 1.0).stiffness(largest)

    assert stiffness(7.0) == pytest.approx(7.0)
    assert stiffness(0.5) == pytest.approx(0.5)


def test_a_march_goes_on_from_its_arrays_with_the_evaluations_it_would_have_made():
    def march():
        system = OrdinarySystem.of(lambda _, u: -u)
        system.start = np.ones(1)
        return March(system, 1e-10, 0.01)

    whole, first, second = march(), march(), march()
    for _ in range(4):
        whole.attempt()
        first.attempt()
    second.restore(first.arrays())
    for _ in range(4):
        whole.attempt()
        second.attempt()
    assert second.counts == whole.counts
    np.testing.assert_array_equal(second.state, whole.state)
