"""Clusters of more tokens than sums over all pairs are for: merged on the way, and then few."""

import numpy as np
import pytest

import mfpde
from mfpde.contracts import State
from mfpde.prepare import prepare
from mfpde.solvers.particles import ParticleSystem, beginning, gathering
from mfpde.solvers.particles.adaptive import AdaptiveIntegration
from mfpde.solvers.particles.clusters import Clusters, centres, crowded, meetings, merge_distance
from mfpde.solvers.particles.tokens import Tokens

CONFINING = {"kind": "mlp", "W": [[-2, 0], [0, -1.8]], "U": [[1, 0], [0, 1]], "activation": "tanh"}
MLP = {"kind": "mlp", "W": [[0.3], [0.2]], "U": [[1.0, 0.5]], "b": [0.1], "activation": "tanh"}
SPACES = {
    "circle": ({"kind": "circle"}, {"kind": "uniform"}, {"kind": "softmax", "beta": 8}),
    "sphere": ({"kind": "sphere", "dimension": 5}, {"kind": "uniform"}, {"kind": "softmax", "beta": 3}),
    "plane": ({"kind": "plane"}, {"kind": "uniform", "box": [[-1, 1], [-1, 1]]}, {"kind": "softmax", "A": 1, "V": 0.5}),
}


def problem(space, merge, until, count=200, **blocks):
    geometry, initial, attention = SPACES[space]
    return mfpde.Problem.from_dict(
        {
            "geometry": geometry,
            "attention": attention,
            "initial": initial,
            "solver": {"kind": "particles", "count": count, "merge": merge, "tolerance": 1e-9},
            "time": {"until": until, "save": False},
            **blocks,
        }
    )


def embedded(run):
    places = run.positions[-1]
    return np.exp(1j * places) if places.shape[1] == 1 else places


@pytest.fixture
def few(monkeypatch):
    """Sums over all pairs are for ten tokens only."""
    monkeypatch.setattr(beginning, "MOST_TOKENS", 10)
    monkeypatch.setattr(gathering, "MOST_TOKENS", 10)


@pytest.mark.parametrize(("space", "until"), [("circle", 30), ("sphere", 30), ("plane", 12)])
def test_many_tokens_that_merge_go_where_the_unmerged_go(space, until, few):
    drift = {"drift": CONFINING} if space == "plane" else {}
    merged, free = (mfpde.solve(problem(space, merge, until, **drift)) for merge in (1e-6, 0))
    assert merged.provenance["statistics"]["particles"] < 50
    assert free.provenance["statistics"]["particles"] == 200
    assert np.abs(embedded(merged) - embedded(free)).max() < 1e-6


def left(until, **settings):
    """How many of 500 tokens on the circle there are, whose mean spacing is 0.0126."""
    given = problem("circle", 0, until).written()
    given["solver"] = {"kind": "particles", "count": 500, "tolerance": 1e-2, **settings}
    return mfpde.solve(mfpde.Problem.from_dict(given)).provenance["statistics"]["particles"]


def test_tokens_are_not_one_merely_because_they_are_many():
    """Without `merge` hardly any are before they have clustered; as given, many are at once."""
    assert left(1e-3) >= 498
    assert left(1e-3, merge=1e-2) < 450
    assert left(40) < 20


@pytest.mark.parametrize(
    ("geometry", "count", "expected"),
    [
        (mfpde.Circle(), 10**6, 2 * np.pi * 1e-9),
        (mfpde.Circle(), 32, 1e-8),
        (mfpde.Sphere(), 10**12, np.sqrt(4 * np.pi) * 1e-9),
        (mfpde.Sphere(dimension=4), 10**18, np.cbrt(2 * np.pi**2) * 1e-9),
        (mfpde.Sphere(dimension=768), 10**6, 1e-8),
        (mfpde.Plane(), 10**6, 0.0),
    ],
)
def test_the_distance_at_which_tokens_become_one(geometry, count, expected):
    """The tolerance, or a thousandth of `(area / n)^{1/(d-1)}`."""
    places = np.broadcast_to(0.0, (1, count, 1))
    tokens = Tokens(places, np.ones(1), None, geometry)
    assert merge_distance(ParticleSystem(tolerance=1e-8), tokens, None) == pytest.approx(expected)
    assert merge_distance(ParticleSystem(merge=0.1), tokens, None) == 0.1


def test_tokens_moved_by_more_than_attention_merge_as_well(few):
    runs = [mfpde.solve(problem("circle", merge, 30, drift=MLP)) for merge in (1e-6, 0)]
    assert runs[0].provenance["statistics"]["particles"] < 50
    assert np.abs(embedded(runs[0]) - embedded(runs[1])).max() < 1e-6


def test_three_thousand_tokens_reach_times_of_e_to_the_twenty():
    run = mfpde.solve(problem("circle", None, float(np.exp(20)), count=3000))
    assert run.outcome == "finished"
    assert run.provenance["statistics"]["steps"] < 1000
    assert np.unique(run.positions[-1]).size == run.provenance["statistics"]["particles"] <= 3


def test_who_has_joined_whom_is_told_before_and_after(few):
    """Tokens that lie in one place at the end have the label of one cluster, others do not."""
    run = mfpde.solve(problem("circle", 1e-6, 40.0))
    labels = run.mergers.labels(run.times, 200)
    assert np.array_equal(labels[0], np.arange(200))
    _, places = np.unique(run.positions[-1, :, 0], return_inverse=True)
    _, told = np.unique(labels[-1], return_inverse=True)
    assert len(run.mergers) == 200 - run.provenance["statistics"]["particles"] > 190
    assert len(set(zip(places.tolist(), told.tolist(), strict=True))) == told.max() + 1 == places.max() + 1
    assert (np.diff(run.mergers.time) >= 0).all()
    assert (run.mergers.into < run.mergers.token).all()


def test_the_resumed_run_is_the_same_whether_it_has_gathered_or_not(few):
    looks, found = (8.0, 12.0, 12.01, 25.0), []
    prepared = prepare(problem("circle", 1e-6, 25.0))
    kinds = set()
    for cut in range(len(looks)):
        integration = prepared.start()
        for number, look in enumerate(looks):
            while integration.advance(look, 1).state is State.UNDER_WAY:
                pass
            if number == cut:
                kinds.add(type(integration._now))
                kept = {**integration.state(), **integration.trail(0)}
                integration = prepared.resume({name: np.array(each) for name, each in kept.items()})
        found.append(integration.fields()["position"])
    assert len(kinds) == 2
    assert AdaptiveIntegration in kinds
    assert all(np.array_equal(each, found[0]) for each in found)


def test_neighbours_are_found_as_by_looking_at_every_pair(random):
    vectors, speeds = random.random((400, 3)), random.standard_normal((400, 3))
    merge = 0.08
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2) + 9 * np.eye(400)
    near, owners = crowded(vectors, merge), np.arange(400)
    owners[near] = near[meetings(vectors[near], speeds[near], merge)]
    expected = np.arange(400)
    for first in range(400):
        second = int(apart[first].argmin())
        near = apart[first, second] < merge and apart[second].argmin() == first < second
        if near and (vectors[first] - vectors[second]) @ (speeds[first] - speeds[second]) < 0:
            expected[second] = first
    assert (expected != np.arange(400)).sum() > 5
    assert np.array_equal(owners, expected)


def test_masses_and_centres_stay_what_they_were(random):
    vectors, weights = random.random((6, 2)), np.array([0.1, 0.3, 0.0, 0.0, 0.2, 0.4])
    owners = np.array([0, 0, 2, 2, 4, 0])
    joined, means = centres(vectors, weights, owners)
    clusters = Clusters.of(weights)
    kept = clusters.join(owners, 2.0)
    assert joined.tolist() == [0, 2]
    assert kept.tolist() == [0, 2, 4]
    np.testing.assert_allclose(means[0], weights[[0, 1, 5]] @ vectors[[0, 1, 5]] / 0.8, rtol=1e-14)
    np.testing.assert_allclose(means[1], vectors[2:4].mean(axis=0), rtol=1e-14)  # without mass: the middle
    np.testing.assert_allclose(clusters.weights, [0.8, 0.0, 0.2])
    assert clusters.members.tolist() == [0, 0, 1, 1, 2, 0]
    later = clusters.join(np.array([0, 0, 2]), 3.0)
    assert later.tolist() == [0, 2]
    assert dict(zip(clusters.gone.tolist(), clusters.into.tolist(), strict=True)) == {1: 0, 2: 0, 3: 2, 5: 0}
    assert clusters.leaders.tolist() == [0, 4]
    assert clusters.members.tolist() == [0, 0, 0, 0, 1, 0]
