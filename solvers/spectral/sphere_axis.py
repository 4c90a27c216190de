"""Steps about an axis in R^d: one profile in zonal harmonics, on the compiled loop of the circle."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from mfpde.attention import Convolution
from mfpde.contracts import State
from mfpde.geometry import Harmonics
from mfpde.solvers.kernels import circle as loop
from mfpde.solvers.kernels.circle_work import Work
from mfpde.solvers.spectral.axis_room import axis_room
from mfpde.solvers.spectral.degree_limits import SLOW_SHARE, Limits
from mfpde.solvers.spectral.sphere_basis import Basis
from mfpde.solvers.spectral.sphere_stepping import Stepping
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.solvers.stepping.controller import Controller
from mfpde.typing import AnyArray, Float

__all__ = ["COEFFICIENT_ROUNDING", "AxisBasis", "AxisStepping"]

_TABLES = 12  # step sizes whose exponentials are kept
_TABLE_NUMBERS = 2**24  # of all these tables
COEFFICIENT_ROUNDING = 32 * float(np.finfo(float).eps)  # of the largest one: what a step leaves of every other
_SPARE = 12  # coefficients beyond the last that sums read
_STATES = {
    loop.REACHED: State.REACHED,
    loop.RESOLUTION_LOST: State.RESOLUTION_LOST,
    loop.STEP_VANISHED: State.NOT_FINITE,
}


class AxisBasis(Basis):
    """About an axis in R^d, `dimension` d: coefficients by degree."""

    def __init__(self, degree: int, bandwidth: int, dimension: int) -> None:
        super().__init__(degree, bandwidth)
        self.dimension = dimension

    @cached_property
    def degrees(self) -> AnyArray:
        return np.arange(self.degree + 1)

    @property
    def width(self) -> int:
        return self.degree + 1

    @cached_property
    def multiplicities(self) -> Float:
        return Harmonics(self.dimension).multiplicities(self.degree)

    @cached_property
    def copies(self) -> Float:
        return np.ones(self.degree + 1)

    @cached_property
    def peaks(self) -> Float:
        """Where Gauss nodes begin: in many dimensions the poles are far from them, and functions far larger there than
        anywhere else."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = Harmonics(self.dimension).zonal(np.array([self._first_cosine()]), self.degree)[:, 0]
            return np.maximum(np.abs(values) * np.sqrt(self.multiplicities), 1.0)

    def _first_cosine(self) -> float:
        """The node nearest to a pole of as many as there are degrees: the largest eigenvalue of the multiplication by
        the cosine."""
        from scipy.linalg import eigvalsh_tridiagonal

        count = self.degree + 1
        lifts = axis_room(self.dimension, count, 1, 0).lifts[1:count]
        return float(eigvalsh_tridiagonal(np.zeros(count), lifts, select="i", select_range=(count - 1, count - 1))[0])

    def sizes(self, values: Float) -> Float:
        return np.abs(values[0, : self.degree + 1])

    def carried(self, values: Float, other: Basis) -> Float:
        found = np.zeros((2, other.width))
        length = min(self.width, other.width)
        found[:, :length] = values[:, :length]
        return found

    @property
    def cost(self) -> float:
        return 0.3 + (1.5e-3 * (self.degree + self.bandwidth) if self.bandwidth else 2e-2) * self.degree


class AxisStepping(Stepping):
    """The state, and the arrays the compiled loop works on."""

    basis: AxisBasis

    def __init__(
        self, basis: AxisBasis, convolution: Convolution, diffusion: float, limits: Limits, most: int, even: bool
    ) -> None:
        super().__init__(basis, convolution, diffusion, limits, most)
        self.even = even
        self._numbers, self._counts = np.zeros(7), np.zeros(8, dtype=np.int64)
        self._numbers[loop.LAST_TAIL] = math.inf
        self._limits = np.array([*limits[:3], convolution.bound, *limits[3:]])
        self._choices = np.zeros(6, dtype=np.int64)
        self._choices[loop.MOST_MODES], self._choices[loop.ABOUT_AXIS] = most + 1, 1
        self._choices[loop.EVEN], self._choices[loop.PERIOD] = 1, 2 if even else 1
        self._choices[loop.WINDOW] = self._fastest + 2

    # -- the equation on a basis
    # ---------------------------------------------------------------------------------------------------------

    def lay(self, basis: Basis, state: Float) -> None:
        assert isinstance(basis, AxisBasis)  # noqa: S101 - of this space
        self.basis, self.state = basis, state
        modes, offset, reach = basis.width, self.reach + _SPARE, self.reach
        normaliser, degree = self.convolution.normaliser, basis.degrees.astype(float)
        self.rates = self.diffusion * degree * (degree + basis.dimension - 2)
        tables = max(2, min(_TABLES, _TABLE_NUMBERS // (3 * STAGES * modes)))
        room = axis_room(basis.dimension, modes, reach, basis.bandwidth if normaliser is not None else 0)
        growing = np.flatnonzero(self._uniform_growth() > SLOW_SHARE * self.rates)
        self._work = Work(
            padded=np.zeros((2, modes + 2 * offset)),
            offset=offset,
            potential=self.convolution.potential[None, : reach + 1].copy(),
            normaliser=np.zeros(0) if normaliser is None else normaliser[: reach + 1].copy(),
            external=np.zeros((2, 0)),
            drift=np.zeros((2, 1)),
            density=np.zeros((2, 1)),
            speed=np.zeros((2, 1)),
            scratch=np.zeros((2, 1)),
            roots=np.zeros((2, 1)),
            start=np.zeros((2, modes)),
            slope=np.zeros((2, modes)),
            scaled=np.zeros((STAGES + 1, 2, modes)),
            errors=np.zeros((2, 2, modes)),
            tables=np.zeros((tables, 3, STAGES, modes)),
            table_steps=np.zeros(tables),
            table_modes=np.zeros(tables, dtype=np.int64),
            rates=self.rates,
            watched=int(growing.max(initial=0)) + 1,
            error_sizes=np.zeros(modes),
            state_sizes=np.zeros(modes),
            pulls=self._pulls()[: reach + 1],
            peaks=0.5 * basis.peaks,
            copies=1.0,
            rounding=COEFFICIENT_ROUNDING,
            points=4 * room.rings.cosines.size,
            axis=room,
        )
        self._counts[loop.MODES] = modes
        self.restart()

    def restart(self) -> None:
        evaluations = self._counts[loop.EVALUATIONS]
        loop.restart_slope(self.state, self._work, self._numbers, self._counts, self._limits, self._choices)
        self._counts[loop.EVALUATIONS] = evaluations

    def slope(self) -> Float:
        return np.asarray(self._work.start - self.rates * self.state)

    # -- steps
    # ---------------------------------------------------------------------------------------------------------------

    def advance(self, target: float, attempts: int) -> State:
        status = loop.advance(
            self.state, self._work, self._numbers, self._counts, self._limits, self._choices, target, attempts
        )
        if status == loop.MODES_CHANGED:
            degree = int(self._counts[loop.MODES]) - 1
            self._change(degree, math.ceil(self.basis.bandwidth / max(self.basis.degree, 1) * degree))
        elif status == loop.GRID_TOO_COARSE:
            self._change(self.basis.degree, 2 * self.basis.bandwidth)
        return _STATES.get(status, State.UNDER_WAY)

    def _change(self, degree: int, bandwidth: int) -> None:
        """To another degree, and rings for velocities of that bandwidth."""
        basis = AxisBasis(degree, bandwidth, self.basis.dimension)
        self.lay(basis, self.basis.carried(self.state, basis))

    # -- numbers of the loop
    # -------------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        return float(self._numbers[loop.TIME])

    @time.setter
    def time(self, time: float) -> None:
        self._numbers[loop.TIME] = time

    @property
    def step(self) -> float:
        return float(self._numbers[loop.LENGTH])

    @step.setter
    def step(self, length: float) -> None:
        self._numbers[: loop.CONTROLLER] = Controller(length).numbers

    @property
    def steps(self) -> int:
        return int(self._counts[loop.STEPS])

    @property
    def rejected(self) -> int:
        return int(self._counts[loop.REJECTED])

    @property
    def evaluations(self) -> int:
        return int(self._counts[loop.EVALUATIONS])

    # -- resume
    # --------------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, AnyArray]:
        return {
            "harmonics": self.state.copy(),
            "numbers": self._numbers[loop.CONTROLLER : loop.SPILL].copy(),
            "controller": self._numbers[: loop.CONTROLLER].copy(),
            "counts": self._counts[: loop.SLOT].copy(),
            "degrees": np.array([self.basis.degree, self.basis.bandwidth], dtype=np.int64),
        }

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self._numbers[: loop.SPILL] = np.concatenate([arrays["controller"], arrays["numbers"]])
        self._counts[: loop.SLOT] = arrays["counts"]
        degree, bandwidth = (int(number) for number in arrays["degrees"])
        self.lay(AxisBasis(degree, bandwidth, self.basis.dimension), np.array(arrays["harmonics"]))
