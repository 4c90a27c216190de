"""Pictures of tokens: who merges with whom, histograms of cosines, many tokens as densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mfpde
from mfpde.plotting.cluster_tree import ClusterTree, labels_over_time
from mfpde.plotting.points_run import PointsRun
from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.series import HistogramAxes
from mfpde.plotting.sphere_run import SphereRun


def solve(geometry, initial, *, observe=(), attention=None, solver=None, **more):
    return mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": geometry,
                "attention": attention or {"kind": "softmax", "beta": 30},
                "initial": {"kind": "points", **initial},
                "solver": solver or {"kind": "hardmax"},
                "time": {"until": 40, "save_every": 1},
                "observe": list(observe),
                **more,
            }
        )
    )


def panel_of(run, kind):
    return next(panel for panel in portrait_of(run).groups if isinstance(panel, kind))


def test_branches_do_not_cross_and_meet_when_tokens_do():
    run = solve({"kind": "circle"}, {"values": [0.0, 3.0, 0.3, 3.5, 1.2]}, observe=["clusters"])
    tree = panel_of(run, ClusterTree)
    heights = tree.heights()
    assert_allclose(np.sort(heights[0]), np.arange(5))
    assert_allclose(heights[-1], 2.0)  # all in one, in the middle
    for row, angles in zip(heights, run.positions[:, :, 0], strict=True):
        near = np.abs(np.exp(1j * angles[:, None]) - np.exp(1j * angles)) <= 0.05
        assert_allclose(row[:, None] == row, near)
    order = np.argsort(heights[0])
    assert (np.diff(heights[:, order], axis=1) >= 0).all()
    assert tree.radius == 0.05
    titles = [axes.get_title(loc="left") for axes in run.plot().axes]
    assert "who merges with whom (within 0.05)" in titles


def test_the_axis_says_which_clock_it_is():
    run = solve(
        {"kind": "circle"},
        {"values": [0.0, 0.3]},
        solver={"kind": "particles"},
        time={"clock": "gradient", "until": 0.1, "save_every": 0.05},
    )
    assert run.plot().axes[0].get_xlabel() == "gradient time t"


def test_labels_are_those_of_the_first_token_of_a_cluster():
    points = np.array([[[0.0], [2.0], [0.01]], [[0.0], [0.02], [0.01]]])
    expected = [[0, 1, 0], [0, 0, 0]]
    for geometry in (mfpde.Circle(), mfpde.Line()):
        assert labels_over_time(points, geometry, 0.05).tolist() == expected


def test_on_curved_spaces_the_tree_is_drawn_unasked_where_tokens_merge():
    run = solve({"kind": "circle"}, {"values": [0.0, 0.3]})
    assert isinstance(portrait_of(run).groups[0], ClusterTree)
    assert portrait_of(solve({"kind": "circle"}, {"values": [0.0, np.pi]})).groups == []


def test_histograms_of_cosines_are_maps_over_time():
    run = solve({"kind": "circle"}, {"values": [0.0, 0.3, 2.0]}, observe=["cosine-histogram"])
    panel = panel_of(run, HistogramAxes)
    assert panel.shares.shape == (41, 100)
    figure = run.plot()
    axes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "cosines between tokens")
    assert axes.get_ylim() == (-1, 1)
    assert_allclose(np.sort(axes.collections[0].get_array().ravel()), np.sort(run["cosine-histogram"].ravel()))


@pytest.mark.parametrize("kind", ["circle", "line", "plane", "sphere"])
def test_many_tokens_are_a_density_and_the_file_is_small(tmp_path, kind):
    random = "uniform-sphere" if kind in ("circle", "sphere") else "normal"
    count = 3000
    run = solve(
        {"kind": kind},
        {"random": random, "count": count},
        attention={"kind": "softmax", "beta": 0},
        solver={"kind": "particles", "tolerance": 1e-2},
        time={"until": 0.1, "save_every": 0.05},
    )
    figure = run.plot(tmp_path / "run.pdf")
    assert (tmp_path / "run.pdf").stat().st_size < 150_000
    maps = [mesh for axes in figure.axes for mesh in axes.collections if mesh.get_array() is not None]
    assert maps
    assert all(mesh.get_rasterized() for mesh in maps)
    points = sum(line.get_xdata().size for axes in figure.axes for line in axes.get_lines())
    assert points < 20_000
    assert type(portrait_of(run)) is (SphereRun if kind == "sphere" else PointsRun)


def test_the_density_of_many_tokens_on_the_sphere_ends_at_the_rim():
    """Of equal tokens spread evenly cells at the rim are as bright as others, and nothing is drawn outside of it."""
    run = solve(
        {"kind": "sphere"},
        {"random": "uniform-sphere", "count": 60_000},
        attention={"kind": "softmax", "beta": 0},
        solver={"kind": "particles", "tolerance": 1e-2},
        time={"until": 1e-3, "save": False},
    )
    for axes in run.plot().axes[:2]:
        (mesh,) = axes.collections
        outline = axes.transData.inverted().transform_path(mesh.get_clip_path().get_fully_transformed_path())
        assert_allclose(outline.get_extents().extents, [-1, -1, 1, 1], atol=1e-3)
        shades = np.ma.filled(mesh.get_array(), np.nan)
        middles = (np.arange(len(shades)) + 0.5) / len(shades) * 2 - 1
        radius = np.hypot(middles[:, None], middles)
        rim = np.nanmean(shades[np.abs(radius - 1) < 0.02])
        assert rim == pytest.approx(np.nanmean(shades[radius < 0.8]), rel=0.05)


def test_titles_of_three_panels_stay_apart():
    given = {"values": [0.0, 3.0, 0.3, 3.5, 1.2]}
    figure = solve({"kind": "circle"}, given, observe=["clusters", "energy"]).plot()
    figure.canvas.draw()
    lower = figure.axes[-3:]
    assert any("who merges" in axes.get_title(loc="left") for axes in lower[:2])
    ends = [axes.get_tightbbox().extents[[0, 2]] for axes in lower]
    assert ends[0][1] < ends[1][0] < ends[1][1] < ends[2][0]


def test_copies_on_the_circle_have_angles():
    copies = solve(
        {"kind": "circle"},
        {"kind": "uniform"},
        solver={"kind": "particles", "count": 4, "copies": 3},
        time={"until": 1, "save_every": 0.5},
    )
    assert copies.plot().axes[0].get_ylim() == (0, 2 * np.pi)
    assert copies.plot().axes[0].get_ylabel() == "angle θ [rad]"


def test_paths_on_the_sphere_break_at_the_rim():
    start = [[0.9, 0, np.sqrt(1 - 0.81)], [0.9, 0, -np.sqrt(1 - 0.81)]]
    run = solve({"kind": "sphere"}, {"values": start, "weights": [1, 5]})
    upper, lower = (axes.get_lines()[-2:] for axes in run.plot().axes[:2])
    assert np.isnan(upper[0].get_xdata()[-1])  # the light one went down
    assert np.isfinite(lower[0].get_xdata()[-1])
    assert np.isfinite(lower[1].get_xdata()).all()


def test_tokens_with_norms_and_copies_are_drawn_by_direction(tmp_path):
    normal = solve(
        {"kind": "sphere"},
        {"random": "equiangular", "cosine": 0.1, "count": 3},
        solver={"kind": "equiangular"},
        normalization={"kind": "pre"},
    )
    assert np.linalg.norm(normal.positions[-1], axis=1).min() > 2
    assert_allclose(np.linalg.norm(SphereRun(normal).positions, axis=2), 1, atol=1e-14)
    normal.plot(tmp_path / "run.png")
    assert "normalization: pre" in normal.plot().texts[0].get_text()
    copies = solve(
        {"kind": "sphere"},
        {"kind": "uniform"},
        solver={"kind": "particles", "count": 4, "copies": 3},
        time={"until": 1, "save_every": 0.5},
    )
    assert SphereRun(copies).positions.shape == (3, 12, 3)
    assert_allclose(SphereRun(copies).weights, 1 / 12)
    copies.plot(tmp_path / "copies.png")
    copies.animate(tmp_path / "copies.gif")
