"""`validate`: run cases by name, or check what can be checked of a problem file."""

from __future__ import annotations

from pathlib import Path

from mfpde.arguments import in_unicode, instance, truth
from mfpde.problem import Problem
from mfpde.registry import lookup, members
from mfpde.validation.report import Report

__all__ = ["validate"]


def validate(*names: str | Path | Problem, quick: bool = False) -> Report:
    """Put claims to the test; `report.passed` says how it went.

    names: cases (`mfpde list case`), problem files (`.yaml`) or problems; every case without any. A problem is solved,
    and what theory says of every solution is checked: mass, positivity, the decay of free energy and its dissipation,
    bounds of the drift. quick: reduced sizes, seconds instead of a minute or two.

    >>> import mfpde
    >>> report = mfpde.validate("moebius", quick=True)
    >>> report.passed
    True
    """
    quick = truth("quick", quick)
    wanted = names or tuple(members("case"))
    reports = [_report(name, quick) for name in wanted]
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
