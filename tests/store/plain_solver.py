"""What the tests' own solvers have in common."""

from collections.abc import Mapping
from typing import Any

import mfpde
from mfpde.contracts import Integration, Progress
from mfpde.equation import InitialValueProblem


class PlainSolver:
    """Takes every equation, to its end, in physical time."""

    state_version: int = 1

    def unfit(self, equation: mfpde.Equation) -> str | None:
        return None

    refusal = unfit

    @property
    def shown_cells(self) -> None:
        return None

    def check_scales(self, task: InitialValueProblem) -> None:
        pass

    def falls_short(self, task: InitialValueProblem) -> None:
        return None

    def early_end(self, task: InitialValueProblem) -> Progress | None:
        return None

    def remarks(self, task: InitialValueProblem) -> tuple[str, ...]:
        return ()

    @property
    def clocks(self) -> frozenset[str]:
        return frozenset({"physical"})

    def start(self, task: InitialValueProblem) -> Integration:
        raise NotImplementedError

    def resume(self, task: InitialValueProblem, state: Mapping[str, Any]) -> Integration:
        resumed = self.start(task)
        resumed.restore(state)
        return resumed
