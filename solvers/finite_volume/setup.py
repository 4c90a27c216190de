"""The solution at t = 0 from settings and problem: frames, box, cells, and refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.contracts import PROMISED
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.finite_volume.cell_count import (
    PILOT_TOLERANCE,
    Range,
    Start,
    cells_over_tails,
    check_resolution,
    enough_cells,
)
from mfpde.solvers.finite_volume.control import StepControl
from mfpde.solvers.finite_volume.diagnostics import Missed
from mfpde.solvers.finite_volume.first_instants import FirstInstants
from mfpde.solvers.finite_volume.fitted_system import FittedSystem
from mfpde.solvers.finite_volume.frames import Fitted, Frame, Moving, Rescaled, Static
from mfpde.solvers.finite_volume.grid import MAX_DEVIATIONS, Grid
from mfpde.solvers.finite_volume.initial import Discretised, Extent, Part, at_points, components, discretised, stacked
from mfpde.solvers.finite_volume.integration import FiniteVolumeIntegration
from mfpde.solvers.finite_volume.line_system import LineSystem
from mfpde.solvers.finite_volume.pieces import averaged, kinks_inside, smooth_pieces
from mfpde.solvers.finite_volume.plane_system import PlaneSystem
from mfpde.solvers.finite_volume.scheme import Scheme
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.static_box import box_of_run
from mfpde.solvers.finite_volume.system import CellSystem
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.finite_volume import FiniteVolume

__all__ = ["Setup"]

# cells a side, by dimension: the fewest, as many as pay where data are not smooth, the most
_CELLS_MOVING = {1: Range(20, 512, 1024), 2: Range(20, 96, 192)}
_CELLS_UNDER_NOISE = {1: Range(64, 512, 1024), 2: Range(64, 96, 192)}  # on fewer g is continued: no step is exact
_CELLS_OF_PIECES = Range(32, 512, 1024)  # polynomials of degree eight at both ends
_CELLS_AT_REST = {1: Range(64, 512, 2048), 2: Range(32, 192, 256)}  # frames that do not move need more
# the fewest that reach as far out as tails may matter; without a tolerance, smooth data have digits to spare
_FEWEST_WITH_TAILS = {1: 64, 2: 32}
_TOLERANCE_DEFAULT = {1: 1e-8, 2: 1e-6}  # by dimension, where no solver.tolerance is given
_STEP_TOLERANCE_DEFAULT = 1e-10  # relative error of one time step, where no solver.tolerance is given
_STEP_TOLERANCE_MIN = 1e-14  # rounding
_STEP_SHARE = 0.1  # of solver.tolerance, for one time step
_ORDER_OF_PIECES_MIN = 7  # lower orders are there for data that nothing is known of
_COARSE_CELLS, _COARSE_TOLERANCE = {1: 48, 2: 24}, 1e-5  # of the run that finds a static box
_BOX_DEVIATIONS = 9.0  # standard deviations that cells cover; the closure continues the tail
_MAX_LOG_RATIO = 2.5  # of densities in neighbouring cells of a tail that stencils can still follow
_CELLS_OVER_TAILS = math.ceil(_BOX_DEVIATIONS**2 / (0.5 * _MAX_LOG_RATIO))  # a side: fewer cover less
_FELT_DEVIATIONS = 6.0  # standard deviations from which on walls take part; 2e-9 of a Gaussian lies beyond
_BOX_MASS_TOLERANCE = 1e-10  # share of the mass that a given box may leave out


@dataclass(frozen=True)
class Setup:
    """Settings, problem and frame of a run; those of the coarse run before it differ in the frame."""

    settings: FiniteVolume
    task: InitialValueProblem
    frame: Frame
    pieces: tuple[Part, ...] = ()  # where a frame fits each of them

    @classmethod
    def of(cls, settings: FiniteVolume, task: InitialValueProblem) -> Setup:
        """With the frame that is asked for, or goes with the other settings."""
        if settings.rescaled:
            return cls(settings, task, Rescaled(task.equation))
        rests = settings.frame == "static" or settings.box is not None
        if rests or settings.order < _ORDER_OF_PIECES_MIN:
            return cls(settings, task, Static() if rests else Moving())
        pieces = smooth_pieces(task.equation, task.initial)
        return cls(settings, task, Fitted() if pieces else Moving(), tuple(pieces))

    @property
    def equation(self) -> Equation:
        return self.task.equation

    @property
    def measure(self) -> Measure:
        """The initial one."""
        return self.task.initial

    @property
    def dimension(self) -> int:
        return self.equation.geometry.ambient_dimension

    @property
    def _noise(self) -> float:
        """The strongest diffusion."""
        return self.equation.noise.strongest

    @property
    def _step_tolerance(self) -> float:
        """Of the error of one time step."""
        asked = self.settings.tolerance
        return _STEP_TOLERANCE_DEFAULT if asked is None else max(_STEP_SHARE * asked, _STEP_TOLERANCE_MIN)

    @property
    def _kinks(self) -> bool:
        """Whether the velocity has kinks within cells."""
        velocity = self.equation.velocity
        return kinks_inside(velocity) if self.pieces else velocity.kinked

    def resume(self, state: Mapping[str, AnyArray]) -> FiniteVolumeIntegration:
        """From a checkpoint: on its cells, in its box."""
        cells = state["density"].shape[-self.dimension :]
        grid = Grid(state["low"], state["high"], cells, gaussian=self._moving)
        parts = self._parts(apart=self._moving)
        solution = Solution(*(state[name] for name in Solution._fields))
        missed = self._missed(grid, 0.0, self.settings.order, parts)
        first = self._first_instants(grid, parts)
        integration = self._integration(grid, solution, missed, parts, self._step_tolerance, first)
        integration.restore(state)
        return integration

    def start(self) -> FiniteVolumeIntegration:
        """At t = 0, with the given number of cells, or that of the pilot runs."""
        parts = self._parts(apart=self._moving)
        box = None if self._moving else self._resting_box()
        firsts: dict[tuple[int, ...], FirstInstants | None] = {}  # of as many cells, by a pilot run and the run itself

        def grid_of(cells: tuple[int, ...]) -> Grid:
            return Grid(*(box or self._moving_box(parts, cells)), cells, gaussian=self._moving)

        def start(cells: tuple[int, ...], tolerance: float, pilot: bool = False) -> FiniteVolumeIntegration:
            grid = grid_of(cells)
            if cells not in firsts:
                firsts[cells] = self._first_instants(grid, parts)
            first = firsts[cells]
            at_once = pilot and first is not None  # such runs leave t = 0 before anybody looks
            pieces = self._at_points(parts, grid) if at_once else self._on_grid(parts, grid, pilot)
            check_resolution(cells, pieces if first is None else first.pieces(first.until, grid), self._moving)
            integration = self._on_cells(grid, pieces, first, parts, self.settings.order, tolerance)
            self._check_speed(integration)
            return integration

        given = self.settings.cells
        if given is None:
            given = self._enough_cells(
                lambda count: start((count,) * self.dimension, max(PILOT_TOLERANCE, self._step_tolerance), pilot=True),
                lambda count: self._longest_cell(grid_of((count,) * self.dimension), parts),
            )
        cells = given if isinstance(given, tuple) else (given,) * self.dimension
        doing(f"laying the initial data on {' x '.join(map(str, cells))} cells")
        return start(cells, self._step_tolerance)

    def _enough_cells(self, pilot: Start, length: Callable[[int], float]) -> int:
        """A side, where so many make cells of that length: for the end, and where noise smooths edges also for the
        first look at them, when they are sharpest, if any cells resolve them then. Pilots to the first look are short,
        and what they say of more cells is not relied on: errors that fall like a Gaussian of them have no order."""
        within, first = self._cells_within, self.task.first_look
        count = enough_cells(pilot, within, self.task.until, self._error)
        sharp = self._smoothed and self.settings.box is None and first < self.task.until
        if not sharp or math.sqrt(self.equation.noise.variance(first)) < length(within.most):
            return count
        within = replace(within, fewest=count, rough=within.most)
        return enough_cells(pilot, within, first, self._error, most_extrapolated=1.0)

    @property
    def _smoothed(self) -> bool:
        """Whether noise smooths edges from the start; not where the velocity has kinks, nor where the data have
        tails."""
        equation = self.equation
        return self.measure.compact and not equation.velocity.kinked and equation.noise.diffusion_at(0.0) > 0

    def _longest_cell(self, grid: Grid, parts: list[Part]) -> float:
        """In x, of those of all parts."""
        frames = (part.matrix if self._moving else np.eye(self.dimension) for part in parts)
        return max(float(np.linalg.norm(matrix * grid.widths, 2)) for matrix in frames)

    @property
    def cells_over_tails(self) -> int:
        """A side, of the fewest that cover as far out as tails may matter."""
        return max(self._cells_within.fewest, _CELLS_OVER_TAILS)

    @property
    def _cells_within(self) -> Range:
        """Of the pilot runs, and of the run after them."""
        within = self._cells_of_kind
        if self.settings.tolerance is not None and not self.unbounded:
            return within
        return replace(within, fewest=max(within.fewest, _FEWEST_WITH_TAILS[self.dimension]))

    @property
    def unbounded(self) -> bool:
        """Whether speeds grow with tails like a power of the mass that they meet: cells have to reach far out then."""
        law = self.equation.velocity.law
        heads = [] if law is None else [term.head for term in law.at(0.0).terms(self.dimension)]
        amplified = any(head.amplifies_tails(self.dimension) and not head.normalised for head in heads)
        return amplified and not self.measure.compact

    @property
    def _cells_of_kind(self) -> Range:
        if self.pieces:
            return _CELLS_OF_PIECES
        if not self._moving:
            return _CELLS_AT_REST[self.dimension]
        if self._noise > 0:
            return _CELLS_UNDER_NOISE[self.dimension]
        within = _CELLS_MOVING[self.dimension]
        if self.measure.compact:
            return within
        fewest = cells_over_tails(self._error, 0.25 * _MAX_LOG_RATIO)
        return replace(within, fewest=max(within.fewest, fewest), covering=_CELLS_OVER_TAILS)

    def _on_grid(self, parts: list[Part], grid: Grid, pilot: bool) -> list[Discretised]:
        if self.pieces:
            return averaged(parts, grid)
        return [discretised(part, grid, stretched=not pilot) for part in self._placed(parts)]

    def _at_points(self, parts: list[Part], grid: Grid) -> list[Discretised]:
        return [at_points(part, grid) for part in self._placed(parts)]

    def _placed(self, parts: list[Part]) -> list[Part]:
        """In the frames of the cells."""
        return parts if self._moving else [part.at_rest() for part in parts]

    @property
    def _moving(self) -> bool:
        return self.frame.gaussian

    @property
    def _error(self) -> float:
        """The error that the tolerance promises."""
        asked = self.settings.tolerance
        return PROMISED * (_TOLERANCE_DEFAULT[self.dimension] if asked is None else asked)

    def _parts(self, apart: bool) -> list[Part]:
        """Components, or smooth pieces, each at every position of masked attention."""
        return list(self.pieces) or [
            Part.of(share * part, component, place)
            for place, share, law in self.measure.slices
            for part, component in components(law, apart)
        ]

    def _on_cells(
        self,
        grid: Grid,
        pieces: list[Discretised],
        first: FirstInstants | None,
        parts: list[Part],
        order: int,
        tolerance: float,
    ) -> FiniteVolumeIntegration:
        initial = max(piece.error for piece in pieces) if first is None else first.error
        if self._noise > 0:
            initial += grid.continued
        missed = self._missed(grid, initial, order, parts)
        return self._integration(grid, stacked(pieces), missed, parts, tolerance, first)

    def _missed(self, grid: Grid, initial: float, order: int, parts: list[Part]) -> Missed:
        """The estimate at t = 0. In moving frames noise damps it from the start; errors at kinks are no derivatives."""
        widest = float((1.0 / grid.widths**2).max()) if self._moving else np.inf
        layer = np.inf if self._kinks else widest
        edges = not (self._moving and all(part.measure.normal is not None for part in parts))
        return Missed(initial, self._error, order, self._kinks, edges, layer=layer, widest=widest)

    def _first_instants(self, grid: Grid, parts: list[Part]) -> FirstInstants | None:
        """Where cells do not resolve the data, and noise smooths them; not where they come to walls."""
        if not self._smoothed or all(piece.resolved for piece in self._at_points(parts, grid)):
            return None
        width = self._longest_cell(grid, parts)
        first = FirstInstants(self.equation, self.frame, parts, width, self.task.until, self._error)
        if not first.error < np.inf:
            return None
        if self.settings.box is not None:
            least, most = self.measure.reach(_BOX_MASS_TOLERANCE)
            room = min(float((least - grid.low).min()), float((grid.high - most).min()))
            return first if first.reach(_BOX_DEVIATIONS) < room else None
        return first

    def _integration(
        self,
        grid: Grid,
        solution: Solution,
        missed: Missed,
        parts: list[Part],
        tolerance: float,
        first: FirstInstants | None = None,
    ) -> FiniteVolumeIntegration:
        masked = parts[0].position is not None
        positions = np.array([part.position for part in parts], dtype=float) if masked else None
        walls = self.settings.box is not None or bool(self.pieces)
        tails = self.equation.interaction is None and (not self.measure.compact or self._noise > 0)
        closed = tails and not walls  # interactions do not see tails
        scheme = Scheme(missed.order, closed, walls, positions)
        system = self._kind_of_system(grid)(self.equation, grid, self.frame, scheme)
        stepper = self.settings.chosen_stepper
        cfl, until = self.settings.cfl or stepper.cfl, self.task.until
        control = StepControl(stepper(), cfl, tolerance, system.breaks, until)
        try:
            with np.errstate(all="ignore"):
                amplification = Amplification(self.equation.autonomous)
                integration = FiniteVolumeIntegration(system, solution, control, missed, amplification, first)
                overflows = not integration.finite
        except ArithmeticError:
            overflows = True
        if overflows:
            raise ProblemError.at("attention", "has coefficients so large that scores of the initial data overflow")
        return integration

    def _kind_of_system(self, grid: Grid) -> type[CellSystem]:
        if self.pieces:
            return FittedSystem
        known = (kind for kind in (LineSystem, PlaneSystem) if kind.fits(grid, self.frame))
        return next(known, CellSystem)

    # -- boxes
    # ---------------------------------------------------------------------------------------------------------

    def _moving_box(self, parts: list[Part], cells: tuple[int, ...]) -> tuple[Float, Float]:
        """Ends in z that hold every part in its frame; the same for all."""
        # at z deviations the tail falls by e^{-z h} from cell to cell
        resolved = math.sqrt(0.5 * _MAX_LOG_RATIO * min(cells))
        ends = Extent(
            *(np.array(each) for each in zip(*(p.extent(min(_BOX_DEVIATIONS, resolved)) for p in parts), strict=True))
        )
        low, high = ends.low.min(axis=0), ends.high.max(axis=0)
        # whole cells beyond edges, which then lie on faces; more than `Grid.edge_mass` sums over
        beyond = np.array([count // 16 + max(2, count // 64) for count in cells])
        before, after = beyond * ends.edge_low.any(axis=0), beyond * ends.edge_high.any(axis=0)
        width = (high - low) / (np.array(cells) - before - after)
        low, high = low - before * width, high + after * width
        if self._noise == 0:
            return low, high
        # noise makes Gaussian tails, whose width grows with time
        length = _BOX_DEVIATIONS * math.sqrt(2.0 * self._noise * self.task.until)
        spread = max(length / float(np.linalg.svd(part.matrix, compute_uv=False)[-1]) for part in parts)
        low = np.minimum(low, np.maximum(low - spread, -_BOX_DEVIATIONS))
        high = np.maximum(high, np.minimum(high + spread, _BOX_DEVIATIONS))
        return np.maximum(low, -MAX_DEVIATIONS), np.minimum(high, MAX_DEVIATIONS)

    def _resting_box(self) -> tuple[Float, Float]:
        """From end to end of smooth pieces; the given box; otherwise one that holds a coarse run in moving frames."""
        if self.pieces:
            return np.array([-1.0]), np.array([1.0])
        if self.settings.box is not None:
            return self._given_box()
        return self._free_box(None if self.measure.compact else _BOX_DEVIATIONS)

    def _free_box(self, deviations: float | None) -> tuple[Float, Float]:
        """A box that holds so many standard deviations, or all cells, of a coarse run in moving frames."""
        coarse = replace(self, frame=Moving())
        parts = coarse._parts(apart=True)
        cells = (_COARSE_CELLS[self.dimension],) * self.dimension
        grid = Grid(*coarse._moving_box(parts, cells), cells, gaussian=True)
        pieces = [discretised(part, grid, stretched=False) for part in parts]
        run = coarse._on_cells(grid, pieces, coarse._first_instants(grid, parts), parts, 7, _COARSE_TOLERANCE)
        return box_of_run(run, self.task.until, deviations, self.frame)

    def _given_box(self) -> tuple[Float, Float]:
        given = self.settings.box or ()
        low, high = np.array(given, dtype=float).T
        least, most = self.measure.reach(_BOX_MASS_TOLERANCE)
        if (least < low).any() or (most > high).any():
            wanted = ", ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(least, most, strict=True))
            raise ProblemError.at("solver.box", f"cuts off initial data; it has to hold at least [{wanted}]")
        return low, high

    def remarks(self) -> tuple[str, ...]:
        """That the given box has walls to which noise takes data that do not touch them, which is another problem than
        without walls."""
        low, high = self._given_box()
        least, most = self.measure.reach(_BOX_MASS_TOLERANCE)
        if not (self._noise > 0 and (least > low).all() and (most < high).all()):
            return ()
        try:
            with np.errstate(all="ignore"):
                ends = self._free_box(_FELT_DEVIATIONS)
        except (ProblemError, ArithmeticError):  # only a box makes this attention bounded
            return ()
        if (ends[0] >= low).all() and (ends[1] <= high).all():
            return ()
        wanted = ", ".join(f"[{a:.4g}, {b:.4g}]" for a, b in zip(*ends, strict=True))
        told = "solver.box: noise takes tokens to its walls, which let nothing through"
        return (f"{told}, before t = {self.task.until:g}; without walls they need [{wanted}]",)

    def _check_speed(self, integration: FiniteVolumeIntegration) -> None:
        race = integration.race()
        if race is not None:
            raise ProblemError.at("solver", f"{race.message}; {race.advice}")
