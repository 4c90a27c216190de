"""The equation on cells: how fast every panel's density flows through the faces, and how fast its frame moves.

In a frame `x = m + S z` with `m' = c`, `S' = R` the density u of z moves by

    d_t u + div(u b) = div(g K grad(u / g)),      b = S^{-1} (G(m + S z) - c - R z),      K = D (S^T S)^{-1}.

Frames (`frames.py`) say what c and R are; g = 1 in those that have none of their own. Noise widens a moving one,
`S' = R + D S^{-T}`, and the flux `-K (grad u + z u)` is that of g = N(0, I): a Gaussian stands still in it. Where g
is continued with less slope (`Grid.excess`), the rest of the flux is one more velocity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.attention.lattice_sums import right_at_kinks
from mfpde.measure import GridDensity
from mfpde.measure.interpolation import smoothest
from mfpde.solvers.finite_volume.cascade import come_back
from mfpde.solvers.finite_volume.diagnostics import longest_cell, narrowest_cluster, windows_missed
from mfpde.solvers.finite_volume.frames import Frame
from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.rates import Fluxes, Rates
from mfpde.solvers.finite_volume.scheme import CellFluxes, Scheme
from mfpde.solvers.finite_volume.solution import Solution, every_other, lattices, measure_of
from mfpde.solvers.kernels.cells import bound_speeds
from mfpde.solvers.kernels.finite_volume_update import outflow
from mfpde.solvers.steppers.base import System
from mfpde.transform.threads import run_pieces, thread_count
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.equation import Equation
    from mfpde.solvers.finite_volume.control import Plan, StepControl
    from mfpde.solvers.finite_volume.marching import Ahead, Marched
    from mfpde.solvers.finite_volume.modes import Modes
    from mfpde.solvers.finite_volume.stepping import Attempt, Start

__all__ = ["CellSystem"]

_SUMS_FACTOR = 3.0  # jumps on circles leave errors that fall unevenly: up to 2 times the change from half of the cells
_STIFFNESS_RATIO = 1.7  # at the shortest wave, of twice the staggered difference and the second difference


class CellSystem(System[Solution, Rates]):
    """Rates of any solution on the cells of a grid, in a frame."""

    #: whether densities are averages of what is smooth up to the ends of the cells, and ends there
    edges: ClassVar[bool] = False

    def __init__(self, equation: Equation, grid: Grid, frame: Frame, scheme: Scheme) -> None:
        self._velocity, noise = equation.velocity, equation.noise
        self._diffusion: float | None = None if noise.breaks() else noise.diffusion_at(0.0)
        self._diffusion_in_time = noise.diffusion_at
        self.breaks = sorted({*equation.velocity.breaks(), *equation.noise.breaks()})
        self.noisy = equation.noise.strongest > 0
        self.grid, self.frame, self.scheme = grid, frame, scheme
        self.goes_on = grid.gaussian and scheme.closed and self.noisy  # tails, beyond the cells as noise makes them
        interaction, self._space = equation.interaction, equation.geometry
        on_plane = interaction if grid.dimension == 2 else None
        self._kinked = on_plane.pair_potential if on_plane is not None and on_plane.pairs_kinked else None
        self.sees_tails = interaction is None  # attention amplifies them, interactions do not
        law = equation.velocity.law
        terms = () if law is None else law.at(0.0).terms(grid.dimension)
        self._sees_windows = any(term.head.key_form(grid.dimension) is not None for term in terms)
        self.tilts = any(term.head.amplifies_tails(grid.dimension) for term in terms)

    @property
    def steady_noise(self) -> bool:
        """Whether conductivities are constant."""
        return self.frame.rests and self._diffusion is not None

    def diffusion_at(self, time: float) -> float:
        """D."""
        return self._diffusion_in_time(time) if self._diffusion is None else self._diffusion

    def measure(self, state: Solution) -> GridDensity:
        """What attention sees."""
        return measure_of(state, self.grid, self.scheme.positions, self.scheme.closed)

    def rhs(self, time: float, state: Solution, nearby: Rates | None = None, spreads: bool = True) -> Rates:
        """The rates at a time, without diffusion along the axes unless it `spreads`; potentials of the attention are
        found from those of rates nearby."""
        strength, frames = self.diffusion_at(time), lattices(state, self.grid)
        speeds = np.empty((len(frames), self.grid.dimension, *self.grid.shape))
        measure = self.drifts(time, state, nearby, speeds)
        mean, matrix = np.zeros_like(state.mean), np.zeros_like(state.matrix)
        conductivities = np.zeros_like(state.matrix)
        for panel, lattice in enumerate(frames):
            inverse, drift = np.linalg.inv(lattice.matrix).astype(float), speeds[panel].copy()
            motion = self.frame.motion(time, state, panel, drift, self.grid)
            self.frame.remainder(drift, motion, inverse, self.grid, speeds[panel])
            if not self.sees_tails:
                bound_speeds(state.density[panel], speeds[panel])
            conductivities[panel] = strength * inverse @ inverse.T
            if strength > 0.0 and self.grid.is_continued:
                speeds[panel] -= np.tensordot(conductivities[panel], self.grid.excess, axes=1)
            if not spreads:
                np.fill_diagonal(conductivities[panel], 0.0)
            mean[panel], matrix[panel] = motion[0], motion[1] + self.frame.widened(strength, inverse)
        fluxes = self.fluxes(self.scheme.order, state.density, speeds, conductivities)
        return Rates(fluxes, measure, mean, matrix, speeds, conductivities, *self._emptying(speeds, conductivities))

    def drifts(self, time: float, state: Solution, nearby: Rates | None, out: Float) -> GridDensity | None:
        """out = the velocity of tokens in the cells of every panel, `(panels, d, rows, columns)`; the law that it is
        of, None where nothing of it is to be kept."""
        velocity, measure = self._velocity.at(time), self.measure(state)
        frames = measure.lattices
        if nearby is not None and nearby.measure is not None:
            velocity.prepare(measure, nearby.measure)

        def work(piece: int) -> None:
            panel = len(frames) - 1 - piece  # later positions see more, and are begun first
            position = None if self.scheme.positions is None else self.scheme.positions[panel]
            out[panel] = np.reshape(velocity.drift(measure, frames[panel], position), out[panel].shape)

        if len(frames) < 2 * thread_count():  # threads then share the work of each panel
            for piece in range(len(frames)):
                work(piece)
        else:
            run_pieces(work, len(frames), out.size)
        return measure

    def fluxes(self, order: int, density: Float, speeds: Float, conductivities: Float) -> Fluxes:
        """Of every panel. Order 1 is the upwind scheme that keeps densities non-negative."""
        return CellFluxes(self.grid, self.scheme.walls).of(order, density, speeds, conductivities)

    def step(self, start: Start, plan: Plan, tolerance: float) -> Attempt:
        """Try one step (`take_step`)."""
        from mfpde.solvers.finite_volume.stepping import take_step

        return take_step(self, start, plan, tolerance)

    def exact_step(
        self, modes: Modes, start: Start, plan: Plan, followed: Sequence[float], allowed: tuple[float, float]
    ) -> tuple[Solution | None, float, float]:
        """Try one step that integrates noise exactly (`take_exact_step`)."""
        from mfpde.solvers.finite_volume.exact_stages import take_exact_step

        return take_exact_step(self, modes, start, plan, followed, allowed)

    def knows_modes(self, modes: Modes) -> bool:
        """Whether a step that integrates noise exactly in these modes is one compiled call."""
        return False

    def march(self, start: Start, control: StepControl, ahead: Ahead) -> Marched | None:
        """Steps of the usual scheme in one compiled call, where there is one."""
        return None

    def roughness(self, solution: Solution, rates: Rates) -> float:
        """Error of the cells per unit time relative to the peak: how much another order makes of it, of the next lower
        one for the highest."""
        change = self.differing(solution, rates)
        return float(
            max(np.abs(part).max() / panel.max() for part, panel in zip(change, solution.density, strict=True))
        )

    def misled(self, time: float, solution: Solution, rates: Rates) -> float:
        """What sums over cells may make wrong of speeds, in widths per unit time."""
        return self._misled(time, solution.matrix) if self._sees_windows else 0.0

    def _misled(self, time: float, matrices: Float) -> float:
        """The same of frames."""
        law = self._velocity.law
        terms = () if law is None else law.at(time).terms(self.grid.dimension)
        forms = ((term.head.key_form(self.grid.dimension), np.linalg.norm(term.value, 2)) for term in terms)
        missed = (size * windows_missed(form, matrices, self.grid) for form, size in forms if form is not None)
        return float(max(missed, default=0.0))

    def differing(self, solution: Solution, rates: Rates) -> Float:
        """By how much another order of the fluxes changes the density per unit time."""
        other = self.fluxes(self.other_order, solution.density, rates.speeds, rates.conductivities)
        return Fluxes(rates.fluxes.across - other.across, rates.fluxes.along - other.along).leaving

    def felt(self, time: float, solution: Solution, rates: Rates, length: float) -> float:
        """By how much that changes the drift in a time, on average over the cells, relative to their width: an error
        in tails, small as it is beside the peak, is not small where kernels amplify them."""
        if not self.tilts or self.edges:
            return 0.0
        return self.solutions_apart(time, solution, solution, self.differing_for(length, solution, rates))

    def differing_for(self, length: float, solution: Solution, rates: Rates) -> Solution:
        """The solution after another order of the fluxes has changed it for that time."""
        density = np.maximum(solution.density + length * self.differing(solution, rates), 0.0)
        return solution._replace(density=density)

    def stretching(self, panel: int, solution: Solution, rates: Rates) -> float:
        """How fast transport widens a panel, relative to its width, in the direction where that is fastest."""
        frame, inverse = solution.matrix[panel], np.linalg.inv(solution.matrix[panel]).astype(float)
        diffusion = float(np.trace(frame @ rates.conductivities[panel] @ frame.T)) / len(frame)
        inside = self.grid.regression(rates.speeds[panel], solution.density[panel])[1]
        motion = (rates.matrix[panel] - self.frame.widened(diffusion, inverse) + frame @ inside) @ inverse
        return 0.5 * float(np.linalg.eigvalsh(motion + motion.T)[-1])

    def narrowest(self, solution: Solution, rates: Rates) -> float:
        """Width in cells of the narrowest cluster."""
        return narrowest_cluster(solution.density)

    @property
    def other_order(self) -> int:
        """That fluxes are held against."""
        return 7 if self.scheme.order == 9 else 9

    def cost(self, panels: int) -> float:
        """Microseconds of one evaluation of the rates, from the number of operations."""
        return 300.0 * panels + 1.2 * panels * (panels + 1) * math.prod(self.grid.cells)

    def doubts(self, time: float, solution: Solution, rates: Rates, length: float) -> tuple[float, float, float]:
        """What tails, sums over kinks and, over that length of time, fluxes do to drifts, per unit time."""
        of_tails, felt = self.drift_doubts(time, solution, rates, length)
        of_sums = self.doubt_of_sums(time, solution)
        if self.noisy and self.tilts:
            back = come_back(self, self._velocity.at(time), time, solution, rates)
            of_tails, of_sums = of_tails + back[0], max(of_sums, back[1])
        return of_tails, of_sums, felt / length

    def drift_doubts(self, time: float, solution: Solution, rates: Rates, length: float) -> tuple[float, float]:
        """By how much tails change drifts (`doubt`), and in that time fluxes do (`felt`)."""
        return self.doubt(time, solution), self.felt(time, solution, rates, length)

    def doubt(self, time: float, solution: Solution) -> float:
        """By how much drifts with the lightest and the heaviest tails that edges allow differ, on average over the
        cells, relative to their width."""
        return self.drifts_apart(time, solution, *self.lightest_and_heaviest(solution)) if self.scheme.closed else 0.0

    def lightest_and_heaviest(self, solution: Solution) -> tuple[GridDensity, GridDensity]:
        """The law with the lightest tails, and with the heaviest ones, that edges allow."""
        lightest, heaviest = (
            measure_of(solution, self.grid, self.scheme.positions, closed=True, heaviest=heavy)
            for heavy in (False, True)
        )
        return lightest, heaviest

    def doubt_of_sums(self, time: float, solution: Solution) -> float:
        """By how much drifts differ, likewise, from those of every other cell along each axis, where sums over cells
        are of low order: interactions on the plane with kinks, where sums of waves would be too many."""
        kinked, space, frames = self._kinked, self._space, lattices(solution, self.grid)
        if kinked is None or all(right_at_kinks(kinked, space, here, there) for here in frames for there in frames):
            return 0.0
        velocity, measure, largest = self._velocity.at(time), self.measure(solution), 0.0
        coarse = GridDensity([every_other(panel) for panel in measure.panels])
        for panel, density in zip(coarse.panels, solution.density, strict=True):
            drifts = [velocity.drift(law, panel.lattice) for law in (measure, coarse)]
            largest = max(
                largest, self.grid.average_change(drifts[1] - drifts[0], panel.values, panel.lattice.matrix, density)
            )
        return _SUMS_FACTOR * largest

    def drifts_apart(self, time: float, solution: Solution, one: GridDensity, other: GridDensity) -> float:
        """By how much the drifts of two laws differ, on average over the cells, relative to the width of a solution."""
        velocity, frames = self._velocity.at(time), lattices(solution, self.grid)
        positions = [None] * len(frames) if self.scheme.positions is None else self.scheme.positions.tolist()
        largest = 0.0
        for panel, (lattice, position) in enumerate(zip(frames, positions, strict=True)):
            drifts = [velocity.drift(measure, lattice, position) for measure in (one, other)]
            density = solution.density[panel]
            largest = max(largest, self.grid.average_change(drifts[1] - drifts[0], density, lattice.matrix, density))
        return largest

    def solutions_apart(self, time: float, solution: Solution, one: Solution, other: Solution) -> float:
        """The same of the laws of two solutions."""
        return self.drifts_apart(time, solution, self.measure(one), self.measure(other))

    def between_cells(self, solution: Solution) -> float:
        """The error of interpolation between the cells, relative to the peak of each panel."""
        grid, z = self.grid, self.grid.coordinates.reshape(self.grid.dimension, -1)
        panels = ((density.reshape(grid.cells), grid.moments(density)) for density in solution.density)
        return max(smoothest(values, z, moments).error / float(values.max()) for values, moments in panels)

    def restored(self, before: Solution, after: Solution, start: float, end: float) -> Solution:
        """After a step, with mean and covariance where the frame's own equation has taken them."""
        return after if self.noisy_within(start, end) else self.frame.restored(before, after, self.grid)

    def noisy_within(self, start: float, end: float) -> bool:
        """Whether there is noise in a step."""
        return any(self.diffusion_at(time) > 0 for time in (start, 0.5 * (start + end)))

    def widening(self, time: float, solution: Solution) -> float:
        """What noise adds to variances per unit time, in cells squared, in the direction where that is least."""
        return self._widening(time, longest_cell(solution.matrix, self.grid)) if self.noisy else 0.0

    def _widening(self, time: float, longest: float) -> float:
        return 2.0 * self.diffusion_at(time) / longest**2

    def residual(self, solution: Solution, rates: Rates) -> float:
        """`int |d_t rho|` at fixed x, of all panels: what flows through faces, and what the frame's motion adds."""
        moving = rates.mean[:, :, None] + rates.matrix @ self.grid.coordinates.reshape(self.grid.dimension, -1)
        frames = np.linalg.solve(solution.matrix, moving).reshape(rates.speeds.shape).astype(float)
        carried = self.fluxes(self.scheme.order, solution.density, frames, np.zeros_like(rates.conductivities))
        total = Fluxes(rates.fluxes.across + carried.across, rates.fluxes.along + carried.along)
        return float(np.abs(total.leaving).sum() * self.grid.volume)

    def spreading(self, conductivities: Float) -> float:
        """The largest share of a cell that diffusion takes out per unit time, as stiff as its scheme makes it."""
        if not conductivities.any():  # g has otherwise to be more than nothing in every cell
            return 0.0
        leaks = max(float(self.grid.leaks @ np.diag(matrix)) for matrix in conductivities)
        return leaks * (_STIFFNESS_RATIO if self.scheme.order > 2 else 1.0)

    def _emptying(self, speeds: Float, conductivities: Float) -> tuple[float, float]:
        return self.outflow(speeds), self.spreading(conductivities)

    def outflow(self, speeds: Float) -> float:
        """The largest share of a cell that first-order transport takes out per unit time."""
        blocks = self.grid.blocks
        shares = np.empty((len(speeds), len(blocks)))

        def work(piece: int) -> None:
            panel, block = divmod(piece, len(blocks))
            shares[panel, block] = outflow(speeds[panel], self.grid.widths, *blocks[block])

        run_pieces(work, shares.size, speeds.size)
        return float(shares.max())
