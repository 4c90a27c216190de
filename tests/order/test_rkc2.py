"""Runge-Kutta-Chebyshev tables of any number of stages: their order, and how far along the negative axis they reach."""

import numpy as np
import pytest

from mfpde.solvers.finite_volume.control import StepControl
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.steppers.dop853 import Dop853
from mfpde.solvers.steppers.rkc2 import Rkc2


def growth(stepper, products):
    """What a step makes of `u' = lambda u`, and the estimate of its error, for products of lambda and its length."""
    step = stepper.step(OrdinarySystem.of(lambda _time, u: products * u), 0.0, np.ones(products.size), 1.0)
    return step.end, step.differences


@pytest.mark.parametrize("stages", [3, 8, 31, 100])
def test_a_step_is_the_exponential_to_second_order_and_estimates_what_is_left(stages):
    step = 1e-2
    found, (error,) = growth(Rkc2(stages), np.array([-step]))
    third = step**3 / 6
    assert 0 < (np.exp(-step) - found[0]) / third + 1 < 1  # of the third power there is some, and not too much
    assert 0.05 < abs(error[0]) / third < 1


@pytest.mark.parametrize("stiffness", [1.0, 20.0, 300.0, 5e3])
def test_as_many_stages_as_it_takes_and_hardly_more(stiffness):
    stages = len(Rkc2.reaching(stiffness).tableau.weights) - 1
    products = -stiffness * np.linspace(0.0, 1.0, 4001)
    assert np.abs(growth(Rkc2(stages), products)[0]).max() <= 1.0
    assert np.abs(growth(Rkc2(stages), products[2000:])[0]).max() < 0.98  # short waves are damped
    if stages > 5:
        assert np.abs(growth(Rkc2(int(0.7 * stages)), products)[0]).max() > 10


def test_planned_steps_are_stable_where_diffusion_is_fastest():
    """The fastest wave of diffusion decays at twice the rate at which cells empty."""
    control = StepControl(Dop853(), Dop853.cfl, 1e-8)
    control.begin(1.0)
    plan = control.plan(0.0, 10.0, outflow=1.0, spreading=900.0)
    assert plan.stiff
    assert 0 < plan.length < 10
    products = -2 * 901.0 * plan.length * np.linspace(0.0, 1.0, 4001)
    assert np.abs(growth(plan.stepper, products)[0]).max() <= 1.0


def test_steps_take_about_a_hundred_stages_at_most():
    control = StepControl(Dop853(), Dop853.cfl, 1e-8)
    control.begin(10.0)
    control._stiff.length = 10.0
    plan = control.plan(0.0, 10.0, outflow=1.0, spreading=1e5)
    assert plan.stiff
    assert 80 < len(plan.stepper.tableau.weights) < 110


def test_steps_of_cells_that_empty_at_once_have_no_length():
    """They end the run, which says so: nothing is divided by them."""
    control = StepControl(Dop853(), Dop853.cfl, 1e-8)
    control.begin(0.1)
    assert control.plan(1.0, 2.0, outflow=1e20, spreading=0.0).length == 0.0
