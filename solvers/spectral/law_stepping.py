"""Adaptive gif853 steps of coefficients on a grid of harmonics, with as many degrees as the tolerance asks for.

The error control and the rules for degrees are those of the circle and the sphere; a step ends where a coefficient
jumps or has a kink.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mfpde.solvers.kernels.degree_sizes import error_size, tail_size
from mfpde.solvers.kernels.exponential_step import (
    advance_stage,
    fill_table,
    ladder_step,
    nearest_rung,
    scale_difference,
    step_errors,
)
from mfpde.solvers.kernels.fast_fourier import roots_of_unity
from mfpde.solvers.kernels.law_slope import TableWork, attempt_by_tables
from mfpde.solvers.spectral.law_flow import Flow
from mfpde.solvers.spectral.law_grids import Grid, ModeGrid
from mfpde.solvers.spectral.law_tables import Tables, waves_of
from mfpde.solvers.spectral.sphere_stepping import STEPS_BETWEEN_LOOKS, Limits, Verdict, degrees_for
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, NODES, ORDER, STAGES
from mfpde.solvers.stepping.controller import SHORTEST_STEP, Controller
from mfpde.solvers.stepping.step_ends import next_end
from mfpde.typing import AnyArray, Float

__all__ = ["LawStepping", "Room"]

_STEPS_BETWEEN_CHANGES = 24  # accepted steps between a change of the degree and the next reduction
_TABLES_MAX = 12  # of step sizes whose exponentials are kept
_BANDWIDTH_MAX = 8  # times the degree: of the velocity, above which grids do not become finer
_TESTS_BETWEEN = 16  # accepted steps between two looks at what the grid holds of the flux, where a look costs a step
_TRANSFORM_COST = 20.0  # operations of the transforms there and back, over n log n
_NO_WAVES = np.zeros((0, 0)), np.zeros(0)  # matrices of a flow without waves
#: growth of perturbations that the error of a step leaves room for: degrees below that share of the density count as
#: if they were as large
_GROWTH_MARGIN = 1e-2


class Room:
    """What one step works on, `(2, slices * size)` each; nothing outlives a step but `start`, which is N of the
    state."""

    def __init__(self, width: int) -> None:
        self.start, self.slope, self.stage = (np.zeros((2, width)) for _ in range(3))
        self.scaled, self.errors = np.zeros((STAGES + 1, 2, width)), np.zeros((2, 2, width))


class LawStepping:
    """The state, `(2, slices * size)`, and what decides on its steps."""

    def __init__(
        self, flow: Flow, grids: Callable[[int, int], Grid], kept: Callable[[Grid], Float], limits: Limits, most: int
    ) -> None:
        self.flow, self.limits, self.most = flow, limits, most
        self._grids, self._kept_on = grids, kept
        self.time, self.last_tail = 0.0, math.inf
        self._controller = Controller(1.0)
        self.steps, self.rejected, self.evaluations, self.since_change = 0, 0, 0, 0
        self.kinked = False

    # -- the equation on a grid
    # -------------------------------------------------------------------------------------------------------------

    def lay(self, degree: int, bandwidth: int, values: Float, before: Grid | None = None) -> None:
        """Go on with these coefficients `(slices, 2, size)`, of the grid `before` or of the new one, with that many
        degrees."""
        self.grid = self._grids(degree, bandwidth)
        kept = self._kept_on(self.grid)
        moved = values if before is None else np.stack([before.carried(each, self.grid) for each in values])
        self.state = self._joined(moved * kept)
        self._kept = np.tile(kept, (1, len(values)))
        self.room = Room(self.state.shape[1])
        self._enter()

    def _enter(self) -> None:
        """Take up the coefficients of the present time."""
        self.flow.lay(self.grid, self.time)
        degrees = self.grid.degrees
        rates = self.flow.diffusion * degrees * (degrees + self.grid.shift)
        self.rates = np.tile(rates.astype(float), self.flow.masses.size)
        self._fastest = float(self.rates.max(initial=0.0))
        self._tables: dict[float, Float] = {}
        part = self.flow.part
        self.kinked |= part is not None and part.kinked
        self._work = self._compiled() if self.flow.constant and isinstance(self.grid, ModeGrid) else None
        self.restart()

    def _compiled(self) -> TableWork | None:
        """What the compiled steps work on, where the law is made of tables."""
        part, grid, room = self.flow.part, self.grid, self.room
        assert isinstance(grid, ModeGrid)  # noqa: S101 - asked before
        if part is not None and not isinstance(part, Tables):
            return None
        nothing = np.zeros((0, 4, grid.length))
        above, below = (nothing, nothing) if part is None else (part.numerators, part.denominators)
        modes, columns = self.grid.size, above.shape[1]
        waves, pull = waves_of(above[0], self.flow.fixed[0]) if len(above) and not len(below) else _NO_WAVES
        by_waves = 8 * modes * pull.size // 2 + 2 * waves.size
        if by_waves > 2 * columns * grid.length + _TRANSFORM_COST * grid.length * math.log2(grid.length):
            waves, pull = _NO_WAVES
        return TableWork(
            waves=waves,
            pull=pull,
            padded=np.zeros((2, modes + pull.size)),
            drift=np.zeros(pull.size),
            numerators=above,
            denominators=below,
            bounds=np.zeros(0) if part is None else part.bounds,
            fixed=self.flow.fixed[0],
            masses=self.flow.masses,
            masked=self.flow.positions is not None,
            kept=self._kept,
            seen=np.zeros(above.shape[1]),
            density=np.zeros((2, grid.length)),
            scratch=np.zeros((2, grid.length)),
            speed=np.zeros(grid.length),
            above=np.zeros(grid.length),
            below=np.zeros(grid.length),
            roots=roots_of_unity(grid.length),
            start=room.start,
            slope=room.slope,
            stage=room.stage,
            scaled=room.scaled,
            errors=room.errors,
        )

    def restart(self) -> None:
        """N of the state."""
        self.flow.forget()
        if self._work is not None:
            attempt_by_tables(self._work, self.state, np.zeros((3, STAGES, 0)), 0.0)
        else:
            self.room.start[:] = self._nonlinear(self.time, self.state)

    def _nonlinear(self, time: float, state: Float) -> Float:
        return self._joined(self.flow.nonlinear(time, self.split(state))) * self._kept

    def split(self, state: Float) -> Float:
        """`(slices, 2, size)`."""
        return np.ascontiguousarray(state.reshape(2, self.flow.masses.size, -1).swapaxes(0, 1))

    @staticmethod
    def _joined(values: Float) -> Float:
        return np.ascontiguousarray(values.swapaxes(0, 1)).reshape(2, -1)

    def slope(self) -> Float:
        """The derivative of the state in time, `(slices, 2, size)`."""
        return self.split(self.room.start - self.rates * self.state)

    def first_step(self, tolerance: float) -> None:
        """Over which nothing moves far: the fastest decay and transport there are, times a small number."""
        rate = self.fastest_rate()
        self._controller.length = 0.3 * tolerance**0.125 / rate if rate > 0 else 1.0

    def fastest_rate(self) -> float:
        """Of the linear part and of transport."""
        speed = (
            np.abs(self.flow.flux(self.time, self.split(self.state))).max()
            if self.flow.bound == np.inf
            else self.flow.bound
        )
        return self.grid.degree * float(speed) + self._fastest

    @property
    def step(self) -> float:
        """What the next step is meant to be."""
        return self._controller.length

    @property
    def cost(self) -> float:
        """Microseconds of one attempt."""
        return (STAGES + 1) * self.flow.cost

    def _table(self, step: float) -> Float:
        """Exponentials for that step: they depend on nothing else."""
        if step not in self._tables:
            while len(self._tables) >= _TABLES_MAX:
                self._tables.pop(next(iter(self._tables)))
            table = np.empty((3, STAGES, self.state.shape[1]))
            fill_table(table, step, self.rates, self.state.shape[1])
            self._tables[step] = table
        return self._tables[step]

    # -- steps
    # ---------------------------------------------------------------------------------------------------------------

    def advance(self, target: float, attempts: int) -> Verdict:
        """Step to `target` with at most so many attempts, not beyond the next multiple of STEPS_BETWEEN_LOOKS."""
        for _ in range(attempts):
            if self.time >= target:
                return Verdict.REACHED
            step, end = self._chosen(target)
            if not step > SHORTEST_STEP * self.time:
                return Verdict.STEP_VANISHED
            rejected = self.rejected
            verdict = self._attempt(step, end)
            if verdict is not None:
                return verdict
            if self.rejected == rejected and self.steps % STEPS_BETWEEN_LOOKS == 0:
                break
        return Verdict.REACHED if self.time >= target else Verdict.UNDER_WAY

    def _chosen(self, target: float) -> tuple[float, float]:
        """Length and end of the next step: on the ladder, bounded by the fastest decay, unless the target or a break
        comes first."""
        length = self.step
        if self._fastest > 0.0:
            length = min(length, LARGEST_DECAY / self._fastest)
        length = float(ladder_step(length))
        end = next_end(self.time, length, [target, *self.flow.breaks])
        return (length if end == self.time + length else end - self.time), end

    def _attempt(self, step: float, end: float) -> Verdict | None:
        """None to go on."""
        spill = self._try(step)
        self.evaluations += STAGES
        sizes = self._sizes(self.room.stage)
        error = self._error(sizes)
        changed = self._must_change(sizes, spill) if error <= 1.0 else None
        if changed is not None:
            self.rejected += 1
            return None if changed is Verdict.UNDER_WAY else changed
        accepted = self._controller.judge(step, error, ORDER)
        self._controller.length = float(nearest_rung(self.step))
        if not accepted:
            self.rejected += 1
            return None
        self._accept(end)
        self._drop(sizes)
        return None

    def _try(self, step: float) -> float:
        """One step: the new state in room.stage, its N in room.slope. Returns what the grid can hardly hold."""
        table, room, size = self._table(step), self.room, self.state.shape[1]
        if self._work is not None:
            spill, bound = attempt_by_tables(self._work, self.state, table, step), self.flow.bound
            if bound < np.inf:
                return spill / bound if bound > 0.0 else 0.0
            return self._spill(step)
        self.flow.forget()
        for stage in range(1, STAGES + 1):
            advance_stage(stage, self.state, room.start, room.scaled, table, step, room.stage, 0, size)
            room.slope[:] = self._nonlinear(self.time + step * (1.0 if stage == STAGES else NODES[stage]), room.stage)
            scale_difference(stage, room.slope, room.start, room.scaled, table, size)
        step_errors(room.scaled, table, step, room.errors, size)
        return self._spill(step)

    def _spill(self, step: float) -> float:
        """What the grid can hardly hold of the attempted state, looked at now and then."""
        if self.steps % _TESTS_BETWEEN:
            return 0.0
        return self.flow.spill(self.time + step, self.split(self.room.stage))

    def _sizes(self, state: Float) -> Float:
        """By slice and degree."""
        return self.grid.sizes(state, self.flow.masses.size)

    def _error(self, sizes: Float) -> float:
        """Of the step, relative to what is allowed."""
        peaks = self.grid.peaks
        found = [error_size(self._sizes(error), sizes, peaks, _GROWTH_MARGIN) for error in self.room.errors]
        return combined_error(found) / self.limits.error

    def _accept(self, end: float) -> None:
        self.state[:] = self.room.stage
        self.room.start[:] = self.room.slope
        self.time = end
        self.steps, self.since_change = self.steps + 1, self.since_change + 1
        if end in self.flow.breaks:
            self._enter()

    # -- degrees
    # -------------------------------------------------------------------------------------------------------------

    def _tail(self, sizes: Float, degree: int) -> float:
        """The largest of the last degrees up to that one and of all beyond, relative to the rest."""
        first = degree + 1 - max(2, degree // 8)
        return float(tail_size(sizes, self.grid.peaks, first, sizes.shape[1]))

    def _more(self, sizes: Float, tail: float) -> int:
        """The degree at which the tail would be small enough if it went on as from the half to the end: so few changes
        are needed."""
        degree = self.grid.degree
        half, width = degree // 2, max(2, degree // 8)
        middle = float(tail_size(sizes, self.grid.peaks, half + 1 - width, half + 1))
        decay = math.log(max(middle / tail, 1.0)) / (degree - half)
        wanted = math.log(tail / self.limits.truncation) / decay if decay > 0.0 else math.inf
        return degree + 1 + int(min(max(wanted, degree // 4), degree // 2))

    def _must_change(self, sizes: Float, spill: float) -> Verdict | None:
        """None when degrees and grid hold the attempted state; otherwise what it comes to, after a change."""
        degree = self.grid.degree
        tail = self._tail(sizes, degree)
        before, self.last_tail = self.last_tail, tail
        if tail > self.limits.truncation and degree < self.most:
            self.change(degrees_for(self._more(sizes, tail), self.most))
            return Verdict.UNDER_WAY
        if tail > self.limits.lost and tail >= before:  # rough data under noise start above the limit and sink
            return Verdict.RESOLUTION_LOST
        if spill > self.limits.truncation and self.grid.bandwidth < _BANDWIDTH_MAX * degree:
            self.change(degree, min(_BANDWIDTH_MAX * degree, self.grid.bandwidth + degree))
            return Verdict.UNDER_WAY
        return None

    def _drop(self, sizes: Float) -> None:
        """Fewer degrees, where the last eighth is far below what matters, not too soon after the last change."""
        if self.since_change < _STEPS_BETWEEN_CHANGES:
            return
        fewer = degrees_for(self.grid.degree - self.grid.degree // 8, self.most)
        if fewer >= self.grid.degree:
            return
        self.since_change = 0
        if self._tail(sizes, fewer) <= 0.1 * self.limits.truncation:
            self.change(fewer)

    def change(self, degree: int, bandwidth: int | None = None) -> None:
        """To another degree, and a grid for velocities of that bandwidth."""
        if bandwidth is None:
            bandwidth = math.ceil(self.grid.bandwidth / max(self.grid.degree, 1) * degree)
        self.lay(degree, bandwidth, self.split(self.state), self.grid)
        self.since_change = 0

    # -- resume
    # --------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        """Everything that `restore` needs."""
        counts = [self.steps, self.rejected, self.evaluations, self.since_change]
        return {
            "harmonics": self.split(self.state),
            "start": self.split(self.room.start),
            "numbers": np.array([self.time, self.last_tail]),
            "controller": self._controller.numbers,
            "counts": np.array(counts, dtype=np.int64),
            "degrees": np.array([self.grid.degree, self.grid.bandwidth], dtype=np.int64),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Go on from there."""
        self.time, self.last_tail = (float(number) for number in arrays["numbers"])
        self.steps, self.rejected, self.evaluations, self.since_change = (int(n) for n in arrays["counts"])
        self._controller.restore(arrays["controller"])
        degree, bandwidth = (int(number) for number in arrays["degrees"])
        self.lay(degree, bandwidth, np.array(arrays["harmonics"]))
        self.room.start[:] = self._joined(np.array(arrays["start"]))  # what came before has left its trace in sums
