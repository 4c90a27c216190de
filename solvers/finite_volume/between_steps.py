"""Solutions at output times within a step: no step has to end there.

Polynomials in time that have the solutions at the ends of some of the last steps, and their rates of change there; of
densities their logarithms, so that tails keep their digits and nothing becomes negative. The error is told by how much
one step fewer changes, which is that of the polynomial of lower degree. Steps are no longer than what this allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.solvers.finite_volume.grid import Grid
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.finite_volume.stepping import change_size
from mfpde.solvers.kernels.between_steps import density_within
from mfpde.solvers.kernels.finite_volume_update import combine
from mfpde.typing import AnyArray, Float

__all__ = ["BetweenSteps", "StepEnd"]

_ENDS_MAX = 6  # of steps, that a polynomial goes through: of degree eleven
_REACH_SHARE = 0.2  # of what is allowed, that the next step is meant to leave: errors may grow from step to step
_REACH_GROWTH, _REACH_DECAY = 4.0, 0.25  # of one step over the one before


@dataclass(frozen=True)
class StepEnd:
    """A solution at the end of a step, and how it changes per unit time."""

    time: float
    solution: Solution
    change: Solution

    @classmethod
    def of(cls, time: float, solution: Solution, rates: Rates) -> StepEnd:
        return cls(time, solution, Solution(-rates.fluxes.leaving, rates.mean.copy(), rates.matrix.copy()))

    @cached_property
    def logarithms(self) -> tuple[Float, Float]:
        """Of the density, and how they change; not finite where there is nothing."""
        with np.errstate(all="ignore"):
            return np.log(self.solution.density), self.change.density / self.solution.density

    def lengthened(self, old: Grid, new: Grid, continued: bool) -> StepEnd:
        """On a longer grid of the same cells, whose tails go on as g does where they are `continued`."""
        more = np.rint(np.stack([old.low - new.low, new.high - old.high], axis=1) / old.widths[:, None]).astype(int)
        density = old.lengthened(self.solution.density, more, new if continued else None)
        change = old.lengthened(self.change.density, more, None)
        return StepEnd(self.time, self.solution._replace(density=density), self.change._replace(density=change))


class BetweenSteps:
    """Remembers where the last steps began."""

    def __init__(self) -> None:
        self._begun: list[StepEnd] = []
        self.reach = 0.0  # length of a step within which solutions are known to what is allowed

    def begin(self, end: StepEnd) -> None:
        """A step begins there."""
        if not self._begun or self._begun[-1].time < end.time:
            self._begun = [*self._begun, end][1 - _ENDS_MAX :]

    def arrive(self, end: StepEnd, allowed: float) -> None:
        """The last step has come there; `allowed` is the error of solutions within the next one."""
        length, self.reach = end.time - self._begun[-1].time, 0.0
        for count, _, error in self._found(end.time - 0.5 * length, end):
            gain = (_REACH_SHARE * allowed / error) ** (1 / (2 * count - 2)) if error > 0.0 else np.inf
            self.reach = max(self.reach, length * min(max(gain, _REACH_DECAY), _REACH_GROWTH))
            if self.reach == _REACH_GROWTH * length:
                break

    def at(self, time: float, end: StepEnd, allowed: float) -> tuple[Solution, float]:
        """The solution at a time within the step that has come there, and an error that it should not exceed: through
        the fewest ends whose error is allowed, or those whose is the smallest."""
        shown, least = end.solution, np.inf
        for _, fine, error in self._found(time, end):
            if error < least:
                shown, least = fine, error
            if error <= allowed:
                break
        return shown, least

    def _found(self, time: float, end: StepEnd) -> Iterator[tuple[int, Solution, float]]:
        """The solution there through more and more ends: how many, and by how much it differs from that through one
        fewer, relative to peaks and frames."""
        ends = [*self._begun, end]
        coarse = _through(ends[-1:], time)
        for count in range(2, len(ends) + 1):
            fine = _through(ends[-count:], time)
            density, mean, matrix = (one - other for one, other in zip(fine, coarse, strict=True))
            yield count, fine, change_size(end.solution, density, mean, matrix, rough=1.0, tolerance=1.0)
            coarse = fine

    def forget(self) -> None:
        """What comes does not go on smoothly."""
        self._begun, self.reach = [], 0.0

    def lengthen(self, old: Grid, new: Grid, continued: bool) -> None:
        """For a grid that has been made longer."""
        self._begun = [each.lengthened(old, new, continued) for each in self._begun]

    def arrays(self) -> dict[str, AnyArray]:
        """What `restore` needs."""
        rows = [np.concatenate([[each.time], *map(np.ravel, (*each.solution, *each.change))]) for each in self._begun]
        return {"reach_of_steps": np.array([self.reach]), "steps_begun": np.array(rows)}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        self.reach = float(arrays["reach_of_steps"][0])
        shapes = 2 * [arrays[name].shape for name in Solution._fields]
        ends = 1 + np.cumsum([math.prod(shape) for shape in shapes])
        self._begun = []
        for row in arrays["steps_begun"]:
            parts = [part.reshape(shape) for part, shape in zip(np.split(row, [1, *ends])[1:], shapes, strict=False)]
            self._begun.append(StepEnd(float(row[0]), Solution(*parts[:3]), Solution(*parts[3:6])))


def _through(ends: Sequence[StepEnd], time: float) -> Solution:
    """Polynomials of least degree through these ends, with their rates of change there."""
    factors = _factors([each.time for each in ends], time)
    solutions, changes = [each.solution for each in ends], [each.change for each in ends]
    density, mean, matrix = (
        _combined(factors, *([each[part] for each in both] for both in (solutions, changes)))
        for part in range(len(Solution._fields))
    )
    with np.errstate(all="ignore"):
        exponents = _combined(factors, *zip(*(each.logarithms for each in ends), strict=True))
    before, after = (each.density.ravel() for each in (solutions[-2:][0], solutions[-1]))
    density_within(exponents.ravel(), before, after, density.ravel())
    density *= (solutions[-1].density.sum(axis=(1, 2)) / density.sum(axis=(1, 2)))[:, None, None]
    return Solution(density, mean, matrix)


def _combined(factors: Sequence[tuple[float, float]], values: Sequence[Float], slopes: Sequence[Float]) -> Float:
    """What a polynomial makes of values, and of their slopes."""
    total = np.zeros_like(values[0])
    for (of_value, of_slope), value, slope in zip(factors, values, slopes, strict=True):
        combine(value.ravel(), of_value, total.ravel())
        combine(slope.ravel(), of_slope, total.ravel())
    return total


def _factors(times: Sequence[float], time: float) -> list[tuple[float, float]]:
    """Of value and slope at each of these times in Hermite's polynomial at that time."""
    found = []
    for here in times:
        others = [each for each in times if each != here]
        basis = math.prod((time - each) / (here - each) for each in others) ** 2
        steepness = 2.0 * sum(1.0 / (here - each) for each in others)
        found.append(((1.0 - (time - here) * steepness) * basis, (time - here) * basis))
    return found
