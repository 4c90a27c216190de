"""What is measured of a run on its way, and what kept something from being measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mfpde.coefficients import at_time
from mfpde.contracts import Instant
from mfpde.errors import Fault, ProblemError
from mfpde.observe.output_times import Event, events
from mfpde.store.run_tables import Row

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.contracts import Companion, Integration
    from mfpde.geometry import Layout
    from mfpde.prepare import Prepared
    from mfpde.run import Run
    from mfpde.typing import Float

__all__ = ["Observing", "unobserved"]


class Observing:
    """Makes the rows of a run: its snapshots and what is observed of them.

    What cannot be observed at the start is bad input. What fails later is NaN, or an infinite distance, the run goes
    on, and `message` says why: the solution is none the worse.
    """

    def __init__(self, prepared: Prepared, time: float = 0.0, missed: Mapping[int, Float] | None = None) -> None:
        """From that time of a run on; `missed` is what was `unobserved` of it, for reasons that nobody knows now."""
        problem = prepared.problem
        self._problem, self._equation = problem, problem.equation
        self._anything = bool(problem.series())
        self._companion = _companion(prepared, time)
        self._reasons: dict[int, str] = {}
        missed = missed or {}
        self._missed = {
            index: f"{observable.kind} is NaN where it could not be observed, first at t = {times[0]:g}"
            for index, observable in enumerate(problem.observe)
            if (times := missed.get(index, np.zeros(0))).size and times[0] <= time
        }

    def row(self, integration: Integration, event: Event) -> Row:
        """What is kept of the instant the integration stands at."""
        time, values = integration.time, None
        if event.observe and self._anything:
            measure, copies = integration.measure(), tuple(integration.copies())
            equation, facts = at_time(self._equation, time), integration.facts()
            instant = Instant(time, measure, equation, integration.residual, facts, copies)
            values = self._observed(instant, integration.layout)
            if self._companion is not None:
                self._companion.follow(time)
                values |= self._companion.distance(measure)
        return Row(time, integration.layout, integration.fields() if event.save else None, values)

    @property
    def message(self) -> str:
        """What could not be measured, and why; empty when everything was."""
        lost = [] if self._companion is None or not self._companion.end else [self._companion.end]
        return "; ".join([*(self._missed | self._reasons).values(), *lost])

    def _observed(self, instant: Instant, layout: Layout) -> dict[str, float | Float]:
        values: dict[str, float | Float] = {}
        alone = [replace(instant, measure=copy, copies=(copy,)) for copy in instant.copies]
        for index, observable in enumerate(self._problem.observe):
            if observable.of_run or "copy" not in layout.extents:
                values.update(self._evaluated(index, instant, layout))
                continue
            found = [self._evaluated(index, each, layout) for each in alone]
            values.update({name: np.array([one[name] for one in found]) for name in found[0]})
        return values

    def _evaluated(self, index: int, instant: Instant, layout: Layout) -> dict[str, float | Float]:
        """What one observable gives of one measure, NaN where it cannot."""
        observable = self._problem.observe[index]
        try:
            return observable.evaluate(instant)
        except (ProblemError, ArithmeticError, np.linalg.LinAlgError) as error:
            faults = error.faults if isinstance(error, ProblemError) else ()
            reason = "; ".join(fault.message for fault in faults) or str(error)
            if instant.time == 0:
                message = f"{observable.kind} cannot be observed here: {reason}"
                raise ProblemError([Fault(("observe", index), message)]) from error
            self._reasons.setdefault(index, f"{observable.kind} is NaN where it cannot be observed: {reason}")
            return {
                name: np.full([size or layout.extents[axis] for axis, size in series.extent], np.nan)
                for name, series in observable.series(self._problem.geometry).items()
            }


def unobserved(run: Run) -> dict[int, Float]:
    """When observables of a run, by their numbers, could not be observed: the times at which all they give is NaN."""
    found: dict[int, Float] = {}
    for index, observable in enumerate(run.problem.observe if run.series_times.size else ()):
        unknown = np.ones(run.series_times.size, dtype=bool)
        for name in observable.series(run.problem.geometry):
            unknown &= np.isnan(run[name].reshape(unknown.size, -1)).all(axis=1)
        found[index] = run.series_times[unknown]
    return found


def _companion(prepared: Prepared, time: float) -> Companion | None:
    """Brought to that time by the steps it would have taken from the start."""
    compared = prepared.problem.compare
    if compared is None:
        return None
    try:
        companion = compared.start(prepared.task)
    except ProblemError as error:
        reason = "; ".join(fault.message for fault in error.faults)
        message = f"{compared.kind} cannot be compared with: {reason}"
        raise ProblemError([Fault(("compare",), message)]) from error
    for event in events(prepared.time):
        if event.time <= time:
            companion.follow(event.time)
    companion.follow(time)
    return companion
