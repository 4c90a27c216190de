"""The steppers of `u' = f(t, u)`: their order, their interpolation, what they do with stiff problems."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde.solvers.steppers.dop853 import Dop853, interpolate
from mfpde.solvers.steppers.radau9 import NODES, STAGE_WEIGHTS, Radau9, slope_matrix
from mfpde.solvers.stepping.adaptive_ode import March

START = np.array([1.5, 0.5])


def predator_prey(time, state):
    """With a food supply that depends on time."""
    return np.array([state[0] * (1 - state[1]), -state[1] * (1 - state[0]) * (1 + 0.3 * np.cos(time))])


def largest(error):
    return float(np.abs(error).max())


def explicit(state, time, step):
    return Dop853.step(predator_prey, time, state, step)


def implicit(state, time, step):
    matrix = slope_matrix(predator_prey, time, state, 1.0)
    return Radau9.step(predator_prey, time, state, step, matrix, largest, 1e-15)


def exact(times):
    return solve_ivp(predator_prey, [0, times[-1]], START, "DOP853", t_eval=times, rtol=2.3e-14, atol=1e-16).y.T


def on_the_circle(time, state):
    """Attracted by the unit circle, along which `angle = t + 0.2 sin t`."""
    speed = 1 + 0.2 * np.cos(time)
    return speed * np.array([-state[1], state[0]]) + 0.5 * state * (1 - state @ state)


def place(time):
    angle = time + 0.2 * np.sin(time)
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize(
    ("name", "order", "counts"), [("dop853", 8, [14, 18, 23, 29]), ("radau9", 9, [12, 14, 16, 18])]
)
def test_observed_order(name, order, counts):
    errors = []
    for count in counts:
        state = place(0.0)
        for index in range(count):
            time = 4 * index / count
            if name == "dop853":
                state = Dop853.step(on_the_circle, time, state, 4 / count).end
            else:
                matrix = slope_matrix(on_the_circle, time, state, 1.0)
                state = Radau9.step(on_the_circle, time, state, 4 / count, matrix, largest, 1e-15).end
        errors.append(largest(state - place(4.0)))
    assert abs(-np.polyfit(np.log(counts), np.log(errors), 1)[0] - order) < 0.15
    assert {"dop853": Dop853, "radau9": Radau9}[name].order == order


@pytest.mark.parametrize(("one", "power"), [(explicit, 8), (implicit, 6)], ids=["dop853", "radau9"])
def test_the_estimate_shrinks_as_it_should_and_bounds_the_error(one, power):
    steps, estimates = np.array([0.1, 0.12, 0.15, 0.18, 0.22]), []
    for step in steps:
        tried = one(START, 0.0, step)
        estimates.append(tried.error(largest))
        assert largest(tried.end - exact([step])[0]) < estimates[-1]
    assert -0.2 < np.polyfit(np.log(steps), np.log(estimates), 1)[0] - power < 0.7


def test_interpolation_is_of_order_seven():
    parts, errors, steps = np.linspace(0.05, 0.95, 19), [], np.array([0.18, 0.22, 0.26, 0.31])
    for step in steps:
        shape = explicit(START, 0.0, step).shape(predator_prey)
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
    matrix = slope_matrix(slope, 0.0, state, 1.0)
    tried = Radau9.step(slope, 0.0, state, 0.5, matrix, largest, 1e-14)
    np.testing.assert_allclose(tried.end, [np.cos(0.5), np.exp(-0.5)], rtol=1e-8)
    away = Radau9.step(slope, 0.0, state + np.array([1.0, 0.0]), 0.5, matrix, largest, 1e-14)
    assert abs(away.end[0] - np.cos(0.5)) < 1e-6


def test_a_step_whose_equations_have_no_solution_is_not_finite():
    def slope(_time, state):
        return state**2

    tried = Radau9.step(slope, 0.0, np.array([1.0]), 3.0, np.array([[2.0]]), largest, 1e-14)
    assert not np.isfinite(tried.end).any()


def test_stiffness_is_noticed():
    def slope(rate):
        return Dop853.step(lambda _t, u: -rate * u, 0.0, np.array([1.0]), 1.0).stiffness(largest)

    assert slope(7.0) == pytest.approx(7.0)
    assert slope(0.5) == pytest.approx(0.5)


def test_a_march_goes_on_from_its_arrays_with_the_evaluations_it_would_have_made():
    def march():
        return March(lambda _, u: -u, lambda _: lambda error: float(np.abs(error).max()), np.ones(1), 1e-10, 0.01)

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
