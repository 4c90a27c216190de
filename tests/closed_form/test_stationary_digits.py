"""Stationary states in many digits, at roundoff, and at scales beyond those of doubles."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import iv

import mfpde
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.multipliers import degree_multipliers, exponential_multipliers
from mfpde.bifurcation.normal_form import normal_form
from mfpde.bifurcation.quadrature import rule
from mfpde.bifurcation.stability import instability
from mfpde.bifurcation.states import Family, Model, State
from mfpde.bifurcation.stationary import state_from_moments

REFERENCES = json.loads(Path(__file__).parents[1].joinpath("reference/stationary.json").read_text())


def family(multipliers, low, high):
    return Family("kappa", low, high, lambda kappa: Model(multipliers, kappa * multipliers.scale), multipliers.top)


@pytest.fixture(scope="module")
def beta_five():
    blocks = {"geometry": {"kind": "circle"}, "attention": {"kind": "unnormalized", "beta": 5}}
    block = {"parameter": "kappa", "range": [0.1, 1.0], "branches": ["uniform", 1, 2, 3]}
    return mfpde.bifurcate(mfpde.Problem.from_dict({**blocks, "bifurcation": block}))


@pytest.mark.parametrize("known", REFERENCES, ids=lambda known: f"{known['dimension']}-{known['beta']}")
def test_folds_and_first_order_points_in_many_digits(known):
    """Against an independent program in mpmath (tests/reference/make_stationary.py)."""
    multipliers = exponential_multipliers(float(known["beta"]), 1.0, known["dimension"], normalised=False)
    critical = multipliers.critical()[1]
    low = 0.8 * float(known["fold"]["kappa"])
    (branch,) = Explorer(family(multipliers, low, 1.1 * critical), {1}).primary()
    side = branch.sides[0]
    found = {crossing.kind: crossing.point for crossing in side.crossings}
    for kind, place in (("fold", known["fold"]), ("first-order", known["first_order"])):
        kappa = side.tracer.system.family.value(found[kind].u)
        assert kappa == pytest.approx(float(place["kappa"]), rel=2e-13)
        order = found[kind].x[0] / side.tracer.system.scale[0]
        assert order == pytest.approx(float(place["m1"]), rel=1e-9)


@pytest.mark.parametrize("width", [2.0, 0.05, 0.001])
def test_transcritical_branches_in_narrow_ranges(width):
    """Both sides are found however steep the branch is in units of the range: `kappa/5 = 1 + c_1 m`."""
    multipliers = degree_multipliers([0.0, 1.0], 3)
    explorer = Explorer(family(multipliers, 5 - width, 5 + width))
    (branch,) = explorer.primary()
    slope = normal_form(multipliers, 2).first
    assert len(branch.sides) == 2
    for side in branch.sides:
        first = side.path.points[0]
        moment = first.x[0] / side.tracer.system.scale[0]
        assert (explorer.family.value(first.u) / 5 - 1) / moment == pytest.approx(slope, rel=0.05)


def test_both_sides_in_eight_dimensions():
    """Softmax attention at beta = 3: degree 2 is transcritical and steep."""
    multipliers = exponential_multipliers(3.0, 1.0, 8, normalised=True)
    (branch,) = Explorer(family(multipliers, 6.0, 80.0), {2}).primary()
    assert [np.sign(side.path.points[-1].x[0]) for side in branch.sides] == [1, -1]


def test_scales_beyond_doubles_of_exponentials():
    """beta = 100: kappa is about e^-100, and the equation is solved to roundoff all the same."""
    multipliers = exponential_multipliers(100.0, 1.0, 2, normalised=False)
    critical = multipliers.critical()[1]
    (branch,) = Explorer(family(multipliers, 0.2 * critical, 1.5 * critical), {1}).primary()
    (side,) = branch.sides
    assert [crossing.kind for crossing in side.crossings] == ["fold", "first-order"]
    assert max(side.tracer.system.state(point.x).residual for point in side.path.points) < 1e-13


@pytest.mark.parametrize(("factor", "unstable"), [(1 - 1e-13, 0), (1 + 1e-13, 2)])
def test_the_uniform_state_is_counted_at_roundoff(factor, unstable):
    """A tenth of a millionth of a millionth beside kappa_1, the eigenvalue of mode 1 has its sign."""
    multipliers = exponential_multipliers(5.0, 1.0, 2, normalised=False)
    state = state_from_moments(Model(multipliers, factor / multipliers.relative[1]), np.ones(1))
    assert instability(state) == unstable


def test_far_clusters_attract_each_other():
    """At beta = 40 two clusters feel each other by e^-80: their motion is below roundoff, and unstable all the same."""
    multipliers = exponential_multipliers(40.0, 1.0, 2, normalised=False)
    critical = multipliers.critical()[2]
    (branch,) = Explorer(family(multipliers, 0.5 * critical, 3.0 * critical), {2}).primary()
    side = branch.sides[0]
    assert {watched.unstable for watched in side.watched[-12:]} == {2}


@pytest.mark.parametrize(("strength", "resolved"), [(7.0, True), (11.0, False)])
def test_what_a_rule_resolves(strength, resolved):
    """`m_k = I_k(z) / I_0(z)`: of 32 nodes m_28 is 5e-17 for z = 7, 7e-13 for z = 11."""
    order = iv(1, strength) / iv(0, strength)
    model = Model(degree_multipliers([1.0], 2), 0.5 * strength / order)
    state = State(model, np.array([1.0, np.sqrt(2) * order]), rule(2, 32))
    np.testing.assert_allclose(state.moments(8), iv(np.arange(9), strength) / iv(0, strength), atol=1e-12)
    assert state.resolved == resolved


def test_rules_resolve_every_moment(beta_five):
    """Twice as many nodes change no moment, the highest of a rule included."""
    for branch in beta_five.branches[1:]:
        for place in range(1, len(branch), 3):
            state = branch.state(place).state
            finer = State(state.model, state.b, rule(2, 2 * state.rule.count))
            top = state.rule.count - 1
            np.testing.assert_allclose(state.moments(top), finer.moments(top), rtol=0, atol=3e-14)


@pytest.mark.parametrize("beta", [25.0, pytest.param(50.0, marks=pytest.mark.long)])
def test_narrow_clusters_at_both_poles(beta):
    """Two clusters on S^2 exchange mass and move towards each other in two directions, exponentially slowly: three
    growing directions, which are lost where nodes near the poles lose digits."""
    multipliers = exponential_multipliers(beta, 1.0, 3, normalised=False)
    critical = multipliers.critical()[1]
    (branch,) = Explorer(family(multipliers, 0.15 * critical, 1.3 * critical), {2}).primary()
    last = branch.sides[0].watched[-1]
    assert last.point.x[0] == pytest.approx(np.sqrt(5), rel=0.1)  # <P_2> near 1: prolate
    assert last.unstable == 3
    assert branch.sides[0].tracer.system.size <= 1024
