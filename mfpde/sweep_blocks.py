"""The blocks `sweep` and `collect` of a problem: which keys take which values, and what is kept of each point."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from mfpde.contracts import Observable
from mfpde.errors import Fault, ProblemError, nearest, shown
from mfpde.specification import OfFamily, Real, Specification, Whole

__all__ = ["AXIS_VALUES_MAX", "AxisValues", "Collected", "Refinement", "SweepBlock", "collect_in_full"]

AXIS_VALUES_MAX = 10_000_000  # of a range: a file with a row for each has gigabytes
_RANGE_KEYS = ("from", "to", "count", "scale")
_SCALES = ("linear", "log")
_LEVELS_MAX = 8  # of refinement: each doubles the number of values of an axis


def _axis_values(given: Any) -> Any:
    """A list of values as a tuple, a range as the mapping it is; `ProblemError` for anything else."""
    given = _plain(given)
    if isinstance(given, dict):
        return _range(given)
    if not isinstance(given, list | tuple):
        raise _wrong(f"must be a list of values or a range {{from: 0, to: 1, count: 11}}, not {shown(given)}")
    if not given:
        raise _wrong("must have at least one value")
    counted = Counter(value if isinstance(value, int | float | str) else repr(value) for value in given)
    twice = [value for value, count in counted.items() if count > 1]
    if twice:
        raise _wrong(f"holds {shown(twice[0])} twice")
    return tuple(given)


def _plain(value: Any) -> Any:
    """Without numpy, and 2.0 as 2: equal sweeps have one text."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _range(given: Mapping[Any, Any]) -> dict[str, Any]:
    for key in given:
        if key not in _RANGE_KEYS:
            near = nearest(str(key), _RANGE_KEYS)
            raise _wrong(f"unknown key {shown(key)}{near}; a range has {', '.join(_RANGE_KEYS)}")
    found = {"scale": "linear", **given}
    for key in ("from", "to", "count"):
        if key not in found:
            raise _wrong(f"has no {key}")
        value = found[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise _wrong(f"{key} must be a finite number, not {shown(value)}")
    count = found["count"]
    if count != int(count) or not 2 <= count <= AXIS_VALUES_MAX:
        raise _wrong(f"count must be a whole number from 2 to {AXIS_VALUES_MAX:,}, not {shown(count)}")
    if found["scale"] not in _SCALES:
        raise _wrong(f"scale must be linear or log, not {shown(found['scale'])}")
    if found["from"] == found["to"]:
        raise _wrong(f"from and to are both {shown(found['from'])}")
    if found["scale"] == "log" and not found["from"] * found["to"] > 0:
        raise _wrong("from and to of a range with scale: log must be of one sign, and not 0")
    return {**{key: found[key] for key in _RANGE_KEYS}, "count": int(count)}


def _wrong(message: str) -> ProblemError:
    return ProblemError([Fault((), message)])


_VALUES_SCHEMA = {
    "anyOf": [
        {"type": "array", "minItems": 1},
        {
            "type": "object",
            "description": "Values from one end to the other, both included.",
            "properties": {
                "from": {"type": "number"},
                "to": {"type": "number"},
                "count": {"type": "integer", "minimum": 2},
                "scale": {"enum": list(_SCALES), "default": "linear"},
            },
            "required": ["from", "to", "count"],
            "additionalProperties": False,
        },
    ]
}
#: what a swept key takes: a list of values, or `{from, to, count}` with `scale: log` where their ratios are to be equal
AxisValues: TypeAlias = Annotated[Any, BeforeValidator(_axis_values), WithJsonSchema(_VALUES_SCHEMA)]


class Refinement(Specification):
    """Cells of the grid are halved where the collected value changes from corner to corner by more than `change`, as a
    share of its range over the coarse grid, `levels` times over: a sharp boundary for the cost of a coarse grid."""

    where: str = Field(min_length=1, description="the collected value, by its name")
    levels: Whole = Field(default=3, ge=1, le=_LEVELS_MAX, description="how often a cell is halved")
    change: Real = Field(default=0.1, gt=0, lt=1, description="share of the value's range that makes a cell worth it")


class SweepBlock(Specification):
    """Any key of the file with its values, `noise.kappa: [0.5, 1, 2]` or `attention.beta: {from: 0, to: 10, count: 40}`
    (`scale: log` for equal ratios): every combination of them is a point. Seeds and whole blocks are values like any
    other.

    Keys under `zip` move together: their values are aligned. `zip` is a block of such keys, or a list of blocks.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, AxisValues] = Field(init=False)

    zip: tuple[dict[str, AxisValues], ...] = Field(default=(), description="blocks of keys that move together")
    keep: Literal["runs"] | None = Field(
        default=None, description="`runs`: the full run of every point, in the folder SWEEP.runs"
    )
    timeout: Real | None = Field(default=None, gt=0, description="seconds after which a point is given up")
    refine: Refinement | None = Field(default=None, description="halve cells where a collected value changes")

    @model_validator(mode="before")
    @classmethod
    def _one_group(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("zip"), Mapping):
            return {**data, "zip": [data["zip"]]}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> SweepBlock:
        groups = [(("zip", place), group) for place, group in enumerate(self.zip)]
        seen: list[str] = []
        for where, group in [((), self.axes), *groups]:
            for key in group:
                if key in seen:
                    raise ProblemError([Fault((*where, key), f"the key {key!r} is swept twice")])
                if key.split(".")[0] in ("sweep", "collect", "base"):
                    raise ProblemError([Fault((*where, key), "cannot be swept: it says what a sweep is")])
                seen.append(key)
        if not seen:
            raise ProblemError.at("", "names no key; write for instance noise.kappa: [0.5, 1, 2]")
        for where, group in groups:
            sizes = {key: values["count"] if isinstance(values, dict) else len(values) for key, values in group.items()}
            if len(set(sizes.values())) > 1:
                told = ", ".join(f"{key} has {size}" for key, size in sizes.items())
                raise ProblemError([Fault(where, f"what moves together must have equally many values: {told}")])
        return self

    @property
    def axes(self) -> dict[str, Any]:
        """Keys on their own, with their values."""
        return dict(self.__pydantic_extra__ or {})

    def written(self, *, given: bool = False) -> dict[str, Any]:
        return {**self.axes, **super().written(given=given)}


class Collected(Specification):
    """What is kept of a point: the series of an observable, reduced to one value over time. `order-parameter` alone is
    short for `{observe: order-parameter}`, its last value.

    `reduce: mean` is over the last `part` of the time, `time-to` the first time at which the series has come to
    `threshold`, from either side, and NaN where it never does; `series` keeps all of it.
    """

    observe: Annotated[Observable, OfFamily("observable")] = Field(description="an observable, by name or as a block")
    reduce: Literal["last", "max", "mean", "time-to", "series"] = Field(
        default="last", description="what becomes of its values over time"
    )
    part: Real | None = Field(default=None, gt=0, le=1, description="for `mean`: of the time, at its end; 0.5 is half")
    threshold: Real | None = Field(default=None, description="for `time-to`")
    name: str | None = Field(
        default=None, pattern=r"^[A-Za-z][\w.-]*$", description="what the file calls it; made of the above by default"
    )

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, data: Any) -> Any:
        return collect_in_full(data)

    @model_validator(mode="after")
    def _consistent(self) -> Collected:
        for key, reduction in (("part", "mean"), ("threshold", "time-to")):
            if getattr(self, key) is not None and self.reduce != reduction:
                raise ProblemError.at(key, f"belongs to reduce: {reduction}, and this is {self.reduce}")
        if self.reduce == "time-to" and self.threshold is None:
            raise ProblemError.at("threshold", "is missing: reduce: time-to needs it")
        return self

    @property
    def mean_part(self) -> float:
        """Of the time, at its end, that a mean is over."""
        return 1.0 if self.part is None else self.part


def collect_in_full(entry: Any) -> Any:
    """`order-parameter` and `{observe: order-parameter}` as `{observe: {kind: order-parameter}}`."""
    entry = {"observe": entry} if isinstance(entry, str) else entry
    if isinstance(entry, Mapping) and isinstance(entry.get("observe"), str):
        return {**entry, "observe": {"kind": entry["observe"]}}
    return entry
