"""The rows of a run that is spread over ranks: rank 0 keeps them, the others hand it their parts."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from mfpde.ranks import Ranks
from mfpde.ranks.base import Calls
from mfpde.store.recorder import Recorder
from mfpde.store.run_tables import Row, RunRows

if TYPE_CHECKING:
    from mfpde.contracts import Integration, Outcome
    from mfpde.problem import Problem
    from mfpde.run import Run

__all__ = ["RecorderOfRanks", "recorded_by_one"]

Kept = TypeVar("Kept")


class RecorderOfRanks:
    """What rank 0 does with its recorder, on all ranks: the times of rows, what fails, and the run at the end are the
    same for all."""

    def __init__(self, ranks: Ranks, recorder: Recorder | None, rows: RunRows) -> None:
        """`recorder` on rank 0 only; `rows` know the times of the last ones, and nothing else elsewhere."""
        self._ranks, self._recorder, self.rows = ranks, recorder, rows
        self.started = perf_counter()

    @property
    def last_time(self) -> float:
        return self._led(lambda recorder: recorder.last_time)

    def add(self, row: Row, integration: Integration) -> None:
        self._led(lambda recorder: recorder.add(row, integration), {"state": integration.state})
        if self._recorder is None:
            self._count(row)

    def _count(self, row: Row) -> None:
        if row.fields is not None:
            self.rows.saved_time = row.time
        if row.values is not None:
            self.rows.observed_time = row.time

    def tick(self, integration: Integration) -> None:
        self._led(lambda recorder: recorder.tick(integration), {"state": integration.state})

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        return self._led(lambda recorder: recorder.finish(outcome, integration), {"state": integration.state})

    def abandon(self) -> None:
        if self._recorder is not None:
            self._recorder.abandon()

    def _led(self, work: Callable[[Recorder], Kept], calls: Calls | None = None) -> Kept:
        def led() -> Kept:
            assert self._recorder is not None  # noqa: S101 - rank 0 has one
            self._recorder.started = self.started
            return work(self._recorder)

        return self._ranks.led(led, calls)


def recorded_by_one(ranks: Ranks, problem: Problem, integration: Integration, make: Callable[[], Recorder]) -> Recorder:
    """The recorder that rank 0 makes, as all ranks see it; of one process itself."""
    if ranks.size == 1:
        return make()
    own: list[Recorder] = []
    times = ranks.led(lambda: _times(own, make()), {"state": integration.state})
    rows = own[0].rows if own else RunRows(problem, integration.layout)
    rows.saved_time, rows.observed_time = times
    return RecorderOfRanks(ranks, own[0] if own else None, rows)


def _times(own: list[Recorder], made: Recorder) -> tuple[float, float]:
    own.append(made)
    return made.rows.saved_time, made.rows.observed_time
