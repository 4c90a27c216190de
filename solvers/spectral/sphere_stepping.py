"""Adaptive gif853 steps of coefficients on spheres, with as many degrees as the tolerance asks for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import Enum
from typing import NamedTuple

import numpy as np

from mfpde.attention import Convolution
from mfpde.solvers.kernels.exponential_step import fill_table, ladder_step, nearest_rung
from mfpde.solvers.kernels.sphere_slope import HarmonicWork
from mfpde.solvers.spectral.sphere_basis import Basis, SphereBasis
from mfpde.solvers.spectral.sphere_data import Symmetry
from mfpde.solvers.steppers.base import combined_error
from mfpde.solvers.steppers.gif853 import LARGEST_DECAY, ORDER, STAGES
from mfpde.solvers.stepping.controller import SHORTEST_STEP, Controller
from mfpde.solvers.stepping.step_ends import next_end
from mfpde.typing import AnyArray, Float

__all__ = ["HarmonicStepping", "Limits", "Stepping", "Verdict", "degrees_for"]

STEPS_BETWEEN_LOOKS = 256  # accepted steps after which a call ends, so that the caller sees whether anything moves
_STEPS_BETWEEN_CHANGES = 24  # accepted steps between a change of the degree and the next reduction
_MIN_DEGREES = 12  # fewer cost no less
_TABLE_BYTES = 2**27  # of the tables of exponentials that are kept
_MAX_TABLES = 12  # of step sizes whose exponentials are kept
_WIDEST_GRID = 8  # times the degree: the bandwidth of the velocity, above which rings do not become more
_TO_TEST_GRID = 16  # accepted steps between two looks at the degrees of the flux


class Verdict(Enum):
    """What came of going on."""

    REACHED = 0
    UNDER_WAY = 1
    RESOLUTION_LOST = 2
    STEP_VANISHED = 3


class Limits(NamedTuple):
    """Of one step's error, of the last degrees, of the parts of the velocity that are left out, of relative errors of
    growing degrees, and of a spectrum that is lost: each relative to the density."""

    error: float
    truncation: float
    cut: float
    floor: float
    lost: float

    @classmethod
    def of(cls, tolerance: float) -> Limits:
        """As on the circle."""
        return cls(
            0.1 * tolerance,
            max(3e-3 * tolerance, 1e-15),
            max(1e-4 * tolerance, 1e-18),
            max(1e-5, 1e-14 / tolerance),
            0.1 * tolerance,
        )


def degrees_for(wanted: int, most: int) -> int:
    """The degree from a ladder of about eight to the octave of two, so that tables are used again."""
    rung = max(2, 2 ** (math.floor(math.log2(max(wanted, 16))) - 3))
    return min(most, max(_MIN_DEGREES, -(-wanted // rung) * rung))


class Stepping(ABC):
    """The state and what decides on its steps."""

    time: float
    step: float  # what the next one is meant to be
    state: Float
    rates: Float

    def __init__(self, basis: Basis, convolution: Convolution, diffusion: float, limits: Limits, most: int) -> None:
        self.basis, self.convolution, self.limits, self.most = basis, convolution, limits, most
        self.diffusion = diffusion
        self._fastest = int(np.argmax(np.abs(convolution.growth_rates())))
        pulls = self._pulls()
        #: the last degree whose part of the velocity can pass what is cut off, for the largest coefficients there are
        felt = int(np.flatnonzero(pulls > limits.cut * pulls.max()).max(initial=1))
        self.reach = max(1, felt, self.external_degree)

    def _pulls(self) -> Float:
        """Bounds of the velocity that each degree makes, for the largest coefficients there are."""
        harmonics, degree = self.convolution.harmonics, self.convolution.degree
        with np.errstate(over="ignore", invalid="ignore"):
            strengths = harmonics.multiplicities(degree) * harmonics.largest_slopes(degree)
            return np.nan_to_num(np.abs(self.convolution.potential) * strengths, posinf=0.0)

    @property
    def external_degree(self) -> int:
        """Of the external potential: fewer degrees do not show it."""
        return 0 if self.convolution.external is None else self.convolution.external.degree

    @property
    def bandwidth(self) -> int:
        """Of velocities, where it is known from the start."""
        return self.reach if self.convolution.normaliser is None else 0

    @property
    @abstractmethod
    def steps(self) -> int:
        """That were accepted."""

    @property
    @abstractmethod
    def rejected(self) -> int:
        """Attempts that were not."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Of N."""

    @abstractmethod
    def lay(self, basis: Basis, state: Float) -> None:
        """Go on with these coefficients on that basis."""

    @abstractmethod
    def restart(self) -> None:
        """N of the state."""

    @abstractmethod
    def slope(self) -> Float:
        """The derivative of the state in time."""

    @abstractmethod
    def advance(self, target: float, attempts: int) -> Verdict:
        """Step to `target` with at most so many attempts, not beyond the next multiple of STEPS_BETWEEN_LOOKS."""

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray]:
        """Everything that `restore` needs."""

    @abstractmethod
    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Go on from there."""

    def _uniform_growth(self) -> Float:
        growth = np.zeros(self.basis.degree + 1)
        known = self.convolution.growth_rates()[: growth.size]
        growth[: known.size] = known
        return growth

    def _decay(self) -> Float:
        """Of every degree, by noise."""
        return self.diffusion * self.convolution.harmonics.eigenvalues(self.basis.degree)

    def uniform_rates(self) -> Float:
        """How fast degrees of the uniform state grow (physics section 5)."""
        return self._uniform_growth() - self._decay()

    def first_step(self, tolerance: float) -> None:
        """Over which nothing moves far: the fastest decay, growth and transport there are, times a small number."""
        sizes, degree = self.basis.sizes(self.state), self.basis.degree
        shown = min(degree, self.reach, self.convolution.degree) + 1
        pulls = np.abs(self.convolution.potential[:shown]) * np.arange(shown) * sizes[:shown] * self.basis.peaks[:shown]
        level = 1.0 if self.convolution.normaliser is None else float(self.convolution.normaliser[0])
        growth = float(np.abs(self.convolution.growth_rates()).max())
        pull = float(pulls.sum()) + (0.0 if self.convolution.external is None else self.convolution.bound)
        rate = degree * pull / level + float(self.rates.max(initial=0.0)) + growth
        self.step = 0.3 * tolerance**0.125 / rate if rate > 0 else 1.0


class HarmonicStepping(Stepping):
    """On S^2, without an axis. The compiled part is one attempt of a step (`solvers.kernels.sphere_slope`); what
    follows from its errors is decided here, as it is in the loop of the circle."""

    basis: SphereBasis
    steps = rejected = evaluations = since_change = 0

    def __init__(
        self, symmetry: Symmetry, convolution: Convolution, diffusion: float, limits: Limits, most: int
    ) -> None:
        super().__init__(SphereBasis(_MIN_DEGREES, 0, symmetry.period), convolution, diffusion, limits, most)
        self.symmetry = symmetry
        self.time, self.last_tail = 0.0, math.inf
        self._controller = Controller(1.0)
        self.state = np.zeros((2, self.basis.width))

    # -- the equation on a basis
    # ---------------------------------------------------------------------------------------------------------

    def lay(self, basis: Basis, state: Float) -> None:
        assert isinstance(basis, SphereBasis)  # noqa: S101 - of this space
        self.basis, self.state = basis, state
        kept, external = basis.kept(self.symmetry), self.convolution.external
        potential = None if external is None else basis.packed(np.asarray(external.coefficients.T)) * kept
        self._work: HarmonicWork = basis.work(self.convolution, self.reach, kept, potential)
        degree = basis.degrees.astype(float)
        self.rates = self.diffusion * degree * (degree + 1.0) * (basis.copies > 0)
        self._slots = max(2, min(_MAX_TABLES, _TABLE_BYTES // (3 * STAGES * 8 * state.shape[1])))
        self._tables: dict[float, Float] = {}
        self._watched: AnyArray = self.uniform_rates() > 0
        self.restart()

    def restart(self) -> None:
        self.basis.attempt(self._work, self.state, np.zeros((3, STAGES, 0)), 0.0)

    def slope(self) -> Float:
        return np.asarray(self._work.start - self.rates * self.state)

    @property
    def step(self) -> float:
        return self._controller.length

    @step.setter
    def step(self, length: float) -> None:
        self._controller.length = length

    def _table(self, step: float) -> Float:
        """Exponentials for that step: they depend on nothing else."""
        if step not in self._tables:
            while len(self._tables) >= self._slots:
                self._tables.pop(next(iter(self._tables)))
            table = np.empty((3, STAGES, self.state.shape[1]))
            fill_table(table, step, self.rates, self.state.shape[1])
            self._tables[step] = table
        return self._tables[step]

    # -- steps
    # ---------------------------------------------------------------------------------------------------------------

    def advance(self, target: float, attempts: int) -> Verdict:
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
        """Length and end of the next step: on the ladder, bounded by the fastest decay, unless the target comes
        first."""
        length, fastest = self.step, float(self.rates.max(initial=0.0))
        if fastest > 0.0:
            length = min(length, LARGEST_DECAY / fastest)
        length = float(ladder_step(length))
        end = next_end(self.time, length, [target])
        return (length if end == self.time + length else end - self.time), end

    def _attempt(self, step: float, end: float) -> Verdict | None:
        """None to go on."""
        spill = self.basis.attempt(self._work, self.state, self._table(step), step)
        self.evaluations += STAGES
        sizes = self.basis.sizes(self._work.stage)
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

    def _error(self, sizes: Float) -> float:
        """Of the step, relative to what is allowed: of the largest value, of the mean square, and of every degree that
        can grow."""
        found = [self._error_size(self.basis.sizes(error), sizes) for error in self._work.errors]
        return combined_error(found) / self.limits.error

    def _error_size(self, errors: Float, sizes: Float) -> float:
        peaks, watched = self.basis.peaks, self._watched
        relative = float((errors[watched] / (sizes[watched] + self.limits.floor * peaks[watched])).max(initial=0))
        return max(float(errors @ peaks) / float(sizes @ peaks), float(np.linalg.norm(errors)), relative)

    def _accept(self, end: float) -> None:
        self.state[:] = self._work.stage
        self._work.start[:] = self._work.slope
        self.time = end
        self.steps, self.since_change = self.steps + 1, self.since_change + 1

    # -- degrees
    # -------------------------------------------------------------------------------------------------------------

    def _tail(self, sizes: Float, degree: int) -> float:
        """The largest of the last degrees up to that one and of all beyond, relative to the rest: clusters side by side
        leave gaps in the spectrum."""
        weighed = sizes * self.basis.peaks
        first = degree + 1 - max(2, min(degree // 8, self._fastest + 2))
        return float(weighed[first:].max() / weighed[:first].sum())

    def _must_change(self, sizes: Float, spill: float) -> Verdict | None:
        """None when degrees and rings hold the attempted state; otherwise what it comes to, after a change."""
        degree = self.basis.degree
        tail = self._tail(sizes, degree)
        before, self.last_tail = self.last_tail, tail
        if tail > self.limits.truncation and degree < self.most:
            self.change(degrees_for(degree + degree // 8 + 1, self.most))
            return Verdict.UNDER_WAY
        if tail > self.limits.lost and tail >= before:  # rough data under noise start above the limit and sink
            return Verdict.RESOLUTION_LOST
        if self._too_coarse(spill):
            self.change(degree, min(_WIDEST_GRID * degree, max(self.basis.bandwidth + degree, 1)))
            return Verdict.UNDER_WAY
        return None

    def _too_coarse(self, spill: float) -> bool:
        """Whether rings are too few for the flux: by its orders, and now and then by its degrees."""
        if self.convolution.normaliser is None or self.basis.bandwidth >= _WIDEST_GRID * self.basis.degree:
            return False
        if spill > self.limits.truncation:
            return True
        return self.steps % _TO_TEST_GRID == 0 and self._last_degrees() > self.limits.truncation

    def _last_degrees(self) -> float:
        """Of the flux, the last eighth of the degrees that the rings tell apart, relative to its bound."""
        finer = self.basis.refined()
        work = finer.work(self.convolution, min(self.reach, self.basis.degree), np.ones((2, finer.orders.size)))
        finer.attempt(work, self.basis.carried(self._work.stage, finer), np.zeros((3, STAGES, 0)), 0.0)
        sizes = finer.sizes(work.start)[finer.degree - finer.degree // 8 :]
        return float(sizes.max() / (finer.degree * self.convolution.bound))

    def _drop(self, sizes: Float) -> None:
        """Fewer degrees, where the last eighth is far below what matters, not too soon after the last change."""
        fewer = degrees_for(max(self.basis.degree - self.basis.degree // 8, self.external_degree), self.most)
        if self.since_change < _STEPS_BETWEEN_CHANGES or fewer >= self.basis.degree:
            return
        self.since_change = 0
        if self._tail(sizes, fewer) <= 0.1 * self.limits.truncation:
            self.change(fewer)

    def change(self, degree: int, bandwidth: int | None = None) -> None:
        """To another degree, and rings for velocities of that bandwidth."""
        if bandwidth is None:
            share = self.basis.bandwidth / max(self.basis.degree, 1)
            bandwidth = self.bandwidth if self.convolution.normaliser is None else math.ceil(share * degree)
        basis = SphereBasis(degree, bandwidth, self.symmetry.period)
        self.lay(basis, self.basis.carried(self.state, basis))
        self.since_change = 0

    # -- resume
    # --------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        counts = [self.steps, self.rejected, self.evaluations, self.since_change]
        return {
            "harmonics": self.state.copy(),
            "numbers": np.array([self.time, self.last_tail]),
            "controller": self._controller.numbers,
            "counts": np.array(counts, dtype=np.int64),
            "degrees": np.array([self.basis.degree, self.basis.bandwidth], dtype=np.int64),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.time, self.last_tail = (float(number) for number in arrays["numbers"])
        self.steps, self.rejected, self.evaluations, self.since_change = (int(n) for n in arrays["counts"])
        self._controller.restore(arrays["controller"])
        degree, bandwidth = (int(number) for number in arrays["degrees"])
        basis, state = SphereBasis(degree, bandwidth, self.symmetry.period), np.array(arrays["harmonics"])
        if state.shape != (2, basis.orders.size):
            raise ValueError(f"coefficients {state.shape} are not those of degree {degree}")
        self.lay(basis, state)
