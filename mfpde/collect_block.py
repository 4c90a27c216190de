"""The block `collect` of a problem: what is kept of each point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from mfpde.contracts import Observable
from mfpde.errors import ProblemError
from mfpde.specification import OfFamily, Real, Specification, Whole

__all__ = ["Collected", "StateQuantity", "collect_in_full"]

#: what a stationary state has beside the observables; the first two count the states at a value of the parameter
StateQuantity: TypeAlias = Literal["count", "stable-count", "amplitude", "spectral-gap", "unstable", "parameter"]
_OF_ALL_STATES = ("count", "stable-count")
_BRANCH_NAME = r"^(uniform|modes? \d+( and \d+)?|from .+|disconnected)$"


class Collected(Specification):
    """What is kept of a point. `order-parameter` alone is short for `{observe: order-parameter}`.

    Of a run, the series of an observable, reduced to one value over time: `reduce: mean` is over the last `part` of the
    time, `time-to` the first time at which the series has come to `threshold`, from either side, and NaN where it never
    does; `series` keeps all of it.

    Of a diagram of stationary states (the problem has the block `bifurcation` and no `time`), an observable or a
    quantity `state` of one state: that of a `branch` at the value `at` of the diagram's parameter, or at the first
    `special` point of a kind, whose `parameter` is kept by default. NaN where there is no such state.
    """

    observe: Annotated[Observable, OfFamily("observable")] | None = Field(
        default=None, description="an observable, by name or as a block"
    )
    reduce: Literal["last", "max", "mean", "time-to", "series"] = Field(
        default="last", description="what becomes of its values over time"
    )
    part: Real | None = Field(default=None, gt=0, le=1, description="for `mean`: of the time, at its end; 0.5 is half")
    threshold: Real | None = Field(default=None, description="for `time-to`")
    state: StateQuantity | None = Field(
        default=None, description="of stationary states: a quantity that is no observable, or how many there are"
    )
    branch: Whole | Annotated[str, Field(pattern=_BRANCH_NAME)] | None = Field(
        default=None, description="of stationary states: the branch by name, `uniform` or `mode 1`, or by number"
    )
    at: Real | None = Field(default=None, description="of stationary states: a value of the diagram's parameter")
    side: Literal["upper", "lower", "oblate"] | None = Field(
        default=None, description="which, where several states of the branch are; upper by default"
    )
    special: Literal["branch-point", "fold", "first-order", "tricritical"] | None = Field(
        default=None, description="the first point of this kind on the branch, in place of `at`"
    )
    name: str | None = Field(
        default=None, pattern=r"^[A-Za-z][\w.-]*$", description="what the file calls it; made of the above by default"
    )

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, data: Any) -> Any:
        data = collect_in_full(data)
        if isinstance(data, Mapping) and data.get("special") and not data.get("observe") and not data.get("state"):
            return {**data, "state": "parameter"}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Collected:
        if (self.observe is None) == (self.state is None):
            raise ProblemError.at("", "needs either `observe`, an observable, or `state`, what a stationary state has")
        if self.of_state:
            self._check_state()
        for key, reduction in (("part", "mean"), ("threshold", "time-to")):
            if getattr(self, key) is not None and self.reduce != reduction:
                raise ProblemError.at(key, f"belongs to reduce: {reduction}, and this is {self.reduce}")
        if self.reduce == "time-to" and self.threshold is None:
            raise ProblemError.at("threshold", "is missing: reduce: time-to needs it")
        return self

    def _check_state(self) -> None:
        if self.reduce != "last":
            raise ProblemError.at("reduce", "is of runs: a stationary state has no time")
        if self.of_all_states:
            if self.at is None or self.branch is not None or self.special is not None or self.side is not None:
                raise ProblemError.at("state", f"{self.state} is of all states: it goes with `at`, and with that alone")
            return
        if self.branch is None:
            raise ProblemError.at("branch", "is missing: of which branch is the state?")
        if (self.at is None) == (self.special is None):
            raise ProblemError.at("", "needs either `at`, a value of the diagram's parameter, or `special`, a point")
        if self.side is not None and self.at is None:
            raise ProblemError.at("side", "goes with `at`, not with `special`")

    @property
    def of_state(self) -> bool:
        """Whether it is of stationary states, not of runs."""
        return any(value is not None for value in (self.state, self.branch, self.at, self.side, self.special))

    @property
    def of_all_states(self) -> bool:
        """Whether it counts states."""
        return self.state in _OF_ALL_STATES

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
