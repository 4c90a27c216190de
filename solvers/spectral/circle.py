"""A solution on the circle on its way: the equation in modes, and the arrays the compiled loop works on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from mfpde.activity import doing
from mfpde.attention import Convolution
from mfpde.contracts import Accuracy, Integration, Progress, State
from mfpde.errors import ProblemError, ResumeError
from mfpde.geometry import Circle, Layout
from mfpde.measure import CircleDensity, Measure
from mfpde.solvers.amplification import Amplification
from mfpde.solvers.kernels import circle as loop
from mfpde.solvers.kernels.circle_work import Work
from mfpde.solvers.kernels.fast_fourier import roots_of_unity
from mfpde.solvers.spectral.axis_room import no_axis
from mfpde.solvers.spectral.cut_data import NOT_CUT, Cut, cut_of, smooth_from
from mfpde.solvers.spectral.degree_limits import SLOW_SHARE, Limits, width_under
from mfpde.solvers.steppers.gif853 import STAGES
from mfpde.solvers.stepping.controller import Controller
from mfpde.solvers.stepping.steady_state import PUSH, REST_SHARE, Rest
from mfpde.typing import AnyArray, Complex, Float

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.spectral import Spectral

__all__ = ["CircleIntegration", "external_modes"]

_TABLES = 12  # step sizes whose exponentials are kept
_CONVOLUTION_PRODUCTS_MAX = 200_000  # modes times kernel modes, up to which the convolution beats two transforms
_AXIS_POINTS_MIN = 256  # of the angle axis in files: profiles look smooth
_GRID_POINTS_MIN = 64  # shorter transforms cost no less
_LINEAR_AMPLITUDE = 1e-12  # sum of |c_k|, k > 0, below which products of them are lost in their rounding


def external_modes(convolution: Convolution) -> Complex:
    """`U_k`, k >= 0, of an external potential; none where there is none."""
    series = convolution.external
    return np.zeros(0, dtype=complex) if series is None else np.asarray(series.coefficients)


class CircleIntegration(Integration):
    """`dc_k/dt = -D k^2 c_k - i k int e^{-ik theta} v dmu`, with as many modes as the tolerance asks for."""

    def __init__(self, settings: Spectral, equation: Equation) -> None:
        law = equation.law
        found = None if law is None else law.convolution(equation.geometry)
        self._convolution = found or Convolution.none(Circle().harmonics)
        self._external = external_modes(self._convolution)
        self._diffusion = equation.noise.diffusion
        self._settings = settings
        self._cut = NOT_CUT
        limits = Limits.of(settings.tolerance, width_under(self._convolution, self._diffusion))
        self._limits = np.array([*limits[:3], self._convolution.bound, *limits[3:]])
        self._numbers = np.zeros(7)
        self._counts = np.zeros(8, dtype=np.int64)
        self._choices = np.zeros(6, dtype=np.int64)
        self._axis = _AXIS_POINTS_MIN
        self._finer, self._length = 1, _GRID_POINTS_MIN
        self._state = np.zeros((2, 0))
        self._rest = Rest(REST_SHARE * settings.tolerance)
        self._amplification = Amplification(equation.autonomous)

    @classmethod
    def begun(cls, settings: Spectral, task: InitialValueProblem) -> CircleIntegration:
        """At t = 0."""
        made = cls(settings, task.equation)
        initial = task.initial.harmonics(settings.max_modes - 1).coefficients
        made._cut = cut_of(task.initial, initial, made._diffusion, settings.tolerance)
        modes = max(made._modes_for(initial), min(made._external.size, settings.max_modes))
        made._choices = made._make_choices(initial[:modes])
        made._counts[loop.MODES] = modes
        made._make_room(modes)
        made._lengthen_axis()
        made._state[0, :modes], made._state[1, :modes] = initial.real[:modes], initial.imag[:modes]
        made._restart()
        made._numbers[: loop.CONTROLLER] = Controller(made._first_step()).numbers
        made._numbers[loop.LAST_TAIL] = np.inf
        return made._compiled()

    @classmethod
    def resumed(cls, settings: Spectral, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> CircleIntegration:
        """As it was left."""
        made = cls(settings, task.equation)
        made.restore(state)
        return made._compiled()

    def _compiled(self) -> CircleIntegration:
        """Before anybody measures a rate."""
        doing("compiling, or reading, the loop of the circle")
        self._step(self.time, attempts=0)
        return self

    # -- what it is made of
    # ---------------------------------------------------------------------------------------------------------

    def _modes_for(self, initial: Complex) -> int:
        """As many modes as the initial measure needs; more than there may be is possible only if noise smooths it."""
        size = np.abs(initial)
        needed = np.flatnonzero(size > 0.03 * self._limits[loop.TRUNCATION] * size.sum())[-1] + 1
        most = self._settings.max_modes
        if (
            needed > 15 * most // 16
            and size[-most // 8 :].max() > self._limits[loop.LOST] * size.sum()
            and self._diffusion == 0
        ):
            raise ProblemError.at(
                "initial",
                f"has modes beyond solver.max_modes = {most} (edges, point masses or very narrow peaks), and without "
                "noise nothing smooths them; give a finite noise.kappa, a smoother density, or a larger max_modes",
            )
        return min(most, max(8, math.ceil((needed + 4) / 8) * 8))

    def _make_choices(self, initial: Complex) -> AnyArray:
        excited = np.union1d(np.flatnonzero(initial), np.flatnonzero(self._external))
        period = int(np.gcd.reduce(excited)) if excited.size > 1 else self._settings.max_modes + 1
        choices = np.zeros(6, dtype=np.int64)
        choices[loop.MOST_MODES] = self._settings.max_modes
        choices[loop.DIRECT] = _CONVOLUTION_PRODUCTS_MAX if self._convolution.normaliser is None else -1
        choices[loop.EVEN] = int(
            not initial.imag.any() and not self._external.imag.any() and self._convolution.sines is None
        )
        choices[loop.PERIOD] = period
        fastest = int(np.argmax(np.arange(self._convolution.degree + 1) ** 2 * np.abs(self._convolution.multipliers)))
        choices[loop.WINDOW] = max(fastest + 2, period if period < self._settings.max_modes else 0)
        return choices

    def _make_room(self, modes: int) -> None:
        """Arrays for that many modes, and a grid of three times as many points (more if the drift turned out to need
        it)."""
        self._length = max(self._length, self._grid_length(modes))
        if modes > self._state.shape[1] or self._length > self._work.density.shape[1]:
            self._allocate(modes)

    def _grid_length(self, modes: int) -> int:
        """At least, of a grid for that many modes; 0 where products are convolutions of modes."""
        products = modes * min(modes, self._convolution.potential.size)
        if self._convolution.normaliser is None and products <= _CONVOLUTION_PRODUCTS_MAX:
            return 0
        shown = max(modes, self._external.size)
        return max(_GRID_POINTS_MIN, 2 ** math.ceil(math.log2(3 * shown))) * self._finer

    def _allocate(self, modes: int) -> None:
        kept, capacity = self._state, max(64, 2 ** math.ceil(math.log2(modes)))
        self._state = np.zeros((2, capacity))
        self._state[:, : min(kept.shape[1], capacity)] = kept[:, :capacity]
        multipliers, normaliser = self._convolution.multipliers, self._convolution.normaliser
        offset = max(multipliers.size, self._external.size) + 4
        growth = np.zeros(capacity)
        rates = self._convolution.growth_rates()[:capacity]
        growth[: rates.size] = rates
        order = np.arange(capacity)
        grid = (2, self._length)
        self._work = Work(
            padded=np.zeros((2, capacity + 2 * offset)),
            offset=offset,
            potential=np.array([multipliers.real, multipliers.imag]),
            normaliser=np.zeros(0) if normaliser is None else normaliser,
            external=np.array([self._external.real, self._external.imag]),
            drift=np.zeros((2, offset)),
            density=np.zeros(grid),
            speed=np.zeros(grid),
            scratch=np.zeros(grid),
            roots=roots_of_unity(grid[1]),
            start=np.zeros((2, capacity)),
            slope=np.zeros((2, capacity)),
            scaled=np.zeros((STAGES + 1, 2, capacity)),
            errors=np.zeros((2, 2, capacity)),
            tables=np.zeros((_TABLES, 3, STAGES, capacity)),
            table_steps=np.zeros(_TABLES),
            table_modes=np.zeros(_TABLES, dtype=np.int64),
            rates=self._diffusion * order.astype(float) ** 2,
            watched=int(np.flatnonzero(growth > SLOW_SHARE * self._diffusion * order**2).max(initial=0)) + 1,
            error_sizes=np.zeros(capacity),
            state_sizes=np.zeros(capacity),
            pulls=np.arange(1.0 * multipliers.size) * np.abs(multipliers),
            peaks=np.ones(capacity),
            copies=2.0,
            rounding=0.0,
            points=grid[1],
            axis=no_axis(),
        )

    def _first_step(self) -> float:
        """A step over which nothing moves far: the fastest decay, growth and transport there are, times a small
        number."""
        modes = int(self._counts[loop.MODES])
        order = np.arange(min(modes, self._convolution.potential.size))
        weights = (
            self._convolution.multipliers[: order.size]
            * order
            / (1.0 if self._convolution.normaliser is None else self._convolution.normaliser[0])
        )
        speed = float(np.abs(np.abs(weights) * self._state[:, : order.size]).sum())
        speed += float(np.abs(np.arange(self._external.size) * self._external).sum())
        rate = modes * speed + modes**2 * self._diffusion + self._convolution.largest_rate()
        return 0.3 * float(self._settings.tolerance) ** 0.125 / rate if rate > 0 else 1.0

    def _restart(self) -> None:
        loop.restart_slope(self._state, self._work, self._numbers, self._counts, self._limits, self._choices)

    def _step(self, target: float, attempts: int) -> int:
        return loop.advance(
            self._state, self._work, self._numbers, self._counts, self._limits, self._choices, target, attempts
        )

    # -- the contract
    # ---------------------------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        return float(self._numbers[loop.TIME])

    @property
    def layout(self) -> Layout:
        self._lengthen_axis()
        return Circle().layout(self._axis)

    def _lengthen_axis(self) -> None:
        """Until it shows all modes."""
        while self._axis < 2 * self._counts[loop.MODES]:
            self._axis *= 2

    def advance(self, target: float, budget: int) -> Progress:
        steps = int(self._counts[loop.STEPS])
        if steps % loop.STEPS_BETWEEN_LOOKS == 0 and self._rest.due(self.time) and not self._look_for_rest(budget):
            return Progress(State.UNDER_WAY)
        if self._rest.found:
            self._pass_over(target)
        attempts = max(1, int(budget / self._cost()))
        status = self._step(target, attempts)
        if status in (loop.MODES_CHANGED, loop.GRID_TOO_COARSE):
            self._finer *= 2 if status == loop.GRID_TOO_COARSE else 1
            self._make_room(int(self._counts[loop.MODES]))
            self._restart()
        if status == loop.REACHED and not (self._cut.hides_modes and self._still_rough(target)):
            self._amplification.see(self.residual())
            cut = self._cut.message(self._settings.max_modes, self._diffusion, self._settings.tolerance)
            return Progress(State.REACHED, cut)
        if status in (loop.REACHED, loop.RESOLUTION_LOST):
            return Progress(
                State.RESOLUTION_LOST,
                f"the density has become narrower than {self._settings.max_modes} modes can show",
                "stop earlier, add noise (a smaller noise.kappa), or raise solver.max_modes"
                + ("" if self._diffusion else "; solver.kind: characteristics goes on into clusters of any width"),
            )
        if status == loop.STEP_VANISHED:
            return Progress(
                State.NOT_FINITE,
                "the step size has shrunk to nothing",
                "check the size of the coefficients against time.until",
            )
        return Progress(State.UNDER_WAY)

    def _look_for_rest(self, budget: int) -> bool:
        """False when the look takes more than that budget."""
        self._rest.found = self._fades()
        return self._rest.found or self._rest.look(self, budget)

    def _fades(self) -> bool:
        """Whether the density is uniform but for modes so small that each is known to decay, or to stay, by itself."""
        if self._convolution.sines is not None:  # they turn
            return False
        count = int(self._counts[loop.MODES])
        excited = np.abs(self._state[:, 1:count]).sum(axis=0)
        if self._external.size or excited.sum() > _LINEAR_AMPLITUDE:
            return False
        return bool((self._uniform_rates()[1:][excited > 0] <= 0).all())

    def _uniform_rates(self) -> Float:
        """How fast modes of the uniform state grow (physics section 5)."""
        count = int(self._counts[loop.MODES])
        rates, growth = -self._work.rates[:count], self._convolution.growth_rates()[:count]
        rates[: growth.size] += growth
        return rates

    def _pass_over(self, target: float) -> None:
        """To a time without steps: nothing moves, or modes decay that feel nothing of each other."""
        count = int(self._counts[loop.MODES])
        if self._fades():
            decay = np.minimum(self._uniform_rates()[1:], 0.0)  # those that would grow are zero
            self._state[:, 1:count] *= np.exp(decay * (target - self.time))
            self._restart()
        self._numbers[loop.TIME] = target

    def fastest_rate(self) -> float:
        """Of the linear part, and of the uniform state's growth."""
        return float(self._work.rates[int(self._counts[loop.MODES]) - 1]) + self._convolution.largest_rate()

    def pushed(self) -> CircleIntegration:
        """A copy of the density times `1 + PUSH (cos(p theta - a) + cos(2 p theta - b))`, in which symmetries stay."""
        copied = copy(self)
        copied._numbers, copied._counts = self._numbers.copy(), self._counts.copy()
        copied._rest, copied._amplification = Rest(0.0), Amplification(autonomous=False)
        modes, period = self.modes(), max(1, int(self._choices[loop.PERIOD]))
        phases = np.exp(-1j * np.array([0.0, 0.0] if self._choices[loop.EVEN] else [0.7, 2.1]))
        factor = np.zeros(2 * modes.size + 1, dtype=complex)
        for order, phase in zip((period, 2 * period), phases, strict=True):
            if order <= modes.size:
                factor[modes.size + order] = 0.5 * PUSH * phase
                factor[modes.size - order] = 0.5 * PUSH * phase.conjugate()
        factor[modes.size] = 1.0
        both = np.concatenate([modes[:0:-1].conj(), modes])
        middle = 2 * modes.size - 1
        changed = np.convolve(both, factor)[middle : middle + modes.size]
        copied.restore({**self.state(), "modes": np.array([changed.real, changed.imag]) / changed[0].real})
        copied._rest.never()
        return copied

    def distance(self, other: Integration) -> float:
        """`(int |rho - rho'|^2 / int rho^2)^{1/2}`."""
        assert isinstance(other, CircleIntegration)  # noqa: S101 - a copy
        mine, theirs = self.modes(), other.modes()
        length = max(mine.size, theirs.size)
        here, there = (np.pad(modes, (0, length - modes.size)) for modes in (mine, theirs))
        return float(np.linalg.norm(here - there) / np.linalg.norm(here))

    def _still_rough(self, time: float) -> bool:
        """Whether modes of the initial measure beyond the limit can matter at that time: only noise damps them."""
        modes, tolerance = self._settings.max_modes, self._settings.tolerance
        return time > 0 and (self._diffusion == 0 or time < smooth_from(modes, self._diffusion, tolerance))

    def _cost(self) -> float:
        """Microseconds of one attempted step, from the number of operations."""
        modes, reach = int(self._counts[loop.MODES]), self._convolution.potential.size
        length = self._work.density.shape[1]
        work = modes * min(modes, reach) * 3e-4 if self._convolution.normaliser is None else 1.5e-2 * length
        return 13 * (work + 0.3)

    def modes(self) -> Complex:
        """The coefficients c_k, k >= 0."""
        count = int(self._counts[loop.MODES])
        return self._state[0, :count] + 1j * self._state[1, :count]

    def measure(self) -> Measure:
        return CircleDensity.of(self.modes())

    def fields(self) -> dict[str, Float]:
        return {"density": CircleDensity.of(self.modes()).on_grid(self.layout.shape[0])}

    def residual(self) -> float:
        count = int(self._counts[loop.MODES])
        slope = self._work.start[:, :count] - self._work.rates[:count] * self._state[:, :count]
        length = 4 * 2 ** math.ceil(math.log2(count))
        change = np.fft.irfft(slope[0] + 1j * slope[1], length) * length
        return float(np.abs(change).mean())

    def state(self) -> dict[str, AnyArray]:
        count = int(self._counts[loop.MODES])
        return {
            "modes": self._state[:, :count].copy(),
            "controller": self._numbers[: loop.CONTROLLER].copy(),
            "numbers": self._numbers[loop.CONTROLLER : loop.SPILL].copy(),
            "counts": self._counts[: loop.SLOT].copy(),
            "sizes": np.array([self._axis, self._finer, self._length]),
            "choices": self._choices.copy(),
            "cut": np.array(self._cut),
            **self._rest.arrays(),
            **self._amplification.arrays(),
        }

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        self._numbers[: loop.SPILL] = np.concatenate([state["controller"], state["numbers"]])
        self._counts[: loop.SLOT] = state["counts"]
        self._choices[:] = state["choices"]
        hides_modes, error = state["cut"]
        self._cut = Cut(bool(hides_modes), float(error))
        self._axis, self._finer, self._length = (int(size) for size in state["sizes"])
        modes = int(self._counts[loop.MODES])
        if self._length < self._grid_length(modes):
            raise ResumeError(f"the checkpoint has {modes} modes and a grid of {self._length} points, which hold fewer")
        self._allocate(modes)
        self._state[:] = 0.0
        self._state[:, : state["modes"].shape[1]] = state["modes"]
        evaluations = self._counts[loop.EVALUATIONS]
        self._restart()
        self._counts[loop.EVALUATIONS] = evaluations
        self._rest.restore(state)
        self._amplification.restore(state)

    def accuracy(self) -> Accuracy:
        return self._cut.accuracy(self._settings.tolerance, self._amplification)

    def statistics(self) -> dict[str, float]:
        counts = self._counts
        return {
            "modes": float(counts[loop.MODES]),
            "steps": float(counts[loop.STEPS]),
            "rejected": float(counts[loop.REJECTED]),
            "evaluations": float(counts[loop.EVALUATIONS]),
            "step": float(self._numbers[loop.LENGTH]),
        }
