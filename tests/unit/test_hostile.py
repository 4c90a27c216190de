"""Documented names with arguments that no one should hand to them: an answer or a sentence, never a raw error."""

import math

import numpy as np
import pytest

import mfpde

HOSTILE = [
    None, -1, 0, 3, 0.5, math.nan, math.inf, -math.inf, 10**400, -(10**400), "x", "", "\ud800", "a\0b", b"x",
    [], {}, (), [[]], [[1, 2], [3]], {"kind": "x"}, 1j, np.array(1j), np.array([]), np.array(3.0), np.array(["a"]),
    np.zeros((2, 2, 2)), np.ones((3, 5)), np.array([np.nan]), np.array([None]), object(), int, True, range(3), set(),
    slice(3), mfpde.Circle, mfpde.Circle(), mfpde.Softmax(A=1),
]  # fmt: skip
PROBLEM = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 0},
    "noise": {"kappa": 4},
    "initial": {"kind": "density", "expression": "1 + 0.1*cos(theta)"},
    "time": {"until": 0.1, "save_every": 0.05},
    "observe": ["order-parameter"],
}
TOKENS = mfpde.Particles([[0.0, 1.0], [1.0, 0.0], [-1.0, -0.7]])
MEASURES = {
    "particles": TOKENS,
    "angles": mfpde.Particles([0.0, 1.0], None, mfpde.Circle()),
    "normal": mfpde.Normal(0.0, 1.0),
    "grid": mfpde.GridDensity.of([np.linspace(-1, 1, 9)], np.ones(9) / 2),
    "uniform": mfpde.Uniform(),
    "arc": mfpde.Uniform(box=[[0, 1]]).on(mfpde.Circle()),
    "box": mfpde.Uniform(box=[[0, 1], [0, 1]]),
    "bell": mfpde.VonMises(direction=0, concentration=2),
    "written": mfpde.Density(expression="exp(-x**2)"),
    "mixture": mfpde.Mixture(components=[mfpde.Uniform(), mfpde.VonMises(direction=0, concentration=9)]),
}
LAWS = {
    "softmax": mfpde.Softmax(A=1),
    "sinkhorn": mfpde.Sinkhorn(A=1),
    "linear": mfpde.Linear(A=1),
    "relu": mfpde.Relu(A=1),
    "heads": mfpde.MultiHead(heads=[mfpde.Softmax(A=1), mfpde.Sigmoid(A=1)]),
    "masked": mfpde.Masked(attention=mfpde.Softmax(A=1), positions=3),
}
SPACES = [mfpde.Circle(), mfpde.Line(), mfpde.Plane(), mfpde.Sphere(), mfpde.Space(dimension=4)]


@pytest.fixture(scope="module")
def problem():
    return mfpde.Problem.from_dict(PROBLEM)


@pytest.fixture(scope="module")
def run(problem):
    return mfpde.solve(problem)


def held(call, wanted=mfpde.MfpdeError):
    """Every hostile value gives an answer or a sentence."""
    failed = []
    for given in HOSTILE:
        try:
            with np.errstate(all="ignore"):
                call(given)
        except wanted:
            continue
        except Exception as error:  # noqa: BLE001  any other is what must not be
            failed.append(f"{type(given).__name__!s} {str(given)[:20]!r}: {type(error).__name__}: {error}"[:200])
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("method", ["evaluate", "sample", "integrate", "log_laplace", "nodes", "reach", "harmonics"])
def test_measures(name, method):
    call = getattr(MEASURES[name], method)
    held(lambda given: None if given is int else call(given))  # what a caller's own function raises is the caller's


@pytest.mark.parametrize("name", MEASURES)
def test_second_arguments_of_measures(name):
    measure = MEASURES[name]
    held(lambda given: measure.sample(2, given))
    held(lambda given: measure.nodes(1e-10, given))
    held(measure.cell_averages)


@pytest.mark.parametrize("name", LAWS)
def test_laws(name):
    law = LAWS[name]
    for method in (law.drift, law.drift_by_quadrature, law.jacobian, law.divergence):
        held(lambda given, method=method: method(TOKENS, given))
        held(lambda given, method=method: method(given, [[0.0, 1.0]]))
        held(lambda given, method=method: method(TOKENS, [[0.0, 1.0]], given))
    held(law.check)
    held(law.at)


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_spaces(space):
    for method in (space.points, space.embed, space.coordinates):
        held(method)
    some = space.points([[1.0, *[0.0] * (space.ambient_dimension - 1)]])
    if not space.flat:
        held(lambda given: space.tangent(some, given))
    held(lambda given: mfpde.Uniform().on(given))
    held(lambda given: mfpde.Uniform(ball={"center": [0], "radius": 1}).over_positions(space, given))


def test_the_grid_of_the_circle():
    held(mfpde.Circle().layout)
    for count in (None, -1, 0, math.nan, "x", 2.5):
        with pytest.raises(mfpde.ProblemError, match="count: must be a whole number from 1 on"):
            mfpde.Circle().layout(count)


@pytest.mark.parametrize("made", ["Particles", "Normal", "GridDensity", "Positioned", "Softmax", "Space"])
def test_constructors(made):
    made = getattr(mfpde, made)
    if made is not mfpde.Normal and made is not mfpde.Positioned:  # Python itself tells what is missing
        held(made)
    if made is not mfpde.GridDensity:
        held(lambda given: made(given, given))


@pytest.mark.parametrize("kind", ["Softmax", "Sinkhorn", "Gaussian", "Uniform", "VonMises", "Density", "Points"])
def test_fields(kind):
    made = getattr(mfpde, kind)
    for name in made.model_fields:
        held(lambda given, name=name: made(**{name: given}))


def test_lattices_and_grids():
    held(mfpde.Lattice.of)
    held(lambda given: mfpde.Lattice.of([[0.0, 1.0]], given))
    held(lambda given: mfpde.Lattice.of([[0.0, 1.0]], None, given))
    held(lambda given: mfpde.GridDensity.of(given, given))
    held(lambda given: mfpde.GridDensity.of([[0.0, 1.0]], given))
    held(lambda given: mfpde.Particles([[0.0, 1.0]], given))
    held(lambda given: mfpde.Particles([[0.0, 1.0]], None, given))
    held(lambda given: mfpde.Particles([[0.0, 1.0]], None, None, given))


def test_runs(run):
    held(run.measure)
    held(run.axis)
    held(run.__getitem__)
    held(lambda given: run.plot(given) if given is not None else None)
    held(run.animate)


def test_problems(problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held(problem.need)
    held(lambda given: problem.model_copy(update=given))
    for name in mfpde.Problem.written_keys():
        held(lambda given, name=name: problem.model_copy(update={name: given}))
    held(problem.noise.diffusion_at)
    held(mfpde.Problem.from_dict)
    held(mfpde.Problem.from_yaml)
    held(mfpde.load)
    held(mfpde.validate)
    (tmp_path / "problem.yaml").write_text(problem.to_yaml())
    held(lambda given: mfpde.Problem.from_yaml("problem.yaml", given))
    held(lambda given: mfpde.Problem.from_yaml("problem.yaml", {"noise.kappa": given}))


@pytest.mark.parametrize("name", ["resume", "force"])
@pytest.mark.parametrize("given", ["x", "no", 1, 0, None, [], np.array([1, 2])])
def test_what_is_no_truth_value_does_not_count_as_one(problem, tmp_path, name, given):
    with pytest.raises(mfpde.ProblemError, match=f"{name}: must be True or False, not "):
        mfpde.solve(problem, tmp_path / "run.h5", **{name: given})
    assert not list(tmp_path.iterdir())
    with pytest.raises(mfpde.ProblemError, match="quick: must be True or False"):
        mfpde.validate("moebius", quick=given)
    with pytest.raises(mfpde.ProblemError, match="progress: must be"):
        mfpde.solve(problem, progress=given)


def test_a_copy_is_checked(problem):
    """What tab completion offers for changing one value."""
    for copied in (problem.model_copy, problem.copy):
        changed = copied(update={"noise": {"kappa": 3}})
        assert changed.noise.diffusion == pytest.approx(1 / 3)
        assert changed == mfpde.Problem.from_dict({**PROBLEM, "noise": {"kappa": 3}})
        assert copied() == problem
        with pytest.raises(mfpde.ProblemError, match=r"noise.kappa: must be greater than 0, not -3"):
            copied(update={"noise": {"kappa": -3}})
        with pytest.raises(mfpde.ProblemError, match="nois: unknown key 'nois'"):
            copied(update={"nois": 3})
    assert problem.noise.model_copy(update={"kappa": 5}).kappa == 5
    with pytest.raises(mfpde.ProblemError, match="must be a number"):
        mfpde.Softmax(A=1).model_copy(update={"V": "x"})
    assert mfpde.solve(problem.model_copy(update={"noise": {"kappa": 3}})).outcome == "finished"


def test_nothing_is_constructed_unchecked():
    with pytest.raises(mfpde.ProblemError, match="A: must be"):
        mfpde.Softmax.model_construct(A="x")
    assert mfpde.Softmax.model_construct(A=2) == mfpde.Softmax(A=2)
