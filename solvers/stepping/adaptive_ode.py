"""Adaptive steps of an ordinary differential equation whose sequence does not depend on when somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from mfpde.errors import ProblemError
from mfpde.solvers.steppers.dop853 import REACH, Dop853, Slope, Step
from mfpde.solvers.steppers.radau9 import Radau9, slope_matrix
from mfpde.solvers.steppers.radau9 import Step as ImplicitStep
from mfpde.typing import AnyArray, Float

__all__ = ["Attempt", "March", "Size", "before"]

#: relative size of an error of a state
Size = Callable[[Float], float]

_MOST_GROWTH, _MOST_SHRINKING, _CAUTION = 5.0, 0.2, 0.9
_PATIENCE = 15  # steps that stability has limited before the implicit scheme takes over, as in Hairer's programs
_FORGIVEN = 6  # steps in a row that it has not, after which the count starts again
_ACCURATE = 20.0  # h |lambda| that accuracy alone would let pass, for a tolerance of 1 (the power 1/8 of it for others)
_LEAST_REACH = 0.15  # of the stability region: what follows a fast motion is hard to follow well before that
_NUDGE = 1e-6  # by which a state is moved for derivatives; errors of some 1e-10 of them are no matter
_NEWTON = 0.01  # of the tolerance
_DENSE_OUTPUT = 100.0  # tolerances of Newton inside an accepted implicit step: loose, so that output cannot fail there
_SHORTEST = 2.0**-50  # of the time; one unit in the last place is 2^-52


class Attempt(Enum):
    """What became of a step."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    VANISHED = "the step size has shrunk to nothing"


def before(slope: Slope, end: float) -> Slope:
    """f with the coefficients that hold until `end`: at a jump the earlier ones end a step."""
    last = float(np.nextafter(end, -np.inf))
    return lambda time, state: slope(min(time, last), state)


class March:
    """`u' = f(t, u)` by `dop853`; by `radau9` where that is `stiff` and may be solved implicitly.

    `sizes(state)` measures errors of a state relative to it; a step's stays below `tolerance`. Steps end at `breaks`,
    where f may jump: f is asked for times before the next one only. A look at any time inside the last step leaves the
    steps as they are. A `lasting` error is measured by what it does in another step like this one, too. `begin`, when
    given, is called before every step, and a step then takes nothing from the one before it: it depends on its ends
    alone, and whoever has these looks into it.
    """

    def __init__(
        self,
        slope: Slope,
        sizes: Callable[[Float], Size],
        state: Float,
        tolerance: float,
        first_step: float,
        breaks: Sequence[float] = (),
        implicit: bool = False,
        begin: Callable[[], None] | None = None,
        lasting: bool = False,
    ) -> None:
        self._given, self._sizes, self._tolerance, self._implicit = slope, sizes, tolerance, implicit
        self._begin, self._lasting = begin, lasting
        self._breaks = [float(time) for time in breaks if time > 0]
        self.time = self.start_time = 0.0
        self.state = self.start = state
        self._step = first_step
        self._last_step = self._last_error = 0.0
        self._rejected_before = False
        self._stiff = self._last_implicit = False
        self._limited = self._free = 0
        self.counts = {"steps": 0, "rejected": 0, "evaluations": 0}
        self.trouble = ""  # what was wrong with the last one tried, where f meant nothing
        self.last: Step | None = None  # the last one tried, when it was explicit
        self._first: Float | None = None

    @property
    def stiff(self) -> bool:
        """Whether steps are implicit at present."""
        return self._stiff

    @property
    def place(self) -> Any:
        """Where the solution stands, as whoever asks for its growth wants it."""
        return self.state

    @property
    def step(self) -> float:
        """The length that the next step is to have."""
        return self._step

    def attempt(self) -> Attempt:
        """Try one step from `time`; afterwards `start_time`, `start` are where the last accepted one began."""
        step, end = self._planned()
        if not step > _SHORTEST * self.time:
            return Attempt.VANISHED
        self.trouble = ""
        with np.errstate(all="ignore"):
            try:
                error, state, slope = self._tried(step)
            except (ProblemError, np.linalg.LinAlgError, OverflowError) as trouble:  # f means nothing there
                self.trouble = str(trouble)
                error = np.nan
        factor = self._factor(step, error)
        if not error <= 1:
            self.counts["rejected"] += 1
            self._step, self._rejected_before = step * min(factor, 1.0), True
            return Attempt.REJECTED if self._planned()[0] > _SHORTEST * self.time else Attempt.VANISHED
        self.counts["steps"] += 1
        proposed = step * (min(factor, 1.0) if self._rejected_before else factor)
        cut = step < 0.99 * self._step  # a break came first
        self._step = max(proposed, self._step) if cut else proposed
        self._last_step, self._last_error = step, max(error, 1e-4)
        self._rejected_before, self._last_implicit = False, slope is None
        self.start_time, self.start = self.time, self.state
        self.time, self.state, self._first = end, state, slope
        if self._begin is not None:
            self._first = None
        if end in self._breaks:
            self._first, self._last_step = None, 0.0
            self._stiff, self._limited, self._free = False, 0, 0
        return Attempt.ACCEPTED

    def _factor(self, step: float, error: float) -> float:
        """From this step to the next: what the error asks for, less where errors have been growing (Gustafsson's
        predictive control, of which the smaller wish counts [hairer1996])."""
        if not np.isfinite(error):
            return _MOST_SHRINKING
        if error == 0:
            return _MOST_GROWTH
        power = 1 / (6 if self._stiff else 8)
        wished = _CAUTION * error**-power
        if self._last_step > 0 and error <= 1:
            wished = min(wished, wished * step / self._last_step * (self._last_error / error) ** power)
        return float(min(max(wished, _MOST_SHRINKING), _MOST_GROWTH))

    def look(self, time: float) -> Float:
        """The state at a time inside the last accepted step, by a step of its own."""
        if time == self.time:
            return self.state
        if time == self.start_time:
            return self.start
        slope = self._slope_after(self.start_time)
        with np.errstate(all="ignore"):
            if self._last_implicit:
                return self._implicitly(slope, self.start_time, self.start, time - self.start_time, _DENSE_OUTPUT).end
            return Dop853.step(slope, self.start_time, self.start, time - self.start_time).end

    def replace(self, state: Float) -> None:
        """Go on from another form of the same state."""
        self.state, self._first = state, None

    def arrays(self) -> dict[str, AnyArray]:
        """Everything that `restore` needs to go on bit for bit."""
        switches = [self._rejected_before, self._stiff, self._last_implicit, self._limited, self._free]
        kept = {
            "march_state": self.state.copy(),
            "march_times": np.array([self.start_time, self.time, self._step, self._last_step, self._last_error]),
            "march_switches": np.array(switches, dtype=np.int64),
            "march_counts": np.array(list(self.counts.values())),
        }
        if self._begin is not None:  # steps take nothing from the one before, and looks are others' business
            return kept
        slope = np.zeros(0) if self._first is None else self._first.copy()
        return {**kept, "march_start": self.start.copy(), "march_slope": slope}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.state = self.start = arrays["march_state"].copy()
        numbers = (float(number) for number in arrays["march_times"])
        self.start_time, self.time, self._step, self._last_step, self._last_error = numbers
        *flags, self._limited, self._free = (int(number) for number in arrays["march_switches"])
        self._rejected_before, self._stiff, self._last_implicit = (bool(flag) for flag in flags)
        self.counts = dict(zip(self.counts, (int(count) for count in arrays["march_counts"]), strict=True))
        if self._begin is None:
            self.start = arrays["march_start"].copy()
            self._first = arrays["march_slope"].copy() if arrays["march_slope"].size else None

    # -- one step
    # ---------------------------------------------------------------------------------------------------------

    def _planned(self) -> tuple[float, float]:
        """Length and end of the next step: a break is hit, and not with a tiny last step."""
        end = self.time + self._step
        following = self._break_after(self.time)
        if end >= following or self.time + 1.01 * self._step >= following:
            end = following
        elif self.time + 2 * self._step > following:
            end = self.time + 0.5 * (following - self.time)
        return end - self.time, end

    def _break_after(self, time: float) -> float:
        return next((each for each in self._breaks if each > time), np.inf)

    def _slope_after(self, time: float) -> Slope:
        slope = before(self._given, self._break_after(time))

        def counted(when: float, state: Float) -> Float:
            self.counts["evaluations"] += 1
            return slope(when, state)

        return counted

    def _tried(self, step: float) -> tuple[float, Float, Float | None]:
        """Error relative to the tolerance, the state and the slope at the end."""
        slope = self._slope_after(self.time)
        if self._begin is not None:
            self._begin()
        if self._stiff:
            tried = self._implicitly(slope, self.time, self.state, step)
            return tried.error(self._sizes(tried.end)) / self._tolerance, tried.end, None
        explicit = Dop853.step(slope, self.time, self.state, step, self._first)
        self._first = explicit.slopes[0] if self._begin is None else None
        self.last = explicit
        size = self._sizes(explicit.end)
        felt = self._felt(slope, explicit, size) if self._lasting else size
        error = explicit.error(felt) / self._tolerance
        if self._implicit and error <= 1:
            self._watch(explicit.stiffness(size))
        return error, explicit.end, explicit.slopes[12]

    def _felt(self, slope: Slope, tried: Step, size: Size) -> Size:
        """Of an error e at the end of a step, with that of `h D_u f e`."""

        def felt(error: Float) -> float:
            largest = float(np.abs(error).max(initial=0.0))
            if not 0 < largest < np.inf:
                return size(error)
            share = _NUDGE / largest
            moved = slope(tried.time + tried.step, tried.end + share * error) - tried.slopes[12]
            return size(error) + size(tried.step * moved / share)

        return felt

    def _implicitly(self, slope: Slope, time: float, state: Float, step: float, bearable: float = 1.0) -> ImplicitStep:
        size, tolerance = self._sizes(state), self._tolerance
        if not self._lasting:
            matrix = slope_matrix(slope, time, state, float(np.abs(state).max(initial=0.0)))
            return Radau9.step(slope, time, state, step, matrix, size, _NEWTON * tolerance, bearable * tolerance)
        units = np.maximum(1.0, np.abs(step * slope(time, state)))  # parts of a state may move by 1e70 and by 1

        def scaled(when: float, place: Float) -> Float:
            return slope(when, units * place) / units

        def length(error: Float) -> float:
            return size(units * error)

        start = state / units
        matrix = slope_matrix(scaled, time, start, 1.0)
        tried = Radau9.step(scaled, time, start, step, matrix, length, _NEWTON * tolerance, bearable * tolerance)
        return ImplicitStep(time, step, state, units * tried.end, units * tried.difference)

    def _watch(self, stiffness: float) -> None:
        accurate = _ACCURATE * self._tolerance**0.125
        if stiffness > min(REACH, max(_LEAST_REACH * REACH, accurate)):
            self._limited, self._free = self._limited + 1, 0
        else:
            self._free += 1
            if self._free >= _FORGIVEN:
                self._limited = 0
        self._stiff = self._limited >= _PATIENCE
