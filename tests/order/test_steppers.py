"""Every registered stepper is what its class says: its order, its error estimate, how far its stability reaches."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde.registry import members
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.steppers.rkc2 import Rkc2

STEPPERS = members("stepper")
SPLITS = {"whole": None, "split": np.array([-0.5, -1.0])}


def on_the_circle(time, state):
    """Attracted by the unit circle, along which `angle = t + 0.2 sin t`."""
    speed = 1 + 0.2 * np.cos(time)
    return speed * np.array([-state[1], state[0]]) + 0.5 * state * (1 - state @ state)


def place(time):
    angle = time + 0.2 * np.sin(time)
    return np.array([np.cos(angle), np.sin(angle)])


def predator_prey(_time, state):
    return np.array([state[0] * (1 - state[1]), -state[1] * (1 - state[0])])


def slope_of(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def end_of(stepper, system, start, until, count):
    state = start
    for number in range(count):
        state = stepper.step(system, until * number / count, state, until / count).end
    return state


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", STEPPERS)
def test_observed_order(name, split):
    """Errors at t = 4 against a closed form; exponential schemes integrate the split part exactly."""
    stepper, system = STEPPERS[name](), OrdinarySystem.of(on_the_circle, SPLITS[split])
    finer = 16 if stepper.order <= 4 else 2 if name == "gragg8" else 1  # whose errors are series in (h/2)^2
    counts = np.array([12, 14, 16, 18]) * finer
    errors = [np.abs(end_of(stepper, system, place(0.0), 4.0, count) - place(4.0)).max() for count in counts]
    assert abs(slope_of(counts, errors) - stepper.order) < 0.15


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", STEPPERS)
def test_the_estimate_shrinks_as_it_says_and_bounds_the_error(name, split):
    stepper, system = STEPPERS[name](), OrdinarySystem.of(on_the_circle, SPLITS[split])
    steps = np.geomspace(0.12, 0.25, 5) * (1 if stepper.order > 4 else 0.2)
    tried = [stepper.step(system, 0.3, place(0.3), step) for step in steps]
    estimates = [each.error(system.sizes(each.start)) for each in tried]
    for each, estimate in zip(tried, estimates, strict=True):
        assert np.abs(each.end - place(0.3 + each.step)).max() < 2 * estimate
    assert -0.3 < -slope_of(steps, estimates) - stepper.error_order < 0.8


@pytest.mark.parametrize("name", STEPPERS)
def test_steady_states_of_the_equation_are_steady_for_the_stepper(name):
    linear, state = np.array([-40.0, -3.0]), np.array([0.7, -0.2])
    system = OrdinarySystem.of(lambda _t, u: linear * u - linear * state, linear)
    stepped = STEPPERS[name]().step(system, 0.0, state, 0.5)
    assert np.abs(stepped.end - state).max() < 1e-14
    assert max(np.abs(error).max() for error in stepped.differences) < 1e-14


def test_what_is_linear_is_exact_for_the_exponential_stepper():
    decay = OrdinarySystem.of(lambda _time, u: -3 * u, np.array([-3.0]))
    assert STEPPERS["gif853"]().step(decay, 0.0, np.ones(1), 1.0).end[0] == pytest.approx(np.exp(-3), rel=1e-13)


@pytest.mark.parametrize("name", STEPPERS)
def test_stability_reaches_as_far_as_it_says(name):
    """Along the negative real axis, and not much farther."""
    stepper = STEPPERS[name]()
    rates = np.linspace(0.0, min(stepper.reach, 500.0), 2001)[1:]

    def growth(rate):
        system = OrdinarySystem.of(lambda _t, u: -rate * u)
        return np.abs(stepper.step(system, 0.0, np.ones_like(rate), 1.0).end)

    if np.isfinite(stepper.reach):
        assert growth(rates).max() <= 1
        assert growth(1.1 * rates[-1:])[0] > 1
    else:
        assert max(growth(rates[k : k + 1])[0] for k in range(0, rates.size, 100)) <= 1


def test_those_of_finite_volumes_have_all_that_cells_need():
    fit = {name: stepper for name, stepper in STEPPERS.items() if stepper.flux_unfit is None}
    assert set(fit) >= {"dop853", "ssprk54", "ssprk3"}
    for stepper in fit.values():
        nodes, stages, weights, errors = stepper.tableau
        np.testing.assert_allclose(stages.sum(axis=1), nodes, atol=1e-14)
        assert np.triu(stages).any() == 0
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        np.testing.assert_allclose(errors.sum(axis=1), 0, atol=1e-14)
        assert stepper.cfl > 0


@pytest.mark.parametrize("stages", [3, 4, 8, 30, 150])
def test_chebyshev_schemes_are_of_order_two_and_damp_all_that_they_promise_to_reach(stages):
    start = np.array([1.5, 0.5])
    exact = solve_ivp(predator_prey, [0, 1], start, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    counts, system = [20, 30, 45] if stages > 100 else [40, 60, 90], OrdinarySystem.of(predator_prey)
    errors = [np.abs(end_of(Rkc2(stages), system, start, 1.0, count) - exact).max() for count in counts]
    assert abs(slope_of(counts, errors) - 2) < 0.15
    stiffness = np.linspace(1e-3, Rkc2(stages).reach, 20_000)
    assert Rkc2(stages).reach == pytest.approx(0.65 * (stages**2 - 1))
    damped = Rkc2(stages).step(OrdinarySystem.of(lambda _t, u: -stiffness * u), 0.0, np.ones_like(stiffness), 1.0).end
    assert np.abs(damped).max() < 1


@pytest.mark.parametrize("stiffness", [0.0, 1.0, 30.0, 1e3, 1e5])
def test_there_are_enough_stages_and_few_more(stiffness):
    stages = len(Rkc2.reaching(stiffness).tableau.weights) - 1
    assert 0.65 * (stages**2 - 1) > stiffness
    assert stages == 3 or 0.65 * (stages - 2) ** 2 < 1.2 * stiffness
