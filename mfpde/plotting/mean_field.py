"""The figure of a study of the mean-field limit: errors against the number of tokens, over time, and tokens beside the
solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from mfpde.measure import Measure, Particles
from mfpde.plotting.style import CATEGORIES, DASHES, THIN_LINE, sequence, tag
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["draw_mean_field"]

_BARS, _PLACES = 40, 400  # of a histogram; of a curve
_DRAWS = 20_000  # of a solution, for the histogram of a coordinate: right to some percent
_CELLS = 60  # a side of the grid on which lines of equal density are found in the plane
_LEVELS = np.array([0.05, 0.25, 0.5, 0.75])  # of the largest density
_NAME_OF_LEVELS = "solution: 5, 25, 50 and 75 % of its largest density"
_MOST_TICKS = 5  # numbers of tokens that have room beside each other
_KEY_MARKER = 4  # times the size of a token
_OF_TOKENS, _OF_SOLUTION = CATEGORIES[5], CATEGORIES[1]
_MARKERS = ("o", "s", "^", "D", "v", "P")  # as many as colours that differ


class Line(Protocol):
    """A fitted rate."""

    quantity: str
    counts: Float
    errors: Float
    deviations: Float
    exponent: float
    interval: tuple[float, float]
    expected: float | None
    logarithm: float


@register("view", "mean-field")
def draw_mean_field(
    rates: Sequence[Line],
    times: Float,
    errors: Sequence[tuple[int, Float, Float]],
    beside: Sequence[tuple[float, Measure, Measure]],
    figure: FigureBase,
) -> None:
    """rates: by quantity. errors: number of tokens, root mean squares over time, and their standard errors. beside:
    time, tokens, solution."""
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.25, 1])[:, 0]
    upper = above.subplots(1, 2)
    _against_counts(upper[0], rates)
    _over_time(upper[1], times, errors)
    _key_below(upper[0], 2)
    _key_below(upper[1], 3)
    lower = below.subplots(1, len(beside), squeeze=False)[0]
    for axes, (time, tokens, solution) in zip(lower, beside, strict=True):
        _side_by_side(axes, tokens, solution)
        axes.set_title(f"{len(tokens.nodes()[1]):,} tokens, t = {time:.4g}")
    below.legend(*lower[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, markerscale=_KEY_MARKER)
    for axes, letter in zip([*upper, *lower], "abcdefgh", strict=False):
        tag(axes, letter)


def _against_counts(axes: Axes, rates: Sequence[Line]) -> None:
    """Empty where tokens and the solution part before a rate shows."""
    for place, rate in enumerate(rates):
        color, marker = CATEGORIES[place % len(CATEGORIES)], _MARKERS[place % len(_MARKERS)]
        half = 0.5 * (rate.interval[1] - rate.interval[0])
        label = f"{rate.quantity}: $n^{{{rate.exponent:.2f} \\pm {half:.2f}}}$"
        axes.errorbar(
            rate.counts, rate.errors, 2 * rate.deviations, fmt=marker, color=color, ms=4, capsize=2, label=label
        )
        logs = np.log(rate.counts)
        centre, level = logs.mean(), np.log(rate.errors).mean()
        axes.plot(rate.counts, np.exp(level + rate.exponent * (logs - centre)), color=color, lw=THIN_LINE)
        if rate.expected is not None:
            extra = rate.logarithm * (np.log(logs) - np.log(logs).mean())
            expected = np.exp(level + rate.expected * (logs - centre) + extra)
            axes.plot(rate.counts, expected, color=color, lw=THIN_LINE, ls=DASHES)
    axes.set(xscale="log", yscale="log", xlabel="number of tokens n", ylabel="error (root mean square)")
    counts = np.unique([count for rate in rates for count in rate.counts])
    if 0 < counts.size <= _MOST_TICKS:
        axes.set_xticks(counts, [f"{count:,.0f}" for count in counts])
        axes.set_xticks([], minor=True)
    axes.plot([], [], color="0.3", lw=THIN_LINE, label="fitted" if rates else "no rates: they part too soon")
    if any(rate.expected is not None for rate in rates):
        axes.plot([], [], color="0.3", lw=THIN_LINE, ls=DASHES, label="expected slope")


def _over_time(axes: Axes, times: Float, errors: Sequence[tuple[int, Float, Float]]) -> None:
    for color, (count, means, deviations) in zip(sequence(len(errors)), errors, strict=True):
        axes.plot(times, means, color=color, marker=".", label=f"n = {count:,}")
        low = np.maximum(means - 2 * deviations, 0.1 * means)
        axes.fill_between(times, low, means + 2 * deviations, color=color, alpha=0.25, lw=0)
    axes.set(yscale="log", xlabel="time t", ylabel="error of smooth observables")


def _key_below(axes: Axes, columns: int) -> None:
    """A legend under the axis, where it hides nothing."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), fontsize=7.5, ncols=columns, columnspacing=1.0)


def _side_by_side(axes: Axes, tokens: Measure, solution: Measure) -> None:
    space = solution.space
    if space.angular:
        _with_curve(axes, tokens, solution, (0.0, 2 * math.pi), "angle θ [rad]", "density [1/rad]")
    elif space.flat and space.ambient_dimension == 1:
        places = np.concatenate([tokens.nodes()[0], np.stack(solution.reach(1e-4))])
        _with_curve(axes, tokens, solution, (float(places.min()), float(places.max())), "x", "density")
    elif space.flat and space.ambient_dimension == 2:
        _over_tokens(axes, tokens, solution)
    else:
        _of_projections(axes, tokens, solution)


def _with_curve(
    axes: Axes, tokens: Measure, solution: Measure, span: tuple[float, float], coordinate: str, density: str
) -> None:
    points, weights = tokens.nodes()
    axes.hist(points[:, 0], _BARS, range=span, density=True, weights=weights, color=_OF_TOKENS, label="tokens")
    axes.set(xlabel=coordinate, ylabel=density, xlim=span)
    places = np.linspace(*span, _PLACES)
    if solution.point_masses() is None:
        axes.plot(places, solution.evaluate(places[:, None]), color=_OF_SOLUTION, label="solution")


def _over_tokens(axes: Axes, tokens: Measure, solution: Measure) -> None:
    """Lines of equal density; the nodes of a solution along characteristics, whose density takes long on a grid."""
    points = tokens.nodes()[0]
    axes.scatter(points[:, 0], points[:, 1], s=1.5, color=_OF_TOKENS, lw=0, rasterized=True, label="tokens")
    if solution.pointlike:
        places = solution.nodes()[0]
        name = "many more tokens" if solution.point_masses() is not None else "nodes of the solution"
        axes.scatter(places[:, 0], places[:, 1], s=4, color=_OF_SOLUTION, lw=0, rasterized=True, label=name)
    else:
        low, high = (np.asarray(each) for each in solution.reach(1e-3))
        margin = 0.05 * (high - low)
        x, y = (np.linspace(low[k] - margin[k], high[k] + margin[k], _CELLS) for k in (0, 1))
        places = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
        density = solution.evaluate(places).reshape(_CELLS, _CELLS).T
        axes.contour(x, y, density, density.max() * _LEVELS, colors=_OF_SOLUTION, linewidths=THIN_LINE)
        axes.plot([], [], color=_OF_SOLUTION, lw=THIN_LINE, label=_NAME_OF_LEVELS)
    axes.set(xlabel="x", ylabel="y", aspect="equal")


def _of_projections(axes: Axes, tokens: Measure, solution: Measure) -> None:
    """Histograms of the last coordinate, that of the axis, in the same bins."""
    known = "solution" if solution.point_masses() is None else "many more tokens"
    found = []
    for measure in (tokens, solution):
        draws = measure if measure.pointlike else Particles(measure.sample(_DRAWS), geometry=measure.space)
        points, weights = draws.embedded_nodes()  # nodes of a quadrature are too many in high dimension
        found.append((points[:, -1], weights))
    places = np.concatenate([last for last, _ in found])
    span = (-1.0, 1.0) if not solution.space.flat else (float(places.min()), float(places.max()))
    outlines: list[tuple[Literal["stepfilled", "step"], str, str]]
    outlines = [("stepfilled", _OF_TOKENS, "tokens"), ("step", _OF_SOLUTION, known)]
    for (last, weights), (outline, color, name) in zip(found, outlines, strict=True):
        axes.hist(last, _BARS, range=span, density=True, weights=weights, histtype=outline, color=color, label=name)
    axes.set(xlabel="last coordinate", ylabel="density", xlim=span)
