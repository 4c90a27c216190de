"""Two sets of nodes for one measure, moved together until their integrals differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import Flow
from mfpde.solvers.characteristics.tails import Cutoff, Tails
from mfpde.solvers.stepping.adaptive_ode import Size
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem

__all__ = ["NodeComparison", "Nodes", "flow_of"]

_MAX_PROBES = 256  # nodes of one set that are also moved by the other
_WEIGHT_FLOOR = 1e-9  # of the largest weight: lighter nodes change no integral
_DENSITY_SLOPE = 10.0  # |grad rho| / rho that errors of places are weighed by, in units of one over the spread
_ROUNDED_STEPS = 8.0  # whose rounding errors add up
_WAVE_RADIANS = 2.0  # per standard deviation: as steep as Gaussian tails allow


@dataclass(frozen=True)
class Nodes:
    """Points `(n, components)`, weights, and positions where tokens have them. `normal` nodes stand for the normal law
    with their mean and covariance; those with a `cutoff` are continued by tails beyond it."""

    points: Float
    weights: Float
    positions: Float | None
    normal: bool = False
    cutoff: Cutoff | None = None

    @property
    def count(self) -> int:
        return int(self.weights.size)

    def only(self, kept: Any) -> Nodes:
        """Some of them; those left out weigh nothing."""
        return Nodes(self.points[kept], self.weights[kept], None if self.positions is None else self.positions[kept])


def flow_of(task: InitialValueProblem, nodes: Nodes) -> Flow:
    """The flow of these nodes."""
    tails = None if nodes.cutoff is None else Tails(task.initial, nodes.cutoff)
    return Flow(task.equation, nodes.points, nodes.weights, nodes.positions, nodes.normal, tails)


class NodeComparison:
    """The state (nodes, more nodes, probes): probes start at some of the nodes and move by the drift of the others."""

    def __init__(self, task: InitialValueProblem, here: Nodes, more: Nodes) -> None:
        self.flows = [flow_of(task, each) for each in (here, more)]
        share = np.minimum(1.0, _DENSITY_SLOPE * here.weights / here.weights.max())
        heavy = np.flatnonzero(share > _WEIGHT_FLOOR)
        self._probes = heavy[:: max(1, heavy.size // _MAX_PROBES)]
        self._share = share[self._probes, None]
        self._positions = None if here.positions is None else here.positions[self._probes]
        self._ends = np.cumsum([flow.start.size for flow in self.flows])
        self._width = here.points.shape[1]
        self.start = np.concatenate([*(flow.start for flow in self.flows), here.points[self._probes].ravel()])

    def slope(self, time: float, state: Float) -> Float:
        """The right-hand side."""
        parts = np.split(state, self._ends)
        slopes = [flow.slope(time, part) for flow, part in zip(self.flows, parts, strict=False)]
        other, probes = self.flows[1], parts[2].reshape(-1, self._width)
        drift = other.velocity(time).drift(other.latest, other.geometry.retract(probes), self._positions)
        return np.concatenate([*slopes, other.geometry.extend(probes, drift).ravel()])

    def sizes(self, state: Float) -> Size:
        """Errors relative to the spread, as of flows."""
        parts = np.split(state, self._ends)
        sizes = [flow.sizes(part) for flow, part in zip(self.flows, parts, strict=False)]
        spread, rounding = (measured(parts[1]) for measured in (self.flows[1].spread, self.flows[1].rounding))

        def size(error: Float) -> float:
            first, second, probes = np.split(error, self._ends)
            apart = self._share * np.maximum(np.abs(probes.reshape(-1, self._width)) - rounding, 0.0)
            return max(sizes[0](first), sizes[1](second), float(apart.max(initial=0.0)) / spread)

        return size

    def growth(self, time: float, state: Float) -> tuple[float, float]:
        """As of flows."""
        return self.flows[0].growth(time, np.split(state, self._ends)[0])

    def difference(self, state: Float) -> float:
        """Between probes and their nodes, and between the integrals of both sets, relative to the spread."""
        parts = np.split(state, self._ends)
        spread = self.flows[1].spread(parts[1])
        apart = parts[0].reshape(-1, self._width)[self._probes] - parts[2].reshape(-1, self._width)
        first, second = (flow.measure(part) for flow, part in zip(self.flows, parts, strict=False))
        sums = [_sums(each, second.mean, spread) for each in (first, second)]
        places = np.abs(self._share * apart).max(initial=0.0) / spread
        known = _ROUNDED_STEPS * self.flows[1].rounding(parts[1]) / spread
        return max(0.0, max(float(places), float(np.abs(sums[0] - sums[1]).max())) - known)


def _sums(measure: Measure, centre: Float, spread: float) -> Float:
    """Integrals that are compared: first and second moments, and waves as steep as Gaussian tails allow."""
    points, weights = measure.nodes()
    z = ((points if measure.geometry is None else measure.geometry.embed(points)) - centre) / spread
    directions = np.vstack([np.eye(z.shape[1]), np.ones(z.shape[1]) / np.sqrt(z.shape[1])])
    phases = _WAVE_RADIANS * z @ directions.T
    second = (weights[:, None] * z).T @ z
    return np.concatenate([weights @ z, second.ravel(), weights @ np.cos(phases), weights @ np.sin(phases)])
