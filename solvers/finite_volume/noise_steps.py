"""Time steps that integrate noise exactly: the generalized integrating factor of `gif853`, in cosines where cells rest
and in Hermite functions where they move.

For `u' = L u + N(u)`, L the diffusion and N the transport, `ExactStages` has the stages. Fast modes, whose stages know
nothing of each other for rounding, follow N, taken for linear in time,

    u_{n+1} = e^{hL} u + h phi_1(hL) N(u_n) + h phi_2(hL) (N(u_{n+1}) - N(u_n)),     phi_2(z) = (phi_1(z) - 1) / z;

the last term, about N' h / |L|, is the error that it is held to. A steady state of the cells is one of the steps.

Sums of modes leave rounding errors of the peak everywhere (of the peak over sqrt(g), times sqrt(g), in moving frames),
also where the density is smaller, and ripples as high as the negative densities that a step makes: what is below
their `floor` or twice those is taken for zero and the rest is scaled to the mass. A step whose ripples the drift would
notice is rejected, and explicit ones, which limit their fluxes, go on until the next look at the tails.
Where attention sees tails as far out (kernels e^{<Ax, y>} amplify them), these steps are refused, and the explicit
ones, whose errors are relative to the density of each cell, go on. So they are where such attention widens the law: it
will see farther out than now, where the tails that are cleared now would be.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfpde.solvers.finite_volume.control import ExactLimits, Plan
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.exact_stages import ExactStages
from mfpde.solvers.finite_volume.hermite_modes import HermiteModes
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start, change_size, sound
from mfpde.solvers.finite_volume.system import STAGGERED, CellSystem, Rates
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, STAGE_WEIGHTS, WEIGHTS
from mfpde.typing import AnyArray

__all__ = ["NoiseSteps"]

_FLOOR_FACTOR = 100.0  # times what a step clips: densities below it must not matter to the drift
_WALL_FACTOR = 0.15  # times (G h / D)^2: error of a stationary density at a wall, measured for G h / D from 0.04 to 0.2
_LOOK_EVERY = 16  # steps, between two checks that they do not
_MATTER_SHARE = 1e-3  # of the error promised: change of the drift by tails near the floor, in widths per unit time
#: ratio of ripples to those of the step before, both too high, from which on shorter steps do not help
_RIPPLE_GAIN = 0.5
_CALL_MICROSECONDS = 120.0  # of one stage, besides its modes, measured
_STEP_MICROSECONDS = 10.0  # of explicit steps, besides their evaluations, for each of these
_SUM_MICROSECONDS = 0.1  # of the fastest evaluations on the plane, for each cell, panel and panel that it sees


class NoiseSteps:
    """Whether noise can be integrated exactly, and steps that do it.

    Not where much of the mass is at walls: cosines have no slope there, and what makes up for it is of second order;
    explicit fluxes keep stationary densities to order five.
    """

    def __init__(self, system: CellSystem) -> None:
        self._system, self._modes = system, self._modes_of(system)
        self._unseen = 0.0  # share of the peak: the drift did not notice densities below it, when last asked
        self._next_look = 0  # number of the step at which it is asked again
        self._noticed = 0.0  # ripples of the last step, in units of what is allowed

    @staticmethod
    def _modes_of(system: CellSystem) -> Modes:
        grid = system.grid
        return HermiteModes(grid, STAGGERED[system.scheme.order]) if grid.gaussian else Cosines(grid)

    def limits(self, time: float, solution: Solution, rates: Rates, number: int, promised: float) -> ExactLimits | None:
        """Of a step of that number, for an error that is promised; None where noise is not integrated exactly."""
        system, grid = self._system, self._system.grid
        if not rates.conductivities.any() or grid.excess.any():
            return None
        if system.scheme.walls and self._wall_error(time, solution, rates) > promised:
            return None
        if system.tilts and system.expands(solution, rates):
            return None
        if self._modes.grid is not grid:
            self._modes = self._modes_of(system)
        if number >= self._next_look:
            self._unseen = self._unseen_share(time, solution, _MATTER_SHARE * promised)
            self._next_look = number + _LOOK_EVERY
        if self._unseen == 0.0:
            return None
        panels = len(solution.mean)
        cost = min(system.cost(panels), _CALL_MICROSECONDS + _SUM_MICROSECONDS * (panels + 1) * solution.density.size)
        more = _CALL_MICROSECONDS + self._modes.microseconds(panels)
        return ExactLimits((cost + more) / (cost + _STEP_MICROSECONDS))

    def _wall_error(self, time: float, solution: Solution, rates: Rates) -> float:
        """Of what cosines make of the slope at walls, relative to the peak."""
        diffusion, widths = self._system.diffusion_at(time), np.reshape(self._system.grid.widths, (-1, 1, 1))
        missed = _WALL_FACTOR * (rates.speeds * widths / diffusion) ** 2
        missed *= (solution.density / solution.density.max())[:, None]
        along = (missed.take([0, -1], axis=axis) for axis in (-1, -2)[: self._system.grid.dimension])
        return max(float(ends.max()) for ends in along)

    def _unseen_share(self, time: float, solution: Solution, allowed: float) -> float:
        """The largest of some shares of the peak, below which densities change the drift by less than is allowed."""
        whole, found = self._cleared(solution, self._modes.floor), 0.0
        with np.errstate(all="ignore"):
            for share in self._modes.shares:
                if not self._system.solutions_apart(time, solution, whole, self._cleared(solution, share)) <= allowed:
                    break
                found = share
        return found

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        """One step as planned; its error is measured as that of `take_step`, clipping included."""
        before, stages = start.solution, ExactStages(self._system, self._modes, start, plan)
        for number, node in enumerate(NODES[1:].tolist(), start=1):
            stage = stages.at(node, STAGE_WEIGHTS[number, :number])
            if not sound(stage):
                return Attempt(None, np.inf)
            stages.add(self._cleared(stage, self._modes.floor))
        reached = stages.at(1.0, WEIGHTS)
        if not sound(reached):
            return Attempt(None, np.inf)
        followed = stages.followed(stages.add(self._cleared(reached, self._modes.floor)))
        reached = reached._replace(density=reached.density + followed)
        rough = max(tolerance, SHARE_OF_CELLS * plan.length * start.roughness)
        five, three = (
            change_size(before, *stages.difference(row), rough, tolerance) for row in (ERROR_FIVE, ERROR_THREE)
        )
        peaks = before.density.max(axis=(1, 2), keepdims=True)
        others = max(float(np.abs(followed / peaks).max()), float((-reached.density / peaks).max())) / rough
        return self._kept(before, reached, max(combined_error([five, three]), others))

    def _kept(self, before: Solution, reached: Solution, error: float) -> Attempt:
        """Without ripples, with the mass from before."""
        weighed = reached.density / self._modes.scale
        clipped = float((-weighed.min(axis=(1, 2)) / weighed.max(axis=(1, 2))).max())
        noticed = clipped / max(self._modes.floor, self._unseen / _FLOOR_FACTOR)
        if noticed > max(1.0, _RIPPLE_GAIN * self._noticed) and self._noticed > 1.0:
            self._unseen, self._next_look = 0.0, 2 * self._next_look
        self._noticed = noticed
        new = self._cleared(reached, max(self._modes.floor, 2.0 * clipped))
        mass = before.density.sum(axis=(1, 2)) / new.density.sum(axis=(1, 2))
        new = new._replace(density=new.density * mass[:, None, None])
        return Attempt(new, max(error, noticed), clipped > self._modes.floor)

    def _cleared(self, solution: Solution, share: float) -> Solution:
        """Without what is below that share of each panel's peak, both in units of the modes' scale."""
        scale = self._modes.scale
        floor = share * (solution.density / scale).max(axis=(1, 2), keepdims=True) * scale
        return solution._replace(density=np.where(solution.density < floor, 0.0, solution.density))

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {"noise_steps": np.array([self._unseen, self._noticed, self._next_look])}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._unseen, self._noticed = (float(number) for number in arrays["noise_steps"][:2])
        self._next_look = int(arrays["noise_steps"][2])
