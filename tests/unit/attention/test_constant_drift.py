"""A velocity, or a rotation."""

import numpy as np
import pytest

import mfpde


def test_a_velocity_on_flat_spaces():
    assert mfpde.Constant(value=2).drift(mfpde.Line(), [0.0, 5.0]).tolist() == [2, 2]
    assert mfpde.Constant(value=[1, -1]).drift(mfpde.Plane(), [[0.0, 5.0]]).tolist() == [[1, -1]]
    assert not mfpde.Constant(value=[1, -1]).output_jacobians(np.ones((3, 2))).any()


def test_a_rotation_on_circle_and_spheres(random):
    assert mfpde.Constant(value=0.5).drift(mfpde.Circle(), [0.3]) == pytest.approx([0.5])
    x = random.standard_normal((5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    omega = np.array([0.3, -0.2, 0.7])
    turning = mfpde.Constant(value=np.cross(omega, np.eye(3)).T)
    assert turning.drift(mfpde.Sphere(), x) == pytest.approx(np.cross(omega, x))
    assert mfpde.Constant(value=0.7).drift(mfpde.Sphere(), x) == pytest.approx(np.cross([0, 0, 0.7], x))
    assert turning.output_jacobians(x)[0] @ x[0] == pytest.approx(np.cross(omega, x[0]))


@pytest.mark.parametrize(
    ("value", "geometry", "said"),
    [
        (1, mfpde.Plane(), "must be 2 numbers on plane, a velocity"),
        ([1, 2, 3], mfpde.Plane(), "must be 2 numbers"),
        ([1, 2], mfpde.Circle(), "must be a rotation rate on circle"),
        ([[0, 1], [1, 0]], mfpde.Circle(), "skew-symmetric"),
        ([[0, 1], [-1, 0]], mfpde.Sphere(), r"of shape \(3, 3\)"),
    ],
)
def test_what_makes_no_sense_is_refused(value, geometry, said):
    with pytest.raises(mfpde.ProblemError, match=said):
        mfpde.Constant(value=value).check(geometry)
