"""R^d, spheres and lattices: what counts as a point, how it is embedded, what is tangent."""

import numpy as np
import pytest

from mfpde import Circle, Lattice, Line, Plane, ProblemError, Space, Sphere
from mfpde.registry import members

SPACES = {
    "line": Line(),
    "plane": Plane(),
    "space": Space(dimension=5),
    "circle": Circle(),
    "sphere": Sphere(),
    "sphere of R^5": Sphere(dimension=5),
}


def points_on(space, count=7):
    draws = np.random.default_rng(1).standard_normal((count, space.ambient_dimension))
    if space.flat:
        return draws
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def test_every_geometry_is_tested():
    assert {space.model_dump()["kind"] for space in SPACES.values()} == set(members("geometry"))


@pytest.mark.parametrize("name", SPACES)
def test_points_are_kept_and_embedded(name):
    space = SPACES[name]
    x = points_on(space)
    native = space.points(x)
    assert native.shape == (7, 1 if space == Circle() else x.shape[1])
    np.testing.assert_allclose(space.embed(native), x, atol=1e-15)
    np.testing.assert_array_equal(space.points(native), native)


@pytest.mark.parametrize("name", SPACES)
def test_the_projection_is_onto_the_tangent_space(name):
    space = SPACES[name]
    x = points_on(space)
    native = space.points(x)
    vectors = np.random.default_rng(2).standard_normal(x.shape)
    tangent = space.tangent(native, vectors)
    if space.flat:
        np.testing.assert_array_equal(tangent, vectors)
    elif space == Circle():
        np.testing.assert_allclose(tangent[:, 0], x[:, 0] * vectors[:, 1] - x[:, 1] * vectors[:, 0], atol=1e-15)
    else:
        np.testing.assert_allclose(np.sum(x * tangent, axis=1), 0, atol=1e-15)
        np.testing.assert_allclose(space.tangent(native, tangent), tangent, atol=1e-15)
        left_over = vectors - tangent
        np.testing.assert_allclose(left_over, np.sum(left_over * x, axis=1)[:, None] * x, atol=1e-15)


def test_coordinates_have_the_names_of_expressions():
    assert list(Line().coordinates([2.0])) == ["x"]
    assert list(Plane().coordinates([[2.0, 3.0]])) == ["x", "y"]
    assert list(Space(dimension=3).coordinates([[2.0, 3.0, 4.0]])) == ["x", "y", "z"]
    here = Sphere().coordinates(np.array([[0.0, 0.6, 0.8], [0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(here["colatitude"], [np.arctan2(0.6, 0.8), np.pi])
    np.testing.assert_allclose(here["longitude"], [np.pi / 2, 0])
    np.testing.assert_allclose(here["y"], [0.6, 0.0])


@pytest.mark.parametrize(
    ("space", "points", "message"),
    [
        (Line(), np.zeros((2, 2)), r"R\^1 have shape \(m,\) or \(m, 1\), not \(2, 2\)"),
        (Plane(), np.zeros(3), r"R\^2 have shape \(m, 2\), not \(3,\)"),
        (Plane(), np.zeros((3, 3)), r"\(m, 2\), not \(3, 3\)"),
        (Space(dimension=4), np.zeros((3, 3)), r"\(m, 4\), not \(3, 3\)"),
        (Plane(), [[0, np.inf]], "finite"),
        (Sphere(), np.zeros(3), r"\(m, 3\), not \(3,\)"),
        (Sphere(), [[0, 0, 1], [0, 0, 1.1]], "point 1 has length 1.1"),
        (Sphere(), [[0, np.nan, 1]], "finite"),
        (Sphere(dimension=4), [[0, 0, 1]], r"\(m, 4\), not \(1, 3\)"),
    ],
)
def test_what_is_no_point_is_refused(space, points, message):
    with pytest.raises(ProblemError, match=message):
        space.points(points)


@pytest.mark.parametrize("data", [{"dimension": 0}, {"dimension": 2.5}, {}, {"dimension": 10**6}])
def test_a_space_needs_a_sensible_dimension(data):
    with pytest.raises(ValueError, match="dimension"):
        Space(**data)


def test_a_sphere_needs_a_dimension_of_two_at_least():
    with pytest.raises(ValueError, match="dimension"):
        Sphere(dimension=1)


def test_points_of_a_lattice():
    lattice = Lattice.of([[0.0, 1.0], [0.0, 2.0, 4.0]], [10, 20], [[1, 0.5], [0, 1]])
    assert lattice.shape == (2, 3)
    assert lattice.dimension == 2
    np.testing.assert_array_equal(lattice.points()[1], [11, 22])
    np.testing.assert_array_equal(lattice.points()[3], [11, 20])
    turn, shift = np.array([[0.0, -1.0], [1.0, 0.0]]), np.array([1.0, 2.0])
    np.testing.assert_allclose(lattice.mapped(turn, shift).points(), lattice.points() @ turn.T + shift)
    np.testing.assert_allclose(lattice.mapped(turn).points(), lattice.points() @ turn.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 0.0]],), "ascending lists of finite numbers, axis 0 is not"),
        (([[0.0, 1.0], [0.0, 0.0]],), "axis 1 is not"),
        (([[0.0, np.nan]],), "axis 0 is not"),
        (([[]],), "axis 0 is not"),
        (([[0.0, 1.0]], [0.0, 1.0]), r"1 axes need an origin \(1,\)"),
        (([[0.0, 1.0]], [0.0], np.eye(2)), r"matrix \(1, 1\), not \(1,\) and \(2, 2\)"),
    ],
)
def test_what_is_no_lattice_is_refused(arguments, message):
    with pytest.raises(ProblemError, match=message):
        Lattice.of(*arguments)
