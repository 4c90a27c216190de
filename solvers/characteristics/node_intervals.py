"""Gauss panels on the line and the circle, halved where the flow steepens: clusters take few nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.measure import Measure
from mfpde.measure.rules import gauss_legendre
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.node_comparison import Nodes
from mfpde.solvers.stepping.adaptive_ode import Attempt, March
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem

__all__ = ["POLE", "adaptive_panels", "cut", "density_panels", "nodes_of"]

#: growth rates, in units of 1/t, at which only a pole is left
POLE = 1e4

_POINTS = 16
_FIRST = 16
_ROUNDS = 60
_PILOT_TOLERANCE = 1e-6  # of the steps of nodes that only show where the flow steepens
_GAIN = 1.8  # a Gauss rule squares, nearly, what is missing in the polynomial through its points
_CAUTION = 0.03
_ATTEMPTS_MAX = 3000  # of such a march; what it has shown by then is all that is known


def adaptive_panels(task: InitialValueProblem, ends: tuple[float, float], limit: float, most: int) -> Float | None:
    """Ascending breaks between the ends, so that on every panel both the density and the places that tokens come to are
    polynomials as far as integrals can tell; None when that would take too many nodes."""
    return _until_smooth(ends, most, lambda breaks: _rough(task, breaks, limit))


def density_panels(initial: Measure, ends: tuple[float, float], limit: float, most: int) -> Float | None:
    """The same before anything has moved."""

    def rough(breaks: Float) -> AnyArray:
        _, density, masses = _points(initial, breaks)
        return _missed(_missing(density), masses, breaks, limit)

    return _until_smooth(ends, most, rough)


def _until_smooth(ends: tuple[float, float], most: int, rough: Callable[[Float], AnyArray]) -> Float | None:
    # tokens at the origin stay there on the line, and kernels with a kink have it there
    breaks = np.unique(np.concatenate([np.linspace(*ends, _FIRST + 1), [0.0] if ends[0] < 0 < ends[1] else []]))
    for _ in range(_ROUNDS):
        if (breaks.size - 1) * _POINTS > most:
            return None
        where = rough(breaks)
        if not where.any():
            return breaks
        breaks = np.sort(np.concatenate([breaks, 0.5 * (breaks[:-1] + breaks[1:])[where]]))
    return None


def cut(breaks: Float, parts: int) -> Float:
    """So many times as many panels."""
    steps = np.arange(parts) / parts
    return np.append((breaks[:-1, None] + np.diff(breaks)[:, None] * steps).ravel(), breaks[-1])


def nodes_of(initial: Measure, breaks: Float) -> Nodes:
    """Gauss points of all panels, in ascending order, those without mass left out."""
    points, _, masses = _points(initial, breaks)
    there = masses.ravel() > 0
    return Nodes(points.reshape(-1, 1)[there], masses.ravel()[there] / masses.sum(), None)


def _points(initial: Measure, breaks: Float) -> tuple[Float, Float, Float]:
    """Points, densities and masses, `(panels, points)`."""
    t, weights = gauss_legendre(_POINTS)
    width = np.diff(breaks)[:, None]
    points = breaks[:-1, None] + 0.5 * width * (1 + t)
    density = initial.evaluate(points.ravel()).reshape(points.shape)
    return points, density, width * weights * density


def _rough(task: InitialValueProblem, breaks: Float, limit: float) -> AnyArray:
    """Panels on which anything is missing at the end of any step of the run."""
    points, density, masses = _points(task.initial, breaks)
    flow = Flow(task.equation, points.reshape(-1, 1), masses.ravel() / masses.sum(), None)
    missing, march = _missing(density), March(flow, _PILOT_TOLERANCE)
    for tried in march.to(task.until, _ATTEMPTS_MAX):
        doing(f"{masses.size} nodes on panels, t = {march.time:.4g} of {task.until:.4g}")
        if tried is Attempt.VANISHED or march.time * march.growth > POLE:
            break
        bent = _last(march.state.reshape(points.shape)) - flow.rounding(march.state)
        missing = np.maximum(missing, bent / flow.spread(march.state))
    return _missed(missing, masses, breaks, limit)


def _missing(density: Float) -> Float:
    """Of the density on each panel, relative to its largest value there."""
    return _last(density / np.maximum(density.max(axis=1, keepdims=True), 1e-300))


def _missed(missing: Float, masses: Float, breaks: Float, limit: float) -> AnyArray:
    """Whether integrals feel what is missing on a panel, and halves could have it."""
    share = masses.sum(axis=1) / masses.sum()
    tiny = np.diff(breaks) <= 64 * np.finfo(float).eps * np.abs(breaks).max()
    return (share * np.minimum(missing, 1.0) ** _GAIN > _CAUTION * limit) & ~tiny


def _last(values: Float) -> Float:
    """The last coefficients of the Legendre series through the values on each panel."""
    t, weights = gauss_legendre(_POINTS)
    order = np.arange(_POINTS - 2, _POINTS)
    shapes = np.polynomial.legendre.legvander(t, _POINTS - 1)[:, order]
    return np.abs(values @ (weights[:, None] * shapes * (2 * order + 1))).max(axis=1)
