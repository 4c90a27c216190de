"""A sweep at one glance: curves over one axis, a map over two, a map for each value of the third."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.plotting.description import describe
from mfpde.plotting.figure import head
from mfpde.plotting.output import FIGURES, extension_of, save
from mfpde.plotting.style import look, new_figure, tag
from mfpde.plotting.sweep_axes import Shown, shown_of
from mfpde.plotting.sweep_panels import draw_curves, draw_map
from mfpde.registry import register

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from mfpde.sweeping.result import Sweep

__all__ = ["sweep_figure"]

_LETTERS_PER_LINE = 115  # that fit on a page
_PANEL_INCHES, _LINE_INCHES = 3.0, 0.19  # height of a row of panels, of a line of text
_VALUES_MAX = 4  # collected values that are drawn
_FACETS_MAX = 6  # panels of one value: of a longer axis equally spaced places are shown
_COLUMNS = 2  # panels in a row


@register("view", "sweep")
def sweep_figure(sweep: Sweep, path: str | Path | None = None) -> Figure:
    """Each collected value over the swept axes; also written to `path` (.png, .pdf, .svg) when given."""
    if path is not None:
        extension_of(path, FIGURES, "figure")
    panels = [panel for name in sweep.names for panel in _panels(sweep, name)]
    if not panels:
        raise MfpdeError("nothing that this sweep collected is a number at each point, which is what can be drawn")
    lines = _header(sweep)
    with look():
        columns = 1 if len(panels) == 1 else _COLUMNS
        rows = -(-len(panels) // columns)
        figure = new_figure(_PANEL_INCHES * rows + _LINE_INCHES * len(lines) + 0.3)
        head(figure, lines)
        grid = figure.add_gridspec(rows, columns)
        first: dict[str, Axes] = {}  # of the panels of a value, whose axes are one
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(grid[place // columns, place % columns], sharey=first.get(panel.name))
            first.setdefault(panel.name, axes)
            draw = draw_map if panel.is_map else draw_curves
            draw(axes, sweep, panel)
            if len(panels) > 1:
                tag(axes, "abcdefghijklmnopqrstuvwxyz"[place])
        _explain_lines(figure)
    if path is not None:
        save(figure, path)
    return figure


def _panels(sweep: Sweep, name: str) -> Sequence[Shown]:
    """One, or one for each of a few values of the axis that is left."""
    found = shown_of(sweep, name)
    if found is None or sweep.names.index(name) >= _VALUES_MAX:
        return []
    panels = [found]
    while panels[0].facet is not None:
        length = len(panels[0].facet)
        places = np.unique(np.linspace(0, length - 1, min(length, _FACETS_MAX)).astype(int))
        panels = [panel.at(int(place)) for panel in panels for place in places][:_FACETS_MAX]
    return panels


def _explain_lines(figure: Figure) -> None:
    """What lines are that the legends of panels do not name, once for all of them."""
    shown: dict[str, Line2D] = {}
    for axes in figure.axes:
        legend = axes.get_legend()
        told = {text.get_text() for text in legend.get_texts()} if legend is not None else set()
        named = {str(line.get_label()): line for line in axes.lines}
        shown |= {name: line for name, line in named.items() if name not in told and not name.startswith("_")}
    if shown:
        figure.legend(list(shown.values()), list(shown), loc="outside lower right", fontsize=7)


def _header(sweep: Sweep) -> list[tuple[str, dict[str, str]]]:
    lines: list[tuple[str, dict[str, str]]] = []
    if sweep.problem.title:
        lines.append((sweep.problem.title, {"weight": "bold", "size": "11"}))
    swept = [key for axis in sweep.axes for key in axis.keys]
    told = "; ".join(filter(None, [f"over {', '.join(swept)}", describe(sweep.problem, swept)]))
    lines += [(line, {"color": "0.35"}) for line in textwrap.wrap(told, _LETTERS_PER_LINE)]
    done = int(sweep.finished.sum())
    if any(axis.stride > 1 for axis in sweep.axes):
        lines.append((f"refined: {done} points", {"color": "0.35"}))
    elif done < sweep.finished.size:
        lines.append((f"{done} of {sweep.finished.size} points are there", {"color": "0.35"}))
    early = sum(1 for _ in sweep.early())
    if early:
        lines.append((f"{early} points ended early", {"color": "0.35"}))
    return lines
