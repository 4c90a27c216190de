"""Rows kept in memory, for runs without an output file."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from mfpde.geometry import Layout
from mfpde.observe.output_times import time_of
from mfpde.run import Outcome, Run
from mfpde.store.provenance import provenance_of
from mfpde.store.recorder import Row, observed_series
from mfpde.store.trail import Trail
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.contracts.solver import Integration
    from mfpde.problem import Problem

__all__ = ["MemoryRecorder"]


class MemoryRecorder:
    """Keeps rows as arrays; on a larger layout the earlier ones are carried to it, row by row as in a file."""

    def __init__(self, problem: Problem, layout: Layout) -> None:
        self._problem = problem
        self._layout = layout
        self.saved_time = self.observed_time = float("-inf")
        self.started = perf_counter()
        self._times: list[float] = []
        self._fields: dict[str, list[Float]] = {name: [] for name in layout.fields}
        self._trail = Trail(layout)
        self._observe_times: list[float] = []
        self._series: dict[str, list[float | Float]] = {name: [] for name in observed_series(problem)}

    @property
    def last_time(self) -> float:
        return self.saved_time

    def add(self, row: Row, integration: Integration) -> None:
        if row.values is not None:
            self.observed_time = row.time
            self._observe_times.append(row.time)
            for name, value in row.values.items():
                self._series[name].append(value)
        if row.fields is not None:
            self._trail.gather(integration)
            self._lay_out(row.layout)
            self.saved_time = row.time
            self._times.append(row.time)
            for name, values in row.on(self._layout).items():
                self._fields[name].append(np.array(values))

    def _lay_out(self, wanted: Layout) -> None:
        larger = self._layout.joined(wanted)
        if larger is not self._layout:
            for name, kept in self._fields.items():
                self._fields[name] = [self._layout.carry(name, values, larger) for values in kept]
            self._layout = larger

    def tick(self, integration: Integration) -> None:
        """Nothing waits."""

    def finish(self, outcome: Outcome, integration: Integration) -> Run:
        times = np.array(self._times)
        own_times = time_of(self._problem).observe_every is not None
        return Run(
            problem=self._problem,
            times=times,
            layout=self._layout,
            stored={name: np.array(values) for name, values in self._fields.items()},
            series={name: np.array(values) for name, values in self._series.items()},
            series_times=np.array(self._observe_times) if own_times else times,
            outcome=outcome,
            trail=self._trail.take(),
            provenance=provenance_of(self._problem, integration.statistics(), perf_counter() - self.started),
        )

    def abandon(self) -> None:
        """Nothing to let go."""
