"""Composite Gauss rules on the line and the circle, with intervals halved where the flow steepens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.geometry.gauss import gauss_legendre, last_coefficients
from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.node_comparison import Nodes
from mfpde.solvers.stepping.adaptive_ode import March, Verdict
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem

__all__ = ["POLE_RATE", "adaptive_intervals", "cut", "density_intervals", "nodes_of"]

#: growth rate in units of 1/t beyond which the solution is at a pole
POLE_RATE = 1e4

_POINTS_PER_INTERVAL = 16  # of Gauss
_FIRST_INTERVALS = 16  # before any is halved
_MAX_HALVINGS = 60  # more is below rounding
_PILOT_TOLERANCE = 1e-6  # of the steps that find where the flow steepens
_QUADRATURE_POWER = 1.8  # of the interpolation error that the quadrature error is: nearly its square
_LIMIT_SHARE = 0.03  # of the limit, for one interval
_ATTEMPTS_MAX = 3000  # at steps of that march


def adaptive_intervals(task: InitialValueProblem, ends: tuple[float, float], limit: float, most: int) -> Float | None:
    """Ascending breaks between the ends, so that on every interval the density and the flow map are polynomials to the
    accuracy of integrals; None when that would take too many nodes."""
    return _until_smooth(ends, most, lambda breaks: _rough(task, breaks, limit))


def density_intervals(initial: Measure, ends: tuple[float, float], limit: float, most: int) -> Float | None:
    """The same for the initial density alone."""

    def rough(breaks: Float) -> AnyArray:
        _, density, masses = _points(initial, breaks)
        return _missed(_missing(density), masses, breaks, limit)

    return _until_smooth(ends, most, rough)


def _until_smooth(ends: tuple[float, float], most: int, rough: Callable[[Float], AnyArray]) -> Float | None:
    # tokens at the origin stay there on the line, and kernels with a kink have it there
    breaks = np.unique(
        np.concatenate([np.linspace(*ends, _FIRST_INTERVALS + 1), [0.0] if ends[0] < 0 < ends[1] else []])
    )
    for _ in range(_MAX_HALVINGS):
        if (breaks.size - 1) * _POINTS_PER_INTERVAL > most:
            return None
        where = rough(breaks)
        if not where.any():
            return breaks
        breaks = np.sort(np.concatenate([breaks, 0.5 * (breaks[:-1] + breaks[1:])[where]]))
    return None


def cut(breaks: Float, parts: int) -> Float:
    """Each interval cut into that many equal parts."""
    steps = np.arange(parts) / parts
    return np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * steps).ravel(), breaks[-1])


def nodes_of(initial: Measure, breaks: Float) -> Nodes:
    """Gauss points of all intervals, in ascending order, those without mass left out."""
    points, _, masses = _points(initial, breaks)
    there = masses.ravel() > 0
    return Nodes(points.reshape(-1, 1)[there], masses.ravel()[there] / masses.sum(), None)


def _points(initial: Measure, breaks: Float) -> tuple[Float, Float, Float]:
    """Points, densities and masses, `(intervals, points)`."""
    t, weights = gauss_legendre(_POINTS_PER_INTERVAL)
    width = np.diff(breaks)[:, None]
    points = breaks[:-1, None] + 0.5 * width * (1 + t)
    density = initial.evaluate(points.ravel()).reshape(points.shape)
    return points, density, width * weights * density


def _rough(task: InitialValueProblem, breaks: Float, limit: float) -> AnyArray:
    """Intervals on which the density or the flow map, at the end of any step, is not a polynomial."""
    points, density, masses = _points(task.initial, breaks)
    flow = Flow(task.equation, points.reshape(-1, 1), masses.ravel() / masses.sum(), None)
    missing, march = _missing(density), March(flow, _PILOT_TOLERANCE)
    for tried in march.to(task.until, _ATTEMPTS_MAX):
        doing(f"{masses.size} nodes on panels, t = {march.time:.4g} of {task.until:.4g}")
        if tried is Verdict.VANISHED or march.time * march.growth > POLE_RATE:
            break
        bent = last_coefficients(march.state.reshape(points.shape)).max(axis=1) - flow.rounding(march.state)
        missing = np.maximum(missing, bent / flow.spread(march.state))
    return _missed(missing, masses, breaks, limit)


def _missing(density: Float) -> Float:
    """Interpolation error of the density on each interval, relative to its largest value there."""
    return last_coefficients(density / np.maximum(density.max(axis=1, keepdims=True), 1e-300)).max(axis=1)


def _missed(missing: Float, masses: Float, breaks: Float, limit: float) -> AnyArray:
    """Whether the interpolation error on an interval changes integrals, and halving can reduce it."""
    share = masses.sum(axis=1) / masses.sum()
    tiny = np.diff(breaks) <= 64 * np.finfo(float).eps * np.abs(breaks).max()
    return (share * np.minimum(missing, 1.0) ** _QUADRATURE_POWER > _LIMIT_SHARE * limit) & ~tiny
