"""Time steps that integrate noise exactly: the generalized integrating factor of `gif853`, in cosines where cells rest,
in Hermite functions where they move, and in modes of their own where mass comes to walls.

For `u' = L u + N(u)`, L the diffusion and N the transport, `ExactStages` has the stages. Fast modes, whose stages know
nothing of each other for rounding, follow N, taken for linear in time,

    u_{n+1} = e^{hL} u + h phi_1(hL) N(u_n) + h phi_2(hL) (N(u_{n+1}) - N(u_n)),     phi_2(z) = (phi_1(z) - 1) / z;

the last term, about N' h / |L|, is the error that it is held to. A steady state of the cells is one of the steps.

Sums of modes leave rounding errors of the peak everywhere (of the peak over sqrt(g), times sqrt(g), in moving frames),
also where the density is smaller, and ripples as high as the negative densities that a step makes: what is below
their `floor` or twice those is taken for zero and the rest is scaled to the mass. A step whose ripples the drift would
notice is rejected, and explicit ones, which limit their fluxes, go on until the next look at the tails.
Where attention sees tails as far out (kernels e^{<Ax, y>} amplify them), these steps are refused, and the explicit
ones, whose errors are relative to the density of each cell, go on. So they are where such attention widens a law with
tails: it will see farther out than now, where the tails that are cleared now would be; not between walls, where drifts
would notice no such tails anywhere. Where tails beyond the cells are only estimated, what they may change of the drift
bounds what these steps may; on the plane tails are then not cleared but go on as g does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mfpde.solvers.finite_volume.box_modes import AMPLIFICATION_MAX, amplification, box_modes
from mfpde.solvers.finite_volume.control import ExactLimits, Plan
from mfpde.solvers.finite_volume.cosines import Cosines
from mfpde.solvers.finite_volume.diagnostics import mass_at_walls
from mfpde.solvers.finite_volume.exact_stages import cleared, rate_of_change
from mfpde.solvers.finite_volume.looks import between_looks
from mfpde.solvers.finite_volume.modes import Modes
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.scheme import STAGGERED
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import SHARE_OF_CELLS, Attempt, Start, change_size
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.solvers.finite_volume.weighted_modes import BoxModes, HermiteModes
from mfpde.solvers.kernels.finite_volume_transport import GHOSTS
from mfpde.solvers.kernels.line_march import WALL_FACTOR
from mfpde.solvers.steppers.gif853 import NODES
from mfpde.typing import AnyArray

__all__ = ["NoiseSteps"]

_FLOOR_FACTOR = 100.0  # times what a step clips: densities below it must not matter to the drift
_MASS_FACTOR = 3.0  # of the share by which sums and integrals differ, that the error at walls may be
_MIRROR_FACTOR = 0.5  # of that share, that mirrors at walls add to errors: measured at up to 0.2
_FAR_FACTOR = 10.0  # of the error at walls, that a solution has to be away from rest
_WALL_SHARE = 0.01  # of the error that is allowed at walls, above which other modes are sought
_AMPLIFICATION_GROWTH = 10.0  # of rounding errors, while modes are kept
_NODES_FOLLOWED = (0.1, 0.4, 1.0)  # of a step: of (0.25, 1), (0.3, 0.7, 1) and four nodes the one with fewest steps
_MODES_EVERY = 2  # steps at least, between two searches for modes that fit walls
_LOOK_EVERY = 16  # steps at least, between two checks that they do not
_MATTER_SHARE = 1e-3  # of the error promised: change of the drift by tails near the floor, in widths per unit time
_DOUBT_SHARE = 0.1  # of what tails beyond the cells may change of the drift: that tails near the floor, and steps, may
_MOVED_SHARE = 0.1  # of what a step moves, that it may err: what is left of errors must not keep a solution from rest
_ROUNDING = 1e-13  # relative, which a step may err in any case
#: ratio of ripples to those of the step before, both too high, from which on shorter steps do not help
_RIPPLE_GAIN = 0.5
# microseconds of a stage, besides what cells and modes cost: of explicit steps, and of exact ones
_PART_BY_PART, _IN_ONE_CALL = (10.0, 120.0), (1.0, 12.0)
_SUM_MICROSECONDS = 0.1  # of the fastest evaluations on the plane, for each cell, panel and panel that it sees


def _between_looks(number: int) -> int:
    """Steps from one check that modes do not matter to the next."""
    return max(_LOOK_EVERY, between_looks(number))


class NoiseSteps:
    """Whether noise can be integrated exactly, and steps that do it.

    Where mass comes to walls the modes are those of a box whose weight follows the drift (`box_modes`), found again as
    the drift changes. What they leave of it at walls is lifted, to second order.
    """

    def __init__(self, system: CellSystem) -> None:
        self._system, self._modes = system, self._modes_of(system)
        self._unseen = 0.0  # share of the peak: the drift did not notice densities below it, when last asked
        self._next_look = 0  # number of the step at which it is asked again
        self._next_modes = 0  # number of the step from which on other modes may be found for walls
        self._noticed = 0.0  # ripples of the last step, in units of what is allowed
        self._doubt = 0.0  # by which tails beyond the cells may change the drift, in widths per unit time, then
        self._failed = False  # whether the last step was rejected that goes on with tails, and nobody has looked since

    @staticmethod
    def _modes_of(system: CellSystem) -> Modes:
        grid, scheme = system.grid, system.scheme
        continued = system.goes_on and system.tilts and grid.dimension == 2
        return HermiteModes(grid, STAGGERED[scheme.order], continued) if grid.gaussian else Cosines(grid)

    def limits(self, time: float, solution: Solution, rates: Rates, number: int, promised: float) -> ExactLimits | None:
        """Of a step of that number, for an error that is promised; None where noise is not integrated exactly."""
        system, grid = self._system, self._system.grid
        if not self._integrable(rates) or (self._unseen == 0.0 and number < self._next_look and not self._failed):
            return None
        if self._modes.grid is not grid:
            self._modes = self._modes_of(system)
        wall_error = self._fit_walls(solution, rates, number, promised) if system.scheme.walls else 0.0
        if wall_error == np.inf:
            return None
        widens = system.tilts and self._clears_tails(solution) and self._expands(solution, rates)
        if widens and not self._unseen_between_walls(time, solution, _MATTER_SHARE * promised):
            return None
        if number >= self._next_look or self._failed:
            self._doubt = self._system.doubt(time, solution)
            allowed = max(_MATTER_SHARE * promised, _DOUBT_SHARE * self._doubt)
            self._unseen = self._unseen_share(time, solution, allowed)
            self._next_look, self._failed = number + _between_looks(number), False
        if self._unseen == 0.0:
            return None
        panels = len(solution.mean)
        step, call = _IN_ONE_CALL if system.knows_modes(self._modes) else _PART_BY_PART
        cost = min(system.cost(panels), _PART_BY_PART[1] + _SUM_MICROSECONDS * (panels + 1) * solution.density.size)
        more = call + self._modes.microseconds(panels)
        along = rates.conductivities.diagonal(axis1=1, axis2=2)
        left = self._modes.remaining(rates.speeds, along)
        outflow = rates.outflow if left is rates.speeds else system.outflow(left)
        price, stages = (cost + more) / (cost + step), NODES.size + 1 + len(self._nodes_followed)
        if isinstance(self._modes, BoxModes):
            wall_error += _MIRROR_FACTOR * mass_at_walls(solution.density)
        longest = np.inf
        if self._modes.continued:
            longest = self._modes.slow / -float(self._modes.rates(along).min())
        return ExactLimits(price, stages, outflow, wall_error, longest)

    def _integrable(self, rates: Rates) -> bool:
        """Whether there is noise, and modes in which it is diagonal."""
        return bool(rates.conductivities.any()) and not self._system.grid.is_continued

    def held(self, exact: ExactLimits | None, rates: Rates, number: int) -> int:
        """For how many steps from one of that number on `limits` answers as it has done now, but for how fast transport
        empties cells; a step that does not pay then does not pay either where the answer has become None."""
        if not self._integrable(rates):
            return _between_looks(number)
        refused = self._unseen == 0.0 and number < self._next_look
        if isinstance(self._modes, BoxModes) or (exact is None and not refused):
            return 1
        return max(1, self._next_look - number)

    def wall_error_max(self, promised: float) -> float:
        """Error of cosines at walls, relative to the peak, up to which no other modes are sought; infinite where there
        are no walls."""
        return _WALL_SHARE * promised if self._system.scheme.walls and self._system.noisy else np.inf

    @property
    def _nodes_followed(self) -> tuple[float, ...]:
        """Where transport is looked at before a step."""
        return _NODES_FOLLOWED if self._system.scheme.walls and self._system.steady_noise else ()

    def _fit_walls(self, solution: Solution, rates: Rates, number: int, promised: float) -> float:
        """The error at walls of modes that fit the drift, relative to the peak; infinite where it is too large.

        It may be what is promised, or, where what walls make of the mass is told anyway, about that, while the solution
        moves much further than that: stationary laws are kept by explicit steps. Other modes are sought while it is
        larger than a hundredth of that.
        """
        found, told = self._wall_error(self._modes, solution, rates), _MASS_FACTOR * mass_at_walls(solution.density)
        if found > _WALL_SHARE * max(promised, told) and number >= self._next_modes:
            self._next_modes = number + _MODES_EVERY
            others = box_modes(self._system, solution, rates)
            if others is not None and self._wall_error(others, solution, rates) < found:
                self._modes, found = others, self._wall_error(others, solution, rates)
        if found <= promised or (found <= told and self._to_go(solution, rates) > _FAR_FACTOR * found):
            return found
        return np.inf

    def _to_go(self, solution: Solution, rates: Rates) -> float:
        """How far from rest a solution is, were noise alone to take it there from its present rates, relative to the
        peak."""
        damping = self._modes.rates(rates.conductivities.diagonal(axis1=1, axis2=2))
        coefficients = self._modes.coefficients(-rates.fluxes.leaving)
        left = np.divide(coefficients, damping, out=np.zeros_like(coefficients), where=damping != 0.0)
        return float(np.abs(self._modes.values(left)).max() / solution.density.max())

    def _clears_tails(self, solution: Solution) -> bool:
        """Whether there are densities so small that a step may clear them; not where mass is at walls already."""
        if isinstance(self._modes, BoxModes):
            return False
        weighed = solution.density / self._modes.scale
        return bool((weighed.min(axis=(1, 2)) < self._modes.shares[-1] * weighed.max(axis=(1, 2))).any())

    def _unseen_between_walls(self, time: float, solution: Solution, allowed: float) -> bool:
        """Whether no drift between the walls, where a law that widens has to stay, would notice tails that are cleared:
        as high ones in all cells. Without walls it may come to where they are noticed."""
        if not self._system.scheme.walls:
            return False
        peaks = solution.density.max(axis=(1, 2), keepdims=True)
        with_tails = solution._replace(density=solution.density + self._modes.shares[0] * peaks * self._modes.scale)
        anywhere = solution._replace(density=np.ones_like(solution.density))
        return self._system.solutions_apart(time, anywhere, solution, with_tails) <= allowed

    def _expands(self, solution: Solution, rates: Rates) -> bool:
        """Whether transport widens any panel along any direction."""
        return any(self._system.stretching(panel, solution, rates) > 0.0 for panel in range(len(solution.mean)))

    def _wall_error(self, modes: Modes, solution: Solution, rates: Rates) -> float:
        """Of what modes make of the slope at walls, relative to the peak; infinite where they amplify rounding errors
        too much."""
        conductivities = rates.conductivities.diagonal(axis1=1, axis2=2)
        if isinstance(modes, BoxModes) and amplification(modes, solution) > _AMPLIFICATION_GROWTH * AMPLIFICATION_MAX:
            return np.inf
        speeds, widths = modes.remaining(rates.speeds, conductivities), self._system.grid.widths[:, None, None]
        missed = WALL_FACTOR * np.square(speeds * widths / conductivities[:, :, None, None])
        missed *= (solution.density / solution.density.max())[:, None]
        along = (missed.take([0, -1], axis=axis) for axis in (-1, -2)[: self._system.grid.dimension])
        return max(float(ends.max()) for ends in along)

    def residual(self, time: float, solution: Solution, rates: Rates) -> float:
        """`int |d_t u|`, of the system or in the modes of a box, whichever is smaller: differences of the cells have
        errors of truncation in both, and a stationary law of one of them is near one of the other."""
        on_cells = self._system.residual(solution, rates)
        if not isinstance(self._modes, BoxModes) or not rates.conductivities.any():
            return on_cells
        change = rate_of_change(self._system, self._modes, time, solution, rates.speeds)
        return min(on_cells, float(np.abs(change).sum() * self._system.grid.volume))

    def roughness(self, solution: Solution, rates: Rates) -> float:
        """That of the system; with the modes of a box away from the walls only, where explicit fluxes differ by far
        more than modes are wrong."""
        system, inner = self._system, slice(GHOSTS, -GHOSTS)
        if not isinstance(self._modes, BoxModes) or min(system.grid.cells) <= 2 * GHOSTS:
            return system.roughness(solution, rates)
        change = system.differing(solution, rates)
        inside = change[..., inner] if system.grid.dimension == 1 else change[:, inner, inner]
        return float((np.abs(inside).max(axis=(1, 2)) / solution.density.max(axis=(1, 2))).max())

    def _unseen_share(self, time: float, solution: Solution, allowed: float) -> float:
        """The largest of some shares of the peak, below which densities change the drift by less than is allowed."""
        with np.errstate(all="ignore"):
            for share in (*self._modes.shares[::-1], self._modes.floor):
                if self._system.solutions_apart(time, solution, solution, self._cleared(solution, share)) <= allowed:
                    return share
        return 0.0

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        """One step as planned; its error is measured as that of `take_step`, clipping included."""
        moved = max(tolerance, _DOUBT_SHARE * plan.length * self._doubt)
        rough = max(moved, SHARE_OF_CELLS * plan.length * start.roughness)
        if isinstance(self._modes, BoxModes):  # errors are in modes that decay within a step, and do not add up
            rough = max(rough, SHARE_OF_CELLS * mass_at_walls(start.solution.density))
        allowed = rough, moved
        new, error, clipped = self._system.exact_step(self._modes, start, plan, self._nodes_followed, allowed)
        if new is None:
            return Attempt(None, np.inf)
        noticed = clipped / max(self._modes.floor, self._unseen / _FLOOR_FACTOR)
        density, mean, matrix = (there - here for there, here in zip(new, start.solution, strict=True))
        moved = change_size(start.solution, density, mean, matrix, rough=1.0, tolerance=1.0)
        error /= min(1.0, max(_MOVED_SHARE * moved, _ROUNDING) / tolerance)
        if noticed > max(1.0, _RIPPLE_GAIN * self._noticed) and self._noticed > 1.0:
            self._unseen = 0.0
        self._noticed = noticed
        self._failed = self._modes.continued and max(error, noticed) > 1.0
        return Attempt(new, max(error, noticed), clipped > self._modes.floor)

    def _cleared(self, solution: Solution, share: float) -> Solution:
        return cleared(solution, self._modes, share)

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        return {
            "noise_steps": np.array([self._unseen, self._noticed, self._doubt, self._failed]),
            "noise_looks": np.array([self._next_look, self._next_modes]),
            "noise_modes": np.concatenate(self._modes.slopes) if isinstance(self._modes, BoxModes) else np.zeros(0),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self._unseen, self._noticed, self._doubt = arrays["noise_steps"][:3].tolist()
        self._failed = bool(arrays["noise_steps"][3])
        self._next_look, self._next_modes = arrays["noise_looks"].tolist()
        slopes, grid = arrays["noise_modes"], self._system.grid
        self._modes = self._modes_of(self._system)
        if slopes.size > 0:
            each = np.split(slopes, np.cumsum(grid.cells)[:-1])
            self._modes = BoxModes(grid, STAGGERED[self._system.scheme.order], each)
