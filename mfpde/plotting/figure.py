"""The figure of a run: its snapshots and observed series."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from mfpde.contracts import FINISHED
from mfpde.errors import MfpdeError
from mfpde.plotting.description import describe
from mfpde.plotting.output import FIGURES, extension_of, save
from mfpde.plotting.run_plot import portrait_of
from mfpde.plotting.series import hidden
from mfpde.plotting.style import ALARM, look, new_figure, tag
from mfpde.registry import register
from mfpde.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.gridspec import GridSpec, SubplotSpec

__all__ = ["draw_snapshots", "head", "header", "run_figure"]

_LOWER_ROW_INCHES, _LINE_INCHES = 1.9, 0.19  # heights of a row of series, of a line of text
_MAX_SERIES_AXES = 4  # two rows
#: that fit on a page
_LETTERS_PER_LINE = 115
#: of a title above one of three axes in a row
_LETTERS_OF_THREE = 30


@register("view", "figure")
def run_figure(run: Run, path: str | Path | None = None) -> Figure:
    """The snapshots and the observed series; also written to `path` (.png, .pdf, .svg) when given."""
    if path is not None:
        extension_of(path, FIGURES, "figure", " (movies are .mp4 or .gif)")
    shown = portrait_of(run)
    groups = shown.groups[:_MAX_SERIES_AXES]
    absent = hidden(run, groups, shown.drawn)
    lines = header(run)
    if absent:
        told = f"observed, not shown: {', '.join(absent)}"
        lines += [(line, {"color": "0.35"}) for line in textwrap.wrap(told, _LETTERS_PER_LINE)]
    with look():
        rows = _rows(len(groups))
        figure = new_figure(shown.height + len(rows) * _LOWER_ROW_INCHES + _LINE_INCHES * len(lines) + 0.15)
        head(figure, lines)
        # a row of three has a grid of its own, whose margins count as its height
        heights = [shown.height] + [1.45 * _LOWER_ROW_INCHES if count == 3 else _LOWER_ROW_INCHES for count in rows]
        grid = figure.add_gridspec(1 + len(rows), 2, height_ratios=heights)
        upper = shown.draw(figure, grid)
        specs = [spec for row, count in enumerate(rows, 1) for spec in _places(grid, row, count)]
        lower = [figure.add_subplot(spec) for spec in specs]
        for axes, group in zip(lower, groups, strict=True):
            group.draw(axes, shown.scale)
            if rows == [3]:
                axes.set_title(textwrap.fill(axes.get_title(loc="left"), _LETTERS_OF_THREE), loc="left")
        for axes, letter in zip([*upper, *lower], "abcdefghij", strict=False):
            tag(axes, letter)
    if path is not None:
        save(figure, path)
    return figure


@register("view", "snapshots")
def draw_snapshots(run: Run, figure: FigureBase) -> None:
    """The snapshots alone, into an empty figure or a part of one."""
    try:
        shown = portrait_of(run)
    except MfpdeError as error:  # the checks of a run that nothing can draw are told all the same
        figure.text(0.5, 0.5, str(error), ha="center", wrap=True)
        return
    shown.draw(figure, figure.add_gridspec(1, 2))  # type: ignore[arg-type]


def _places(grid: GridSpec, row: int, count: int) -> list[SubplotSpec]:
    """Places of one, two or three axes; one and two are aligned with the columns of the row above."""
    if count == 3:
        own = grid[row, :].subgridspec(1, count)
        return [own[0, place] for place in range(count)]
    return [grid[row, :]] if count == 1 else [grid[row, 0], grid[row, 1]]


def _rows(count: int) -> list[int]:
    return {0: [], 1: [1], 2: [2], 3: [3]}.get(count, [2, 2])


def header(run: Run) -> list[tuple[str, dict[str, str]]]:
    """Title, description and, unless the run just finished, its outcome, as lines with their looks."""
    lines: list[tuple[str, dict[str, str]]] = []
    if run.problem.title:
        lines += [(line, {"weight": "bold", "size": "11"}) for line in textwrap.wrap(run.problem.title, 90)]
    lines += [(line, {"color": "0.35"}) for line in textwrap.wrap(describe(run.problem), _LETTERS_PER_LINE)]
    if run.outcome.kind != FINISHED:
        colour = "0.35" if run.outcome.complete else ALARM
        lines += [(line, {"color": colour}) for line in textwrap.wrap(str(run.outcome), _LETTERS_PER_LINE)]
    return lines


def head(figure: Figure, lines: list[tuple[str, dict[str, str]]]) -> None:
    """Write lines at the top left and leave the rest of the figure to the axes."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    height = float(figure.get_size_inches()[1])
    for number, (text, looks) in enumerate(lines):
        # what a user called a run is not a formula: dollar signs are dollar signs
        written = figure.text(
            0.012, 1 - (0.07 + _LINE_INCHES * number) / height, text, va="top", ha="left", parse_math=False
        )
        written.set(**looks)
    below = 1 - (0.13 + _LINE_INCHES * len(lines)) / height
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0, 0, 1, below), h_pad=0.06, w_pad=0.06))
