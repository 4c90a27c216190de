"""What a figure says of itself: titles, axes and legends, of every form of run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from store import drifting
from store.drifting import Drift

from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.style import look

TIMES = ("t = 0", "t = 0.1", "t = 0.2", "t = 0.3")
PLANE = [*(("density", time, "x", "y") for time in TIMES), ("density / max",)]
WORDS = {
    ("gaussian", 1): [("mean and standard deviation", "time t", "x"), ("standard deviation", "time t")],
    ("gaussian", 2): [("x", "y", *TIMES), ("standard deviations along the axes", "time t")],
    ("grid", 1): [("time t", "x"), ("x", "density", *TIMES)],
    ("panels", 1): [("time t", "x"), ("x", "density", *TIMES)],
    ("grid", 2): PLANE,
    ("panels", 2): PLANE,
    ("particles", 1): [
        ("paths of 7 of 7 tokens", "time t", "x"),
        ("x", "mass up to there", "t = 0", "t = 0.2", "t = 0.3"),
    ],
    ("trail", 2): [
        ("paths of 7 of 7 tokens", "x", "y", "start", "end"),
        ("x", "y", "t = 0", "t = 0.2", "t = 0.3"),
    ],
}
OBSERVED = {1: [("mean", "time t"), ("variance", "time t")]}
OBSERVED[2] = [("mean", "time t", "x", "y"), ("eigenvalues of the covariance", "time t", "first axis", "second axis")]

#: of a picture in a movie, and of what stands beside it
BELOW, ALONG = ("time t", "standard\ndeviation"), ("standard deviations along both axes", "time t")
SCENES = {
    ("gaussian", 1): [("x", "density"), ("standard deviation", "time t")],
    ("gaussian", 2): [("x", "y"), ("standard deviations along the axes", "time t")],
    ("grid", 1): [("x", "density"), BELOW],
    ("panels", 1): [("x", "density"), BELOW],
    ("grid", 2): [("x", "y"), ALONG, ("density / max",)],
    ("panels", 2): [("x", "y"), ALONG, ("density / max",)],
    ("particles", 1): [("x", "mass up to there")],
    ("trail", 2): [("x", "y")],
}


def words(axes):
    title, *maximum = axes.get_title(loc="left").split(", max ")
    legend = axes.get_legend()
    entries = sorted(text.get_text() for text in legend.get_texts()) if legend else []
    if entries[:1] == ["end"]:
        entries.reverse()
    said = (*(["density"] if maximum else []), title, axes.get_xlabel(), axes.get_ylabel(), *entries)
    return tuple(filter(None, said))


@pytest.mark.parametrize(("form", "dimension"), WORDS, ids=str)
def test_words_of_every_form(form, dimension):
    task = drifting.problem(dimension, observe=["mean", "covariance"], until=0.3)
    figure = drifting.solve(task, None, Drift(form)).plot()
    drawn = [panel for panel in OBSERVED[dimension] if form != "gaussian" or panel[0] == "mean"]
    assert [words(axes) for axes in figure.axes] == [*WORDS[form, dimension], *drawn]
    letters = [axes.texts[-1].get_text() for axes in figure.axes if axes.texts]
    assert letters == list("abcdefg"[: len(letters)])
    assert [text.get_text() for text in figure.texts] == ["no noise; solver: finite-volume"]


@pytest.mark.parametrize(("form", "dimension"), SCENES, ids=str)
def test_words_of_every_movie(form, dimension):
    run = drifting.solve(drifting.problem(dimension, until=0.3), None, Drift(form))
    with look():
        scene = portrait_of(run).scene([0, 3])
        clocks = [scene.clock.get_text() for _ in scene.frames()]
    assert clocks == ["t = 0.0", "t = 0.3"]
    assert all(artist.get_animated() for artist in scene.moving)  # else the first snapshot stays in every frame
    assert [words(axes) for axes in scene.figure.axes] == SCENES[form, dimension]
    assert [text.get_text() for text in scene.figure.texts] == ["no noise; solver: finite-volume"]
    if form not in ("particles", "trail"):
        spread = np.linalg.eigvalsh(run.measure(3).covariance)[-1] ** 0.5
        assert_allclose(scene.mark.get_xydata(), [[0.3, spread]])


def test_words_of_a_movie_on_the_circle(run):
    with look():
        scene = portrait_of(run).scene([0, 3])
        list(scene.frames())
    said = [words(axes) for axes in scene.figure.axes]
    assert ("angle θ [rad]", "density [1/rad]") in said
    assert ("time t", "order parameter") in said
    assert "arrow: mean of x" in [text.get_text() for axes in scene.figure.axes for text in axes.texts]


def test_a_gaussian_on_the_line_is_a_band_about_its_mean():
    run = drifting.solve(drifting.problem(1, until=0.3), None, Drift("gaussian"))
    axes = run.plot().axes[0]
    laws = [run.measure(place) for place in range(len(run.times))]
    mean = np.array([law.mean[0] for law in laws])
    spread = np.array([law.covariance[0, 0] for law in laws]) ** 0.5
    (line,), (band,) = axes.get_lines(), axes.collections
    assert_allclose(line.get_xydata(), np.transpose([run.times, mean]))
    corners = band.get_paths()[0].vertices
    for time, low, high in zip(run.times, mean - spread, mean + spread, strict=True):
        here = corners[corners[:, 0] == time, 1]
        assert_allclose([here.min(), here.max()], [low, high])
    low, high = axes.get_ylim()
    assert low <= (mean - 2 * spread).min()
    assert high >= (mean + 2 * spread).max()
