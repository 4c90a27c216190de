"""Second opinions on a blow-up: another march of the same flow, and other nodes."""

from types import SimpleNamespace

import numpy as np
import pytest

from mfpde.contracts.solver import State
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.stepping.adaptive_ode import Attempt, March
from mfpde.solvers.stepping.pole import blow_up, ending, pole_of_another


class Autonomous(OrdinarySystem):
    """`u' = f(u)` from 1, with relative errors."""

    start = np.ones(1)

    def __init__(self, slope):
        self.slope = slope

    def rhs(self, _time, state):
        return self.slope(state)

    def sizes(self, state):
        return lambda error: float(np.abs(error).max() / np.abs(state).max())


def marching(slope, tolerance=1e-6):
    return March(Autonomous(slope), tolerance, 0.01)


def growth_of(slope):
    return lambda _time, u: float(slope(u)[0] / u[0])


def stuck(slope):
    march = marching(slope, 1e-11)
    while march.attempt() is not Attempt.VANISHED:
        pass
    return march


def squared(u):
    return u * u


def later(u):
    return u * u / (1 + 3e-6)


def plain(u):
    return u


def raised(u):
    return 0.1 * np.exp(np.square(u)) / u


def end(own, others, compact=True):
    """How a run ends that has a pole at 1, when a looser march of its nodes and that of others move like that."""
    flow, other = (SimpleNamespace(escape=growth_of(slope), slope=slope) for slope in (own, others))
    return ending(flow, stuck(squared), other, lambda each: marching(each.slope), compact)


def test_a_pole_that_a_looser_march_does_not_find_is_not_known():
    march, growth = stuck(squared), growth_of(squared)
    assert pole_of_another(growth, marching(squared), 1.0) == pytest.approx(1.0, abs=1e-5)
    assert pole_of_another(growth_of(plain), marching(plain), 1.0) is None
    assert blow_up(growth, march, marching(squared)).uncertainty < 1e-6
    assert blow_up(growth, march, marching(plain)).uncertainty == np.inf


def test_other_nodes_do_not_make_a_pole_known_that_no_second_march_finds():
    steady = SimpleNamespace(escape=lambda time, u: float(u[0]) if time < 1.5 else 1.0, slope=plain)
    progress = ending(steady, stuck(squared), steady, lambda each: marching(each.slope), True)
    assert progress.state is State.BLOW_UP
    assert progress.time == pytest.approx(1.0, abs=1e-9)
    assert progress.uncertainty == np.inf


def test_other_nodes_that_find_no_pole_leave_it_unknown():
    assert end(squared, plain).uncertainty == np.inf
    assert end(squared, plain, compact=False).state is State.NOT_FINITE


def test_other_nodes_say_how_far_a_pole_may_be_wrong():
    progress = end(squared, later)
    assert progress.state is State.BLOW_UP
    assert progress.uncertainty == pytest.approx(9e-6, rel=0.5)


def test_a_pole_as_blunt_as_that_of_a_logarithm_has_a_second_opinion():
    """`u u' = e^{u^2} / 10` gives `e^{-u^2} = e^{-1} - t / 5`: u grows at a rate far below one over the time left."""
    found = blow_up(growth_of(raised), stuck(raised), marching(raised, 1e-9))
    assert found.uncertainty < 1e-8
    assert found.time == pytest.approx(5 / np.e, abs=1e-9)
