"""What solutions on spheres must keep: mass, rotations, symmetries, an energy law, and the bits of a resumed run."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mfpde
from mfpde.contracts import State
from mfpde.equation import InitialValueProblem
from mfpde.geometry import Sphere
from mfpde.solvers.spectral.sphere_data import axis_of, symmetry_of, table_of


def problem(
    initial, until=0.4, law="unnormalized", beta=2.0, kappa=3.0, tolerance=1e-6, dimension=3, observe=(), **solver
):
    if isinstance(initial, str):
        initial = {"kind": "density", "expression": initial}
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": dimension},
            "attention": {"kind": law, "A": beta},
            "noise": {"kappa": kappa},
            "initial": initial,
            "solver": {"kind": "spectral", "tolerance": tolerance, **solver},
            "time": {"until": until, "save_every": until / 4},
            "observe": list(observe),
        }
    )


def bumps(*directions):
    return {
        "kind": "mixture",
        "components": [
            {"kind": "von-mises", "direction": list(direction / np.linalg.norm(direction)), "concentration": c}
            for direction, c in zip(np.array(directions, dtype=float), (2.0, 3.0, 5.0), strict=False)
        ],
    }


def table(measure):
    return measure.harmonics(24).coefficients.T


def sums_of(run):
    return np.array([(density * run.layout.weight).sum() for density in run.density])


THREE = [[1, 0.3, 0.2], [-0.4, 1, 0.1], [0.1, -0.5, -1]]


@pytest.mark.parametrize("law", ["unnormalized", "softmax"])
@pytest.mark.parametrize("beta", [2.0, -1.5])
def test_rotated_data_have_a_rotated_solution(law, beta, random):
    turn = Rotation.random(rng=random)
    points = Rotation.random(40, rng=random).apply([0.0, 0.0, 1.0])
    tolerance = 1e-7
    one = mfpde.solve(problem(bumps(*THREE), law=law, beta=beta, tolerance=tolerance)).measure(-1)
    other = mfpde.solve(problem(bumps(*turn.apply(THREE)), law=law, beta=beta, tolerance=tolerance)).measure(-1)
    there, here = other.evaluate(turn.apply(points)), one.evaluate(points)
    assert np.abs(there - here).max() < 10 * tolerance * np.abs(here).max()


def test_rotated_matrices_and_data_have_a_rotated_solution(random):
    """General A and V: `A -> R A R^T`, `V -> R V R^T`."""
    turn, tolerance = Rotation.random(rng=random), 1e-5
    points, r = Rotation.random(40, rng=random).apply([0.0, 0.0, 1.0]), turn.as_matrix()
    A, V = np.array([[1, 0.4, 0], [-0.2, 0.8, 0.3], [0.1, 0, 0.5]]), np.array([[1, 0, 0.2], [0.3, 0.7, 0], [0, 0.1, 1]])

    def law_of(directions, a, v):
        given = problem(bumps(*directions), law="softmax", tolerance=tolerance, until=0.2)
        return mfpde.solve(given.altered({"attention": mfpde.Softmax(A=a.tolist(), V=v.tolist())})).measure(-1)

    one, other = law_of(THREE, A, V), law_of(turn.apply(THREE), r @ A @ r.T, r @ V @ r.T)
    here = one.evaluate(points)
    assert np.abs(other.evaluate(turn.apply(points)) - here).max() < 10 * tolerance * here.max()


@pytest.mark.parametrize("law", ["unnormalized", "softmax"])
def test_mass_is_kept(law):
    run = mfpde.solve(problem("1 + 0.5*x + 0.3*y*z", law=law, tolerance=1e-4))
    assert np.abs(sums_of(run) - 1).max() < 1e-13


@pytest.mark.parametrize("dimension", [4, 8])
def test_mass_is_kept_about_an_axis(dimension):
    initial = {"kind": "von-mises", "direction": np.eye(dimension)[0].tolist(), "concentration": 3}
    run = mfpde.solve(problem(initial, dimension=dimension, law="softmax"))
    assert run.density.ndim == 2
    assert np.abs(sums_of(run) - 1).max() < 1e-13


def test_an_axis_stays_where_it_is():
    direction = np.array([0.48, -0.6, 0.64])
    run = mfpde.solve(problem({"kind": "von-mises", "direction": direction.tolist(), "concentration": 3}))
    assert run.density.ndim == 3
    found = axis_of(table(run.measure(-1)))
    assert found is not None
    assert np.abs(np.abs(found.axis @ direction) - 1) < 1e-12


@pytest.mark.parametrize(
    ("expression", "period"),
    [
        ("1 + 0.5*x + 0.3*y*y*z", 1),
        ("1 + 0.5*x*x + 0.1*x*y*z", 2),
        ("1 + 0.3*sin(colatitude)**3*sin(3*longitude) + 0.2*z", 3),
        ("1 + 0.2*(x**4 + y**4 + z**4) + 0.1*z*(x*x - y*y)", 2),
    ],
)
def test_symmetries_of_the_data_are_exact(expression, period):
    """Coefficients that they forbid are zero, to the last bit, as they were."""
    problem_ = problem(expression)
    task = InitialValueProblem(problem_.equation, 0.4)
    before = symmetry_of(table_of(task.initial, 40))
    assert before.period == period
    integration = problem_.solver.start(task)
    while integration.advance(0.4, 10**6).state is not State.REACHED:
        pass
    found = integration.measure().series.coefficients.T
    degree, order = np.indices(found.shape)
    kept = np.array(before.kept).reshape(2, 2, 2)[(degree - order) % 2, order % 2] & (order % period == 0)[..., None]
    assert not found.real[~kept[..., 0]].any()
    assert not found.imag[~kept[..., 1]].any()
    assert np.count_nonzero(found) > 20


def test_free_energy_falls_by_the_dissipation():
    names = ("free-energy", "dissipation")
    run = mfpde.solve(problem("1 + 0.5*x + 0.3*y*z + 0.2*z", until=0.1, tolerance=1e-8, observe=names))
    energy, lost, step = np.asarray(run["free-energy"]), np.asarray(run["dissipation"]), run.times[1]
    by_rule = step * 2 / 45 * (7 * lost[0] + 32 * lost[1] + 12 * lost[2] + 32 * lost[3] + 7 * lost[4])
    assert energy[0] - energy[-1] == pytest.approx(by_rule, rel=1e-7)


def ways():
    yield "sphere", problem("1 + 0.5*x + 0.3*y*z + 0.2*z", law="softmax"), 0.4
    yield "axis", problem("1 + 0.5*z", law="softmax", kappa=6.0, beta=3.0), 0.4
    narrow = {"kind": "von-mises", "direction": [0.6, 0.0, 0.8], "concentration": 50}
    wide = {"kind": "von-mises", "direction": [0.0, 0.6, -0.8], "concentration": 2}
    both = {"kind": "mixture", "components": [narrow, wide]}
    yield "sinking", problem(both, beta=1.0, kappa=1.0, tolerance=1e-9), 0.6
    yield "growing", problem("1 + 0.5*x + 0.3*y*z + 0.2*z", beta=4.0, kappa=4.0, tolerance=1e-3), 0.3


@pytest.mark.parametrize(
    ("name", "given", "until"), list(ways()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_resumed_run_has_the_same_bits(name, given, until):
    task = InitialValueProblem(given.equation, until)
    whole, resumed = given.solver.start(task), given.solver.start(task)
    targets = until * np.array([0.3, 0.55, 1.0])
    for target in targets:
        while whole.advance(target, 10**6).state is State.UNDER_WAY:
            pass
        while resumed.advance(target, 1).state is State.UNDER_WAY:
            kept = {name: np.array(values) for name, values in resumed.state().items()}
            resumed = given.solver.resume(task, kept)
    ends = [{name: np.asarray(values).tobytes() for name, values in each.state().items()} for each in (whole, resumed)]
    assert ends[0] == ends[1]


def test_clusters_that_are_too_narrow_are_said():
    run = mfpde.solve(problem("1 + 0.5*z + 0.2*x", until=20, beta=2.0, kappa=".inf", max_modes=40, tolerance=1e-4))
    assert run.outcome.kind == "resolution lost"


def test_points_without_noise_are_refused():
    points = {"kind": "points", "values": [[0, 0, 1], [0, 1, 0]]}
    with pytest.raises(mfpde.ProblemError, match="without noise nothing smooths"):
        mfpde.solve(problem(points, kappa=".inf", max_modes=60))


def test_degrees_beyond_memory_are_said_in_bytes():
    points = {"kind": "points", "values": [[0, 0, 1], [0, 1, 0], [1, 0, 0]]}
    for matrix in (2.0, [[1, 0.5, 0], [0, 1, 0], [0, 0, 2]]):
        for initial in ("1 + 0.5*x + 0.3*y*z + 0.2*z", points):
            with pytest.raises(mfpde.ProblemError, match="GiB"):
                mfpde.solve(problem(initial, max_modes=4096, beta=matrix))
    assert mfpde.solve(problem("1 + 0.5*z", max_modes=4096, until=0.01)).outcome.kind == "finished"


def test_points_are_smoothed_by_noise():
    points = {"kind": "points", "values": [[0, 0, 1], [0, 1, 0], [1, 0, 0]], "weights": [0.5, 0.3, 0.2]}
    run = mfpde.solve(problem(points, until=0.5, kappa=2.0, max_modes=80, beta=0.0))
    assert run.outcome.kind == "finished"
    assert np.abs(sums_of(run)[-1] - 1) < 1e-12
    assert run.outcome.accuracy.kept is False


def test_many_dimensions_need_an_axis():
    directions = np.eye(5)[:2].tolist()
    parts = [{"kind": "von-mises", "direction": each, "concentration": 2} for each in directions]
    with pytest.raises(mfpde.ProblemError, match="axis"):
        mfpde.solve(problem({"kind": "mixture", "components": parts}, dimension=5))


def test_a_uniform_density_rests():
    run = mfpde.solve(problem("1 + 0.3*x*y + 0.2*z", until=1e4, beta=0.5, kappa=1.0))
    assert run.outcome.kind == "finished"
    assert np.abs(np.asarray(run.density[-1]) * 4 * np.pi - 1).max() < 1e-5
    assert Sphere().harmonics.dimension == 3
