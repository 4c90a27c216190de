"""Which way tokens are moved: by steps of which kind, by which sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Integration
from mfpde.solvers.particles.adaptive import AdaptiveIntegration
from mfpde.solvers.particles.layered import LayeredIntegration
from mfpde.solvers.particles.noisy import NoisyIntegration
from mfpde.solvers.particles.pairwise import MOST_TOKENS, PairwiseIntegration, pairwise_law
from mfpde.solvers.particles.tokens import Tokens, first_tokens
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.equation import Equation, InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["earlier_integration", "integration_of"]


def integration_of(settings: ParticleSystem, task: InitialValueProblem) -> Integration:
    """At t = 0."""
    return _integration(settings, task, first_tokens(settings, task))


def earlier_integration(
    settings: ParticleSystem, task: InitialValueProblem, state: Mapping[str, AnyArray]
) -> Integration:
    """As it was left; nothing is drawn again."""
    positions = state["positions"] if state["positions"].size else None
    tokens = Tokens(state["tokens"], state["weights"], positions, task.equation.geometry)
    integration = _integration(settings, task, tokens)
    integration.restore(state)
    return integration


def _integration(
    settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens
) -> PairwiseIntegration | AdaptiveIntegration | NoisyIntegration | LayeredIntegration:
    if settings.layers is not None:
        return LayeredIntegration(settings, task, tokens)
    if has_noise(task.equation):
        return NoisyIntegration(settings, task, tokens)
    law = pairwise_law(task.equation)
    if law is not None and tokens.count <= MOST_TOKENS:
        return PairwiseIntegration(settings, task, tokens, law)
    return AdaptiveIntegration(settings, task, tokens)


def has_noise(equation: Equation) -> bool:
    """Whether kappa is finite at any time."""
    return any(np.isfinite(1 / diffusion) for diffusion in _diffusions(equation) if diffusion > 0)


def _diffusions(equation: Equation) -> list[float]:
    return [equation.noise.diffusion_at(time) for time in (0.0, *equation.noise.breaks())]
