"""What keeps the rows of a run: in memory, as here, or in a file, behind one interface."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mfpde.ranks import Spread
from mfpde.run import Run
from mfpde.store.provenance import provenance_of
from mfpde.store.run_tables import OBSERVATIONS, SNAPSHOTS, STEPS, Row, RunRows

if TYPE_CHECKING:
    from mfpde.contracts import Integration, Outcome
    from mfpde.geometry import Layout
    from mfpde.problem import Problem

__all__ = ["MemoryRecorder", "OutputFailed", "Recorder"]


class OutputFailed(Exception):  # noqa: N818 - it never reaches a user: it becomes an outcome
    """The disk does not take more; what was committed is safe."""


class Recorder(Protocol):
    """Keeps rows: those in memory, which know when the last ones were. `started` is when the work on the run began, by
    `perf_counter`."""

    rows: RunRows
    started: float

    @property
    def last_time(self) -> float:
        """Time of the last snapshot that is safe, whatever happens."""

    def add(self, row: Row, integration: Integration) -> None:
        """Keep a row; the integration stands at its time."""

    def tick(self, integration: Integration) -> None:
        """Called between slices of work: commit what has waited long enough."""

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        """Everything kept, under its outcome."""

    def abandon(self) -> None:
        """Let go at once, after an error; what was committed stays."""


class MemoryRecorder:
    """Keeps rows as arrays; on a larger layout the earlier ones are carried to it, row by row as in a file."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        self._problem = problem
        self.rows = RunRows(problem, layout)
        self.started = perf_counter()

    @property
    def last_time(self) -> float:
        return self.rows.saved_time

    def add(self, row: Row, integration: Integration) -> None:
        if row.fields is not None:
            self.rows.follow(integration)
            larger = self.rows.layout.joined(row.layout)
            if larger is not self.rows.layout:
                self.rows.grow(larger)
        self.rows.add(row)
        self.rows.keep()

    def tick(self, integration: Integration) -> None:
        """Nothing waits."""

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        snapshots, layout = self.rows.arrays(SNAPSHOTS), self.rows.layout
        observed = self.rows.arrays(OBSERVATIONS)
        trail = self.rows.arrays(STEPS)
        own_times = self._problem.time is not None and self._problem.time.observe_every is not None
        return Run(
            problem=self._problem,
            times=snapshots["time"],
            layout=_whole(layout),
            stored={name: snapshots[name] for name in layout.fields},
            series={name: (observed if own_times else snapshots)[name] for name in self._problem.series()},
            series_times=observed["observe_time"] if own_times else snapshots["time"],
            outcome=outcome,
            trail={name: trail[name] for name in layout.trail},
            provenance=provenance_of(self._problem, integration.statistics(), perf_counter() - self.started),
        )

    def abandon(self) -> None:
        """Nothing to let go."""


def _whole(layout: Layout) -> Layout:
    """With what is spread over ranks in the memory of this one."""
    values: dict[str, Any] = {name: one.values for name, one in layout.constants.items()}
    spread = [name for name, each in values.items() if isinstance(each, Spread)]
    whole = {name: replace(layout.constants[name], values=np.asarray(values[name])) for name in spread}
    return replace(layout, constants={**layout.constants, **whole})
