"""What keeps the rows of a run: in memory or in a file, behind one interface."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from mfpde.contracts import Series
from mfpde.geometry import Layout
from mfpde.run import Outcome, Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.contracts import Integration
    from mfpde.problem import Problem

__all__ = ["OutputFailed", "Recorder", "Row", "observed_series", "reason"]

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file has reached the largest size allowed here",
    errno.EIO: "the disk reports an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EAGAIN: "a run that is under way is writing it",
}


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
    """Keeps rows. `saved_time` and `observed_time` are those of the last snapshot and observation added, `started` is
    when the work on the run began, by `perf_counter`."""

    saved_time: float
    observed_time: float
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


def observed_series(problem: Problem) -> dict[str, Series]:
    """Every series the problem's observables and its comparison give, by name."""
    series: dict[str, Series] = {}
    for observable in problem.observe:
        series.update(observable.series(problem.geometry))
    return series if problem.compare is None else {**series, **problem.compare.series()}


def reason(error: OSError) -> str:
    """Why the disk refused, in words."""
    return _REASONS.get(error.errno or 0, error.strerror or str(error))
