"""Points of a sweep: their settings, their problems, and no more observed than is collected."""

import itertools

import numpy as np
import pytest

from mfpde.sweeping.columns import slabs
from mfpde.sweeping.plan import Plan


def test_every_combination_the_last_axis_fastest(heat):
    block = {"noise.kappa": [1, 2], "zip": {"time.until": [1, 2, 3], "solver.tolerance": [1e-8, 1e-7, 1e-6]}}
    plan = Plan(heat(sweep=block))
    assert plan.shape == (2, 3)
    found = [tuple(plan.settings(number).values()) for number in range(plan.size)]
    assert found == [(kappa, *pair) for kappa, pair in itertools.product([1, 2], [(1, 1e-8), (2, 1e-7), (3, 1e-6)])]
    problem = plan.problem(5)
    assert (problem.noise.kappa, problem.time.until, problem.solver.tolerance) == (2, 3, 1e-6)
    assert problem.sweep is None
    assert problem.collect == ()


def test_whole_blocks_and_entries_of_lists_are_swept(heat):
    blocks = {
        "attention": {
            "kind": "multi-head",
            "heads": [{"kind": "softmax", "beta": 1}, {"kind": "unnormalized", "beta": 1}],
        },
        "sweep": {
            "attention.heads.1.beta": [2, 3],
            "initial": [{"kind": "uniform"}, {"kind": "von-mises", "direction": 0, "concentration": 1}],
        },
    }
    plan = Plan(heat(**blocks))
    assert [plan.problem(number).attention.heads[1].beta for number in range(4)] == [2, 2, 3, 3]
    assert [plan.problem(number).initial.kind for number in range(4)] == ["uniform", "von-mises"] * 2


def test_a_kind_is_swept_without_the_defaults_of_another(heat):
    plan = Plan(
        heat(attention={"kind": "unnormalized", "beta": 1}, sweep={"attention.kind": ["softmax", "unnormalized"]})
    )
    assert [type(plan.problem(number).attention).__name__ for number in range(2)] == ["Softmax", "Unnormalized"]


@pytest.mark.parametrize(
    ("reduce", "time", "spacing"),
    [
        ({}, {"until": 1, "save_every": 0.25}, None),
        ({"reduce": "max"}, {"until": 1, "save_every": 0.25}, 0.25),
        ({"reduce": "max"}, {"until": 1, "save_every": 0.25, "observe_every": 0.1}, 0.1),
        ({"reduce": "max"}, {"until": 1}, 0.01),
    ],
)
def test_snapshots_are_left_out_and_series_stay(heat, reduce, time, spacing):
    problem = Plan(heat(time=time, collect=[{"observe": "mass", **reduce}], sweep={"noise.kappa": [1]})).problem(0)
    assert problem.time.save_times() == [0, 1]
    assert problem.time.observe_every == spacing


@pytest.mark.parametrize("time", [{"until": 1, "save_at": [0.1]}, {"until": 1, "stop_when_steady": True}])
def test_times_that_mean_something_stay(heat, time):
    plan = Plan(heat(time=time, sweep={"noise.kappa": [1]}))
    assert plan.problem(0).time == plan.whole.time


def test_boxes_cover_a_range_of_entries_once():
    shape = (3, 4, 2)
    for first, stop in itertools.combinations(range(25), 2):
        hit = np.zeros(shape, int)
        order = []
        for index, count in slabs(shape, first, stop):
            hit[index] += 1
            order += np.arange(24).reshape(shape)[index].reshape(-1).tolist()
            assert np.size(hit[index]) == count
        assert order == list(range(first, stop))
        assert hit.reshape(-1).tolist() == [first <= place < stop for place in range(24)]
