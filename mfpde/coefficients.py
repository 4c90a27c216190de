"""Coefficients that depend on time: `{times: [...], values: [...], interpolation: constant or linear}`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator

from mfpde.arguments import number
from mfpde.errors import ProblemError
from mfpde.specification import Matrix, Real, Specification, Vector
from mfpde.typing import AnyArray

__all__ = [
    "SCHEDULE",
    "InTime",
    "MatrixInTime",
    "MatrixSchedule",
    "NumberInTime",
    "NumberSchedule",
    "Schedule",
    "at_time",
    "breaks_of",
]

#: what pydantic calls the choice of a schedule over a constant, in the places of errors
SCHEDULE = "schedule"
Part = TypeVar("Part", bound=Specification)
Plain: TypeAlias = float | tuple[tuple[float, ...], ...]


class Schedule(Specification):
    """Values at `times`, ascending. `constant`: each value holds from its time on, the first one before it as well
    (layers). `linear`: straight lines between them, constant before the first and after the last."""

    times: Vector = Field(min_length=1, description="ascending times")
    interpolation: Literal["constant", "linear"] = Field(
        default="constant", description="constant: each value holds from its time on; linear: straight in between"
    )

    @property
    @abstractmethod
    def entries(self) -> tuple[Plain, ...]:
        """The values, in the order of the times."""

    @model_validator(mode="after")
    def _fits(self) -> Schedule:
        entries = self.entries
        if not np.isfinite(self.times).all() or np.any(np.diff(self.times) <= 0):
            raise ProblemError.at("times", f"must be finite and ascending, not {_shown(self.times)}")
        if len(entries) != len(self.times):
            raise ProblemError.at(
                "values", f"must be one for each time: {len(self.times)} times, {len(entries)} values"
            )
        if self.interpolation == "linear" and len({np.shape(entry) for entry in entries}) > 1:
            shapes = ", ".join(str(np.shape(entry)) for entry in entries)
            raise ProblemError.at("values", f"must all have one shape to lie on straight lines, not {shapes}")
        if self.interpolation == "linear" and len(entries) > 1 and not all(np.isfinite(e).all() for e in entries):
            raise ProblemError.at("values", "must be finite to lie on straight lines")
        return self

    def at(self, time: float) -> Plain:
        """The value at that time."""
        later = int(np.searchsorted(self.times, time, side="right"))
        entries = self.entries
        if self.interpolation == "constant" or later in (0, len(entries)):
            return entries[max(later - 1, 0)]
        start, end = self.times[later - 1], self.times[later]
        share = (time - start) / (end - start)
        mixed = (1 - share) * np.asarray(entries[later - 1]) + share * np.asarray(entries[later])
        return _plain(mixed)

    def breaks(self) -> tuple[float, ...]:
        """Times of the jumps or kinks."""
        return self.times[1:] if self.interpolation == "constant" else self.times if len(self.times) > 1 else ()


class NumberSchedule(Schedule):
    """A number that depends on time.

    >>> NumberSchedule(times=[0, 1], values=[2, 4], interpolation="linear").at(0.25)
    2.5
    """

    values: tuple[Real, ...] = Field(description="one number for each time")

    @property
    def entries(self) -> tuple[Plain, ...]:
        return self.values


class MatrixSchedule(Schedule):
    """A matrix (or a number that stands for that multiple of the identity) that depends on time.

    >>> layers = MatrixSchedule(times=[0, 1], values=[1, [[0, 1], [1, 0]]])
    >>> layers.at(0.5), layers.at(1.0), layers.breaks()
    (1.0, ((0.0, 1.0), (1.0, 0.0)), (1.0,))
    """

    values: tuple[Matrix, ...] = Field(description="one matrix or number for each time")

    @property
    def entries(self) -> tuple[Plain, ...]:
        return self.values


def _plain(value: AnyArray) -> Plain:
    return float(value) if value.ndim == 0 else tuple(tuple(float(entry) for entry in row) for row in value)


def _shown(times: tuple[float, ...]) -> str:
    text = ", ".join(f"{time:g}" for time in times[:6])
    return f"[{text}, ...]" if len(times) > 6 else f"[{text}]"


def _way(value: Any) -> str:
    return SCHEDULE if isinstance(value, Mapping | Schedule) else "constant"


#: a number, or a schedule of numbers
NumberInTime: TypeAlias = Annotated[
    Annotated[Real, Tag("constant")] | Annotated[NumberSchedule, Tag(SCHEDULE)], Discriminator(_way)
]
#: a matrix (or a number for that multiple of the identity), or a schedule of them
MatrixInTime: TypeAlias = Annotated[
    Annotated[Matrix, Tag("constant")] | Annotated[MatrixSchedule, Tag(SCHEDULE)], Discriminator(_way)
]


def at_time(specification: Part, time: float) -> Part:
    """The specification with the values of that time in place of schedules; itself if it holds none."""
    changed = {}
    for name, value in specification:
        then = _value_at(value, time)
        if then is not value:
            changed[name] = then
    return specification.altered(changed) if changed else specification


def _value_at(value: Any, time: float) -> Any:
    if isinstance(value, Schedule):
        return value.at(time)
    if isinstance(value, Specification):
        return at_time(value, time)
    if isinstance(value, tuple) and value and isinstance(value[0], Specification):
        then = tuple(at_time(item, time) for item in value)
        return then if any(new is not old for new, old in zip(then, value, strict=True)) else value
    return value


def breaks_of(specification: Specification) -> tuple[float, ...]:
    """The breaks of all schedules inside, ascending, none twice."""
    found: set[float] = set()
    for _, value in specification:
        inside = value if isinstance(value, tuple) else (value,)
        for item in inside:
            if isinstance(item, Schedule):
                found.update(item.breaks())
            elif isinstance(item, Specification):
                found.update(breaks_of(item))
            else:
                break
    return tuple(sorted(found))


class InTime(Specification):
    """A specification whose coefficients may be schedules."""

    def at(self, time: float) -> Self:
        """The same specification with the coefficients of that time, constant."""
        number("time", time)
        return at_time(self, time)

    def breaks(self) -> tuple[float, ...]:
        """Times at which a coefficient jumps or has a kink, ascending."""
        return breaks_of(self)

    @property
    def constant(self) -> bool:
        """Whether no coefficient depends on time."""
        return at_time(self, 0.0) is self
