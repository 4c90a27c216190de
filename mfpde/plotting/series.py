"""Observed series as panels of curves over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.plotting.scales import TimeScale, angle_axis
from mfpde.plotting.style import CATEGORIES, DASHES, LINE, REFERENCE, THIN, label
from mfpde.run import Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SeriesPanel", "curves_of", "draw_series", "hidden", "is_angle", "is_order_parameter", "observed_panels"]

_PHASE = "-phase"
#: what is said twice
_SPREAD = ("covariance", "covariance-eigenvalues")
#: series with as many entries as one cares to ask for: a single one is not the whole
_LISTS = ("clusters-position", "clusters-mass", "clusters-width", "modes-cosine", "modes-sine")
#: of which the order of magnitude is what counts
_MAGNITUDES = ("distance", "residual", "box-leak", "attention-tilt-edge", "dissipation")
_COMPONENTS = "xyz"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True, eq=False)
class SeriesPanel:
    """Curves that share axes: values over times by the names that a legend gives them."""

    name: str
    times: Float
    curves: dict[str, Float]


def observed_panels(run: Run) -> list[SeriesPanel]:
    """All series that curves can show: order parameters first and together, angles last."""
    times = np.asarray(run.series_times, dtype=float)
    if times.size == 0:
        return []
    found = {name: curves_of(name, np.asarray(values, dtype=float)) for name, values in run.series.items()}
    shown = {name: curves for name, curves in found.items() if curves and not _resting(run, name)}
    if "covariance" in shown:  # one number, and the eigenvalue is the same one
        shown.pop("covariance-eigenvalues", None)
    orders = {name: values for name in shown if is_order_parameter(name) for values in shown[name].values()}
    panels = [SeriesPanel("order-parameter", times, dict(list(orders.items())[:4]))] if orders else []
    others = sorted((name for name in shown if name not in orders), key=_rank)
    return panels + [SeriesPanel(name, times, _finite(shown[name])) for name in others]


def _finite(curves: dict[str, Float]) -> dict[str, Float]:
    """Gaps where a value is infinite."""
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in curves.items()}


def hidden(run: Run, panels: list[SeriesPanel]) -> list[str]:
    """Names of the series that none of these panels shows."""
    drawn = {panel.name for panel in panels} | {name for panel in panels for name in panel.curves}
    if drawn & set(_SPREAD):
        drawn |= set(_SPREAD)
    return [name for name in run.series if name not in drawn and not _resting(run, name)]


def curves_of(name: str, values: Float) -> dict[str, Float]:
    """One curve for each number of a short vector; none where there would be too many."""
    if values.ndim == 1 or (values.size == len(values) and name not in _LISTS):
        return {name: values.reshape(len(values))}
    if name == "mean":
        return dict(zip(_COMPONENTS, values.T, strict=False)) if values.shape[1] <= len(_COMPONENTS) else {}
    if name in ("covariance-eigenvalues", "standard-deviations"):
        return {f"{_ORDINALS[number]} axis": one for number, one in enumerate(values.T[: len(_ORDINALS)])}
    return {}


def _resting(run: Run, name: str) -> bool:
    """Whether this is the phase of an order parameter, which nobody asked for by name, and it does not turn."""
    order = run.series.get(name.removesuffix(_PHASE))
    if not name.endswith(_PHASE) or order is None:
        return False
    angles = np.asarray(run.series[name])[np.asarray(order) > 1e-3]  # below that the phase of rounding errors
    return angles.size == 0 or float(np.ptp(np.unwrap(angles))) < 0.1


def _rank(name: str) -> int:
    return 0 if name in ("free-energy", "distance") else 2 if is_angle(name) else 1


def is_angle(name: str) -> bool:
    """A direction on the circle."""
    return name.endswith(_PHASE) or name == "mean-direction"


def is_order_parameter(name: str) -> bool:
    """The modulus of a mode, between 0 and 1."""
    return name.startswith("order-parameter") and not is_angle(name)


def draw_series(axes: Axes, panel: SeriesPanel, scale: TimeScale) -> None:
    """Series over time; several share the axes with a legend."""
    style: dict[str, Any] = {"marker": "o", "ms": 3.0} if panel.times.size < 12 else {}
    for (name, given), colour in zip(panel.curves.items(), CATEGORIES, strict=False):
        values = _unwound(given) if is_angle(panel.name) else given
        if name == "clusters":  # a number that is whole at every time
            style["drawstyle"] = "steps-mid"
        axes.plot(panel.times, values, color=colour, lw=LINE, label=name, clip_on=False, **style)
    replace(scale, last=max(scale.last, float(panel.times[-1]))).lay_out(axes)
    axes.set_title(label(panel.name), loc="left")
    if is_order_parameter(panel.name):
        axes.set_ylim(0, 1)
    elif is_angle(panel.name):
        axes.set_ylim(0, 2 * np.pi)
        angle_axis(axes.yaxis)
    elif panel.name == "clusters":
        axes.set_ylim(0, float(np.nanmax(panel.curves["clusters"])) + 1)
        axes.locator_params(axis="y", integer=True)
    else:
        _value_axis(axes, panel.name, np.array(list(panel.curves.values())))
    if len(panel.curves) > 1:
        axes.legend(loc="best", handlelength=1.3)


def _unwound(phase: Float) -> Float:
    """Angles in [0, 2 pi), the line broken where it would jump across."""
    turned = np.mod(phase, 2 * np.pi)
    turned[1:][np.abs(np.diff(turned)) > np.pi] = np.nan
    return turned


def _value_axis(axes: Axes, name: str, values: Float) -> None:
    """Constant where only rounding moves a series, logarithmic where it runs through decades, linear otherwise."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return
    positive = finite[finite > 0]
    if name in _MAGNITUDES and positive.size:
        axes.set_yscale("log")
        axes.set_ylim(0.5 * float(positive.min()), 2 * float(positive.max()))
        return
    least, most, size = float(finite.min()), float(finite.max()), float(np.abs(finite).max())
    if name != "free-energy" and least > 0 and most > 1e3 * least:
        axes.set_yscale("log")
        return
    if most - least <= 1e-9 * max(size, 1e-3):
        margin = 0.1 * size if size > 1e-9 else 0.1
        axes.set_ylim(least - margin, most + margin)
    axes.ticklabel_format(axis="y", useOffset=False, useMathText=True, scilimits=(-3, 4))
    axes.yaxis.set_offset_position("right")  # on the left is the name
    if name == "free-energy" and axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0.0, color=REFERENCE, lw=THIN, ls=DASHES)
