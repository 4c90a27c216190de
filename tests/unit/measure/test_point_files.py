"""Points in files of their own."""

import numpy as np
import pytest

import mfpde

POINTS, WEIGHTS = np.array([[0.0, 1.0], [2.5, -1e-3], [4.0, 7.0]]), np.array([0.5, 0.25, 0.25])


@pytest.mark.parametrize("name", ["points.txt", "points.csv", "points.npy", "points.npz", "alone.npz"])
def test_every_format_gives_the_same_points(tmp_path, name):
    path = tmp_path / name
    if name == "points.npz":
        np.savez(path, points=POINTS, weights=WEIGHTS)
    elif name == "alone.npz":
        np.savez(path, POINTS)
    elif name == "points.npy":
        np.save(path, POINTS)
    else:
        np.savetxt(path, POINTS, delimiter="," if name == "points.csv" else " ")
    measure = mfpde.Points(file=str(path)).on(mfpde.Plane())
    np.testing.assert_array_equal(measure.points, POINTS)
    np.testing.assert_allclose(measure.weights, WEIGHTS if name == "points.npz" else 1 / 3)
    given = mfpde.Points(file=str(path), weights=[1, 1, 2]).on(mfpde.Plane())
    np.testing.assert_allclose(given.weights, [0.25, 0.25, 0.5])


def test_a_file_that_is_not_there(tmp_path):
    for name in ("none.csv", "none.npy", "none.npz"):
        with pytest.raises(mfpde.ProblemError, match=rf"initial\.file: there is no file .*{name}$"):
            mfpde.Points(file=str(tmp_path / name)).on(mfpde.Plane())


def test_archives_without_points_are_refused(tmp_path):
    np.savez(tmp_path / "two.npz", a=POINTS, b=POINTS)
    with pytest.raises(mfpde.ProblemError, match=r"initial\.file: .* has no array 'points' but 'a', 'b'"):
        mfpde.Points(file=str(tmp_path / "two.npz")).on(mfpde.Plane())
    (tmp_path / "broken.npz").write_text("1 2")
    with pytest.raises(mfpde.ProblemError, match=r"does not hold points"):
        mfpde.Points(file=str(tmp_path / "broken.npz")).on(mfpde.Plane())
