"""Adaptive gif853 steps of coefficients by degree, with as many degrees as the tolerance asks for.

What is the same for one density on a sphere (`sphere_stepping`) and for any law on any grid of harmonics
(`law_stepping`): the ladder of step sizes with the tables of their exponentials, attempts and what follows from their
errors, the rules for degrees, and what resumes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mfpde.contracts import State
from mfpde.solvers.kernels.exponential_step import fill_table, ladder_step, nearest_rung
from mfpde.solvers.spectral.degree_limits import STEPS_BETWEEN_LOOKS, Limits, degrees_for
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, ORDER, STAGES
from mfpde.solvers.stepping.controller import SHORTEST_STEP, Controller
from mfpde.solvers.stepping.step_ends import next_end
from mfpde.typing import AnyArray, Float

__all__ = ["STEPS_BETWEEN_TESTS", "DegreeStepping"]

_STEPS_BETWEEN_CHANGES = 24  # accepted steps between a change of the degree and the next reduction
_TABLES_MAX = 12  # of step sizes whose exponentials are kept
_TABLE_BYTES_MAX = 2**27  # of all these tables
#: times the degree: the bandwidth of the velocity, above which grids do not become finer
_BANDWIDTH_MAX = 8
#: accepted steps between two tests of what the grid holds of the flux, where a test costs as much as a step
STEPS_BETWEEN_TESTS = 16


class StepRoom(Protocol):
    """What one attempt leaves: the new state and its N, N of the state before, and two errors."""

    @property
    def stage(self) -> Float: ...

    @property
    def slope(self) -> Float: ...

    @property
    def start(self) -> Float: ...

    @property
    def errors(self) -> Float: ...


class DegreeStepping(ABC):
    """The state, `(2, width)`, and what decides on its steps."""

    state: Float
    #: of decay, one for each column
    rates: Float
    room: StepRoom
    limits: Limits
    #: the largest degree
    most: int

    def __init__(self) -> None:
        self.time, self.last_tail = 0.0, math.inf
        self._controller = Controller(1.0)
        self.steps = self.rejected = self.evaluations = self.since_change = 0

    # -- what a kind of grid says
    # -----------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def degree(self) -> int:
        """Of the state."""

    @property
    @abstractmethod
    def grid_bandwidth(self) -> int:
        """The degree of velocities that the grid is made for."""

    @property
    def breaks(self) -> Sequence[float]:
        """Times at which steps end."""
        return ()

    @property
    def least_degree(self) -> int:
        """Below which no reduction goes."""
        return 0

    @abstractmethod
    def restart(self) -> None:
        """N of the state."""

    @abstractmethod
    def change(self, degree: int, bandwidth: int | None = None) -> None:
        """To another degree, and a grid for velocities of that bandwidth."""

    @abstractmethod
    def _try(self, step: float) -> float:
        """One step, left in `room`. Returns what the grid can hardly hold."""

    @abstractmethod
    def _sizes(self, values: Float) -> Float:
        """By degree."""

    @abstractmethod
    def _error_size(self, errors: Float, sizes: Float) -> float:
        """Of an error with these sizes by degree."""

    @abstractmethod
    def _tail(self, sizes: Float, degree: int) -> float:
        """The largest of the last degrees up to that one and of all beyond, relative to the rest."""

    @abstractmethod
    def _more(self, sizes: Float, tail: float) -> int:
        """The degree wanted for a state with that tail."""

    @abstractmethod
    def _too_coarse(self, spill: float) -> bool:
        """Whether the grid is too coarse for the flux."""

    # -- tables
    # -----------------------------------------------------------------------------------------------------------------

    def _enter_rates(self, rates: Float) -> None:
        """Take up other rates of decay; tables of exponentials depend on nothing else."""
        self.rates, self._fastest_decay = rates, float(rates.max(initial=0.0))
        self._slots = max(2, min(_TABLES_MAX, _TABLE_BYTES_MAX // max(3 * STAGES * 8 * rates.size, 1)))
        self._tables: dict[float, Float] = {}

    def _table(self, step: float) -> Float:
        """Exponentials for that step."""
        if step not in self._tables:
            while len(self._tables) >= self._slots:
                self._tables.pop(next(iter(self._tables)))
            table = np.empty((3, STAGES, self.rates.size))
            fill_table(table, step, self.rates, self.rates.size)
            self._tables[step] = table
        return self._tables[step]

    # -- steps
    # -----------------------------------------------------------------------------------------------------------------

    @property
    def step(self) -> float:
        """What the next step is meant to be."""
        return self._controller.length

    @step.setter
    def step(self, length: float) -> None:
        self._controller.length = length

    def advance(self, target: float, attempts: int) -> State:
        """Step to `target` with at most so many attempts, not beyond the next multiple of STEPS_BETWEEN_LOOKS."""
        for _ in range(attempts):
            if self.time >= target:
                return State.REACHED
            step, end = self._chosen(target)
            if not step > SHORTEST_STEP * self.time:
                return State.NOT_FINITE
            rejected = self.rejected
            stands = self._attempt(step, end)
            if stands is not None:
                return stands
            if self.rejected == rejected and self.steps % STEPS_BETWEEN_LOOKS == 0:
                break
        return State.REACHED if self.time >= target else State.UNDER_WAY

    def _chosen(self, target: float) -> tuple[float, float]:
        """Length and end of the next step: on the ladder, bounded by the fastest decay, unless the target or a break
        comes first."""
        length = self.step
        if self._fastest_decay > 0.0:
            length = min(length, LARGEST_DECAY / self._fastest_decay)
        length = float(ladder_step(length))
        end = next_end(self.time, length, [target, *self.breaks])
        return (length if end == self.time + length else end - self.time), end

    def _attempt(self, step: float, end: float) -> State | None:
        """How things stand when it cannot go on by itself."""
        spill = self._try(step)
        self.evaluations += STAGES
        sizes = self._sizes(self.room.stage)
        error = self._error(sizes)
        changed = self._must_change(sizes, spill) if error <= 1.0 else None
        if changed is not None:
            self.rejected += 1
            return None if changed is State.UNDER_WAY else changed
        accepted = self._controller.judge(step, error, ORDER)
        self._controller.length = float(nearest_rung(self.step))
        if not accepted:
            self.rejected += 1
            return None
        self._accept(end)
        self._drop(sizes)
        return None

    def _error(self, sizes: Float) -> float:
        """Of the step, relative to what is allowed."""
        found = [self._error_size(self._sizes(error), sizes) for error in self.room.errors]
        motion = self._error_size(self._sizes(self.room.stage - self.state), sizes)
        return combined_error(found) / self.limits.allowed(motion)

    def _accept(self, end: float) -> None:
        self.state[:] = self.room.stage
        self.room.start[:] = self.room.slope
        self.time = end
        self.steps, self.since_change = self.steps + 1, self.since_change + 1

    # -- degrees
    # -----------------------------------------------------------------------------------------------------------------

    def _must_change(self, sizes: Float, spill: float) -> State | None:
        """None when degrees and grid hold the attempted state; otherwise what it comes to, after a change."""
        tail = self._tail(sizes, self.degree)
        before, self.last_tail = self.last_tail, tail
        if tail > self.limits.truncation and self.degree < self.most:
            self.change(degrees_for(self._more(sizes, tail), self.most))
            return State.UNDER_WAY
        if tail > self.limits.lost and tail >= before:  # rough data under noise start above the limit and sink
            return State.RESOLUTION_LOST
        widest = _BANDWIDTH_MAX * self.degree
        if self.grid_bandwidth < widest and self._too_coarse(spill):
            self.change(self.degree, min(widest, max(self.grid_bandwidth + self.degree, 1)))
            return State.UNDER_WAY
        return None

    def _drop(self, sizes: Float) -> None:
        """Fewer degrees, where the last eighth is far below what matters, not too soon after the last change."""
        if self.since_change < _STEPS_BETWEEN_CHANGES:
            return
        fewer = degrees_for(max(self.degree - self.degree // 8, self.least_degree), self.most)
        if fewer >= self.degree:
            return
        self.since_change = 0
        if self._tail(sizes, fewer) <= 0.1 * self.limits.truncation:
            self.change(fewer)

    # -- resume
    # -----------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        """What decides on the next steps; the coefficients are added where their shape is known."""
        counts = [self.steps, self.rejected, self.evaluations, self.since_change]
        return {
            "numbers": np.array([self.time, self.last_tail]),
            "controller": self._controller.numbers,
            "counts": np.array(counts, dtype=np.int64),
            "degrees": np.array([self.degree, self.grid_bandwidth], dtype=np.int64),
        }

    def _restore_numbers(self, arrays: dict[str, AnyArray]) -> tuple[int, int]:
        """Go on from there; returns degree and bandwidth."""
        self.time, self.last_tail = (float(number) for number in arrays["numbers"])
        self.steps, self.rejected, self.evaluations, self.since_change = (int(n) for n in arrays["counts"])
        self._controller.restore(arrays["controller"])
        degree, bandwidth = (int(number) for number in arrays["degrees"])
        return degree, bandwidth
