"""How many nodes: as many as it takes for the moved sums to stand still when there are more."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from mfpde.attention import Masked
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.solvers.characteristics.flow import Flow, carried
from mfpde.solvers.march import Attempt, March, Size
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.problem import Equation

__all__ = ["Nodes", "Rule", "chosen_rule"]

#: of the nodes per direction that a measure would take for itself; each rule is held against the next
_REFINEMENTS = (0.125, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
_PILOT = 1e-6  # tolerance of the comparison's steps: both rules take the same ones, so their errors are no difference
_MOST_STEPS = 3000
_PROBES = 256
_HEAVY = 1e-10  # share of the weights; what lighter nodes do shows in no integral
_WAVE = 2.0  # radians a standard deviation
_EARLY = 1e-3  # of the run: a rule that is lost before was never good


@dataclass(frozen=True)
class Nodes:
    """Points `(n, components)`, weights, and positions where tokens have them."""

    points: Float
    weights: Float
    positions: Float | None

    @property
    def count(self) -> int:
        return int(self.weights.size)


@dataclass(frozen=True)
class Rule:
    """Nodes, the time until which they are enough, and their largest difference till then to half as many more per
    direction, relative to the spread."""

    nodes: Nodes
    good_until: float
    difference: float


def chosen_rule(equation: Equation, initial: Measure, until: float, limit: float, most: int) -> Rule:
    """The smallest rule that stays within the limit until the end, otherwise the largest that is allowed."""
    best, coarse = None, _nodes(equation, initial, _REFINEMENTS[0])
    for refinement, next_one in pairwise(_REFINEMENTS):
        fine = _nodes(equation, initial, next_one)
        if coarse.count > most:
            break
        if coarse.count == fine.count:
            best = Rule(coarse, np.inf, 0.0) if refinement >= 1 else None  # point masses are what they are
        else:
            best = _compared(equation, coarse, fine, until, limit)
        if best is not None and (best.good_until >= until or np.isinf(best.good_until)):
            return best
        coarse = fine
    if best is None:
        raise ProblemError.at(
            "solver.max_nodes", f"is {most}, and the initial measure alone needs {coarse.count} nodes"
        )
    if best.good_until <= _EARLY * until:
        raise ProblemError.at(
            "solver.tolerance",
            f"{best.nodes.count} nodes give the drift to {best.difference:.1g} only; ask for a larger tolerance, "
            "or raise solver.max_nodes",
        )
    return best


def _nodes(equation: Equation, initial: Measure, refinement: float) -> Nodes:
    points, weights = initial.nodes(refinement=refinement)
    positions = initial.positions
    if positions is None and isinstance(equation.attention, Masked):
        slices = np.array(equation.attention.slices())
        positions = np.repeat(slices, weights.size)
        points, weights = np.tile(points, (slices.size, 1)), np.tile(weights / slices.size, slices.size)
    return Nodes(points, weights, positions)


def _compared(equation: Equation, coarse: Nodes, fine: Nodes, until: float, limit: float) -> Rule:
    """Both rules moved together, and tokens that start at some of the coarse nodes and feel the fine ones."""
    pair = _Pair(equation, coarse, fine)
    rate = max(flow.rate() for flow in pair.flows)
    first = 0.01 / rate if rate > 0 else until
    march = March(pair.slope, pair.sizes, pair.start, _PILOT, first, pair.flows[0].breaks)
    largest, good = pair.difference(pair.start), 0.0
    while largest <= limit and march.time < until and march.counts["steps"] < _MOST_STEPS:
        if march.attempt() is Attempt.VANISHED:
            return Rule(coarse, np.inf, largest)  # a pole: the run itself will say so
        here = pair.difference(march.state)
        if here > limit:
            return Rule(coarse, good, here)
        largest, good = max(largest, here), march.time
    return Rule(coarse, good, largest)


class _Pair:
    """The state (coarse nodes, fine nodes, probes)."""

    def __init__(self, equation: Equation, coarse: Nodes, fine: Nodes) -> None:
        self.flows = [Flow(equation, each.points, each.weights, each.positions) for each in (coarse, fine)]
        heavy = np.flatnonzero(coarse.weights > _HEAVY / coarse.count)
        self._probes = heavy[:: max(1, heavy.size // _PROBES)]
        self._positions = None if coarse.positions is None else coarse.positions[self._probes]
        self._ends = np.cumsum([flow.start.size for flow in self.flows])
        self._width = coarse.points.shape[1]
        self.start = np.concatenate([*(flow.start for flow in self.flows), coarse.points[self._probes].ravel()])

    def slope(self, time: float, state: Float) -> Float:
        parts = np.split(state, self._ends)
        slopes = [flow.slope(time, part) for flow, part in zip(self.flows, parts, strict=False)]
        fine, probes = self.flows[1], parts[2].reshape(-1, self._width)
        length = 1.0 if fine.geometry.flat or self._width == 1 else np.linalg.norm(probes, axis=1, keepdims=True)
        drift = fine.velocity(time).drift(fine.measure(parts[1]), probes / length, self._positions)
        return np.concatenate([*slopes, carried(fine.geometry, probes, drift).ravel()])

    def sizes(self, state: Float) -> Size:
        return self.flows[1].sizes(np.split(state, self._ends)[1])

    def difference(self, state: Float) -> float:
        """Of the probes to their nodes, of means, covariances and waves, relative to the spread."""
        parts = np.split(state, self._ends)
        size = self.flows[1].sizes(parts[1])
        apart = size(parts[0].reshape(-1, self._width)[self._probes].ravel() - parts[2])
        first, second = (flow.measure(part) for flow, part in zip(self.flows, parts, strict=False))
        sums = [_sums(each, second.mean, 1 / size(np.ones(1))) for each in (first, second)]
        return max(apart, float(np.abs(sums[0] - sums[1]).max()))


def _sums(measure: Measure, centre: Float, spread: float) -> Float:
    """Integrals that anybody may ask for: first and second moments, and waves as steep as Gaussian tails allow."""
    points, weights = measure.nodes()
    z = ((points if measure.geometry is None else measure.geometry.embed(points)) - centre) / spread
    directions = np.vstack([np.eye(z.shape[1]), np.ones(z.shape[1]) / np.sqrt(z.shape[1])])
    phases = _WAVE * z @ directions.T
    second = (weights[:, None] * z).T @ z
    return np.concatenate([weights @ z, second.ravel(), weights @ np.cos(phases), weights @ np.sin(phases)])
