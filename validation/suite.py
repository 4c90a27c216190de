"""`validate`: run cases by name, or check what can be checked of a problem file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mfpde.arguments import in_unicode, instance, truth
from mfpde.errors import ProblemError, ResumeError, shown
from mfpde.prepare import chosen_solver, faults
from mfpde.problem import Problem
from mfpde.registry import lookup, members
from mfpde.store.atomic_file import made_folder
from mfpde.validation.report import Report
from mfpde.watching.watch import Show, Watch, check_progress

if TYPE_CHECKING:
    from mfpde.validation.mean_field.plan import Plan

__all__ = ["validate"]


@dataclass
class _Suite:
    """The claims that are put to the test one after the other, as those who watch see them."""

    end: int
    position: int = 0
    label: str = "claim"

    def counts(self) -> dict[str, int]:
        """Nothing else."""
        return {}


def validate(
    *names: str | Path | Problem,
    quick: bool = False,
    progress: Show = False,
    counts: Sequence[int] | None = None,
    repeats: int | None = None,
    seconds: float | None = None,
    limit: bool = True,
    folder: str | Path | None = None,
    resume: bool = False,
) -> Report:
    """Put claims to the test; `report.passed` says how it went.

    names: cases (`mfpde list case`), problem files (`.yaml`) or problems; every case without any. Of a problem what
    theory says of every solution is checked, then the solution against a second method, then its mean-field limit: so
    many independent tokens (`counts`, each in so many `repeats`) are held against it at a few times by one-threaded
    worker processes, and `report.rates` says how fast they tend to it. Without counts they are 100, 300, 1000, ... as
    far as the `seconds` reach; `limit=False` leaves that out. quick: reduced sizes, seconds instead of a minute or two.
    progress: as in `solve`, in claims. folder: where measurements are kept as they are made; `resume` does not make
    those again that are there.

    Fails, before anything runs: counts or repeats that make no statistics, counts for a problem without a limit.

    >>> import mfpde
    >>> report = mfpde.validate("moebius", quick=True)
    >>> report.passed
    True
    """
    quick, resume, limit = truth("quick", quick), truth("resume", resume), truth("limit", limit)
    check_progress(progress)
    wanted = names or tuple(members("case"))
    sizes = _Sizes(quick, limit, counts, repeats, seconds)
    if resume and folder is None:
        raise ResumeError("resume needs the folder in which the measurements are")
    sizes.check(wanted)
    claims = [_claim(name, sizes) for name in wanted]
    place = None if folder is None else made_folder(folder)
    suite, reports = _Suite(len(claims)), []
    with Watch(suite.end, progress) as watch:
        for claim in claims:
            watch.begin(suite, patient=False)
            reports.append(claim(watch, place, resume))
            if watch.interruption.asked:  # a run of the claim has ended early because of that
                raise KeyboardInterrupt
            suite.position += 1
            watch.see()
    return reports[0] if len(reports) == 1 else Report("validation", parts=tuple(reports))


#: what puts one claim to the test: those who watch, the folder of measurements, whether to go on with those there
_Test = Callable[[Watch, Path | None, bool], Report]


@dataclass(frozen=True)
class _Sizes:
    """How much is to be done."""

    quick: bool
    limit: bool
    counts: Sequence[int] | None
    repeats: int | None
    seconds: float | None

    def check(self, wanted: Sequence[str | Path | Problem]) -> None:
        """That what was asked for goes together."""
        for name in wanted:
            instance("names", name, str | Path | Problem, "names of cases or problem files, or problems")
        given = [name for name in ("counts", "repeats", "seconds") if getattr(self, name) is not None]
        if given and not self.limit:
            raise ProblemError.at(given[0], "is of the mean-field limit, which was to be left out")
        if given and not any(_is_problem(name) for name in wanted):
            raise ProblemError.at(given[0], "is of the mean-field limit of problem files; cases have none")
        stems = [_stem(name) for name in wanted]
        twice = [stem for stem in dict.fromkeys(stems) if stems.count(stem) > 1]
        if twice:
            named = f"two parts of the report are called {shown(twice[0])}"
            raise ProblemError.at("", f"{named}, and so would be the files that it writes of them")

    def plan(self, problem: Problem) -> tuple[Plan | None, str]:
        """Of the mean-field limit, or why there is none."""
        from mfpde.validation.mean_field.plan import Plan, no_limit

        reason = no_limit(problem) if self.limit else "it was to be left out"
        if not self.limit or (reason is not None and self.counts is None and self.repeats is None):
            return None, str(reason)
        return Plan.of(problem, self.counts, self.repeats, quick=self.quick, seconds=self.seconds), ""


def _is_problem(name: str | Path | Problem) -> bool:
    """And not the name of a case."""
    return not isinstance(name, str) or name.endswith((".yaml", ".yml"))


def _stem(name: str | Path | Problem) -> str:
    """Of the files that a report has of it."""
    return (name.title or "problem") if isinstance(name, Problem) else Path(name).stem


def _claim(name: str | Path | Problem, sizes: _Sizes) -> _Test:
    """All that can be wrong with what was asked for is said here."""
    if isinstance(name, Problem):
        return _of_problem(name, name.title or "problem", sizes)
    if isinstance(name, Path) or _is_problem(name):
        return _of_problem(Problem.from_yaml(name), in_unicode(Path(name).name), sizes)
    case = lookup("case", name)()
    return lambda *_: case.run(quick=sizes.quick)


def _of_problem(problem: Problem, title: str, sizes: _Sizes) -> _Test:
    """Theory and a second method, and the mean-field limit where there is one."""
    from mfpde.validation.mean_field.study import examine_limit
    from mfpde.validation.second import none_foreseen
    from mfpde.validation.solution import examine_solution

    found = faults(problem)
    if found:
        raise ProblemError(found)
    plan, reason = sizes.plan(problem)
    alone = none_foreseen(problem, chosen_solver(problem))
    no_limit = [f"no mean-field limit is looked for: {reason}"] if plan is None else []
    beyond = _beyond(problem)
    for note in [*([alone] if alone else []), *beyond, *no_limit]:
        logging.getLogger("mfpde").warning("%s: %s", title, note)

    def run(watch: Watch, folder: Path | None, resume: bool) -> Report:
        solution = examine_solution(problem, title, quick=sizes.quick)
        solution = replace(solution, own_notes=(*beyond, *solution.own_notes, *no_limit))
        if plan is None:
            return solution
        if watch.interruption.asked:
            raise KeyboardInterrupt
        stem = Path(title).stem
        kept = None if folder is None else folder / f"{stem}.measurements.jsonl"
        return Report(title, parts=(solution, examine_limit(plan, watch, of=stem, kept=kept, resume=resume)))

    return run


def _beyond(problem: Problem) -> list[str]:
    """What the file asks for besides one solution, in words."""
    asked = [name for name in ("sweep", "bifurcation") if getattr(problem, name) is not None]
    left_out = " and ".join(asked)
    return [f"one solution is examined, by the values that the file gives; not its {left_out}"] if asked else []
