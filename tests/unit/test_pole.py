"""Second opinions on a blow-up: another march of the same flow, and other nodes."""

import numpy as np
import pytest

from mfpde.contracts.solver import State
from mfpde.solvers.steppers.base import OrdinarySystem
from mfpde.solvers.stepping import pole
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.solvers.stepping.pole import PoleLine, blow_up, ending, pole_of_another


class Autonomous(OrdinarySystem):
    """`u' = f(u)` from 1, with relative errors; it grows as u does, or as it is told."""

    start = np.ones(1)

    def __init__(self, slope, growth=None):
        self.slope, self.growth = slope, growth

    def rhs(self, _time, state):
        return self.slope(state)

    def sizes(self, state):
        return lambda error: float(np.abs(error).max() / np.abs(state).max())

    def growth_rate(self, time, state):
        return self.growth(time, state) if self.growth else float(self.slope(state)[0] / state[0])


def marching(slope, tolerance=1e-6, growth=None):
    return March(Autonomous(slope, growth), tolerance, 0.01)


def stuck(slope, growth=None):
    march = marching(slope, 1e-11, growth)
    assert Verdict.VANISHED in march.to(np.inf, 10_000)
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
    return ending(stuck(squared), marching(own), marching(others), compact)


def test_a_pole_that_a_looser_march_does_not_find_is_not_known():
    march = stuck(squared)
    assert pole_of_another(marching(squared), 1.0) == pytest.approx(1.0, abs=1e-5)
    assert pole_of_another(marching(plain), 1.0) is None
    assert blow_up(march, marching(squared)).uncertainty < 1e-6
    assert blow_up(march, marching(plain)).uncertainty == np.inf
    assert blow_up(stuck(squared, lambda _time, _u: 1.0), marching(squared)) is None


def test_other_nodes_do_not_make_a_pole_known_that_no_second_march_finds():
    def growth(time, u):
        return float(u[0]) if time < 1.5 else 1.0

    progress = ending(stuck(squared, growth), marching(plain, growth=growth), marching(plain, growth=growth), True)
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
    found = blow_up(stuck(raised), marching(raised, 1e-9))
    assert found.uncertainty < 1e-8
    assert found.time == pytest.approx(5 / np.e, abs=1e-9)


def test_a_second_opinion_takes_no_more_than_its_attempts(monkeypatch):
    """A march whose steps neither vanish nor arrive."""
    monkeypatch.setattr(pole, "_ATTEMPTS_MAX", 200)

    def slow(u):
        return 1e5 * np.cos(1e4 * u)

    march = marching(slow, 1e-3)
    assert pole_of_another(march, 1.0) is None
    assert march.counts["steps"] + march.counts["rejected"] == 200


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_zero_of_the_straight_line_is_the_pole(power):
    """`(t* - t)^{-p}`, with t* = 2: accepted near it, and not before there are enough estimates."""
    line, seen = PoleLine(), []
    for time in 2.0 - np.geomspace(1.0, 1e-6, 40):
        line.add(time, (2.0 - time) / power)
        line.add(time, np.nan)  # the same time again says nothing
        seen.append(line.pole(1e-4, 1e-8))
    first = next(index for index, found in enumerate(seen) if found is not None)
    assert 2.0 - np.geomspace(1.0, 1e-6, 40)[first] == pytest.approx(2.0, abs=2e-4)
    assert seen[-1].time == pytest.approx(2.0, abs=1e-9)
    assert 0 < seen[-1].uncertainty < 1e-6
    assert all(found is not None for found in seen[first:])


def test_a_line_that_rises_has_no_pole():
    line = PoleLine()
    for time in np.linspace(0, 1, 20):
        line.add(time, 1 + time)
    assert line.pole(1.0, 1e-8) is None
