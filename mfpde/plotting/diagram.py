"""A bifurcation diagram: stable solid, unstable dashed, special points marked and labelled; states along a branch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.plotting.description import describe
from mfpde.plotting.figure import head
from mfpde.plotting.output import FIGURES, extension_of, save
from mfpde.plotting.style import CATEGORIES, DASHES, LINE, REFERENCE, THIN_LINE, look, new_figure, sequence, tag
from mfpde.registry import register
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfpde.bifurcation.diagram import Branch, Diagram, SpecialPoint

__all__ = ["diagram_figure", "draw_branches"]

_HEIGHT = 4.4  # inches
_MARKS = {
    "branch-point": ("o", "white"),
    "fold": ("s", "black"),
    "first-order": ("D", "white"),
    "tricritical": ("*", "black"),
}
_LABELS = {
    "amplitude": "amplitude of the branch's own moment",
    "free_energy": "free energy minus that of the uniform state",
}
_PROFILES = 7  # states shown along a branch
_RATES = 6  # curves of a spectrum
_EIGENFUNCTIONS = 4  # curves
_BRANCH_HEIGHT = 3.2  # inches
_RIGHT_EDGE = 0.9  # of the axis: labels of points beyond it stand to their left
_DENSITY_SHOWN = 1e-6  # of the largest density: what is smaller is cut off


@register("view", "diagram")
def diagram_figure(diagram: Diagram, path: str | Path | None = None, quantity: str = "amplitude") -> Figure:
    """The diagram of one quantity: amplitude, free_energy, or `m1`, `m2`, ... for a moment with its sign."""
    if path is not None:
        extension_of(path, FIGURES, "figure")
    with look():
        lines: list[tuple[str, dict[str, str]]] = []
        if diagram.problem.title:
            lines.append((diagram.problem.title, {"weight": "bold", "size": "11"}))
        lines.append((describe(diagram.problem).replace("; no noise", ""), {"color": "0.35"}))
        figure = new_figure(_HEIGHT + 0.2 * len(lines))
        head(figure, lines)
        draw_branches(figure.add_subplot(), diagram, quantity)
    if path is not None:
        save(figure, path)
    return figure


def draw_branches(axes: Axes, diagram: Diagram, quantity: str) -> None:
    """Every branch with its special points, and a legend."""
    from matplotlib.lines import Line2D

    axes.set_xlim(*diagram.range)
    handles, shown = [], {}
    for branch in diagram.branches:
        colour = REFERENCE if branch.number == 0 else CATEGORIES[(branch.number - 1) % len(CATEGORIES)]
        shown[branch.number] = values_of(diagram, branch, quantity)
        _draw_branch(axes, branch, shown[branch.number], colour)
        handles.append(Line2D([], [], color=colour, label=branch.name))
    seen: list[str] = []
    for branch in diagram.branches:
        for point in branch.special:
            born = point.kind == "branch-point" and branch.number > 0 and point.branches[:1] == (0,)
            _mark(axes, point, float(shown[branch.number][point.place]), told=not born)
            seen += [point.kind] if point.kind not in seen else []
    handles += [
        Line2D([], [], color="0.2", label="stable"),
        Line2D([], [], color="0.2", ls=DASHES, label="unstable", lw=THIN_LINE),
    ]
    for kind in seen:
        mark, face = _MARKS[kind]
        handles.append(Line2D([], [], ls="", marker=mark, mfc=face, mec="black", ms=5, label=kind))
    axes.set(xlabel=diagram.parameter, ylabel=_LABELS.get(quantity, quantity))
    axes.margins(y=0.08)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def values_of(diagram: Diagram, branch: Branch, quantity: str) -> Float:
    """One number for each point of a branch."""
    if quantity.startswith("m") and quantity[1:].isdigit():
        order = int(quantity[1:])
        inside = order < branch.moments.shape[1]
        return np.nan_to_num(branch.moments[:, order]) if inside else np.zeros(len(branch))
    if quantity in _LABELS:
        return np.zeros(len(branch)) if branch.number == 0 else np.asarray(getattr(branch, quantity), dtype=float)
    try:
        return diagram.observed(branch, quantity)
    except MfpdeError as error:
        raise MfpdeError(f"a diagram shows {', '.join(_LABELS)}, m1, m2, .. or an observable: {error}") from None


def _draw_branch(axes: Axes, branch: Branch, values: Float, colour: str) -> None:
    solid = np.zeros(max(len(branch) - 1, 0), dtype=bool)
    solid[branch.stable_segments()] = True
    for first, last in _runs(solid):
        span = slice(first, last + 2)
        style = {"lw": LINE} if solid[first] else {"lw": THIN_LINE, "ls": DASHES}
        axes.plot(branch.parameter[span], values[span], color=colour, **style)


def _runs(flags: AnyArray) -> list[tuple[int, int]]:
    """First and last index of each stretch of equal flags."""
    if not flags.size:
        return []
    edges = np.flatnonzero(flags[1:] != flags[:-1])
    return list(zip(np.append(0, edges + 1).tolist(), np.append(edges, flags.size - 1).tolist(), strict=True))


def _mark(axes: Axes, point: SpecialPoint, value: float, *, told: bool) -> None:
    mark, face = _MARKS[point.kind]
    axes.plot(point.parameter, value, ls="", marker=mark, ms=5, mfc=face, mec="black", mew=0.9, zorder=5)
    if told:
        low, high = axes.get_xlim()
        inward = -1 if point.parameter > low + _RIGHT_EDGE * (high - low) else 1
        axes.annotate(
            f"{point.parameter:.5g}",
            (point.parameter, value),
            (6 * inward, -9),
            ha="left" if inward > 0 else "right",
            textcoords="offset points",
            size=7.5,
            color="0.25",
        )


@register("view", "branch")
def branch_figure(branch: Branch, path: str | Path | None = None) -> Figure:
    """Densities of states along a branch, its leading rates, and eigenfunctions of the state that is left fastest."""
    if path is not None:
        extension_of(path, FIGURES, "figure")
    with look():
        figure = new_figure(_BRANCH_HEIGHT)
        uniform = branch.number == 0
        panels = figure.subplots(1, 2 if uniform else 3)
        parts = (_profiles, _spectrum) if uniform else (_profiles, _spectrum, _eigenfunctions)
        for axes, draw, letter in zip(panels, parts, "abc", strict=False):
            draw(axes, branch)
            tag(axes, letter)
        figure.suptitle(branch.name, size=10)
    if path is not None:
        save(figure, path)
    return figure


def _angles(branch: Branch) -> Float:
    return np.linspace(-np.pi, np.pi, 401) if branch.family.dimension == 2 else np.linspace(0, np.pi, 301)


def _profiles(axes: Axes, branch: Branch) -> None:
    chosen = np.unique(np.linspace(0, len(branch) - 1, _PROFILES).astype(int))
    angle, top = _angles(branch), 0.0
    for point, colour in zip(chosen, sequence(chosen.size), strict=True):
        density = np.exp(branch.state(int(point)).log_density_at(angle))
        top = max(top, float(density.max()))
        axes.plot(angle, density, color=colour, label=f"{branch.parameter[point]:.4g}")
    axes.set(xlabel="angle to the axis [rad]", title="density / uniform", yscale="log")
    axes.set_ylim(max(axes.get_ylim()[0], _DENSITY_SHOWN * top), 2 * top)
    axes.legend(title=branch.family.parameter, fontsize=6, title_fontsize=6, loc="best")


def _spectrum(axes: Axes, branch: Branch) -> None:
    """Rates over the arclength, or over the parameter of the uniform state."""
    along = branch.parameter if branch.number == 0 else np.copysign(1, 0.5 - branch.trail.side) * branch.trail.arclength
    order = np.argsort(along, kind="stable")
    rates = branch.rates.real[order]
    known = np.isfinite(rates[:, 0])
    for place in range(min(_RATES, rates.shape[1])):
        colour = CATEGORIES[place % len(CATEGORIES)]
        axes.plot(along[order][known], rates[known, place], color=colour, lw=THIN_LINE)
    axes.axhline(0, color=REFERENCE, lw=0.6)
    for point in branch.special:
        axes.axvline(along[point.place], color=REFERENCE, lw=0.6, ls=":")
    largest = np.abs(rates[known, 0])
    axes.set_yscale("symlog", linthresh=max(0.01 * float(largest.max(initial=1e-3)), 1e-6))
    label = branch.family.parameter if branch.number == 0 else "arclength from its birth"
    axes.set(xlabel=label, title="leading rates [1/time]")


def _eigenfunctions(axes: Axes, branch: Branch) -> None:
    leading = np.where(branch.amplitude > 0, np.nan_to_num(branch.rates[:, 0].real, nan=-np.inf), -np.inf)
    point = int(np.argmax(leading))
    angle = _angles(branch)
    for place, (mode, values) in enumerate(branch.state(point).eigenfunctions(angle, _EIGENFUNCTIONS)):
        told = "rotation" if mode.rotation else f"{mode.rate.real:.3g}" + (f", m = {mode.order}" if mode.order else "")
        axes.plot(angle, values.real, color=CATEGORIES[place % len(CATEGORIES)], lw=THIN_LINE, label=told)
    axes.axhline(0, color=REFERENCE, lw=0.6)
    axes.set(xlabel="angle to the axis [rad]", title="eigenfunctions")
    where = f"rates at {branch.family.parameter} = {branch.parameter[point]:.4g}"
    axes.legend(title=where, fontsize=6, title_fontsize=6, loc="best")
