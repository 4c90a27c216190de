"""`validate`: run cases by name, or check what can be checked of a problem file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mfpde.arguments import in_unicode, instance, truth
from mfpde.problem import Problem
from mfpde.registry import lookup, members
from mfpde.validation.report import Report
from mfpde.watching.watch import Show, Watch, check_progress

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


def validate(*names: str | Path | Problem, quick: bool = False, progress: Show = False) -> Report:
    """Put claims to the test; `report.passed` says how it went.

    names: cases (`mfpde list case`), problem files (`.yaml`) or problems; every case without any. A problem is solved,
    and what theory says of every solution is checked: mass, positivity, the decay of free energy and its dissipation,
    bounds of the drift. quick: reduced sizes, seconds instead of a minute or two. progress: as in `solve`, in claims.

    >>> import mfpde
    >>> report = mfpde.validate("moebius", quick=True)
    >>> report.passed
    True
    """
    quick = truth("quick", quick)
    check_progress(progress)
    wanted = names or tuple(members("case"))
    suite, reports = _Suite(len(wanted)), []
    with Watch(suite.end, progress) as watch:
        watch.begin(suite, patient=False)
        for name in wanted:
            reports.append(_report(name, quick))
            if watch.interruption.asked:  # a run of the claim has ended early because of that
                raise KeyboardInterrupt
            suite.position += 1
            watch.see()
    return reports[0] if len(reports) == 1 else Report("validation", parts=tuple(reports))


def _report(name: str | Path | Problem, quick: bool) -> Report:
    from mfpde.validation.solution import examine_solution

    if isinstance(name, Problem):
        return examine_solution(name, name.title or "problem", quick=quick)
    instance("names", name, str | Path, "names of cases or problem files, or problems")
    if isinstance(name, Path) or name.endswith((".yaml", ".yml")):
        return examine_solution(Problem.from_yaml(name), in_unicode(Path(name).name), quick=quick)
    report: Report = lookup("case", name)().run(quick=quick)
    return report
