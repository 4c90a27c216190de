"""Adaptive steps of an ordinary differential equation whose sequence does not depend on when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

import numpy as np

from mfpde.contracts import PROMISED
from mfpde.errors import ProblemError
from mfpde.solvers.steppers.base import OrdinarySystem, Size, Step
from mfpde.solvers.steppers.dop853 import Dop853, Dop853Step
from mfpde.solvers.steppers.gragg8 import Gragg8
from mfpde.solvers.steppers.radau9 import Radau9, slope_matrix
from mfpde.solvers.stepping.controller import SHORTEST_STEP, STEP_ROUNDING, Controller, allowed_error, path_share
from mfpde.solvers.stepping.step_ends import next_end
from mfpde.typing import AnyArray, Float

__all__ = ["March", "Until", "Verdict"]

_FIRST_STEP = 0.01  # over which nothing moves farther, in the size of errors
_STIFF_STEPS = 15  # limited by stability, before the implicit scheme takes over, as in Hairer's programs
_FREE_STEPS = 6  # in a row not limited by it, after which the count starts again
_ACCURATE_REACH = (
    20.0  # h |lambda| that accuracy alone lets pass, for a tolerance of 1 (the power 1/8 of it for others)
)
_REACH_SHARE_MIN = 0.15  # of the stability region: what follows a fast motion is hard to follow well before its end
_DIFFERENCE_STEP = 1e-6  # relative change of a state for derivatives; errors of some 1e-10 of them do not matter
_NEWTON_SHARE = 1e-3  # of the tolerance, for Newton's method in a step: no estimate overstates its errors
_NEWTON_BEARABLE = 0.1  # of the tolerance, where rounding keeps corrections from becoming smaller
_DENSE_OUTPUT = 100.0  # times that, inside an accepted implicit step: loose, so that output cannot fail there

_EXPLICIT, _COMPACT = Dop853(), Gragg8()


class Verdict(Enum):
    """What became of a step."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    VANISHED = "the step size has shrunk to nothing"


class Until(OrdinarySystem):
    """A system with the coefficients that hold until `end`: at a jump the earlier ones end a step. Counts evaluations
    of f."""

    def __init__(self, system: OrdinarySystem, end: float, counts: dict[str, int] | None = None) -> None:
        self._system, self._last = system, float(np.nextafter(end, -np.inf))
        self._counts = {"evaluations": 0} if counts is None else counts

    def rhs(self, time: float, state: Float) -> Float:
        self._counts["evaluations"] += 1
        return self._system.rhs(min(time, self._last), state)

    def sizes(self, state: Float) -> Size:
        return self._system.sizes(state)


class _Scaled(OrdinarySystem):
    """A system in units of its own for each part of the state."""

    def __init__(self, system: OrdinarySystem, units: Float, size: Size) -> None:
        self._system, self._units, self._size = system, units, size

    def rhs(self, time: float, state: Float) -> Float:
        return self._system.rhs(time, self._units * state) / self._units

    def sizes(self, state: Float) -> Size:
        return lambda error: self._size(self._units * error)


class March:
    """`u' = f(t, u)` by `dop853`; by `radau9` where that is `stiff` and may be solved implicitly.

    `tolerance` is a tenth of what the march may err by; the estimated error of a step, as the system measures it, stays
    below the stepper's `step_share` of it and in proportion to the step's motion (`allowed_error`). Steps end at the
    system's breaks, where f may jump: f is asked for times before the next one only. A look at any time inside the last
    step leaves the steps as they are. The error of a `lasting` march is measured by what it does in another step like
    this one, too. A march whose steps are `independent` makes the system forget before every step and look, which take
    nothing from those before: a step depends on its ends alone, and whoever has these looks into it. A `compact` march
    is one by `gragg8`, which needs a third of the memory; it is independent, and neither implicit nor lasting.
    """

    def __init__(
        self,
        system: OrdinarySystem,
        tolerance: float,
        first_step: float | None = None,
        *,
        implicit: bool = False,
        independent: bool = False,
        lasting: bool = False,
        compact: bool = False,
    ) -> None:
        self._explicit = _COMPACT if compact else _EXPLICIT
        self._system, self._tolerance = system, tolerance
        self._implicit, self._independent, self._lasting = implicit, independent, lasting
        self._breaks = [float(time) for time in system.breaks if time > 0]
        self.time = self.start_time = 0.0
        self.state = self.start = system.start
        if first_step is None:
            rate = system.rate()
            first_step = _FIRST_STEP / rate if rate > 0 else 1.0
        self._controller = Controller(first_step)
        self.stiff = self._last_implicit = False  # whether steps are implicit, and whether the last one was
        self._limited = self._free = 0
        self.counts = {"steps": 0, "rejected": 0, "evaluations": 0}
        self.trouble = ""  # what was wrong with the last one tried, where f meant nothing
        self.last: Dop853Step | None = None  # the last one tried, when it was explicit
        self._first: Float | None = None

    @property
    def error_max(self) -> float:
        """What the march may err by."""
        return PROMISED * self._tolerance

    @property
    def growth(self) -> float:
        """The rate at which the solution grows."""
        return self._system.growth_rate(self.time, self.state)

    @property
    def step(self) -> float:
        """The length that the next step is to have."""
        return self._controller.length

    def to(self, time: float, most: int) -> Iterator[Verdict]:
        """Attempts on the way to `time`, at most so many, each when it is done; none after one that VANISHED. Steps do
        not end at `time`, but at or beyond it."""
        for _ in range(most):
            if self.time >= time:
                return
            tried = self.attempt()
            yield tried
            if tried is Verdict.VANISHED:
                return

    def attempt(self, stop: float = np.inf) -> Verdict:
        """Try one step from `time`, which does not pass `stop`; afterwards `start_time`, `start` are where the last
        accepted one began."""
        end = next_end(self.time, self.step, [*self._breaks, stop])
        step = end - self.time
        if not step > SHORTEST_STEP * self.time:
            return Verdict.VANISHED
        self.trouble, implicit = "", self.stiff
        error_order = Radau9.error_order if implicit else self._explicit.error_order
        with np.errstate(all="ignore"):
            try:
                error, state, slope = self._tried(step)
            except (ProblemError, np.linalg.LinAlgError, OverflowError) as trouble:  # f means nothing there
                self.trouble = str(trouble)
                error = np.nan
        if not self._controller.judge(step, error, error_order):
            self.counts["rejected"] += 1
            return Verdict.REJECTED if self.step > SHORTEST_STEP * self.time else Verdict.VANISHED
        self.counts["steps"] += 1
        self._last_implicit = implicit
        self.start_time, self.start = self.time, self.state
        self.time, self.state, self._first = end, state, slope
        if self._independent:
            self._first = None
        if end in self._breaks:
            self._first = None
            self._controller.forget()
            self.stiff, self._limited, self._free = False, 0, 0
        return Verdict.ACCEPTED

    def look(self, time: float) -> Float:
        """The state at a time inside the last accepted step, by a step of its own."""
        if time == self.time:
            return self.state
        if time == self.start_time:
            return self.start
        return self._part(time, _DENSE_OUTPUT)

    def _part(self, time: float, bearable: float) -> Float:
        """The last accepted step up to that time, with that many tolerances of Newton's method."""
        system, step = self._from(self.start_time), time - self.start_time
        if self._independent:
            self._system.forget()
        with np.errstate(all="ignore"):
            if self._last_implicit:
                return self._implicitly(system, self.start_time, self.start, step, bearable).end
            return self._explicit.step(system, self.start_time, self.start, step).end

    def leave(self) -> None:
        """Forget where the last step began: nobody looks into it any more."""
        self.start_time, self.start = self.time, self.state

    def repeat(self, start: Float) -> None:
        """Make the last accepted step of an independent march once more, from where it began."""
        counts = dict(self.counts)
        self.start = start
        self.state = self._part(self.time, 1.0)
        self.counts.update(counts)

    def replace(self, state: Float) -> None:
        """Go on from another form of the same state."""
        self.state, self._first = state, None

    def arrays(self) -> dict[str, AnyArray]:
        """Everything that `restore` needs to go on bit for bit."""
        kept = {
            "march_state": self.state.copy(),
            "march_times": np.array([self.start_time, self.time]),
            "march_switches": np.array([self.stiff, self._last_implicit, self._limited, self._free], dtype=np.int64),
            "march_counts": np.array(list(self.counts.values())),
            "controller": self._controller.numbers,
        }
        if self._independent:  # steps take nothing from the one before, and looks are others' business
            return kept
        slope = np.zeros(0) if self._first is None else self._first.copy()
        return {**kept, "march_start": self.start.copy(), "march_slope": slope}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.state = self.start = arrays["march_state"].copy()
        self.start_time, self.time = (float(time) for time in arrays["march_times"])
        *flags, self._limited, self._free = (int(number) for number in arrays["march_switches"])
        self.stiff, self._last_implicit = (bool(flag) for flag in flags)
        self.counts = dict(zip(self.counts, (int(count) for count in arrays["march_counts"]), strict=True))
        self._controller.restore(arrays["controller"])
        if not self._independent:
            self.start = arrays["march_start"].copy()
            self._first = arrays["march_slope"].copy() if arrays["march_slope"].size else None

    # -- one step
    # ---------------------------------------------------------------------------------------------------------

    def _from(self, time: float) -> Until:
        """The system in a step that begins at that time."""
        return Until(self._system, next((each for each in self._breaks if each > time), np.inf), self.counts)

    def _tried(self, step: float) -> tuple[float, Float, Float | None]:
        """Error relative to the tolerance, the state and the slope at the end."""
        system = self._from(self.time)
        if self._independent:
            self._system.forget()
        if self.stiff or isinstance(self._explicit, Gragg8):
            method = self._implicitly if self.stiff else self._explicit.step
            tried = method(system, self.time, self.state, step)
            size = system.sizes(tried.end)
            return tried.error(size) / self._allowed(tried, size, 1.0), tried.end, None
        explicit = self._explicit.step(system, self.time, self.state, step, self._first)
        self._first = None if self._independent else explicit.slopes[0]
        self.last = explicit
        size = system.sizes(explicit.end)
        felt = self._felt(system, explicit, size) if self._lasting else size
        speeds = size(explicit.slopes[0]), size(explicit.slopes[12])
        slowing = speeds[0] / speeds[1] if speeds[1] > 0 else np.inf
        error = explicit.error(felt) / self._allowed(explicit, size, slowing)
        if self._implicit and error <= 1:
            self._watch(explicit.stiffness(size))
        return error, explicit.end, explicit.slopes[12]

    def _allowed(self, tried: Step, size: Size, slowing: float) -> float:
        """The error of a step; a stiff one, or one of an extrapolation, is taken for one that keeps its speed."""
        rounding = STEP_ROUNDING * max(1.0, size(tried.end))
        largest = self._largest_error
        return allowed_error(largest, rounding, size(tried.end - tried.start), path_share(largest, slowing))

    @property
    def _largest_error(self) -> float:
        """Of a step of the present kind."""
        return (Radau9 if self.stiff else self._explicit).step_share * self._tolerance

    def _felt(self, system: Until, tried: Dop853Step, size: Size) -> Size:
        """Of an error e at the end of a step, with that of `h D_u f e`."""

        def felt(error: Float) -> float:
            largest = float(np.abs(error).max(initial=0.0))
            if not 0 < largest < np.inf:
                return size(error)
            share = _DIFFERENCE_STEP / largest
            moved = system.rhs(tried.time + tried.step, tried.end + share * error) - tried.slopes[12]
            return size(error) + size(tried.step * moved / share)

        return felt

    def _implicitly(self, system: Until, time: float, state: Float, step: float, bearable: float = 1.0) -> Step:
        rounded = max(_NEWTON_BEARABLE * self._tolerance, STEP_ROUNDING)
        stepper = Radau9(_NEWTON_SHARE * self._tolerance, bearable * rounded)
        if not self._lasting:
            return stepper.step(system, time, state, step)
        units = np.maximum(1.0, np.abs(step * system.rhs(time, state)))  # parts of a state may move by 1e70 and by 1
        scaled, start = _Scaled(system, units, system.sizes(state)), state / units
        tried = stepper.step(scaled, time, start, step, slope_matrix(scaled, time, start, 1.0))
        return Step(time, step, state, units * tried.end, tuple(units * each for each in tried.differences))

    def _watch(self, stiffness: float) -> None:
        """Count steps that stability has limited."""
        accurate = _ACCURATE_REACH * self._largest_error**0.125
        if stiffness > min(Dop853.reach, max(_REACH_SHARE_MIN * Dop853.reach, accurate)):
            self._limited, self._free = self._limited + 1, 0
        else:
            self._free += 1
            if self._free >= _FREE_STEPS:
                self._limited = 0
        self.stiff = self._limited >= _STIFF_STEPS
