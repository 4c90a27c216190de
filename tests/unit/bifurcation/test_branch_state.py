"""A run that starts from a state of a diagram: it stays, and where it is unstable it leaves at the state's rate."""

import pickle
from pathlib import Path

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


@pytest.mark.long
def test_a_hysteresis_loop_is_one_file(tmp_path):
    """On its way up the law is uniform between fold and kappa_1, on its way down it is not: the file of the docs."""
    text = (Path(__file__).parents[3] / "docs/bifurcations.md").read_text()
    example = text.partition("```yaml\n# kappa slowly up")[2].partition("```")[0]
    (tmp_path / "loop.yaml").write_text(f"# kappa slowly up{example}")
    run = mfpde.solve(tmp_path / "loop.yaml")
    kappa = np.interp(run.times, [0, 12, 24], [0.16, 0.24, 0.16])
    order = run["order-parameter"]
    between = np.abs(kappa - 0.195) < 0.0025
    up, down = (order[between & half] for half in (run.times < 12, run.times > 12))
    assert up.max() < 0.25
    stable = mfpde.stationary_state(CIRCLE, FIVE, kappa=0.195)
    assert down.mean() == pytest.approx(stable.amplitude, abs=0.1)
    assert order[-1] < 0.2


def test_escape_from_an_oblate_state_on_the_sphere(tmp_path):
    """A perturbation that breaks the axis grows at the leading rate, twice as fast in the free energy."""
    blocks = {"geometry": {"kind": "sphere"}, "interaction": {"coefficients": [0, 1]}}
    block = {"range": [4, 9], "branches": [2]}
    diagram = mfpde.bifurcate(mfpde.Problem.from_dict({**blocks, "bifurcation": block}), tmp_path / "nematic.h5")
    state = diagram.branches[1].at(7, "oblate")
    start = {"kind": "branch", "file": str(tmp_path / "nematic.h5"), "branch": 1, "at": 7, "side": "oblate"}
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                **blocks,
                "noise": {"kappa": 7},
                "initial": {**start, "perturb": 1e-4},
                "solver": {"kind": "spectral", "tolerance": 1e-9},
                "time": {"until": 9, "save_every": 1},
                "observe": ["free-energy"],
            }
        )
    )
    fallen = np.log(state.free_energy - run["free-energy"][5:])
    assert np.diff(fallen).mean() / 2 == pytest.approx(state.rates[0], rel=5e-3)
    assert state.rates[0] == pytest.approx(state.rates[1], rel=1e-10)  # of azimuthal order 2: both directions
    assert [mode.order for mode in state.modes if mode.rate > 0] == [2]
    start = mfpde.Problem.from_dict({"geometry": {"kind": "sphere"}, "initial": {**start, "perturb": 0.1}}).initial
    points = np.array([[0.6, 0.0, 0.8], [0.0, 0.6, -0.8], [0.48, 0.64, 0.6]])
    x, y, z = points.T
    plain = start.model_copy(update={"perturb": 0.0}).on(mfpde.Sphere())
    ratio = start.on(mfpde.Sphere()).evaluate(points) / plain.evaluate(points)
    expected = 1 + 0.1 * (x + z + x * y)
    np.testing.assert_allclose(ratio / ratio[0], expected / expected[0], rtol=1e-10)
