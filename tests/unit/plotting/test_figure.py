"""The figure of a run: what is on it, that it is honest, that files are the same every time."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mfpde.contracts import Outcome
from mfpde.errors import MfpdeError, OutputError
from mfpde.plotting.figure import run_figure


def texts(figure):
    return [text.get_text() for text in figure.texts]


def panel(figure, title):
    (axes,) = [axes for axes in figure.axes if axes.get_title(loc="left") == title]
    return axes


def test_panels_and_labels(run):
    figure = run.plot()
    map_axes, profiles = figure.axes[:2]
    assert map_axes.get_xlabel() == "time t"
    assert map_axes.get_ylabel() == profiles.get_xlabel() == "angle θ [rad]"
    assert profiles.get_ylabel() == "density [1/rad]"
    assert [tick.get_text() for tick in profiles.get_xticklabels()] == ["0", "π/2", "π", "3π/2", "2π"]
    assert panel(figure, "order parameter").get_ylim() == (0, 1)
    assert panel(figure, "free energy (uniform state: 0)").get_xlim() == (0, 2)
    assert map_axes.child_axes[0].get_xlabel() == "density [1/rad]"


def test_header_speaks_the_problem_files_words(run, make_run):
    assert texts(run_figure(run)) == [
        "a test",
        "attention: unnormalized, beta 0; noise: kappa 4",
        "observed, not shown: modes-cosine",
    ]
    early = make_run(outcome=Outcome("interrupted", 2.0, "by Ctrl-C", "--resume continues"))
    assert texts(run_figure(early))[-1] == "interrupted at t = 2: by Ctrl-C: --resume continues"


def test_title_is_no_formula(make_run, tmp_path):
    path = tmp_path / "run.png"
    run_figure(make_run(title=r"costs $5, \frac{ and $x^"), path)
    assert path.stat().st_size > 10_000


def test_map_fills_each_time_with_the_nearest_snapshot(make_run):
    mesh = run_figure(make_run()).axes[0].collections[0]
    corners = mesh.get_coordinates()
    assert_allclose(corners[0, :, 0], [0, 0.25, 0.75, 1.5, 2])
    assert corners[:, 0, 1].min() <= 0
    assert corners[:, 0, 1].max() >= 2 * np.pi
    values = mesh.get_array()
    assert_allclose(values[0], values[-1])  # the first and the last row of cells are the same angles
    assert_allclose(values[0], [0.9 * (1 - np.exp(-t)) / (2 * np.pi) + 1 / (2 * np.pi) for t in (0, 0.5, 1, 2)])


def test_profiles_close_and_follow_the_fourier_series(make_run):
    lines = run_figure(make_run(count=8)).axes[1].get_lines()[1:]
    assert [line.get_label() for line in lines] == ["t = 0", "t = 0.5", "t = 1", "t = 2"]
    theta, density = lines[-1].get_data()
    assert theta.size > 300
    assert (theta[0], theta[-1]) == (0, 2 * np.pi)
    exact = (1 + 0.9 * (1 - np.exp(-2)) * np.cos(theta)) / (2 * np.pi)
    assert_allclose(density, exact, atol=1e-14)


def test_narrow_cluster_is_not_lost_between_pixels(make_run):
    def spike(theta, time):
        return np.where(np.arange(theta.size) == 3001, theta.size / (2 * np.pi), 0.0)

    axes = run_figure(make_run(density=spike, count=8192)).axes
    assert axes[0].collections[0].get_array().max() == pytest.approx(8192 / (2 * np.pi))
    assert axes[1].get_ylabel() == "density [1/rad], power scale"


def test_crowded_times_get_a_logarithmic_axis(make_run):
    times = [0, *np.geomspace(1e-3, 10, 12)]
    crowded = run_figure(make_run(times=times, series={"entropy": np.arange(13.0)}))
    assert crowded.axes[0].get_xscale() == panel(crowded, "entropy").get_xscale() == "symlog"
    assert run_figure(make_run()).axes[0].get_xscale() == "linear"


def test_series_have_times_of_their_own(make_run):
    observed = make_run(series={"entropy": np.arange(30.0)}, series_times=np.linspace(0, 2.5, 30))
    axes = panel(run_figure(observed), "entropy")
    assert axes.get_xlim() == (0, 2.5)
    assert_allclose(axes.get_lines()[0].get_xdata(), observed.series_times)


def test_at_most_four_panels_and_the_rest_is_named(make_run):
    series = {name: np.arange(4.0) for name in ("a", "b", "c", "d", "order-parameter", "order-parameter-2")}
    figure = run_figure(make_run(series=series))
    titles = [axes.get_title(loc="left") for axes in figure.axes[2:]]
    assert [title for title in titles if title] == ["order parameter", "a", "b", "c"]
    assert texts(figure)[-1] == "observed, not shown: d"
    legend = panel(figure, "order parameter").get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["order-parameter", "order-parameter-2"]


def test_phase_is_shown_when_it_turns_and_breaks_where_it_jumps(make_run):
    turning = np.array([0.0, 2.0, -2.2, 0.1])
    figure = run_figure(make_run(series={"order-parameter": np.ones(4), "order-parameter-phase": turning}))
    axes = panel(figure, "phase of the order parameter")
    assert_allclose(axes.get_lines()[0].get_ydata(), [0, 2, 2 * np.pi - 2.2, np.nan])
    assert axes.get_ylim() == (0, 2 * np.pi)


def test_rounding_is_not_blown_up(make_run):
    figure = run_figure(
        make_run(series={"mass": 1 + 1e-16 * np.array([1, -2, 3, 0]), "residual": np.logspace(0, -6, 4)})
    )
    assert_allclose(panel(figure, "mass").get_ylim(), (0.9, 1.1))
    assert panel(figure, "residual").get_yscale() == "log"


def test_magnitudes_are_logarithmic_however_small(make_run):
    figure = run_figure(make_run(series={"distance": np.array([0.0, 1e-13, 3e-13, 2e-13])}))
    axes = panel(figure, "distance from the comparison")
    assert axes.get_yscale() == "log"
    assert_allclose(axes.get_ylim(), (5e-14, 6e-13))


def test_long_lists_of_what_is_not_shown_are_wrapped(make_run):
    series = {f"series-number-{number}": np.zeros((4, 2)) for number in range(20)}
    lines = texts(run_figure(make_run(series=series)))
    assert len(lines) > 4
    assert max(map(len, lines)) <= 115


@pytest.mark.parametrize(
    ("density", "times"),
    [
        (lambda theta, _: np.full_like(theta, 1 / (2 * np.pi)), (0.0, 1.0)),
        (lambda theta, _: np.full_like(theta, 1 / (2 * np.pi)), (0.0,)),
        (lambda theta, time: np.full_like(theta, np.nan if time else 0.2), (0.0, 1.0, 2.0)),
        (lambda theta, _: np.full_like(theta, np.nan), (0.0, 1.0)),
        (lambda theta, _: np.cos(theta), (0.0, 1.0)),
    ],
    ids=["constant", "one snapshot", "not finite", "nothing finite", "negative"],
)
def test_strange_runs_are_drawn(make_run, tmp_path, density, times):
    path = tmp_path / "run.png"
    run_figure(make_run(density=density, times=times), path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("extension", ["png", "pdf", "svg", "PNG"])
def test_same_run_same_bytes(run, tmp_path, extension):
    first, second = tmp_path / f"first.{extension}", tmp_path / f"second.{extension}"
    run.plot(first)
    run.plot(str(second))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 10_000
    assert b"mfpde" in first.read_bytes()
    assert sorted(tmp_path.iterdir()) == [first, second]  # no temporary file stays


def test_global_state_stays_and_does_not_matter(run, tmp_path):
    import matplotlib.pyplot as plt

    run.plot(tmp_path / "plain.png")
    with matplotlib.rc_context({"lines.linewidth": 17.0, "axes.facecolor": "red", "savefig.dpi": 20}):
        before = dict(matplotlib.rcParams)
        figure = run.plot(tmp_path / "odd.png")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "odd.png").read_bytes() == (tmp_path / "plain.png").read_bytes()
    assert plt.get_fignums() == []
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["run.jpg", "run", "run.mp4"])
def test_unknown_extension_is_answered_with_the_known_ones(run, tmp_path, name):
    with pytest.raises(MfpdeError, match=r"\.png, \.pdf or \.svg") as raised:
        run.plot(tmp_path / name)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_figure_may_have_a_long_name(run, tmp_path):
    name = f"{'long' * 62}.png"
    run.plot(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_unwritable_path_is_one_line(run, tmp_path):
    with pytest.raises(OutputError, match=r"^cannot write .*run\.png: there is no folder .*"):
        run.plot(tmp_path / "nowhere" / "run.png")
    (tmp_path / "taken.png").mkdir()
    with pytest.raises(OutputError, match=r"taken.png is a folder; name a file in it, such as .*run\.png$"):
        run.plot(tmp_path / "taken.png")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_what_cannot_be_drawn_says_so(make_run):
    empty = make_run()
    object.__setattr__(empty, "times", np.zeros(0))
    with pytest.raises(MfpdeError, match="no snapshot"):
        run_figure(empty)
    object.__setattr__(empty, "times", np.zeros(1))
    object.__setattr__(empty, "layout", replace(empty.layout, form="fancy"))
    with pytest.raises(MfpdeError, match=r"no picture of such a run, which holds density over theta"):
        run_figure(empty)
