"""How many tokens and how often: what there is time for."""

import dataclasses

import pytest

import mfpde
from mfpde.validation.mean_field.costs import Costs, affordable
from mfpde.validation.mean_field.plan import Plan
from mfpde.workers import usable_processors

PROBLEM = {
    "geometry": {"kind": "circle"},
    "noise": {"kappa": 1.0},
    "initial": {"kind": "uniform"},
    "time": {"until": 1.0},
}
SECONDS = 10.0  # of each core


def planned(counts=None, repeats=None, seconds=SECONDS):
    return Plan.of(mfpde.Problem.from_dict(PROBLEM), counts, repeats, quick=True, seconds=seconds)


def chosen(plan, cost):
    """Where a system of n tokens takes `cost(n)` seconds of one of two cores."""
    costs, systems = Costs(), []
    for count in costs.probes(plan):
        costs.add(count, cost(count) * usable_processors() / 2)
        systems.append(count)
    return affordable(plan, costs), systems


def test_all_is_measured_where_there_is_time():
    plan, _ = chosen(planned(), lambda n: 1e-5 * n)
    assert (plan.counts, plan.repeats) == ((100, 300, 900, 3600), 24)


def test_the_most_tokens_are_left_out_first():
    plan, _ = chosen(planned(), lambda n: 4e-4 * n)
    assert (plan.counts, plan.repeats) == ((100, 300, 900), 24)


def test_then_repeats():
    plan, _ = chosen(planned(), lambda n: 1.2e-3 * n)
    assert plan.counts == (100, 300, 900)
    assert 8 <= plan.repeats < 24


def test_sums_over_all_pairs_have_fewer_tokens_and_long_ones_are_not_begun():
    """23 s for 900 tokens."""
    plan, probed = chosen(planned(), lambda n: 23 * (n / 900) ** 2)
    assert plan.counts == (25, 50, 100)
    assert plan.repeats == 24
    assert max(probed) == 300


def test_steps_that_take_the_same_for_any_number_of_tokens():
    """What is measured of systems that are not chosen is time lost: none but the usual counts are asked."""
    plan, probed = chosen(planned(), lambda _: 1.5)
    assert (plan.counts, plan.repeats) == ((100, 300, 900), 4)
    assert probed == [100, 300, 900]


def test_few_tokens_are_tried_where_a_hundred_take_long():
    plan, probed = chosen(planned(), lambda n: 2.6 * (n / 100) ** 2)
    assert plan.counts == (25, 50, 100)
    assert probed == [100, 25, 50]


def test_nothing_is_measured_where_few_tokens_take_too_long():
    plan, probed = chosen(planned(), lambda _: 8.0)
    assert plan.counts == ()
    assert probed == [100]


def test_what_is_asked_for_is_measured():
    asked = (10, 100, 1000, 10_000)
    assert chosen(planned(asked, 5, None), float)[0].counts == asked
    assert chosen(planned(asked, 5), float)[0].counts == asked[:3]


def test_many_tokens_in_place_of_the_limit_cost_as_well():
    plan = dataclasses.replace(planned(), limit=None)
    found, _ = chosen(plan, lambda n: 1e-5 * n)
    assert found.counts == (100, 300, 900, 3600)
    slow, _ = chosen(plan, lambda n: 1e-6 * n**2)
    assert max(slow.counts) < max(chosen(planned(), lambda n: 1e-6 * n**2)[0].counts)


@pytest.mark.parametrize("count", [100, 400, 1600])
def test_costs_that_are_not_measured(count):
    costs = Costs()
    for each in (50, 100):
        costs.add(each, 1e-4 * each**1.5)
    assert costs.of(count) == pytest.approx(1e-4 * count**1.5)
    assert costs.of(20) == costs.of(50)
