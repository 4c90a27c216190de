"""Spectral solvers on the circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mfpde.contracts.solver import Integration, Solver
from mfpde.registry import register
from mfpde.specification import Real, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["Spectral"]


@register("solver", "spectral")
class Spectral(Solver):
    """Fourier modes and adaptive exponential time steps of order eight, with as many modes as the solution needs.

    `tolerance` is a promise: at every output time `max|error| / max(density)` and the integral of `|error|` stay
    below ten times it. Good values: 1e-4 (a look) to 1e-11 (a reference). Fails: without noise clusters become
    narrower than `max_modes` can show; the run then ends with the outcome "resolution lost".
    """

    kind: Literal["spectral"] = "spectral"
    citations: ClassVar[tuple[str, ...]] = ("krogstad2005", "hairer1993")

    tolerance: Real = Field(default=1e-8, ge=1e-11, le=1e-2, description="a tenth of the error that is promised")
    max_modes: Whole = Field(default=1024, ge=16, le=8192, description="most modes a run may use")

    def unfit(self, equation: Equation) -> str | None:
        if equation.geometry.kind != "circle":
            return "it works on the circle only"
        if not equation.velocity.constant or equation.noise.breaks():
            return "its coefficients must not depend on time"
        if equation.drift is not None:
            return "it knows no drift besides that of the attention"
        if equation.law is not None and equation.law.convolution(equation.geometry) is None:
            return "it needs A and V to be multiples of the identity (or beta)"
        return None

    def start(self, task: InitialValueProblem) -> Integration:
        from mfpde.solvers.spectral.circle import CircleIntegration

        return CircleIntegration.begun(self, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        from mfpde.solvers.spectral.circle import CircleIntegration

        return CircleIntegration.resumed(self, task, state)
