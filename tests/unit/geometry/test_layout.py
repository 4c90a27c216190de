"""Boxes of one grid: what holds both, and how old snapshots are shown on it."""

import numpy as np
import pytest

from mfpde.geometry import Axis, Circle
from mfpde.solvers.forms import grid_layout, panels_layout


def box(first, last, name="x", width=0.1):
    return Axis.of_cells(name, width * np.arange(first, last + 1))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 5), (0, 5), (0, 5)),
        ((0, 5), (1, 4), (0, 5)),
        ((1, 4), (-2, 6), (-2, 6)),
        ((0, 5), (3, 8), (0, 8)),
        ((3, 8), (0, 5), (0, 8)),
        ((0, 2), (5, 8), (0, 8)),
        ((5, 8), (0, 2), (0, 8)),
    ],
)
def test_boxes_of_one_grid(one, other, expected):
    joined, wanted = box(*one).joined(box(*other)), box(*expected)
    np.testing.assert_allclose(joined.values, wanted.values, rtol=1e-13)
    np.testing.assert_allclose(joined.bounds, wanted.bounds, rtol=1e-13, atol=1e-16)
    inside = joined.place(box(*one))
    np.testing.assert_array_equal(joined.values[inside : inside + one[1] - one[0]], box(*one).values)


@pytest.mark.parametrize("other", [box(0, 5, width=0.2), box(0, 10, width=0.05), Axis.of_cells("x", [0.05, 0.15])])
def test_cells_stay_what_they_are(other):
    with pytest.raises(ValueError, match="boxes grow by whole cells"):
        box(0, 5).joined(other)


def test_periodic_axes_become_finer():
    coarse, fine = (Circle().layout(count).axes[0] for count in (8, 16))
    assert coarse.joined(fine) is fine
    assert fine.joined(coarse) is fine


def test_layouts_of_two_boxes():
    old, new = grid_layout([box(0, 4), box(0, 3, "y")]), grid_layout([box(-1, 3), box(0, 5, "y")])
    both = old.joined(new)
    assert both.shape == (5, 5)
    assert both.weight.shape == (5, 5)
    np.testing.assert_allclose(both.weight, 0.01)
    assert old.joined(old) is old
    larger = grid_layout([box(-2, 6), box(0, 5, "y")])
    assert old.joined(larger) is larger
    assert larger.joined(old) is larger
    density = np.arange(24.0).reshape(2, 4, 3)
    shown = old.carry("density", density, both)
    np.testing.assert_array_equal(shown[:, 1:, :3], density)
    assert shown.sum() == density.sum()


def test_only_fields_on_the_axis_grow():
    old, new = panels_layout([box(0, 4)], panels=2), panels_layout([box(-1, 6)], panels=2)
    assert old.carry("density", np.ones((2, 4)), new).tolist() == [[0, 1, 1, 1, 1, 0, 0]] * 2
    frames = np.ones((2, 1, 1))
    assert old.carry("frame_matrix", frames, new) is frames
