"""A solution that has come to rest costs nothing more, and is still the solution."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import i0e, i1e

import mfpde
from mfpde.activity import told_to
from mfpde.contracts.solver import Progress, State
from mfpde.prepare import chosen_solver
from mfpde.solvers.finite_volume.noise_steps import NoiseSteps
from mfpde.solvers.stepping.steady_state import PUSH, Rest

LOPSIDED = "1 + 0.1*cos(theta) + 0.2*sin(theta) + 0.1*sin(2*theta)"
NEARLY_EVEN = "1 + 0.3*cos(2*theta) + 1e-13*cos(theta + 0.2)"  # two clusters, which only rounding tells apart
FOREVER = 1e9


def circle(initial="1 + 0.1*cos(theta)", kappa=4.0, beta=0.0, kind="unnormalized", until=FOREVER, **solver):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "circle"},
            "attention": {"kind": kind, "beta": beta},
            "noise": {"kappa": kappa},
            "initial": {"kind": "density", "expression": initial},
            "solver": {"kind": "spectral", **solver},
            "time": {"until": until, "save_every": until / 4},
            "observe": ["order-parameter"],
        }
    )


def line(until=FOREVER, V=-1, kappa=10, **solver):
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": {"kind": "softmax", "A": 1, "V": V},
            "noise": {"kappa": kappa},
            "initial": {"kind": "gaussian", "mean": 0.5, "covariance": 1},
            "solver": {"kind": "finite-volume", **solver},
            "time": {"until": until, "save_every": until / 4},
        }
    )


def started(problem):
    return chosen_solver(problem).start(problem.posed())


def carry(solution, *targets, budget=50_000):
    for target in targets:
        while solution.advance(target, budget).state is State.UNDER_WAY:
            pass
    return solution


def steps(run):
    return run.provenance["statistics"]["steps"]


# -- the circle


@pytest.mark.parametrize("kind", ["unnormalized", "softmax"])
@pytest.mark.parametrize("kappa", [1e-3, 1e-12, 1e-300])
def test_strong_noise_is_not_stiff(kappa, kind):
    run = mfpde.solve(circle(LOPSIDED, kappa, beta=1.0, kind=kind, until=1.0))
    assert run.outcome.kind == "finished"
    assert steps(run) <= 1000
    np.testing.assert_allclose(run.density[1:], 0.5 / np.pi, rtol=1e-12)


@pytest.mark.parametrize("initial", ["1 + 0.1*cos(theta)", LOPSIDED])
def test_a_cluster_rests(initial):
    run = mfpde.solve(circle(initial))
    r = brentq(lambda r: i1e(4 * r) / i0e(4 * r) - r, 0.1, 1.0, xtol=1e-15)
    assert steps(run) <= 1024
    np.testing.assert_allclose(run["order-parameter"][1:], r, rtol=1e-10)
    np.testing.assert_array_equal(run.density[1:], np.broadcast_to(run.density[1], run.density[1:].shape))


def test_steps_that_move_nothing_err_by_nothing():
    """Steps that may err by as much near rest as elsewhere grow until they are unstable, and the state hovers."""
    near = "1 + 0.9*cos(2*theta) + 1e-15*cos(theta + 0.2)"
    run = mfpde.solve(circle(near, 13.31, 0.98, until=4000.0, tolerance=1e-3))
    assert steps(run) <= 1024


def test_what_fades_goes_on_fading():
    """Mode one decays like `exp(-t (1/kappa - 1/2))`, however small it is."""
    run = mfpde.solve(circle(kappa=1.0, until=800.0))
    assert steps(run) <= 1024
    np.testing.assert_allclose(run["order-parameter"][2:] / run["order-parameter"][1:-1], np.exp(-100.0), rtol=1e-6)


def test_the_uniform_state_stays_where_it_is_unstable():
    run = mfpde.solve(circle("1"))
    assert steps(run) <= 512
    np.testing.assert_array_equal(run["order-parameter"], 0.0)


def test_an_unstable_state_is_left():
    """The residual of two clusters sinks to 1e-15 before the difference between them has grown."""
    run = mfpde.solve(circle(NEARLY_EVEN, kappa=4.0, beta=3.0, kind="softmax", until=1e7))
    other = mfpde.solve(circle(LOPSIDED, kappa=4.0, beta=3.0, kind="softmax", until=1e7))
    assert steps(run) <= 10_000
    assert run["order-parameter"][1] > 0.4
    np.testing.assert_allclose(run["order-parameter"][1:], other["order-parameter"][1:], rtol=1e-8)


@pytest.mark.parametrize("cut", [300.0, FOREVER / 4])
def test_a_run_resumed_at_rest_or_on_its_way_there_ends_in_the_same_bits(cut):
    """Two clusters part at t = 800; a look before that has failed, one after it succeeds."""
    problem = circle(NEARLY_EVEN, kappa=4.0, beta=3.0, kind="softmax")
    whole, before, again = (started(problem) for _ in range(3))
    again.restore(carry(before, cut).state())
    carry(whole, cut, FOREVER)
    assert np.array_equal(carry(again, FOREVER).modes(), whole.modes())
    assert again.statistics() == whole.statistics()


def test_rest_is_kept():
    """At a late time nothing could tell that a solution rests: there would be no steps to see it by."""
    resting, again, forgetful = (started(circle()) for _ in range(3))
    state = carry(resting, FOREVER / 4).state()
    again.restore(state)
    forgetful.restore({**state, "rest": forgetful.state()["rest"]})
    assert again.advance(FOREVER, 50_000).state is State.REACHED
    assert forgetful.advance(FOREVER, 50_000).state is State.UNDER_WAY


# -- finite volumes


@pytest.fixture(scope="module")
def settled():
    """Ornstein-Uhlenbeck noise against contraction: `S' = -2 S^2 + 2/kappa`."""
    return carry(started(line(cells=64)), FOREVER / 4, FOREVER)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-8])
def test_exact_steps_come_to_rest(tolerance):
    """They hovered at the longest stable step for ever, each mending what the one before had made wrong."""
    solution = started(line(cells=64, tolerance=tolerance))
    for _ in range(50):
        solution.advance(FOREVER, 50_000)
    assert solution.time == FOREVER
    assert solution.statistics()["steps"] <= 100
    np.testing.assert_allclose(solution.measure().covariance, [[np.sqrt(0.1)]], rtol=10 * tolerance)


def test_a_gaussian_rests(settled):
    assert settled.time == FOREVER
    assert settled.statistics()["steps"] <= 2000
    np.testing.assert_allclose(settled.measure().covariance, [[np.sqrt(0.1)]], rtol=1e-8)
    np.testing.assert_allclose(settled.measure().mean, [0.0], atol=1e-8)


def test_rest_does_not_depend_on_how_the_way_is_cut_into_calls(settled):
    pieces = carry(started(line(cells=64)), FOREVER / 4, FOREVER, budget=1)
    assert pieces.statistics() == settled.statistics()
    assert np.array_equal(pieces.solution.density, settled.solution.density)


def test_pilots_end_when_nothing_moves(monkeypatch):
    monkeypatch.setattr(NoiseSteps, "limits", lambda *_: None)  # exact steps are too few to be told of
    told = []
    with told_to(told.append):
        solution = started(line())
    assert 1 <= sum("pilot" in words and "t = " in words for words in told) <= 60
    assert solution.statistics()["cells"] <= 256


def test_a_run_resumed_at_rest_stays_there(settled):
    again = started(line(cells=64))
    again.restore(settled.state())
    steps = again.statistics()["steps"]
    assert again.advance(2 * FOREVER, 1).state is State.REACHED
    assert again.statistics()["steps"] == steps
    assert np.array_equal(again.solution.density, settled.solution.density)


def test_rest_ends_where_coefficients_change():
    """`S = sqrt(1 / (kappa |V|))` for either value of V."""
    layers = {"times": [0, 200], "values": [-1, -2], "interpolation": "constant"}
    solution = started(line(until=400, V=layers, cells=64))
    np.testing.assert_allclose(carry(solution, 200.0).measure().covariance, [[np.sqrt(0.1)]], rtol=1e-8)
    np.testing.assert_allclose(carry(solution, 400.0).measure().covariance, [[np.sqrt(0.05)]], rtol=1e-8)


# -- the rule itself


class Swinging:
    """A stand-in: x' = rate x, of which copies are pushed."""

    def __init__(self, rate, x=1e-14, time=10.0):
        self.rate, self.x, self.time = rate, x, time

    def residual(self):
        return abs(self.rate * self.x)

    def fastest_rate(self):
        return abs(self.rate)

    def pushed(self):
        return Swinging(self.rate, self.x + PUSH, self.time)

    def distance(self, other):
        return abs(other.x - self.x)

    def advance(self, target, budget):
        self.x *= np.exp(self.rate * (target - self.time))
        self.time = target
        return Progress(State.REACHED)


@pytest.mark.parametrize(("rate", "found"), [(-5.0, True), (-1e-3, False), (0.0, True), (1e-6, False), (5.0, False)])
def test_only_what_comes_back_rests(rate, found):
    rest = Rest(1e-10)
    solution = Swinging(rate)
    while not rest.look(solution, 1):
        pass
    assert rest.found is found
    assert not rest.due(15.0)
    assert rest.due(25.0) is not found
