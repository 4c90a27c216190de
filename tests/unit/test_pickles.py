"""What can be sent to a worker, and copied: measures, laws, spaces, problems, runs. They answer as before."""

import copy
import pickle

import numpy as np
import pytest

import mfpde
from mfpde.measure.initial.branch import BranchState
from mfpde.registry import members

SPACES = [mfpde.Circle(), mfpde.Line(), mfpde.Plane(), mfpde.Space(dimension=4), mfpde.Sphere()]
WRITTEN = ["1 + 0.5*cos(theta)", "maximum(0, cos(theta))", "exp(-x**2)", "maximum(0, 1 - x**2 - y**2)", "1 + 0.5*z"]
INITIALS = [
    mfpde.Uniform(),
    *(mfpde.Uniform(box=[[0, 1]] * count) for count in (1, 2, 4)),
    *(mfpde.Uniform(ball={"center": center, "radius": 1}) for center in ([0], [0, 0], [0, 0, 1])),
    mfpde.VonMises(direction=0, concentration=2),
    mfpde.VonMises(direction=[0, 0, 1], concentration=2),
    *(mfpde.Density(expression=text) for text in WRITTEN),
    *(mfpde.Gaussian(mean=[0] * count, covariance=1) for count in (1, 2, 4)),
    mfpde.Mixture(components=[mfpde.VonMises(direction=0, concentration=9), mfpde.Uniform(box=[[0, 1]])]),
    mfpde.Mixture(components=[mfpde.VonMises(direction=0, concentration=9), mfpde.Density(expression=WRITTEN[0])]),
    mfpde.Mixture(components=[mfpde.Gaussian(mean=0, covariance=1), mfpde.Gaussian(mean=1, covariance=1)]),
    mfpde.Points(values=[[0.0, 1.0], [1.0, 0.0]]),
    mfpde.Points(values=[0.0, 1.0]),
    mfpde.Points(values=[[0.0, 0.0, 1.0]]),
]
COPIES = [lambda thing: pickle.loads(pickle.dumps(thing)), copy.copy, copy.deepcopy]  # noqa: S301  our own


def answers(measure):
    points, weights = measure.nodes(1e-4)
    found = [points, weights, measure.mean, measure.covariance, measure.sample(5, seed=3)]
    for ask in (lambda: measure.evaluate(points[:9]), lambda: measure.harmonics(8).coefficients):
        try:
            found.append(ask())
        except mfpde.ProblemError as error:
            found.append(np.array(str(error)))
    return found


def same(one, two):
    assert all(np.array_equal(first, second) for first, second in zip(answers(one), answers(two), strict=True))


def test_every_initial_measure_is_here():
    assert {type(initial) for initial in INITIALS} | {mfpde.Snapshot, BranchState} == set(members("initial").values())


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_measures_on_every_space(space):
    count = 0
    for initial in INITIALS:
        try:
            measure = initial.on(space)
        except mfpde.ProblemError:
            continue
        count += 1
        for copied in COPIES:
            same(copied(measure), measure)
            assert copied(initial).content_hash == initial.content_hash
        for copied in COPIES[:1]:  # also what has been asked before
            same(copied(measure), measure)
    assert count >= 2


@pytest.mark.parametrize("kind", ["geometry", "attention", "solver", "observable"])
def test_specifications(kind):
    for made in members(kind).values():
        try:
            thing = made()
        except mfpde.ProblemError:
            continue
        for copied in COPIES:
            assert copied(thing) == thing


@pytest.mark.parametrize(
    ("geometry", "initial", "noise"),
    [
        ("circle", {"kind": "density", "expression": "1 + 0.1*cos(theta)"}, 4),
        ("line", {"kind": "gaussian", "mean": 0, "covariance": 1}, 4),
        ("plane", {"kind": "gaussian", "mean": [0, 0], "covariance": 1}, None),
        ("line", {"kind": "uniform", "box": [[-1, 1]]}, None),
    ],
)
def test_runs_and_what_they_hold(tmp_path, geometry, initial, noise):
    task = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": geometry},
            "attention": {"kind": "unnormalized", "beta": 0}
            if geometry == "circle"
            else {"kind": "softmax", "A": 1, "V": -1},
            "noise": {} if noise is None else {"kappa": noise},
            "initial": initial,
            "time": {"until": 0.01},
            "solver": {
                "kind": "spectral"
                if noise and geometry == "circle"
                else "gaussian"
                if "mean" in initial
                else "characteristics"
            },
        }
    )
    run = mfpde.solve(task, tmp_path / "run.h5")
    for each in (run, mfpde.load(tmp_path / "run.h5")):
        for copied in COPIES:
            again = copied(each)
            assert again.outcome == each.outcome
            assert again.problem == task
            assert copied(task) == task
            assert np.array_equal(again.times, each.times)
            for index in (0, -1):
                same(again.measure(index), each.measure(index))
                same(copied(each.measure(index)), each.measure(index))
