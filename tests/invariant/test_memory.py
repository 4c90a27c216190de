"""Runs of so many tokens that their arrays fill the memory."""

import tracemalloc

import numpy as np
import pytest

import mfpde
from mfpde.contracts import State
from mfpde.prepare import prepare
from mfpde.solvers.particles import adaptive

COUNT = 30_000
SPACES = {
    "plane": {"geometry": {"kind": "plane"}, "initial": {"kind": "gaussian", "mean": [0, 0], "covariance": 0.2}},
    "circle": {"geometry": {"kind": "circle"}, "initial": {"kind": "von-mises", "direction": 0, "concentration": 1}},
    "sphere": {
        "geometry": {"kind": "sphere"},
        "initial": {"kind": "von-mises", "direction": [0, 0, 1], "concentration": 1},
    },
}


def problem(space, count, until=0.2, **blocks):
    return mfpde.Problem.from_dict(
        {
            **SPACES[space],
            "attention": {"kind": "softmax", "A": 4, "V": -1 if space == "plane" else 1},
            "solver": {"kind": "particles", "count": count, "tolerance": 1e-6, "merge": 0},
            "time": {"until": until, "save": False},
            **blocks,
        }
    )


@pytest.fixture
def few_arrays(monkeypatch):
    monkeypatch.setattr(adaptive, "_MOST_IN_MANY_ARRAYS", 0)


def advanced(integration, *times):
    for time in times:
        while integration.advance(time, 10**9).state is State.UNDER_WAY:
            pass
    return integration


def peak_of(work):
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize(("space", "most"), [("plane", 6), ("sphere", 8)])
def test_a_run_has_few_arrays_beside_those_of_the_fast_sums(space, most, few_arrays):
    prepared = prepare(problem(space, COUNT))
    points = advanced(prepared.start(), 0.01).points()[0]
    sums = peak_of(lambda: prepared.start().drift(0.0, points))
    whole = peak_of(lambda: advanced(prepared.start(), 0.05))
    assert whole - sums < most * points.nbytes


def test_those_of_hardly_any_mergers_are_few_as_well(few_arrays):
    """Beside the places a second array of masses; who has joined whom is written down of those alone who have."""
    given = problem("circle", COUNT).written()
    given["solver"] = {"kind": "particles", "count": COUNT, "tolerance": 1e-6}
    prepared = prepare(mfpde.Problem.from_dict(given))
    points = advanced(prepared.start(), 0.01).fields()["position"]
    sums = peak_of(lambda: prepared.start()._now.drift(0.0, points))
    whole = peak_of(lambda: advanced(prepared.start(), 0.05))
    assert whole - sums < 7 * points.nbytes
    assert 0.99 * COUNT < advanced(prepared.start(), 0.05).statistics()["particles"] < COUNT


def test_steps_in_few_arrays_go_the_same_way(few_arrays, monkeypatch):
    task = problem("sphere", 1500, solver={"kind": "particles", "count": 1500, "tolerance": 1e-10})
    few = mfpde.solve(task)
    monkeypatch.setattr(adaptive, "_MOST_IN_MANY_ARRAYS", 10**9)
    many = mfpde.solve(task)
    assert few.provenance["statistics"]["evaluations"] != many.provenance["statistics"]["evaluations"]
    np.testing.assert_allclose(few.positions, many.positions, atol=1e-9)


def test_they_go_on_bit_for_bit(few_arrays):
    prepared, found = prepare(problem("sphere", 1500)), []
    for cut in (False, True):
        integration = advanced(prepared.start(), 0.07)
        if cut:
            kept = {**integration.state(), **integration.trail(0)}
            integration = prepared.resume({name: np.array(each) for name, each in kept.items()})
        found.append(advanced(integration, 0.1, 0.2).fields()["position"])
    assert np.array_equal(*found)


def test_a_checkpoint_refers_to_the_snapshot_for_most_of_it(few_arrays):
    """What is not, bit for bit, the positions of the snapshot: weights, and a few numbers."""
    integration = advanced(prepare(problem("sphere", 1500)).start(), 0.1)
    positions = integration.fields()["position"]
    rest = [each for each in integration.state().values() if each.tobytes() != positions.tobytes()]
    assert sum(each.nbytes for each in rest) < 1500 * 8 + 500
