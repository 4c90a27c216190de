"""A solution to be checked, and the properties that checks need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.coefficients import at_time
from mfpde.contracts.solver import Solver
from mfpde.equation import Equation
from mfpde.prepare import chosen_solver
from mfpde.problem import Problem
from mfpde.registry import lookup
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["CHANCE_DEVIATIONS", "Examined", "can_observe", "tokens_unfit"]

CHANCE_DEVIATIONS = 5.0  # standard deviations that chance exceeds once in a million times

#: of finite volumes that were given none, by dimension
_DEFAULT_TOLERANCES = {1: 1e-8, 2: 1e-6}
#: observables that are expensive for characteristics, whose density is traced back
_OF_GRIDS = ("minimum",)
#: where each is expensive
_SNAPSHOTS_CHECKED = 5


@dataclass(frozen=True, eq=False)
class Examined:
    """A run and the solver that made it."""

    run: Run
    solver: Solver

    @cached_property
    def promise(self) -> float:
        """The error that the solver promises: ten times its tolerance. Cells that a problem asks for come with no
        promise; then it is what the run itself says they leave out, if that is more."""
        given = getattr(self.solver, "tolerance", None)
        promised = 10 * float(given or _DEFAULT_TOLERANCES[min(len(self.run.layout.axes) or 1, 2)])
        if given is not None or getattr(self.solver, "cells", None) is None:
            return promised
        return max(promised, float(self.run.provenance.get("statistics", {}).get("cell-error", 0.0)))

    @property
    def shows(self) -> str:
        """What its snapshots are (`mfpde.solvers.base.SHOWN`)."""
        return str(lookup("form", self.run.layout.form).shows)

    @property
    def flat(self) -> bool:
        return self.run.problem.geometry.flat

    @property
    def noiseless(self) -> bool:
        """Whether the equation has no noise at any time."""
        return self.run.problem.noise == type(self.run.problem.noise)()

    @cached_property
    def looks(self) -> list[int]:
        """A few snapshots, the first and the last among them."""
        return [
            int(index) for index in np.unique(np.linspace(0, self.run.times.size - 1, _SNAPSHOTS_CHECKED).astype(int))
        ]

    @property
    def series(self) -> Mapping[str, Float]:
        """What was observed, by name."""
        return self.run.series


def can_observe(problem: Problem, name: str) -> bool:
    """Whether that observable has a meaning for the problem and its solver can give it."""
    if name in _OF_GRIDS and chosen_solver(problem).shows != "density":
        return False
    observable, equation = lookup("observable", name)(), at_time(problem.equation, 0.0)
    if observable.unfit(equation) is not None:
        return False
    return observable.unfit_solver(chosen_solver(problem), equation) is None


def tokens_unfit(equation: Equation) -> bool:
    """Whether the law has a meaning for densities alone: a singular interaction of tokens that meet themselves."""
    law = equation.law
    return law is not None and law.token_unfit(equation.geometry, equation.noise.diffuses) is not None
