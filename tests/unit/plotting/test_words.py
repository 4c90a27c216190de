"""What a figure says of itself: titles, axes and legends, of every form of run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from store import drifting
from store.drifting import Drift

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
    assert [text.get_text() for text in figure.texts] == ["no noise"]


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
