"""Pictures of runs off the circle: what is on them, in windows in which it can be seen."""

import numpy as np
import pytest
from matplotlib.colors import PowerNorm
from numpy.testing import assert_allclose
from PIL import Image
from store import drifting
from store.drifting import Drift

import mfpde
from mfpde.contracts import Outcome
from mfpde.geometry import Axis, Lattice
from mfpde.measure import GridDensity, Normal, Panel
from mfpde.plotting.annotations import telling, window_of
from mfpde.plotting.gaussian_run import GaussianRun
from mfpde.plotting.line_run import LineRun
from mfpde.plotting.plane_run import PlaneRun
from mfpde.plotting.points_run import PointsRun
from mfpde.plotting.raster import pixels_on_line, pixels_on_plane, reach_of
from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.style import look
from mfpde.registry import members
from mfpde.run import Run
from mfpde.solvers.forms import grid_layout, panels_fields, panels_layout

PORTRAITS = {
    ("grid", 1): LineRun,
    ("panels", 1): LineRun,
    ("grid", 2): PlaneRun,
    ("panels", 2): PlaneRun,
    ("gaussian", 1): GaussianRun,
    ("gaussian", 2): GaussianRun,
    ("particles", 1): PointsRun,
    ("trail", 2): PointsRun,
}
EVERY = pytest.mark.parametrize(("form", "dimension"), PORTRAITS, ids=str)


@EVERY
def test_figures_and_movies_of_every_form(tmp_path, form, dimension):
    task = drifting.problem(dimension, observe=["mean", "covariance"], until=0.3)
    run = drifting.solve(task, tmp_path / "run.h5", Drift(form))
    assert type(portrait_of(run)) is PORTRAITS[form, dimension]
    figure = run.plot(tmp_path / "run.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert "mean" in titles
    named = [axes.get_xlabel() for axes in figure.axes] + [axes.get_ylabel() for axes in figure.axes]
    assert "x" in named
    assert ("y" in named) == (dimension == 2)
    run.animate(tmp_path / "run.gif")
    with Image.open(tmp_path / "run.gif") as movie:
        assert (movie.n_frames, movie.size) == (4, (960, 540))
    assert (tmp_path / "run.png").stat().st_size > 10_000


@EVERY
def test_frames_differ(form, dimension):
    run = drifting.solve(drifting.problem(dimension, until=0.6), None, Drift(form))
    with look():
        first, last = list(portrait_of(run).scene([0, 6]).frames())
    assert np.any(first != last)


def test_a_figure_of_the_plane_lays_only_what_it_shows(monkeypatch):
    """Cells of characteristics take seconds for each snapshot."""
    laid, grid = [], PlaneRun.grid
    monkeypatch.setattr(PlaneRun, "grid", lambda shown, index: laid.append(index) or grid(shown, index))
    run = drifting.solve(drifting.problem(2, until=2.0), None, Drift("grid"))
    run.plot()
    assert 1 < len(laid) == len(set(laid)) < len(run.times) // 2


# -- runs of given densities


def framed(frames, dimension, times=(0.0, 1.0, 2.0), series=None, outcome=None):
    """A run of Gaussians in frames of their own: `frames(t)` are (share, mean, matrix)."""
    axes = [Axis.of_cells(name, np.linspace(-6, 6, 49)) for name in "xy"[:dimension]]
    layout = panels_layout(axes, len(frames(0.0)))
    unmoved = Lattice.of([axis.values for axis in axes])
    bell = Normal(np.zeros(dimension), np.eye(dimension)).evaluate(unmoved.points()).reshape(unmoved.shape)
    rows = []
    for time in times:
        shares, means, matrices = (np.array(each, dtype=float) for each in zip(*frames(time), strict=True))
        rows.append(panels_fields(layout, np.multiply.outer(shares, bell), means, matrices))
    observe = [name for name in series or {} if name in members("observable")]
    task = drifting.problem(dimension, until=times[-1], observe=observe)
    return Run(
        problem=task,
        times=np.array(times),
        layout=layout,
        stored={name: np.array([row[name] for row in rows]) for name in rows[0]},
        series=series or {},
        series_times=np.array(times),
        outcome=outcome or Outcome("finished", times[-1]),
    )


def one(width, mean=0.0):
    return lambda time: [(1.0, np.array([mean]), np.array([[width(time)]]))]


def panel(figure, title):
    (axes,) = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    return axes


def test_the_line_shows_all_of_what_contracts_and_the_start_of_what_explodes():
    contracting = framed(one(lambda time: np.exp(-5 * time)), 1)
    low, high = LineRun(contracting).window
    assert_allclose([low, high], [-3.7, 3.7], atol=0.3)
    exploding = framed(one(lambda time: np.exp(5 * time)), 1)
    low, high = LineRun(exploding).window
    assert_allclose([low, high], [-30, 30], atol=4)
    figure = exploding.plot()
    assert_allclose(figure.axes[0].get_ylim(), [low, high])
    assert figure.axes[1].get_xlim() == figure.axes[0].get_ylim()
    assert panel(figure, "standard deviation").get_yscale() == "log"


def test_the_map_on_the_line_holds_the_mass_whatever_the_width():
    run = framed(one(lambda time: np.exp(-8 * time), 0.3), 1)
    figure = run.plot()
    mesh = figure.axes[0].collections[0]
    density = mesh.get_array()
    edges = mesh.get_coordinates()[:, 0, 1]
    assert_allclose(density.T @ np.diff(edges), 1, atol=4e-3)
    assert figure.axes[1].get_ylabel() == "density, power scale"


def test_profiles_on_the_line_reach_every_peak_and_make_no_waves():
    run = framed(lambda _: [(0.5, np.array([-2.0]), np.eye(1)), (0.5, np.array([1.0]), 1e-6 * np.eye(1))], 1)
    x, density = LineRun(run).profile(run.measure(0))
    assert density.max() == pytest.approx(0.5e6 / np.sqrt(2 * np.pi), rel=0.01)
    assert density.min() >= 0
    between = (x > 0.9) & (x < 0.99)
    exact = 0.5 * np.exp(-0.5 * (x[between] + 2) ** 2) / np.sqrt(2 * np.pi)
    assert_allclose(density[between], exact, rtol=0.02)


def test_clusters_are_drawn_over_the_map():
    series = {"clusters": np.ones(3), "clusters-position": np.array([[0.1, np.nan], [0.2, np.nan], [0.3, np.nan]])}
    figure = framed(one(lambda _: 1.0), 1, series=series).plot()
    lines = [line.get_ydata() for line in figure.axes[0].get_lines() if line.get_color() == "white"]
    assert_allclose(lines, [[0.1, 0.2, 0.3]])
    assert panel(figure, "number of clusters").get_ylim() == (0, 2)


def test_a_blow_up_is_marked_where_it_is():
    outcome = Outcome("blow-up", 2.5, "the covariance becomes infinite", uncertainty=1e-3)
    figure = framed(one(lambda time: 1 / (2.5 - time)), 1, outcome=outcome).plot()
    assert any("blow-up at t = 2.5000 +- 0.001" in text.get_text() for text in figure.texts)
    for axes in (figure.axes[0], panel(figure, "mean")):
        assert axes.get_xlim() == (0, 2.5)
        assert any(set(line.get_xdata()) == {2.5} for line in axes.get_lines())


def turned(angle, *widths):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ np.diag(widths)


def test_pictures_on_the_plane_have_equal_scales_and_windows_for_their_sizes():
    alike = framed(lambda time: [(1.0, np.array([0.5, 0.0]), turned(0.5, 1.0, 0.5 + 0.1 * time))], 2).plot()
    pictures = [axes for axes in alike.axes if axes.images]
    assert len(pictures) == 3
    assert {axes.get_aspect() for axes in pictures} == {1.0}
    assert len({axes.get_xlim() for axes in pictures}) == 1
    collapsing = framed(lambda time: [(1.0, np.array([0.5, 0.0]), np.exp(-7 * time) * np.eye(2))], 2).plot()
    pictures = [axes for axes in collapsing.axes if axes.images]
    widths = [float(np.diff(axes.get_xlim())[0]) for axes in pictures]
    assert_allclose(np.array(widths) / widths[0], np.exp(-7 * np.arange(3)), rtol=0.05)
    assert pictures[-1].get_xlabel() == "x − 0.5"
    assert pictures[0].get_title(loc="left") == "t = 0, max 0.157"


def test_what_is_narrow_stays_visible_on_the_plane():
    figure = framed(lambda _: [(0.5, np.zeros(2), np.eye(2)), (0.5, np.array([2.0, 2.0]), 1e-3 * np.eye(2))], 2).plot()
    image = figure.axes[0].images[0]
    assert isinstance(image.norm, PowerNorm)
    assert image.norm.gamma == pytest.approx(0.4)
    assert image.get_array().max() == 1


def test_ellipses_and_spreads_of_gaussians():
    run = drifting.solve(drifting.problem(2), None, Drift("gaussian"))
    figure = run.plot()
    curves = [line.get_xydata() for line in figure.axes[0].get_lines() if line.get_label().startswith("t =")]
    for curve, time in zip(curves, (0.0, 1.0), strict=False):
        measure = run.measure(int(np.argmin(np.abs(run.times - time))))
        away = (curve - measure.mean) @ np.linalg.inv(np.linalg.cholesky(measure.covariance)).T
        if time == 0:
            assert_allclose(np.linalg.norm(away, axis=1), 1, rtol=1e-9)
    spreads = panel(figure, "standard deviations along the axes").get_lines()
    expected = np.sqrt(np.linalg.eigvalsh(run.measure(-1).covariance)[::-1])
    assert_allclose([line.get_ydata()[-1] for line in spreads], expected)


def test_the_way_to_a_pole_does_not_hide_the_ellipses():
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "plane"},
                "attention": {"kind": "softmax", "A": 1, "V": 1},
                "initial": {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]},
                "solver": {"kind": "gaussian"},
                "time": {"until": 4, "save_every": 0.05},
            }
        )
    )
    assert np.linalg.norm(run.measure(-1).mean) > 1e6
    assert max(np.abs(line.get_xydata()).max() for line in run.plot().axes[0].get_lines()) < 10


def test_gaussians_of_many_dimensions_and_without_a_density(tmp_path):
    mean, covariance = np.arange(9.0), np.diag([*np.arange(1.0, 9.0), 0.0])
    run = mfpde.solve(
        mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "space", "dimension": 9},
                "attention": {"kind": "softmax", "A": -1},
                "initial": {"kind": "gaussian", "mean": mean, "covariance": covariance},
                "time": {"until": 1, "save_every": 0.5},
                "observe": ["covariance", "entropy"],
            }
        )
    )
    figure = run.plot(tmp_path / "run.pdf")
    spreads = panel(figure, "standard deviations along the axes").get_lines()
    assert np.isnan(spreads[-1].get_ydata()).all()
    assert figure.axes[0].get_xlabel() == "first component"
    run.animate(tmp_path / "run.gif")


def test_points_are_chosen_by_mass():
    run = drifting.solve(drifting.problem(2), None, Drift("particles"))
    chosen = PointsRun(run).some(3)
    assert len(chosen) == 3
    assert set(PointsRun(run).some(100)) == set(range(7))
    lines = run.plot().axes[0].get_lines()
    assert len(lines) == 7 + 2
    assert_allclose(lines[-1].get_xydata(), run.positions[-1][PointsRun(run).some(60)])


# -- pieces


@pytest.mark.parametrize("angle", [0.0, 0.7])
@pytest.mark.parametrize("width", [1.0, 0.3, 1e-3])
def test_pixels_hold_the_mass(angle, width):
    axes = [np.linspace(-5, 5, 41)] * 2
    lattice = Lattice.of(axes, [0.3, -0.2], turned(angle, 1.0, width))
    grid = GridDensity([Panel(lattice, np.exp(-np.sum(Lattice.of(axes).points() ** 2, axis=1)).reshape(41, 41))])
    pixels = pixels_on_plane(grid, np.array([-6.0, -6.0]), np.array([6.0, 6.0]), 120)
    assert pixels.sum() * 0.01 == pytest.approx(grid.mass, rel=1e-4)
    x = -5.95 + 0.1 * np.arange(120)
    assert pixels.sum(axis=1) @ x / pixels.sum() == pytest.approx(grid.mean[0], abs=2e-3)
    assert pixels.sum(axis=0) @ x / pixels.sum() == pytest.approx(grid.mean[1], abs=2e-3)
    if width == 1:
        points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
        assert_allclose(pixels.ravel(), grid.evaluate(points), atol=0.07 * pixels.max())


def test_pixels_on_the_line_hold_the_mass_of_mirrored_panels():
    lattice = Lattice.of([np.arange(4.0)], [1.0], [[-1.0]])
    grid = GridDensity([Panel(lattice, np.array([0.1, 0.2, 0.3, 0.4]))])
    assert_allclose(pixels_on_line(grid, np.array([-2.5, -1.5, -0.5, 0.5, 1.5])), [0.4, 0.3, 0.2, 0.1])
    assert_allclose(reach_of(grid, 0.15), [[-2], [0]])


def test_windows():
    assert_allclose(window_of(np.array([-1.0, 9.0]), np.array([1.0, 11.0])), (-2.2, 12.2))
    assert_allclose(window_of(np.array([-1.0, -100.0]), np.array([1.0, 100.0])), (-10.8, 10.8))
    assert_allclose(window_of(np.array([-1.0, 500.0]), np.array([1.0, 900.0])), (-2.0, 10.0))
    assert_allclose(window_of(np.array([2.0]), np.array([2.0])), (1.0, 3.0))


def test_telling_snapshots():
    steps = np.concatenate([np.zeros(5), np.linspace(0, 1, 6), np.ones(5)])[:, None]
    assert telling(steps, 3) in ([0, 7, 15], [0, 8, 15], [0, 7, 10, 15], [0, 8, 10, 15])
    assert telling(np.ones((5, 2)), 4) == [0, 4]
    assert telling(np.array([[1.0], [np.nan], [2.0], [3.0]]), 9) == [0, 2, 3]


def test_an_empty_grid_run_has_the_layout_of_its_box():
    layout = grid_layout([Axis.of_cells("x", np.linspace(-1, 1, 5))])
    run = Run(
        problem=drifting.problem(1),
        times=np.array([0.0]),
        layout=layout,
        stored={"density": np.full((1, 4), 0.5)},
        series={},
        series_times=np.array([0.0]),
        outcome=Outcome("interrupted", 0.0),
    )
    assert_allclose(run.plot().axes[0].get_xlim(), (0, 1))
