"""Points by recipe."""

import numpy as np
import pytest

import mfpde


def drawn(geometry, **recipe):
    return mfpde.Points(**recipe).on(geometry).points


@pytest.mark.parametrize(
    ("count", "cosine", "dimension"),
    [
        (2, -1, 1),
        (1, 0.3, 3),
        (8, 0.2, 8),
        (8, 0.2, 20),
        (5, -0.25, 4),
        (5, -0.25, 9),
        (6, 0, 6),
        (40, 1, 3),
        (3, -0.5, 2),
    ],
)
def test_equiangular_points_have_all_cosines_equal(count, cosine, dimension):
    vectors = drawn(mfpde.Space(dimension=dimension), random="equiangular", count=count, cosine=cosine, seed=3)
    gram = np.full((count, count), float(cosine))
    np.fill_diagonal(gram, 1.0)
    assert vectors.shape == (count, dimension)
    np.testing.assert_allclose(vectors @ vectors.T, gram, atol=3e-15)


def test_equiangular_points_are_turned_at_random():
    sphere = mfpde.Sphere(dimension=4)
    first, other = (drawn(sphere, random="equiangular", count=3, cosine=0.5, seed=seed) for seed in (1, 2))
    assert np.abs(first - other).max() > 0.1
    means = [drawn(sphere, random="equiangular", count=3, cosine=0.5, seed=seed).mean(axis=0) for seed in range(300)]
    assert np.abs(np.mean(means, axis=0)).max() < 0.15
    angles = drawn(mfpde.Circle(), random="equiangular", count=3, cosine=-0.5, seed=1)[:, 0]
    np.testing.assert_allclose(np.diff(np.sort(angles)), 2 * np.pi / 3, atol=1e-14)


def test_laws_of_the_others():
    count = 40_000
    unit = drawn(mfpde.Sphere(dimension=5), random="uniform-sphere", count=count)
    np.testing.assert_allclose(unit.T @ unit / count, np.eye(5) / 5, atol=0.01)
    normal = drawn(mfpde.Space(dimension=3), random="normal", count=count, scale=2)
    np.testing.assert_allclose(normal.T @ normal / count, 4 * np.eye(3), atol=0.15)
    box = drawn(mfpde.Plane(), random="box", count=count, box=[[-5, 5], [0, 1]])
    np.testing.assert_allclose(box.min(axis=0), [-5, 0], atol=1e-2)
    np.testing.assert_allclose(box.max(axis=0), [5, 1], atol=1e-2)
    np.testing.assert_allclose(box.var(axis=0), [100 / 12, 1 / 12], rtol=0.03)
    angles = drawn(mfpde.Circle(), random="box", count=count)
    assert abs(np.exp(1j * angles).mean()) < 0.02
    assert np.abs(drawn(mfpde.Plane(), random="box", count=100)).max() <= 1
    assert np.isin(drawn(mfpde.Line(), random="uniform-sphere", count=9), [-1, 1]).all()


def test_the_numbers_are_those_of_this_version():
    np.testing.assert_allclose(drawn(mfpde.Line(), random="normal", count=2, seed=5)[:, 0], NORMALS, rtol=1e-15)


NORMALS = [-0.8611309952558384, -0.6485133402065679]


def test_points_that_are_not_drawn_read_back():
    for given in (mfpde.Points(values=[1.0, 2.0]), mfpde.Points(random="normal", count=3)):
        assert mfpde.Points(**given.canonical()) == given


def test_files_keep_the_recipe_and_runs_have_the_points():
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "sphere", "dimension": 4},
            "attention": {"kind": "softmax", "beta": 1},
            "initial": {"kind": "points", "random": "equiangular", "count": 4, "cosine": 0.1, "seed": 9},
            "solver": {"kind": "particles"},
            "time": {"until": 0.1, "save": False},
        }
    )
    written = {"kind": "points", "random": "equiangular", "count": 4, "seed": 9, "cosine": 0.1}
    assert problem.canonical()["initial"] == written
    assert mfpde.Problem.from_dict(problem.canonical()) == problem
    run = mfpde.solve(problem)
    np.testing.assert_allclose(run.positions[0] @ run.positions[0].T, 0.9 * np.eye(4) + 0.1, atol=1e-14)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"random": "normal"}, "count: is missing: how many points are to be drawn?"),
        ({"random": "normal", "count": 5, "seed": 0.5}, "seed: must be a whole number, not 0.5"),
        ({"random": "normal", "count": 5, "cosine": 0.5}, "cosine: belongs to random: equiangular, not normal"),
        ({"random": "box", "count": 5, "scale": 2}, "scale: belongs to random: normal, not box"),
        ({"random": "box", "count": 5, "box": [[1, 0]]}, "box: needs pairs [from, to] with from < to, not [1.0, 0.0]"),
        ({"values": [1.0], "count": 5}, "count: belongs to points that are drawn; say how: random: uniform-sphere"),
        ({"values": [1.0], "seed": 5}, "seed: belongs to points that are drawn"),
        ({"random": "normal", "values": [1.0], "count": 1}, "points need one of values, file and random"),
        ({"random": "equiangular", "count": 5}, "cosine: is missing"),
        (
            {"random": "equiangular", "count": 5, "cosine": -0.26},
            "cosine: 5 vectors have equal angles for a cosine from",
        ),
        ({"random": "equal", "count": 5}, "random: must be 'uniform-sphere', 'normal', 'box' or 'equiangular'"),
    ],
)
def test_what_does_not_belong_together_is_said_in_one_message(given, said):
    with pytest.raises(mfpde.ProblemError) as refused:
        mfpde.Points(**given)
    assert len(refused.value.faults) == 1
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("geometry", "given", "said"),
    [
        (mfpde.Circle(), {"random": "normal"}, "initial.random: normal points are drawn in R^d, not on the circle"),
        (mfpde.Sphere(), {"random": "box"}, "initial.random: there is no box on the sphere; use uniform-sphere"),
        (mfpde.Plane(), {"random": "box", "box": [[0, 1]]}, "initial.box: needs 2 pairs [from, to] here, not 1"),
        (mfpde.Plane(), {"random": "equiangular", "cosine": 0}, "initial.count: 5 vectors with all cosines 0 need 5"),
    ],
)
def test_what_the_space_has_no_room_for(geometry, given, said):
    with pytest.raises(mfpde.ProblemError) as refused:
        drawn(geometry, count=5, **given)
    assert said in str(refused.value)
