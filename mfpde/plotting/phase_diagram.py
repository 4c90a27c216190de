"""A phase diagram: order parameter of the state of lowest free energy, and where several states are stable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.output import FIGURES, extension_of, save
from mfpde.plotting.style import CATEGORIES, DASHES, LINE, MAP, look, new_figure
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mfpde.bifurcation.phase import PhaseDiagram

__all__ = ["phase_figure"]

_HEIGHT = 4.6  # inches
_HATCH = "////"


@register("view", "phase-diagram")
def phase_figure(diagram: PhaseDiagram, path: str | Path | None = None) -> Figure:
    """`kappa / kappa_1` over beta; hatched where several states are stable."""
    if path is not None:
        extension_of(path, FIGURES, "figure")
    from matplotlib.patches import Patch

    with look():
        figure = new_figure(_HEIGHT)
        axes = figure.add_subplot()
        order = np.ma.masked_invalid(diagram.order_parameter.T)
        mesh = axes.pcolormesh(diagram.beta, diagram.ratio, order, cmap=MAP, vmin=0, vmax=1, rasterized=True)
        figure.colorbar(mesh, ax=axes, label="order parameter of the state of lowest free energy", fraction=0.05)
        if diagram.stable.max() > 1:
            axes.contourf(
                diagram.beta, diagram.ratio, diagram.stable.T, levels=[1.5, 99], colors="none", hatches=[_HATCH]
            )
        _curves(axes, diagram)
        axes.set(xlabel="beta", ylabel="kappa / kappa_1", ylim=(diagram.ratio[0], diagram.ratio[-1]))
        axes.set_xlim(diagram.beta[0], diagram.beta[-1])
        hatched = Patch(hatch=_HATCH, fill=False, label="several stable states")
        handles = [*axes.get_legend_handles_labels()[0], *([hatched] if diagram.stable.max() > 1 else [])]
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.12), ncols=3, borderaxespad=0)
    if path is not None:
        save(figure, path)
    return figure


def _curves(axes: Axes, diagram: PhaseDiagram) -> None:
    start = diagram.tricritical[:1]
    for mode, curve in diagram.folds.items():
        whole = np.concatenate([start, curve]) if mode == 1 else curve
        _draw(axes, diagram, whole, CATEGORIES[1], "folds" if mode == 1 else None)
    if diagram.first_order.size:
        whole = np.concatenate([start, diagram.first_order])
        _draw(axes, diagram, whole, CATEGORIES[6], "first-order points")
    for degree, curve in diagram.branch_points.items():
        _draw(axes, diagram, curve, CATEGORIES[3], "branch points of the uniform state" if degree == 1 else None)
    for point in diagram.tricritical:
        height = _ratio(diagram, point[None])
        axes.plot(point[:1], height, "*", ms=11, mfc="white", mec="black", label="tricritical point", zorder=5)


def _draw(axes: Axes, diagram: PhaseDiagram, curve: Float, colour: str, label: str | None) -> None:
    """Of mode 1 solid and in the legend, of others dashed."""
    (line,) = axes.plot(curve[:, 0], _ratio(diagram, curve), lw=LINE, color=colour, label=label)
    line.set_linestyle("-" if label else DASHES)


def _ratio(diagram: PhaseDiagram, curve: Float) -> Float:
    """kappa of points of a curve in units of kappa_1, between the values of beta as well."""
    return curve[:, 1] / np.exp(np.interp(curve[:, 0], diagram.beta, np.log(diagram.critical)))
