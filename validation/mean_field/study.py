"""Independent tokens in growing numbers, each system measured by a worker process, and what it all comes to."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mfpde.activity import doing
from mfpde.errors import MfpdeError
from mfpde.validation.mean_field.costs import Costs, affordable
from mfpde.validation.mean_field.findings import Findings
from mfpde.validation.mean_field.kept import Kept
from mfpde.validation.mean_field.limit import Limit
from mfpde.validation.mean_field.measuring import MEASURE
from mfpde.validation.mean_field.plan import Plan
from mfpde.validation.report import Report
from mfpde.validation.solving import UnfinishedError, solved
from mfpde.watching.watch import Watch
from mfpde.workers import Task, Workers, usable_processors, workers_for

__all__ = ["examine_limit"]

_SHARE_OF_END = 0.5  # of the time at which a solution ends: tokens blow up earlier or later than it
_MOST_PROCESSES = 16  # that measure at once
_HEIGHT_INCHES = 5.6  # of the figure


@dataclass
class _Study:
    """Measurements on their way, as those who watch see them."""

    end: int
    position: int = 0
    label: str = "measurement"
    tokens: int = 0

    def counts(self) -> dict[str, int]:
        """The number of tokens it has come to."""
        return {"tokens": self.tokens}


def examine_limit(
    plan: Plan, watch: Watch, *, of: str = "problem", kept: Path | None = None, resume: bool = False
) -> Report:
    """Measure, fit, judge; `of` names the problem. Measurements are `kept` in that file as they are made, and not made
    again by `resume`. A solution that ends early is the limit for a part of the time that it lasts."""
    title = f"the mean-field limit of {of}"
    try:
        return _examined(title, plan, watch, kept, resume)
    except UnfinishedError as error:
        ended = error.run.outcome
    until = _SHARE_OF_END * float(ended.time)
    if not until > 0:
        return Report(title, own_notes=(f"the limit is not known: {ended}",))
    report = _examined(title, plan.until(until), watch, kept, resume)
    said = f"the solution does not last until t = {plan.times[-1]:.6g} ({ended}): tokens follow it to t = {until:.6g}"
    return replace(report, own_notes=(said, *report.own_notes))


def _examined(title: str, plan: Plan, watch: Watch, kept: Path | None, resume: bool) -> Report:
    with tempfile.TemporaryDirectory() as place, workers_for(min(usable_processors(), _MOST_PROCESSES)) as workers:
        measuring = _Measuring(workers, watch, Path(place))
        if plan.limit is None:
            chosen = measuring.with_tokens_for_limit(plan, kept if resume else None)
            limit = measuring.against(chosen)
            measured = Kept(kept, chosen.subject, resume=resume)
        else:
            limit = measuring.against(plan)
            measured = Kept(kept, plan.subject, resume=resume)
            chosen = measuring.affordable(plan, measured)
        measuring.measure(chosen.systems, measured)
        watch.done()
    notes = (*measuring.left_out(plan, chosen), *workers.notes)
    if not chosen.counts:
        return Report(title, own_notes=notes)
    findings = Findings.of(chosen, limit, measured)
    checks, drawing, rates = tuple(findings.checks()), findings.draw, findings.rates
    said = (*findings.notes, *notes)
    return Report(title, findings.claim, checks, drawing, _HEIGHT_INCHES, own_rates=rates, own_notes=said)


class _Measuring:
    """Systems of tokens measured by workers, and what they cost."""

    def __init__(self, workers: Workers, watch: Watch, place: Path) -> None:
        self._workers, self._watch, self._place = workers, watch, place
        self._study, self._costs = _Study(0), Costs()
        self._tokens: dict[str, Any] = {}
        watch.begin(self._study, patient=False)

    def against(self, plan: Plan) -> Limit:
        """Solve for the limit, which what is measured from now on is held against."""
        doing("solving for the limit")
        problem, self._tokens = plan.limit_problem, plan.tokens
        self._path = self._place / f"limit-{len(list(self._place.iterdir()))}.h5"
        return Limit.of(solved(problem, self._path))

    def with_tokens_for_limit(self, plan: Plan, kept: Path | None) -> Plan:
        """Where many more tokens stand for the limit, its size depends on what there is time for. Costs are those of a
        trial against few tokens; a study that goes on keeps to the size it began with."""
        before = None if kept is None else Kept.subject_in(kept)
        if before is not None:
            return plan.for_limit(before["limit"])
        self.against(replace(plan, counts=(*plan.spare, *plan.counts)[:1]))
        return self.affordable(plan, Kept(None, {}, resume=False))

    def affordable(self, plan: Plan, kept: Kept) -> Plan:
        """What there is time for, from a few measurements of every number of tokens."""
        few = range(1, min(self._workers.processes, *plan.fewer) + 1)
        for count in self._costs.probes(plan):
            repeats = [*few, *(each + len(few) for each in few)] if self._costs.empty else few
            self.measure([(count, repeat) for repeat in repeats], kept)
        return affordable(plan, self._costs)

    def measure(self, systems: Sequence[tuple[int, int]], kept: Kept) -> None:
        """These numbers of tokens and repeats, but for those that are kept; those that take longest first."""
        missing = sorted((each for each in systems if each not in kept.measurements), reverse=True)
        self._study.end = self._study.position + len(missing)
        for found in self._answers(missing):
            self._study.tokens = found["count"]
            self._study.position += 1
            kept.add(found)
            self._watch.see()
        for system in systems:
            found = kept.measurements[system]
            self._costs.add(system[0], found["solving"] + found["measuring"])

    def left_out(self, plan: Plan, chosen: Plan) -> tuple[str, ...]:
        """In words, what there was no time for."""
        missing = [f"{count:,}" for count in plan.counts if count not in chosen.counts]
        last, seconds = self._costs.last
        took = f"one of {last:,} takes {seconds:.2g} s of processor time, and {plan.seconds:g} s of each core are given"
        found = []
        if missing:
            found.append(f"there was no time for systems of {', '.join(missing)} tokens: {took}")
        if chosen.counts and chosen.repeats < plan.repeats:
            found.append(f"there was time for {chosen.repeats} systems of each number of tokens, not {plan.repeats}")
        return tuple(found)

    def _answers(self, systems: Sequence[tuple[int, int]]) -> Iterator[dict[str, Any]]:
        path = str(self._path)
        tasks = (Task(MEASURE, (self._tokens, path, count, repeat)) for count, repeat in systems)
        for answer in self._workers.answers(tasks):
            if answer.error:
                raise MfpdeError(f"a measurement failed: {answer.error}")
            yield answer.value
