"""Points that are smoothed to a width, against the plain sum of their kernels."""

import numpy as np
import pytest
from scipy.special import ive

import mfpde
from mfpde.errors import ProblemError

WIDTH = 0.3
SHARES = np.array([0.2, 0.5, 0.3])


def smoothed(values, **more):
    return mfpde.Points(values=values, weights=SHARES.tolist(), width=WIDTH, **more)


def test_on_the_circle():
    angles, theta, c = np.array([0.5, 2.0, 6.0]), np.linspace(0, 6.2, 30), WIDTH**-2
    bells = np.exp(c * (np.cos(theta[:, None] - angles) - 1)) / (2 * np.pi * ive(0, c))
    measure = smoothed(angles.tolist()).on(mfpde.Circle())
    np.testing.assert_allclose(measure.evaluate(theta), bells @ SHARES, atol=1e-14)
    expected = SHARES @ np.exp(-4j * angles) * ive(4, c) / ive(0, c)
    assert abs(measure.harmonics(4).coefficients[4] - expected) < 1e-14


def test_on_the_sphere(random):
    points, x = (each / np.linalg.norm(each, axis=1)[:, None] for each in random.standard_normal((2, 3, 3)))
    c = WIDTH**-2
    bells = c / (2 * np.pi * -np.expm1(-2 * c)) * np.exp(c * (x @ points.T - 1))
    measure = smoothed(points.tolist()).on(mfpde.Sphere())
    np.testing.assert_allclose(measure.evaluate(x), bells @ SHARES, rtol=1e-13)


def test_in_the_plane(random):
    points, x = random.standard_normal((2, 3, 2))
    squares = np.sum((x[:, None] - points) ** 2, axis=2)
    expected = np.exp(-0.5 * squares / WIDTH**2) @ SHARES / (2 * np.pi * WIDTH**2)
    np.testing.assert_allclose(smoothed(points.tolist()).on(mfpde.Plane()).evaluate(x), expected, rtol=1e-13)


def test_small_widths_are_standard_deviations():
    measure = mfpde.Points(values=[[0.0, 0.0, 1.0]], width=0.01).on(mfpde.Sphere())
    np.testing.assert_allclose(np.diag(measure.covariance)[:2], 1e-4, rtol=2e-4)


def test_positions_keep_their_points():
    law = smoothed([0.0, 1.0, 2.0], positions=[0.0, 0.5, 0.5])
    (first, _, one), (_, mass, two) = law.over_positions(mfpde.Circle(), [0.0, 0.5]).slices
    assert first == 0.0
    assert mass == pytest.approx(0.8)
    np.testing.assert_allclose(one.mean, [ive(1, WIDTH**-2) / ive(0, WIDTH**-2), 0], atol=1e-14)
    assert not two.pointlike


def test_without_noise_a_width_makes_a_density():
    blocks = {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": "unnormalized", "beta": 1},
        "solver": {"kind": "spectral"},
        "time": {"until": 0.1, "save": False},
    }
    initial = {"kind": "points", "values": [[0, 0, 1], [0.6, 0, 0.8]]}
    with pytest.raises(ProblemError, match="a width smooths them"):
        mfpde.solve(mfpde.Problem.from_dict({**blocks, "initial": initial}))
    run = mfpde.solve(mfpde.Problem.from_dict({**blocks, "initial": {**initial, "width": 0.4}}))
    assert run.outcome.kind == "finished"


@pytest.mark.parametrize("width", [0, -0.1, 1e-4, float("inf"), float("nan")])
def test_widths_are_positive_numbers(width):
    with pytest.raises(ProblemError, match="width"):
        mfpde.Points(values=[0.0], width=width)
