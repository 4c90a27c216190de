"""Rows kept in memory, for runs without an output file."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from mfpde.contracts import Outcome
from mfpde.geometry import Layout
from mfpde.run import Run
from mfpde.store.provenance import provenance_of
from mfpde.store.recorder import Row
from mfpde.store.run_tables import OBSERVATIONS, SNAPSHOTS, STEPS, RunRows

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.problem import Problem

__all__ = ["MemoryRecorder"]


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
            layout=layout,
            stored={name: snapshots[name] for name in layout.fields},
            series={name: (observed if own_times else snapshots)[name] for name in self._problem.series()},
            series_times=observed["observe_time"] if own_times else snapshots["time"],
            outcome=outcome,
            trail={name: trail[name] for name in layout.trail},
            provenance=provenance_of(self._problem, integration.statistics(), perf_counter() - self.started),
        )

    def abandon(self) -> None:
        """Nothing to let go."""
