"""The solver for those who do not want to choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.errors import ProblemError
from mfpde.registry import members, register
from mfpde.specification import Real

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["Auto", "fitting"]

_TOLERANCE_WITH_EDGES = 1e-9  # where none is given: moments to 1e-8, for little more than 1e-6 costs
_SHOWN_CELLS = 128  # along each axis, of densities that are not on a grid


@register("solver", "auto")
class Auto(Solver):
    """The preferred solver among those that fit the equation; what a problem without a solver block gets.

    `tolerance` is handed on to it. Fails: when no solver fits; the message says why for each.
    """

    kind: Literal["auto"] = "auto"
    tolerance: Real | None = Field(
        default=None, ge=1e-11, le=1e-2, description="handed on to the solver that is chosen"
    )

    def choose(self, equation: Equation) -> Solver:
        """The solver that does the work, with its settings."""
        for solver in fitting(equation):
            settings = {"tolerance": self.tolerance} if "tolerance" in type(solver).model_fields else {}
            return type(solver).model_validate({name: value for name, value in settings.items() if value is not None})
        reasons = "; ".join(f"{name}: {solver.refusal(equation)}" for name, solver in _ready().items())
        raise ProblemError.at("solver", f"no solver can do this equation ({reasons})")

    def beyond(self, task: InitialValueProblem, solver: Solver) -> tuple[Solver, str] | None:
        """The solver that goes on where that one ends before `task.until`, or keeps the promise where that one cannot,
        and why it is taken; None where there is no reason, or no other solver."""
        short = solver.falls_short(task)
        end = None if short else solver.early_end(task)
        others = [other for other in fitting(task.equation) if other.follows_clusters] if short or end else []
        if not others:
            return None
        tolerance = solver.model_dump()["tolerance"] or _TOLERANCE_WITH_EDGES
        if end is None:
            taken = type(others[0]).model_validate({"tolerance": tolerance, "cells": _SHOWN_CELLS})
            return taken, f"auto took {taken.kind}: {short}"
        taken = type(others[0]).model_validate({"tolerance": tolerance})
        return taken, f"auto took {taken.kind}: {solver.kind} ends at t = {end.time:.3g}, where {end.message}"

    def refusal(self, equation: Equation) -> str | None:
        return self.unfit(equation)

    def unfit(self, equation: Equation) -> str | None:
        return None if fitting(equation) else "no solver fits the equation"

    def start(self, task: InitialValueProblem) -> Integration:
        return self.choose(task.equation).start(task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        return self.choose(task.equation).resume(task, state)


def fitting(equation: Equation, *, told: bool = False) -> list[Solver]:
    """The solvers that can do the equation, best first, with default settings; also those that can once they are
    `told` what they have to know."""
    able = [solver for solver in _ready().values() if (solver.told() if told else solver).refusal(equation) is None]
    return sorted(able, key=lambda solver: -solver.preference_for(equation))


def _ready() -> dict[str, Solver]:
    """All solvers that work without being told anything."""
    known = {name: part for name, part in members("solver").items() if part is not Auto and not part.limit}
    return {
        name: part()
        for name, part in known.items()
        if not any(field.is_required() for field in part.model_fields.values())
    }
