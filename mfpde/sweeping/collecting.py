"""What is kept of a point: variables, each the series of an observable reduced over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.collect_block import Collected
from mfpde.contracts import Series
from mfpde.errors import ProblemError
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.problem import Problem

__all__ = ["OBSERVE_TIME", "Variable", "reduced", "variables_of"]

OBSERVE_TIME = "observe_time"  # the dimension of series that are kept whole, as in the files of runs
#: quantities of stationary states: what files call them, and what they are
_STATE_WORDS = {
    "count": ("states", "number of states"),
    "stable-count": ("stable-states", "number of stable states"),
    "amplitude": ("amplitude", "amplitude"),
    "spectral-gap": ("spectral-gap", "spectral gap"),
    "unstable": ("unstable", "growing directions"),
}


@dataclass(frozen=True)
class Variable:
    """One collected quantity: a series by name and what becomes of it; `extent` are the dimensions of its value."""

    name: str
    series: str
    entry: Collected
    about: Series
    extent: tuple[tuple[str, int], ...] = ()

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Of its value at one point."""
        return tuple(name for name, _ in self.extent)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of its value at one point."""
        return tuple(size for _, size in self.extent)

    @property
    def size(self) -> int:
        """Numbers in its value at one point."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def long_name(self) -> str:
        """What files and figures say of it."""
        said = self.about.long_name
        if self.entry.of_state:
            return said
        match self.entry.reduce:
            case "max":
                return f"largest {said}"
            case "mean" if self.entry.mean_part < 1:
                return f"mean {said} over the last {100 * self.entry.mean_part:g}% of the time"
            case "mean":
                return f"mean {said} over time"
            case "time-to":
                return f"time until {said} is {self.entry.threshold:g}"
        return said


def variables_of(problem: Problem, observe_times: int) -> tuple[Variable, ...]:
    """What the block `collect` comes to; `ProblemError` where two get one name, or a size is not known beforehand."""
    found: dict[str, Variable] = {}
    for place, entry in enumerate(problem.collect):
        known = _series_of(problem, entry)
        names = [name for name, about in known.items() if not about.direction_of]
        for name in names:
            about = known[name]
            if any(size is None for _, size in about.extent):
                raise ProblemError.at(f"collect.{place}", f"{name} has no size that is known beforehand")
            extent = tuple((axis, size) for axis, size in about.extent if size is not None)
            if entry.of_state and extent:
                raise ProblemError.at(f"collect.{place}", f"{name} is more than one number")
            extent = ((OBSERVE_TIME, observe_times), *extent) if entry.reduce == "series" else extent
            called = _name(entry, name, alone=len(names) == 1)
            if called in found:
                raise ProblemError.at(f"collect.{place}", f"{called!r} is collected already; give it a `name`")
            found[called] = Variable(called, name, entry, about, extent)
    return tuple(found.values())


def _series_of(problem: Problem, entry: Collected) -> dict[str, Series]:
    """What it can be, by name: series, or a quantity of stationary states."""
    if not entry.of_state:
        return {} if entry.observe is None else problem.series_of(entry.observe)
    parameter = "the parameter" if problem.bifurcation is None else problem.bifurcation.parameter
    if entry.observe is not None:
        known = problem.series_of(entry.observe)
        return {name: replace(one, long_name=one.long_name + _where(entry, parameter)) for name, one in known.items()}
    if entry.state == "parameter":
        return {entry.special or parameter: Series(f"{parameter}{_where(entry, parameter)}")}
    name, words = _STATE_WORDS[entry.state or "count"]
    return {name: Series(words + _where(entry, parameter))}


def _where(entry: Collected, parameter: str) -> str:
    """Of which states, in words."""
    branch = f"branch {entry.branch}" if isinstance(entry.branch, int) else str(entry.branch)
    on = "" if entry.branch is None else f" of {branch}" if entry.side is None else f" of {branch}, {entry.side}"
    return f"{on}, {entry.special}" if entry.at is None else f"{on}, {parameter} = {entry.at:g}"


def _name(entry: Collected, series: str, *, alone: bool) -> str:
    if entry.name is not None:
        return entry.name if alone else f"{entry.name}-{series}"
    return series if entry.reduce in ("last", "series") else f"{series}-{entry.reduce}"


def reduced(
    variables: Sequence[Variable], series: Mapping[str, Float], times: Float, until: float, observed: Float
) -> Float:
    """The values of all variables, one after another: those of a run whose series have these times; `observed` are
    those at which a run is observed that comes to its end."""
    parts = [np.zeros(0)]
    for variable in variables:
        value = _value(variable, np.asarray(series[variable.series], dtype=float), times, until, observed)
        if value.shape != variable.shape:
            raise ValueError(f"{variable.name} has the shape {value.shape} here and {variable.shape} elsewhere")
        parts.append(value.reshape(-1))
    return np.concatenate(parts)


def _value(variable: Variable, values: Float, times: Float, until: float, observed: Float) -> Float:
    entry = variable.entry
    match entry.reduce:
        case "max":
            return np.asarray(np.max(values, axis=0))
        case "mean":
            return _time_mean(values, times, until * (1 - entry.mean_part))
        case "time-to":
            return _crossing_time(values, times, entry.threshold or 0.0)
        case "series":
            whole = np.full(variable.shape, np.nan)
            known = np.isin(times, observed)  # the last one is when the run ended, and need not be one of them
            whole[np.searchsorted(observed, times[known])] = values[known]
            return whole
    return np.asarray(values[-1])


def _time_mean(values: Float, times: Float, since: float) -> Float:
    """By the trapezoidal rule from the first observation at or after `since`."""
    first = int(np.searchsorted(times, since * (1 - 1e-12)))  # 0.5 of 3 * 0.1 is not 0.15
    inside, when = values[first:], times[first:]
    if len(when) < 2:
        return np.asarray(values[-1])
    return np.asarray(np.trapezoid(inside, when, axis=0) / (when[-1] - when[0]))


def _crossing_time(values: Float, times: Float, threshold: float) -> Float:
    """When a series first comes to the threshold, linear between observations; NaN where it does not."""
    above = values >= threshold
    crossed = (above != above[0]) | (values == threshold)
    first = np.argmax(crossed, axis=0)
    before = np.maximum(first - 1, 0)
    start, end = (np.take_along_axis(values, at[None], axis=0)[0] for at in (before, first))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(end == start, 0.0, (threshold - start) / (end - start))
    found = times[before] + share * (times[first] - times[before])
    return np.asarray(np.where(crossed.any(axis=0), found, np.nan))
