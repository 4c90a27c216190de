"""Adaptive gif853 steps for any law on a grid of harmonics; a step ends where a coefficient jumps or has a kink."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mfpde.solvers.kernels.degree_sizes import error_size, tail_size
from mfpde.solvers.kernels.exponential_step import advance_stage, scale_difference, step_errors
from mfpde.solvers.kernels.fast_fourier import roots_of_unity
from mfpde.solvers.kernels.law_slope import TableWork, attempt_by_tables
from mfpde.solvers.spectral.degree_limits import Limits
from mfpde.solvers.spectral.degree_stepping import STEPS_BETWEEN_TESTS, DegreeStepping
from mfpde.solvers.spectral.law_flow import Flow
from mfpde.solvers.spectral.law_grids import Grid, ModeGrid
from mfpde.solvers.spectral.law_tables import Tables, waves_of
from mfpde.solvers.steppers.gif853 import NODES, STAGES
from mfpde.typing import AnyArray, Float

__all__ = ["LawStepping", "Room"]

_TRANSFORM_COST = 20.0  # operations of the transforms there and back, over n log n
_NO_WAVES = np.zeros((0, 0)), np.zeros(0)  # matrices of a flow without waves
#: of coefficients, relative to the largest: in many dimensions harmonics may be so large near the poles that it would
#: count as a tail, which no degree ends; small enough not to
#: matter on S^2 at any tolerance
_COEFFICIENT_ROUNDING = 4 * float(np.finfo(float).eps)
#: growth of perturbations that the error of a step leaves room for: degrees below that share of the density count as
#: if they were as large
_GROWTH_MARGIN = 1e-2


class Room:
    """What one step works on, `(2, slices * size)` each; nothing outlives a step but `start`, which is N of the
    state."""

    def __init__(self, width: int) -> None:
        self.start, self.slope, self.stage = (np.zeros((2, width)) for _ in range(3))
        self.scaled, self.errors = np.zeros((STAGES + 1, 2, width)), np.zeros((2, 2, width))


class LawStepping(DegreeStepping):
    """One law for each slice: the state is `(2, slices * size)`."""

    room: Room

    def __init__(
        self, flow: Flow, grids: Callable[[int, int], Grid], kept: Callable[[Grid], Float], limits: Limits, most: int
    ) -> None:
        super().__init__()
        self.flow, self.limits, self.most = flow, limits, most
        self._grids, self._kept_on = grids, kept
        self.kinked = False

    # -- the equation on a grid
    # -------------------------------------------------------------------------------------------------------------

    @property
    def degree(self) -> int:
        return self.grid.degree

    @property
    def grid_bandwidth(self) -> int:
        return self.grid.bandwidth

    @property
    def breaks(self) -> Sequence[float]:
        return self.flow.breaks

    def lay(self, degree: int, bandwidth: int, values: Float, before: Grid | None = None) -> None:
        """Go on with these coefficients `(slices, 2, size)`, of the grid `before` or of the new one, with that many
        degrees."""
        self.grid = self._grids(degree, bandwidth)
        self._peaks = np.minimum(self.grid.peaks, self.limits.truncation / _COEFFICIENT_ROUNDING)
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
        self._enter_rates(np.tile(rates.astype(float), self.flow.masses.size))
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
        modes, columns, half = self.grid.size, above.shape[1], grid.length // 2
        fixed = self.flow.fixed[0] if part is None else self.flow.fixed[0] + part.fixed
        waves, pull = waves_of(above[0], fixed) if len(above) and not len(below) else _NO_WAVES
        by_waves = 8 * modes * pull.size // 2 + 2 * waves.size
        if by_waves > columns * grid.length + _TRANSFORM_COST * grid.length * math.log2(grid.length):
            waves, pull = _NO_WAVES
        return TableWork(
            waves=waves,
            pull=pull,
            padded=np.zeros((2, modes + pull.size)),
            drift=np.zeros(pull.size),
            numerators=np.ascontiguousarray(above[..., :half]),
            denominators=np.ascontiguousarray(below[..., :half]),
            bounds=np.zeros(0) if part is None else part.bounds,
            fixed=fixed,
            masses=self.flow.masses,
            masked=self.flow.positions is not None,
            kept=self._kept,
            seen=np.zeros(columns),
            density=np.zeros((2, half)),
            scratch=np.zeros((2, half)),
            speed=np.zeros(grid.length),
            above=np.zeros((2, half)),
            below=np.zeros((2, half)),
            roots=roots_of_unity(grid.length),
            half_roots=roots_of_unity(half),
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
        self.step = 0.3 * tolerance**0.125 / rate if rate > 0 else 1.0

    def fastest_rate(self) -> float:
        """Of the linear part and of transport."""
        speed = (
            np.abs(self.flow.flux(self.time, self.split(self.state))).max()
            if self.flow.bound == np.inf
            else self.flow.bound
        )
        return self.grid.degree * float(speed) + self._fastest_decay

    @property
    def cost(self) -> float:
        """Microseconds of one attempt."""
        return (STAGES + 1) * self.flow.cost

    # -- steps
    # -----------------------------------------------------------------------------------------------------------------

    def _try(self, step: float) -> float:
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
        if self.steps % STEPS_BETWEEN_TESTS:
            return 0.0
        return self.flow.spill(self.time + step, self.split(self.room.stage))

    def _sizes(self, values: Float) -> Float:
        """By slice and degree."""
        return self.grid.sizes(values, self.flow.masses.size)

    def _error_size(self, errors: Float, sizes: Float) -> float:
        return float(error_size(errors, sizes, self._peaks, _GROWTH_MARGIN))

    def _accept(self, end: float) -> None:
        super()._accept(end)
        if end in self.flow.breaks:
            self._enter()

    # -- degrees
    # -----------------------------------------------------------------------------------------------------------------

    def _tail(self, sizes: Float, degree: int) -> float:
        first = degree + 1 - max(2, degree // 8)
        return float(tail_size(sizes, self._peaks, first, sizes.shape[1]))

    def _more(self, sizes: Float, tail: float) -> int:
        """The degree at which the tail would be small enough if it went on as from the half to the end: so few changes
        are needed."""
        degree = self.grid.degree
        half, width = degree // 2, max(2, degree // 8)
        middle = float(tail_size(sizes, self._peaks, half + 1 - width, half + 1))
        decay = math.log(max(middle / tail, 1.0)) / (degree - half)
        wanted = math.log(tail / self.limits.truncation) / decay if decay > 0.0 else math.inf
        return degree + 1 + int(min(max(wanted, degree // 4), degree // 2))

    def _too_coarse(self, spill: float) -> bool:
        return spill > self.limits.truncation

    def change(self, degree: int, bandwidth: int | None = None) -> None:
        if bandwidth is None:
            bandwidth = math.ceil(self.grid.bandwidth / max(self.grid.degree, 1) * degree)
        self.lay(degree, bandwidth, self.split(self.state), self.grid)
        self.since_change = 0

    # -- resume
    # --------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        return {"harmonics": self.split(self.state), "start": self.split(self.room.start), **super().arrays()}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Go on from there."""
        degree, bandwidth = self._restore_numbers(arrays)
        self.lay(degree, bandwidth, np.array(arrays["harmonics"]))
        self.room.start[:] = self._joined(np.array(arrays["start"]))  # what came before has left its trace in sums
