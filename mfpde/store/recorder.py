"""What keeps the rows of a run: in memory or in a file, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.contracts import Integration, Outcome
    from mfpde.geometry import Layout
    from mfpde.run import Run
    from mfpde.store.run_tables import RunRows

__all__ = ["OutputFailed", "Recorder", "Row"]


@dataclass(frozen=True)
class Row:
    """What is kept of one instant: a snapshot (`fields`, on `layout`), observed `values`, or both."""

    time: float
    layout: Layout
    fields: Mapping[str, Float] | None
    values: Mapping[str, float | Float] | None

    def on(self, layout: Layout) -> dict[str, Float]:
        """The fields of the snapshot, shown on the run's layout."""
        fields = dict(self.fields or {})
        if layout is self.layout:
            return fields
        return {name: self.layout.carry(name, np.asarray(values), layout) for name, values in fields.items()}


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
