"""Time steps in a box at rest that integrate noise exactly: the generalized integrating factor of `gif853` in cosines.

For `u' = L u + N(u)`, L the diffusion and N the transport, stages are those of the tableau [krogstad2005, lawson1967]

    U_i = e^{c_i hL} (u + h sum_j a_ij S_j) + c_i h phi_1(c_i hL) N(u_n),     S_j = e^{-c_j hL} (N(U_j) - N(u_n)),

on the cosine coefficients, where L is diagonal. A steady state of the cells is one of the steps. Sums of cosines leave
rounding errors of the peak everywhere, also where the density is smaller, and ripples as high as the negative densities
that a step makes: what is below `NOISE_FLOOR` or twice those is taken for zero and the rest is scaled to the mass.
Where attention sees tails as far out (kernels e^{<Ax, y>} amplify them), these steps are refused, and the explicit
ones, whose errors are relative to the density of each cell, go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mfpde.solvers.finite_volume.control import ExactLimits, Plan
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start
from mfpde.solvers.finite_volume.system import CellSystem, Rates
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, LARGEST_DECAY, NODES, STAGE_WEIGHTS, WEIGHTS
from mfpde.typing import AnyArray, Float

__all__ = ["NOISE_FLOOR", "NoiseSteps"]

NOISE_FLOOR = 1e-15  # of the peak: rounding errors of sums of cosines, measured at up to 3e-16
_FLOOR_FACTOR = 100.0  # times the floor: cells below it must not matter to the drift
_LOOK_EVERY = 16  # steps, between two checks that they do not
_MATTER_SHARE = 1e-3  # of the error promised: change of the drift by tails near the floor, in widths per unit time
_CELL_MICROSECONDS, _CALL_MICROSECONDS = 0.13, 120.0  # of cosines, exponentials and sums in one stage, measured
_SUM_MICROSECONDS = 0.1  # of the fastest evaluations on the plane, for each cell, panel and panel that it sees


@dataclass(frozen=True)
class _Powers:
    """`e^{c hDL}`, `c h phi_1(c hDL)` and `e^{-c hDL}` at a node c."""

    decay: Float
    integrated: Float
    growth: Float

    @classmethod
    def at(cls, cosines: Cosines, diffusion: float, node: float, step: float) -> _Powers:
        time = node * step * diffusion
        return cls(cosines.decay(time), node * step * cosines.integrated(time), cosines.decay(-time))


class NoiseSteps:
    """Whether noise can be integrated exactly, and steps that do it."""

    def __init__(self, system: CellSystem) -> None:
        self._system, self._cosines = system, Cosines(system.grid)
        self._possible = system.frame.rests and bool(system.steady_diffusion)
        self._level = NOISE_FLOOR  # of errors far from the peak, as the last step's negative densities show it
        self._seen = True  # whether cells above the floor are all that matters, when last checked

    def limits(self, time: float, solution: Solution, number: int, promised: float) -> ExactLimits | None:
        """Of a step of that number, for an error that is promised; None where noise is not integrated exactly."""
        if not self._possible:
            return None
        system, grid = self._system, self._system.grid
        if self._cosines.grid is not grid:
            self._cosines = Cosines(grid)
        if number % _LOOK_EVERY == 0:
            cut = [_cleared(solution, share * self._level) for share in (1.0, _FLOOR_FACTOR)]
            with np.errstate(all="ignore"):
                changed = system.drifts_apart(time, solution, *(system.measure(each) for each in cut))
            self._seen = changed <= _MATTER_SHARE * promised
        if not self._seen:
            return None
        longest = LARGEST_DECAY / (self._cosines.largest * self._diffusion)
        panels = len(solution.mean)
        cost = min(system.cost(panels), _CALL_MICROSECONDS + _SUM_MICROSECONDS * (panels + 1) * solution.density.size)
        more = _CALL_MICROSECONDS + _CELL_MICROSECONDS * solution.density.size
        return ExactLimits(longest, (cost + more) / cost)

    @property
    def _diffusion(self) -> float:
        return self._system.steady_diffusion or 0.0

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        """One step as planned; its error is measured as that of `take_step`, clipping included."""
        system, cosines, before = self._system, self._cosines, start.solution
        first = system.fluxes(system.scheme.order, before.density, start.rates.speeds, np.zeros_like(before.matrix))
        transport = self._transport(before, replace(start.rates, fluxes=first))
        constant, given = cosines.coefficients(transport), cosines.coefficients(before.density)
        scaled = np.zeros((NODES.size + 1, *given.shape))

        def along(powers: _Powers, weights: Float) -> Solution:
            carried = given + plan.length * np.tensordot(weights, scaled[: weights.size], axes=1)
            return before._replace(density=cosines.values(powers.decay * carried + powers.integrated * constant))

        def add(number: int, powers: _Powers, node: float, stage: Solution, nearby: Rates) -> Rates:
            kept = _cleared(stage, NOISE_FLOOR)
            rates = system.rhs(min(start.time + node * plan.length, plan.latest), kept, nearby, spreads=False)
            change = cosines.coefficients(self._transport(kept, rates)) - constant
            scaled[number] = powers.growth * change
            return rates

        nearby = start.rates
        for number, node in enumerate(NODES[1:].tolist(), start=1):
            powers = _Powers.at(cosines, self._diffusion, node, plan.length)
            stage = along(powers, STAGE_WEIGHTS[number, :number])
            if not np.isfinite(stage.density).all():
                return Attempt(None, np.inf)
            nearby = add(number, powers, node, stage, nearby)
        reached = along(powers, WEIGHTS)
        add(NODES.size, powers, 1.0, reached, nearby)
        peaks = before.density.max(axis=(1, 2))
        errors = [
            np.abs(cosines.values(plan.length * powers.decay * np.tensordot(row, scaled, axes=1))).max(axis=(1, 2))
            for row in (ERROR_FIVE, ERROR_THREE)
        ]
        rough = max(tolerance, SHARE_OF_CELLS * plan.length * start.roughness)
        clipped = float((-reached.density.min(axis=(1, 2)) / peaks).max())
        sizes = [float((error / peaks).max()) / rough for error in errors]
        error = max(combined_error(sizes), clipped / rough)
        self._level = max(NOISE_FLOOR, 2.0 * clipped)
        new = _cleared(reached, self._level)
        mass = before.density.sum(axis=(1, 2)) / new.density.sum(axis=(1, 2))
        return Attempt(new._replace(density=new.density * mass[:, None, None]), error, clipped > NOISE_FLOOR)

    def _transport(self, solution: Solution, rates: Rates) -> Float:
        """What transport changes, `(panels, rows, columns)`."""
        fluxes = rates.fluxes
        change: Float = -np.diff(fluxes.across, axis=1) - np.diff(fluxes.along, axis=2)
        if self._system.scheme.walls:
            change += self._cosines.lifting(solution.density, rates.speeds)
        return change

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {"noise_steps": np.array([float(self._seen), self._level])}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._seen, self._level = bool(arrays["noise_steps"][0]), float(arrays["noise_steps"][1])


def _cleared(solution: Solution, share: float) -> Solution:
    """Without what is below that share of each panel's peak."""
    density = solution.density
    floor = share * density.max(axis=(1, 2), keepdims=True)
    return solution._replace(density=np.where(density < floor, 0.0, density))
