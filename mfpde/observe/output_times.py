"""When a run is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mfpde.errors import ProblemError

if TYPE_CHECKING:
    from mfpde.problem import Problem, Time

__all__ = ["Event", "events", "following", "time_of"]

_SAME_TIME = 1e-12  # times the end of the run: 3 * 0.1 and 0.3 are one time


@dataclass(frozen=True)
class Event:
    """A time the solution is brought to exactly, to be saved, observed, or both."""

    time: float
    save: bool
    observe: bool


def time_of(problem: Problem) -> Time:
    """The time block of a problem that has to have one."""
    if problem.time is None:
        raise ProblemError.at("", "this needs the block time")
    return problem.time


def events(time: Time) -> list[Event]:
    """Save and observe times merged; series without times of their own go with the snapshots."""
    own = time.observe_times()
    if own is None:
        return [Event(one, save=True, observe=True) for one in time.save_times()]
    saves = set(time.save_times())
    return list(_merged([(one, True) for one in saves] + [(one, False) for one in own], _SAME_TIME * time.until))


def following(schedule: list[Event], start: float) -> list[Event]:
    """Those of a schedule that come after a start. That may be the end of an earlier run, which had its row; where it
    is not one of the times of the schedule, the event that is at the same time is not another one."""
    known = any(event.time == start for event in schedule)
    after = start if known else start + _SAME_TIME * schedule[-1].time
    return [event for event in schedule if event.time > after]


def _merged(times: Iterable[tuple[float, bool]], same: float) -> list[Event]:
    found: list[Event] = []
    for time, save in sorted(times):
        if found and time - found[-1].time <= same:
            last = found[-1]
            found[-1] = Event(time if save else last.time, save or last.save, observe=last.observe or not save)
        else:
            found.append(Event(time, save=save, observe=not save))
    return found
