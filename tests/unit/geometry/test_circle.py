"""The circle: points in every form, tangents, and grids that refine exactly."""

import numpy as np
import pytest

import mfpde

CIRCLE = mfpde.Circle()
ANGLES = np.array([0.0, 1.0, 3.5, 6.0])


def test_points_in_every_form():
    vectors = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    for given in (ANGLES, ANGLES[:, None], ANGLES + 2 * np.pi, ANGLES - 4 * np.pi, vectors, vectors.tolist()):
        np.testing.assert_allclose(CIRCLE.points(given)[:, 0], ANGLES, atol=2e-15)
    assert CIRCLE.points(1.5).tolist() == [[1.5]]
    assert CIRCLE.points([]).shape == (0, 1)


def test_what_is_no_point_is_refused():
    for given, why in (
        ([np.nan], "finite"),
        ([[0.5, 0.5]], "length 0.707"),
        ([[1.0, 0.0, 0.0]], r"shape \(m,\)"),
        (np.zeros((2, 2, 2)), r"shape \(m,\)"),
    ):
        with pytest.raises(mfpde.ProblemError, match=why):
            CIRCLE.points(given)


def test_angles_lie_in_one_turn():
    points = CIRCLE.points([-1e-300, -1e-17, 2 * np.pi, -5.0])
    assert points.min() >= 0
    assert points.max() < 2 * np.pi


def test_tangent_is_the_angular_velocity():
    """Along theta(t) = theta + t the vector x' is the tangent, and a radial part is dropped."""
    x = CIRCLE.embed(ANGLES[:, None])
    along = np.column_stack([-x[:, 1], x[:, 0]])
    np.testing.assert_allclose(CIRCLE.tangent(ANGLES[:, None], 3 * along + 7 * x)[:, 0], 3.0, rtol=1e-14)


def test_coordinates():
    known = CIRCLE.coordinates(ANGLES)
    np.testing.assert_allclose(known["x"] ** 2 + known["y"] ** 2, 1.0)
    np.testing.assert_allclose(np.arctan2(known["y"], known["x"]) % (2 * np.pi), known["theta"])


@pytest.mark.parametrize("count", [8, 9, 64])
def test_layout(count):
    layout = CIRCLE.layout(count)
    (axis,) = layout.axes
    assert layout.shape == (count,)
    assert layout.dimensions == ("theta",)
    assert layout.weight.sum() == pytest.approx(2 * np.pi)
    np.testing.assert_allclose(np.diff(axis.bounds, axis=1)[:, 0], layout.weight)
    np.testing.assert_allclose(axis.bounds.mean(axis=1), axis.values, atol=1e-15)


@pytest.mark.parametrize(("coarse", "fine"), [(8, 16), (8, 8), (8, 64), (9, 18), (16, 24)])
def test_refining_is_exact(coarse, fine):
    def wave(theta):
        return 1 + 0.3 * np.cos(theta - 1) - 0.2 * np.sin(3 * theta)

    small, large = CIRCLE.layout(coarse), CIRCLE.layout(fine)
    stacked = np.array([wave(small.axes[0].values), 2 * wave(small.axes[0].values)])
    refined = small.carry("density", stacked, large)
    expected = wave(large.axes[0].values)
    np.testing.assert_allclose(refined, [expected, 2 * expected], atol=1e-14)


def test_the_last_cosine_of_an_even_grid_survives():
    small, large = CIRCLE.layout(8), CIRCLE.layout(32)
    refined = small.carry("density", np.cos(4 * small.axes[0].values), large)
    np.testing.assert_allclose(refined, np.cos(4 * large.axes[0].values), atol=1e-14)
