"""Adaptive gif853 steps of coefficients on spheres, with as many degrees as the tolerance asks for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from mfpde.attention import Convolution
from mfpde.contracts import State
from mfpde.solvers.kernels.degree_sizes import LASTING_WEIGHT
from mfpde.solvers.kernels.sphere_slope import HarmonicWork
from mfpde.solvers.spectral.degree_limits import SLOW_SHARE, Limits
from mfpde.solvers.spectral.degree_stepping import STEPS_BETWEEN_TESTS, DegreeStepping
from mfpde.solvers.spectral.sphere_basis import Basis, SphereBasis
from mfpde.solvers.spectral.sphere_data import Symmetry
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.typing import AnyArray, Float

__all__ = ["HarmonicStepping", "Stepping"]

_FIRST_DEGREE = 12  # of a basis that has no state yet


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
    def cost(self) -> float:
        """Microseconds of one attempt."""
        return (STAGES + 1) * self.basis.cost

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
    def advance(self, target: float, attempts: int) -> State:
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


class HarmonicStepping(DegreeStepping, Stepping):
    """On S^2, without an axis. The compiled part is one attempt of a step (`solvers.kernels.sphere_slope`)."""

    basis: SphereBasis
    room: HarmonicWork
    steps = rejected = evaluations = 0

    def __init__(
        self, symmetry: Symmetry, convolution: Convolution, diffusion: float, limits: Limits, most: int
    ) -> None:
        basis = SphereBasis(_FIRST_DEGREE, 0, symmetry.period)
        Stepping.__init__(self, basis, convolution, diffusion, limits, most)
        DegreeStepping.__init__(self)
        self.symmetry, self.state = symmetry, np.zeros((2, basis.width))

    # -- the equation on a basis
    # -----------------------------------------------------------------------------------------------------------------

    @property
    def degree(self) -> int:
        return self.basis.degree

    @property
    def grid_bandwidth(self) -> int:
        return self.basis.bandwidth

    @property
    def least_degree(self) -> int:
        return self.external_degree

    def lay(self, basis: Basis, state: Float) -> None:
        assert isinstance(basis, SphereBasis)  # noqa: S101 - of this space
        self.basis, self.state = basis, state
        kept, external = basis.kept(self.symmetry), self.convolution.external
        potential = None if external is None else basis.packed(np.asarray(external.coefficients.T)) * kept
        self.room = basis.work(self.convolution, self.reach, kept, potential)
        degree = basis.degrees.astype(float)
        self._enter_rates(self.diffusion * degree * (degree + 1.0) * (basis.copies > 0))
        self._watched: AnyArray = self._uniform_growth() > SLOW_SHARE * self._decay()
        self.restart()

    def restart(self) -> None:
        self.basis.attempt(self.room, self.state, np.zeros((3, STAGES, 0)), 0.0)

    def slope(self) -> Float:
        return np.asarray(self.room.start - self.rates * self.state)

    # -- steps
    # -----------------------------------------------------------------------------------------------------------------

    def _try(self, step: float) -> float:
        return self.basis.attempt(self.room, self.state, self._table(step), step)

    def _sizes(self, values: Float) -> Float:
        return self.basis.sizes(values)

    def _error_size(self, errors: Float, sizes: Float) -> float:
        """Of the largest value, of the mean square, and of every degree that can grow or hardly decays: its errors
        last, and count times the steps so far."""
        peaks, watched = self.basis.peaks, self._watched
        level = float(sizes @ peaks)
        excited = level / float(sizes[0] * peaks[0]) - 1.0
        weight = max(1.0, min(float(self.steps), LASTING_WEIGHT / excited)) if excited > 0.0 else 1.0
        margin = weight * self.limits.floor * peaks[watched]
        relative = weight * float((errors[watched] / (sizes[watched] + margin)).max(initial=0))
        return max(float(errors @ peaks) / level, float(np.linalg.norm(errors)), relative)

    # -- degrees
    # -----------------------------------------------------------------------------------------------------------------

    def _tail(self, sizes: Float, degree: int) -> float:
        """Clusters side by side leave gaps in the spectrum: more degrees then count as the last."""
        weighed = sizes * self.basis.peaks
        first = degree + 1 - max(2, min(degree // 8, self._fastest + 2))
        return float(weighed[first:].max() / weighed[:first].sum())

    def _more(self, sizes: Float, tail: float) -> int:
        return self.degree + self.degree // 8 + 1

    def _too_coarse(self, spill: float) -> bool:
        """By the orders of the flux, and now and then by its degrees."""
        if self.convolution.normaliser is None:
            return False
        if spill > self.limits.truncation:
            return True
        return self.steps % STEPS_BETWEEN_TESTS == 0 and self._last_degrees() > self.limits.truncation

    def _last_degrees(self) -> float:
        """Of the flux, the last eighth of the degrees that the rings tell apart, relative to its bound."""
        finer = self.basis.refined()
        work = finer.work(self.convolution, min(self.reach, self.basis.degree), np.ones((2, finer.orders.size)))
        finer.attempt(work, self.basis.carried(self.room.stage, finer), np.zeros((3, STAGES, 0)), 0.0)
        sizes = finer.sizes(work.start)[finer.degree - finer.degree // 8 :]
        return float(sizes.max() / (finer.degree * self.convolution.bound))

    def change(self, degree: int, bandwidth: int | None = None) -> None:
        if bandwidth is None:
            share = self.basis.bandwidth / max(self.basis.degree, 1)
            bandwidth = self.bandwidth if self.convolution.normaliser is None else math.ceil(share * degree)
        basis = SphereBasis(degree, bandwidth, self.symmetry.period)
        self.lay(basis, self.basis.carried(self.state, basis))
        self.since_change = 0

    # -- resume
    # -----------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        return {"harmonics": self.state.copy(), **DegreeStepping.arrays(self)}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        basis = SphereBasis(*self._restore_numbers(arrays), self.symmetry.period)
        state = np.array(arrays["harmonics"])
        if state.shape != (2, basis.orders.size):
            raise ValueError(f"coefficients {state.shape} are not those of degree {basis.degree}")
        self.lay(basis, state)
