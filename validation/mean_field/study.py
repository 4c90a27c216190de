"""Independent tokens in growing numbers, each system measured by a worker process, and what it all comes to."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from mfpde.activity import doing
from mfpde.contracts import FINISHED, INTERRUPTED
from mfpde.errors import MfpdeError
from mfpde.run import Run
from mfpde.validation.mean_field.findings import Findings
from mfpde.validation.mean_field.kept import Kept
from mfpde.validation.mean_field.limit import Limit
from mfpde.validation.mean_field.measuring import MEASURE
from mfpde.validation.mean_field.plan import LEAST_COUNTS, Plan
from mfpde.validation.report import Report
from mfpde.watching.watch import Watch
from mfpde.workers import Answer, Pool, Task, usable_processors

__all__ = ["examine_limit"]

_MOST_PROCESSES = 16  # that measure at once


@dataclass
class _Study:
    """Measurements on their way, as those who watch see them."""

    end: int
    position: int = 0
    label: str = "measurement"
    tokens: int = 0
    seconds: dict[int, list[float]] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """The number of tokens it has come to."""
        return {"tokens": self.tokens}


def examine_limit(
    plan: Plan, watch: Watch, *, of: str = "problem", kept: Path | None = None, resume: bool = False
) -> Report:
    """Measure, fit, judge; `of` names the problem. Measurements are `kept` in that file as they are made, and not made
    again by `resume`."""
    subject = {"problem": plan.tokens, "limit": plan.limit_problem.canonical()}
    measured = Kept(kept, subject, resume=resume)
    with tempfile.TemporaryDirectory() as place:
        doing("solving for the limit")
        path = Path(place) / "limit.h5"
        limit = Limit.of(_solved(plan, path))
        study = _Study(len(plan.counts) * plan.repeats)
        watch.begin(study, patient=False)
        with Pool(min(usable_processors(), _MOST_PROCESSES)) as pool:
            plan = _thrifty(
                plan, lambda few: _measure(few, plan.counts[0], str(path), pool, measured, study, watch), study
            )
            study.end, study.position = len(plan.counts) * plan.repeats, 0
            for count in _affordable(plan, study):
                _measure(plan, count, str(path), pool, measured, study, watch)
        watch.done()
    findings = Findings.of(plan, limit, measured)
    checks, notes = tuple(findings.checks()), findings.notes
    return Report(
        f"the mean-field limit of {of}",
        findings.claim,
        checks,
        findings.draw,
        own_rates=findings.rates,
        own_notes=notes,
    )


def _solved(plan: Plan, path: Path) -> Run:
    from mfpde.run_loop import solve

    run: Run = solve(plan.limit_problem, path)
    if run.outcome.kind == INTERRUPTED:
        raise KeyboardInterrupt
    if run.outcome.kind != FINISHED:
        raise MfpdeError(f"the limit is not known up to t = {plan.times[-1]:.6g}: {run.outcome}")
    return run


def _thrifty(plan: Plan, measured: Callable[[Plan], None], study: _Study) -> Plan:
    """With fewer repeats where some systems of the fewest tokens show that there is no time for all."""
    few = replace(plan, repeats=min(plan.fewest, plan.repeats))
    measured(few)
    usual = median(study.seconds[plan.counts[0]])
    return few if usual * plan.repeats * LEAST_COUNTS / usable_processors() > plan.seconds else plan


def _affordable(plan: Plan, study: _Study) -> Iterator[int]:
    """Counts in ascending order, as long as there seems to be time for the next one."""
    began, before = perf_counter(), 0
    for place, count in enumerate(plan.counts):
        if place >= LEAST_COUNTS:
            usual = median(study.seconds[before]) * count / before * plan.repeats / usable_processors()
            if perf_counter() - began + usual > plan.seconds:
                study.end = study.position
                return
        before = count
        yield count


def _measure(plan: Plan, count: int, limit: str, pool: Pool, kept: Kept, study: _Study, watch: Watch) -> None:
    """All repeats for so many tokens."""
    study.tokens, study.seconds[count] = count, [0.0]
    missing = [repeat for repeat in range(1, plan.repeats + 1) if (count, repeat) not in kept.measurements]
    study.position += plan.repeats - len(missing)
    for answer in pool.answers(_tasks(plan, count, limit, missing)):
        found = _value(answer)
        kept.add(found)
        study.seconds[count].append(found["solving"] + found["measuring"])
        study.position += 1
        watch.see()


def _tasks(plan: Plan, count: int, limit: str, repeats: Sequence[int]) -> Iterator[Task]:
    yield from (Task(MEASURE, (plan.tokens, limit, count, repeat)) for repeat in repeats)


def _value(answer: Answer) -> dict[str, Any]:
    if answer.error:
        raise MfpdeError(f"a measurement failed: {answer.error}")
    found: dict[str, Any] = answer.value
    return found
