"""A run that starts from a state of a diagram: it stays, and where it is unstable it leaves at the state's rate."""

import pickle

import numpy as np
import pytest

import mfpde
from mfpde.measure.initial.branch import BranchState

CIRCLE, FIVE = {"kind": "circle"}, {"kind": "unnormalized", "beta": 5}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    block = {"parameter": "kappa", "range": [0.15, 0.4], "branches": [1, 2]}
    diagram = mfpde.bifurcate(mfpde.Problem.from_dict({"geometry": CIRCLE, "attention": FIVE, "bifurcation": block}))
    return str(diagram.save(tmp_path_factory.mktemp("diagram") / "branches.h5"))


def problem(file, kappa, until, **initial):
    return mfpde.Problem.from_dict(
        {
            "geometry": CIRCLE,
            "attention": FIVE,
            "noise": {"kappa": kappa},
            "initial": {"kind": "branch", "file": file, **initial},
            "solver": {"kind": "spectral", "tolerance": 1e-10},
            "time": {"until": until, "save_every": until / 20},
            "observe": ["order-parameter", {"kind": "order-parameter", "harmonic": 2}],
        }
    )


def test_a_stable_state_stays(file):
    run = mfpde.solve(problem(file, 0.19, 2, branch=1, at=0.19, side="upper"))
    assert np.ptp(run["order-parameter"]) < 1e-9


def test_an_unstable_state_is_left_at_its_rate(file):
    """Mode 2 falls apart by the growth of its first harmonic."""
    state = mfpde.stationary_state(CIRCLE, FIVE, kappa=0.35, mode=2)
    run = mfpde.solve(problem(file, 0.35, 8, branch=2, at=0.35, perturb=1e-7))
    growth = np.log(run["order-parameter"])
    slope = np.polyfit(run.times[-8:], growth[-8:], 1)[0]
    assert slope == pytest.approx(state.rates[0], rel=1e-3)


def test_a_perturbation_is_what_it_says(file):
    start = mfpde.Problem.from_dict(
        {"geometry": CIRCLE, "initial": {"kind": "branch", "file": file, "branch": 1, "point": 30, "perturb": 0.1}}
    ).initial
    plain = start.model_copy(update={"perturb": 0.0})
    theta = np.linspace(0, 6, 50)
    ratio = start.on(mfpde.Circle()).evaluate(theta) / plain.on(mfpde.Circle()).evaluate(theta)
    expected = 1 + 0.1 * (np.cos(theta) + np.sin(theta))
    np.testing.assert_allclose(ratio / ratio[0], expected / expected[0], rtol=1e-12)
    measure = start.on(mfpde.Circle())
    many = 2 * np.pi * np.arange(256) / 256
    waves = np.exp(-1j * np.outer(np.arange(6), many)) @ measure.evaluate(many) * (2 * np.pi / 256)
    np.testing.assert_allclose(measure.coefficients(6), waves, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"branch": 1, "at": 0.19}, r"several states are there, say which side: upper .*, lower"),
        ({"branch": 1, "at": 0.1}, "no state is there"),
        ({"branch": 7, "at": 0.2}, "there is no branch 7; known: 0: uniform, 1: mode 1, 2: mode 2"),
        ({"branch": 1, "point": 9999}, "points, not 9999"),
        ({"branch": 1}, "needs either `at`"),
        ({"branch": 1, "point": 3, "side": "upper"}, "goes with `at`"),
        ({"branch": 1, "point": 3, "file": "nowhere.h5"}, "there is no file nowhere.h5"),
    ],
)
def test_refusals(file, given, told):
    with pytest.raises(mfpde.ProblemError, match=told):
        mfpde.solve(problem(given.pop("file", file), 0.19, 1, **given))


def test_it_can_be_sent_to_a_worker(file):
    start = BranchState(file=file, branch=1, at=0.19, side="upper", perturb=0.1)
    for measure in (start.on(mfpde.Circle()), start.model_copy(update={"perturb": 0.0}).on(mfpde.Circle())):
        copied = pickle.loads(pickle.dumps(measure))  # noqa: S301  our own
        assert np.array_equal(copied.evaluate([0.0, 1.0]), measure.evaluate([0.0, 1.0]))
        assert np.array_equal(copied.coefficients(9), measure.coefficients(9))
