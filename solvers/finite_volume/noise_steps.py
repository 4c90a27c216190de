"""Time steps in a box at rest that integrate noise exactly: the generalized integrating factor of `gif853` in cosines.

For `u' = L u + N(u)`, L the diffusion and N the transport, stages are those of the tableau [krogstad2005, lawson1967]

    U_i = e^{c_i hL} (u + h sum_j a_ij S_j) + c_i h phi_1(c_i hL) N(u_n),     S_j = e^{-c_j hL} (N(U_j) - N(u_n)),

on the cosine coefficients, where L is diagonal. The growth e^{-c_j hL} multiplies rounding errors, so a mode with
|hL| > `LARGEST_DECAY` has S = 0 and follows N, taken for linear in time,

    u_{n+1} = e^{hL} u + h phi_1(hL) N(u_n) + h phi_2(hL) (N(u_{n+1}) - N(u_n)),     phi_2(z) = (phi_1(z) - 1) / z;

the last term, about N' h / |L|, is the error that it is held to. A steady state of the cells is one of the steps.

Sums of cosines leave rounding errors of the peak everywhere, also where the density is smaller, and ripples as high as
the negative densities that a step makes: what is below `NOISE_FLOOR` or twice those is taken for zero and the rest is
scaled to the mass. A step whose ripples the drift would notice is rejected.
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
_FLOOR_FACTOR = 100.0  # times what a step clips: densities below it must not matter to the drift
_SHARES = (1e-13, 1e-11)  # of the peak, that are tried: a hundred times what a step may clip
_WALL_FACTOR = 0.15  # times (G h / D)^2: error of a stationary density at a wall, measured for G h / D from 0.04 to 0.2
_LOOK_EVERY = 16  # steps, between two checks that they do not
_MATTER_SHARE = 1e-3  # of the error promised: change of the drift by tails near the floor, in widths per unit time
_CELL_MICROSECONDS, _CALL_MICROSECONDS = 0.05, 60.0  # of cosines, exponentials and sums in one stage, measured
_SUM_MICROSECONDS = 0.1  # of the fastest evaluations on the plane, for each cell, panel and panel that it sees


@dataclass(frozen=True)
class _Powers:
    """`e^{c hDL}`, `c h phi_1(c hDL)` and `e^{-c hDL}` at a node c, the last one 0 where modes are fast."""

    decay: Float
    integrated: Float
    growth: Float

    @classmethod
    def at(cls, cosines: Cosines, diffusion: float, node: float, step: float) -> _Powers:
        time, rates = node * step * diffusion, diffusion * cosines.laplacian
        slow = -step * rates <= LARGEST_DECAY
        growth = np.exp(np.where(slow, -node * step * rates, -np.inf))
        return cls(cosines.decay(time), node * step * cosines.integrated(time), growth)

    def following(self, step: float, rates: Float) -> Float:
        """`h phi_2(hDL)` in fast modes, 0 in the others; of the powers at node 1."""
        fast = self.growth == 0.0
        return np.where(fast, (self.integrated - step) / np.where(fast, step * rates, 1.0), 0.0)


class NoiseSteps:
    """Whether noise can be integrated exactly, and steps that do it.

    Not where much of the mass is at walls: cosines have no slope there, and what makes up for it is of second order;
    explicit fluxes keep stationary densities to order five.
    """

    def __init__(self, system: CellSystem) -> None:
        self._system, self._cosines = system, Cosines(system.grid)
        self._possible = system.frame.rests and bool(system.steady_diffusion)
        self._unseen = 0.0  # share of the peak: the drift did not notice densities below it, when last asked

    def limits(self, time: float, solution: Solution, rates: Rates, number: int, promised: float) -> ExactLimits | None:
        """Of a step of that number, for an error that is promised; None where noise is not integrated exactly."""
        if not self._possible or (self._system.scheme.walls and self._wall_error(solution, rates) > promised):
            return None
        system, grid = self._system, self._system.grid
        if self._cosines.grid is not grid:
            self._cosines = Cosines(grid)
        if number % _LOOK_EVERY == 0:
            self._unseen = self._unseen_share(time, solution, _MATTER_SHARE * promised)
        if self._unseen == 0.0:
            return None
        panels = len(solution.mean)
        cost = min(system.cost(panels), _CALL_MICROSECONDS + _SUM_MICROSECONDS * (panels + 1) * solution.density.size)
        more = _CALL_MICROSECONDS + _CELL_MICROSECONDS * solution.density.size
        return ExactLimits((cost + more) / cost)

    def _wall_error(self, solution: Solution, rates: Rates) -> float:
        """Of what cosines make of the slope at walls, relative to the peak."""
        steps = rates.speeds * np.reshape(self._system.grid.widths, (-1, 1, 1)) / self._diffusion
        missed = _WALL_FACTOR * steps**2 * (solution.density / solution.density.max())[:, None]
        along = (missed.take([0, -1], axis=axis) for axis in (-1, -2)[: self._system.grid.dimension])
        return max(float(ends.max()) for ends in along)

    def _unseen_share(self, time: float, solution: Solution, allowed: float) -> float:
        """The largest of some shares of the peak, below which densities change the drift by less than is allowed."""
        whole, found = _cleared(solution, NOISE_FLOOR), 0.0
        with np.errstate(all="ignore"):
            for share in _SHARES:
                if not self._system.solutions_apart(time, solution, whole, _cleared(solution, share)) <= allowed:
                    break
                found = share
        return found

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
            carried = given + plan.length * _combined(weights, scaled)
            return before._replace(density=cosines.values(powers.decay * carried + powers.integrated * constant))

        def add(number: int, powers: _Powers, node: float, stage: Solution, nearby: Rates) -> tuple[Rates, Float]:
            kept = _cleared(stage, NOISE_FLOOR)
            rates = system.rhs(min(start.time + node * plan.length, plan.latest), kept, nearby, spreads=False)
            change = cosines.coefficients(self._transport(kept, rates)) - constant
            scaled[number] = powers.growth * change
            return rates, change

        nearby = start.rates
        for number, node in enumerate(NODES[1:].tolist(), start=1):
            powers = _Powers.at(cosines, self._diffusion, node, plan.length)
            stage = along(powers, STAGE_WEIGHTS[number, :number])
            if not np.isfinite(stage.density).all():
                return Attempt(None, np.inf)
            nearby, _ = add(number, powers, node, stage, nearby)
        reached = along(powers, WEIGHTS)
        _, change = add(NODES.size, powers, 1.0, reached, nearby)
        followed = cosines.values(powers.following(plan.length, self._diffusion * cosines.laplacian) * change)
        reached = reached._replace(density=reached.density + followed)
        peaks = before.density.max(axis=(1, 2))
        errors = [
            cosines.values(plan.length * powers.decay * _combined(row, scaled)) for row in (ERROR_FIVE, ERROR_THREE)
        ]
        rough = max(tolerance, SHARE_OF_CELLS * plan.length * start.roughness)
        clipped = float((-reached.density.min(axis=(1, 2)) / peaks).max())
        five, three, fast = (
            float((np.abs(each).max(axis=(1, 2)) / peaks).max()) / rough for each in (*errors, followed)
        )
        noticed = clipped / max(NOISE_FLOOR, self._unseen / _FLOOR_FACTOR)
        error = max(combined_error([five, three]), fast, clipped / rough, noticed)
        new = _cleared(reached, max(NOISE_FLOOR, 2.0 * clipped))
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
        return {"noise_steps": np.array([self._unseen])}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._unseen = float(arrays["noise_steps"][0])


def _combined(weights: Float, parts: Float) -> Float:
    """`sum weights parts` over as many parts as there are weights."""
    found: Float = weights @ parts[: weights.size].reshape(weights.size, -1)
    return found.reshape(parts.shape[1:])


def _cleared(solution: Solution, share: float) -> Solution:
    """Without what is below that share of each panel's peak."""
    density = solution.density
    floor = share * density.max(axis=(1, 2), keepdims=True)
    return solution._replace(density=np.where(density < floor, 0.0, density))
