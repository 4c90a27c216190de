"""`mfpde.bifurcate`: the diagram of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.activity import doing
from mfpde.bifurcation.assembling import branch_of, uniform_branch
from mfpde.bifurcation.continuation import Point
from mfpde.bifurcation.critical import critical_places
from mfpde.bifurcation.deflation import other_states
from mfpde.bifurcation.diagram import ENDED, Branch, Diagram, SpecialPoint, meeting
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.families import family_of
from mfpde.bifurcation.states import Family
from mfpde.bifurcation.ties import tied
from mfpde.bifurcation.tracing import Traced
from mfpde.bifurcation.trail import traced_of
from mfpde.blas import blas_in_one_thread
from mfpde.contracts import INTERRUPTED, OUTPUT_FAILED, Outcome
from mfpde.errors import ProblemError, ResumeError
from mfpde.problem import Bifurcation, Problem
from mfpde.registry import lookup
from mfpde.store.atomic_file import check_target
from mfpde.watching.watch import Show, Watch, check_progress

__all__ = ["bifurcate", "check_bifurcation"]

_CONTINUE = "--resume (resume=True) continues it"
_SEARCH_FACTORS = (20.0, 1e3, 1e5)  # of the range: how far the nearest bifurcation is looked for; kappa may be e^-beta


def bifurcate(
    problem: Problem | str | Path,
    output: str | Path | None = None,
    *,
    progress: Show = False,
    resume: bool = False,
    force: bool = False,
) -> Diagram:
    """All branches of stationary states over the range that the block `bifurcation` of a problem names.

    With `branches` only those modes and what leaves them; without, all modes that leave the uniform state in the range,
    what leaves them, and states found by deflation that no branch has met. output: the HDF5 file, which grows branch by
    branch. progress: True shows a line on stderr, a function gets a `ProgressReport`. Ctrl-C and SIGTERM end the
    search: the diagram and the file hold what was found. resume: go on with such a file, bit for bit; force: overwrite
    it.

    >>> import mfpde
    >>> diagram = mfpde.bifurcate(mfpde.Problem.from_dict({
    ...     "geometry": {"kind": "circle"},
    ...     "attention": {"kind": "unnormalized", "beta": 0},
    ...     "bifurcation": {"parameter": "kappa", "range": [1, 4], "branches": ["uniform", 1]},
    ... }))
    >>> born = diagram.branches[1].special[0]
    >>> print(born.kind, round(born.parameter, 9), born.type)
    branch-point 2.0 supercritical
    """
    check_progress(progress)
    read = problem if isinstance(problem, Problem) else Problem.from_yaml(problem)
    asked, family = check_bifurcation(read)
    if resume and (output is None or force):
        raise ResumeError("resume needs the output to continue, and goes without force")
    with Watch(0.0, progress) as watch, blas_in_one_thread():
        target = None if output is None else check_target(output, force=force or resume)
        if target is not None:
            watch.write_status(target)
        known, file = lookup("archive", "resume-diagram")(target, read) if resume else (None, None)
        if known is not None and file is None:
            return known
        modes = _modes(asked, family)
        begin = None if target is None else partial(lookup("archive", "begin-diagram"), target, read, force=force)
        search = _Search(family, modes, watch, [uniform_branch(family)] if known is None else known.branches)
        search.file, search.begin = file, begin
        outcome = search.run()
        branches = meeting(search.branches)
        found = [(branch, point) for branch in branches for point in tied(branch, branches)]
        if modes is None and len(branches) == 1 and outcome.complete and not branches[0].special:
            _nothing(asked, family, None)
        with watch.interruption.shield():
            search.finish(outcome, found)
    branches = [replace(b, special=[*b.special, *(p for one, p in found if one is b)]) for b in branches]
    return Diagram(read, asked.parameter, asked.range, branches, outcome, {}, target)


def check_bifurcation(problem: Problem) -> tuple[Bifurcation, Family]:
    """What is asked for and the models over its range; a `ProblemError` where there are no such states."""
    problem.need("bifurcation")
    asked = problem.bifurcation
    assert asked is not None  # noqa: S101  `need` has seen to it
    if problem.drift is not None:
        raise ProblemError.at("drift", "stationary states are known without a drift of its own")
    return asked, family_of(problem.equation, asked.parameter, *asked.range)


class _Search:
    """One search on its way; a branch is kept as soon as it is whole."""

    label = "branch"

    def __init__(self, family: Family, modes: set[int] | None, watch: Watch, branches: list[Branch]) -> None:
        self.family, self.modes, self.watch = family, modes, watch
        self.branches = list(branches)
        self.file: Any = None
        #: what makes a file that begins with the uniform state; without anything to show there is none
        self.begin: Callable[[Branch], Any] | None = None
        known = [traced_of(branch) for branch in branches[1:]]
        self.explorer = Explorer(family, modes, self._report, known)

    @property
    def position(self) -> float:
        """Branches that are whole."""
        return len(self.branches)

    @property
    def end(self) -> float:
        """As far as is known."""
        return max(self.position, self.explorer.expected)

    def counts(self) -> dict[str, int]:
        """Points of these branches."""
        return {"points": sum(map(len, self.branches))}

    def run(self) -> Outcome:
        """To the end, or to an interrupt, or until the disk takes no more."""
        self.watch.begin(self, patient=False)
        try:
            if self.branches[0].special:
                with self.watch.interruption.shield():
                    self._begin()
            for traced in self._traced():
                made = branch_of(traced, len(self.branches), self.family)
                with self.watch.interruption.shield():
                    self._keep(made)
                if self.file is not None and self.file.failed:
                    return Outcome(OUTPUT_FAILED, np.nan, self.file.failed, f"make room; {_CONTINUE}")
                self.watch.see()
        except KeyboardInterrupt:
            return Outcome(INTERRUPTED, np.nan, "stopped when asked to", _CONTINUE if self.begin else "")
        except BaseException:
            if self.file is not None:
                self.file.close()
            raise
        finally:
            self.watch.done()
        return ENDED

    def finish(self, outcome: Outcome, ties: list[tuple[Branch, SpecialPoint]]) -> None:
        """The file's last words; of a search that was interrupted there is always one."""
        if not outcome.complete:
            self._begin()
        if self.file is not None:
            self.file.finish(outcome, ties)

    def _begin(self) -> None:
        if self.file is None and self.begin is not None:
            self.file = self.begin(self.branches[0])

    def _keep(self, branch: Branch) -> None:
        self._begin()
        self.branches.append(branch)
        if self.file is not None:
            self.file.add(branch)

    def _traced(self) -> Iterator[Traced]:
        yield from self.explorer.primary()
        yield from self.explorer.secondary()
        if self.modes is None:
            yield from self.explorer.isolated(other_states(self.family))

    def _report(self, name: str, point: Point) -> None:
        parameter = f"{self.family.parameter} = {self.family.value(point.u):.6g}"
        doing(f"branch {len(self.branches)}, {name}: {parameter}")


def _modes(asked: Bifurcation, family: Family) -> set[int] | None:
    """The modes that were asked for; each must leave the uniform state in the range."""
    if not asked.branches:
        return None
    there = {degree for _, degree in critical_places(family)}
    wanted = {mode for mode in asked.branches if isinstance(mode, int)}
    for mode in sorted(wanted - there):
        _nothing(asked, family, mode)
    return wanted


def _nothing(asked: Bifurcation, family: Family, mode: int | None) -> None:
    """Say what was looked for and where the nearest bifurcation is."""
    low, high = sorted(asked.range)
    found: list[tuple[float, int]] = []
    for factor in _SEARCH_FACTORS if low > 0 else _SEARCH_FACTORS[:1]:
        wide_low = low / factor if low > 0 else low - factor * (high - low)
        wide = replace(family, low=wide_low, high=high * factor if high > 0 else high + factor * (high - low))
        found = [(wide.value(u), degree) for u, degree in critical_places(wide) if mode in (None, degree)]
        if found or asked.parameter not in ("kappa", "noise.kappa", "1/kappa"):
            break
    nearest = min(found, key=lambda pair: max(low - pair[0], pair[0] - high), default=None)
    what = "no state but the uniform one is there: no mode" if mode is None else f"mode {mode} does not"
    told = f"{what} leave{'s' if mode is None else ''} the uniform state for {asked.parameter} in [{low:g}, {high:g}]"
    near = f"; the nearest is mode {nearest[1]}, at {nearest[0]:.10g}" if nearest else "; it does so nowhere near"
    raise ProblemError.at("bifurcation.range" if mode is None else "bifurcation.branches", told + near)
