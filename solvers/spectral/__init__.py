"""Spectral solvers on the circle and on spheres."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from mfpde.contracts.solver import Integration, Progress, Solver, State
from mfpde.registry import register
from mfpde.specification import Real, Whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.typing import AnyArray

__all__ = ["Spectral"]

_MOST_DEGREES = 511  # on spheres, unless told
_BEHIND_CHARACTERISTICS = -2  # whose preference is -1
_PILOT_STEPS, _PILOT_MICROSECONDS = 4000, 500_000  # of the run that tells whether modes last until the end
_LEAST_DIMENSION = 3  # of the space around a sphere


@register("solver", "spectral")
class Spectral(Solver):
    """Harmonics and adaptive exponential time steps of order eight, with as many of them as the solution needs: Fourier
    modes on the circle, spherical harmonics on S^2, and about an axis, in any dimension, one profile.

    `tolerance` is a promise: at every output time `max|error| / max(density)` and the integral of `|error|` stay
    below ten times it. Good values: 1e-4 (a look) to 1e-11 (a reference). Fails: without noise clusters become
    narrower than `max_modes` can show; the run then ends with the outcome "resolution lost".
    """

    kind: Literal["spectral"] = "spectral"
    citations: ClassVar[tuple[str, ...]] = ("krogstad2005", "hairer1993")
    counts: ClassVar[tuple[str, ...]] = ("steps", "modes")

    tolerance: Real = Field(default=1e-8, ge=1e-11, le=1e-2, description="a tenth of the error that is promised")
    max_modes: Whole = Field(
        default=1024,
        ge=16,
        le=8192,
        description="most modes a run may use; on spheres the largest degree, 511 unless told",
    )

    def unfit(self, equation: Equation) -> str | None:
        if not equation.geometry.counts_as("circle", "sphere"):
            return "it works on the circle and on spheres only"
        if equation.geometry.counts_as("sphere") and (reason := _unfit_on_sphere(equation)) is not None:
            return reason
        return _unfit_initial(equation)

    def preference_for(self, equation: Equation) -> int:
        """Without noise a general law makes clusters that characteristics follow farther."""
        return self.preference if _by_degree(equation) or equation.noise.diffuses else _BEHIND_CHARACTERISTICS

    def early_end(self, task: InitialValueProblem) -> Progress | None:
        """On the circle without noise: where clusters have become too narrow for the modes. On spheres characteristics
        may end before harmonics do, and no pilot run is made."""
        equation = task.equation
        if equation.noise.diffuses or not equation.geometry.counts_as("circle") or not _by_degree(equation):
            return None
        integration = self.start(task)
        progress = integration.advance(task.until, _PILOT_MICROSECONDS)
        while progress.state is State.UNDER_WAY and (integration.statistics()["steps"] < _PILOT_STEPS):
            progress = integration.advance(task.until, _PILOT_MICROSECONDS)
        if progress.state is not State.RESOLUTION_LOST:
            return None
        return replace(progress, time=integration.time)

    def start(self, task: InitialValueProblem) -> Integration:
        kind, settings = self._integration(task.equation)
        return kind.begun(settings, task)

    def resume(self, task: InitialValueProblem, state: Mapping[str, AnyArray]) -> Integration:
        kind, settings = self._integration(task.equation)
        return kind.resumed(settings, task, state)

    def _integration(self, equation: Equation) -> tuple[Any, Spectral]:
        """The class that solves that equation, and its settings: laws that multiply harmonics degree by degree have
        one of their own on the circle and on spheres."""
        on_sphere = equation.geometry.counts_as("sphere")
        settings = _known(self._on_spheres() if on_sphere else self, equation)
        if not _by_degree(equation):
            from mfpde.solvers.spectral.law import LawIntegration

            return LawIntegration, settings
        if on_sphere:
            from mfpde.solvers.spectral.sphere import SphereIntegration

            return SphereIntegration, settings
        from mfpde.solvers.spectral.circle import CircleIntegration

        return CircleIntegration, settings

    def _on_spheres(self) -> Spectral:
        """With the most degrees that are usual there."""
        if "max_modes" in self.model_fields_set:
            return self
        return self.model_copy(update={"max_modes": _MOST_DEGREES})


def _by_degree(equation: Equation) -> bool:
    """Whether all that moves tokens is a convolution that stays the same."""
    if not equation.autonomous or equation.drift is not None:
        return False
    return equation.law is None or equation.law.convolution(equation.geometry) is not None


def _known(settings: Spectral, equation: Equation) -> Spectral:
    """With no more modes than the law has coefficients, where it has more than are listed."""
    found = None if equation.law is None else equation.law.convolution(equation.geometry)
    if found is None or not found.cut or settings.max_modes <= found.degree:
        return settings
    return settings.model_copy(update={"max_modes": found.degree})


def _unfit_initial(equation: Equation) -> str | None:
    """Why harmonics do not show how that equation begins, or None."""
    initial, law = equation.initial, equation.law
    if initial is None:
        return None
    if initial.pointlike and law is not None:
        singular = law.token_unfit(equation.geometry, noisy=True)
        if singular is not None:
            return f"the velocity of point masses is infinite: {singular}"
    return initial.seam(equation.geometry)


def _unfit_on_sphere(equation: Equation) -> str | None:
    """Why there are no harmonics of that equation on a sphere, or None."""
    if equation.geometry.ambient_dimension < _LEAST_DIMENSION:
        return "on S^1 it is asked for by geometry.kind: circle"
    if equation.initial is None or equation.noise.diffusion_at(0.0) > 0:
        return None
    reason = equation.initial.density_unfit
    return None if reason is None else f"without noise nothing smooths what has no density: {reason}"
