"""Which way tokens are moved: by steps of which kind, by which sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mfpde.contracts import Integration
from mfpde.errors import ProblemError
from mfpde.solvers.particles import is_noisy
from mfpde.solvers.particles.adaptive import AdaptiveIntegration
from mfpde.solvers.particles.layered import LayeredIntegration
from mfpde.solvers.particles.noisy import NoisyIntegration
from mfpde.solvers.particles.pairwise import MOST_TOKENS, PairwiseIntegration, may_blow_up, pairwise_law
from mfpde.solvers.particles.tokens import Tokens, first_tokens
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
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
    if task.clock == "gradient" and (settings.layers is not None or is_noisy(task.equation)):
        raise ProblemError.at("time.clock", "gradient is the clock of a flow: without noise, and without layers")
    if settings.layers is not None:
        return LayeredIntegration(settings, task, tokens)
    if is_noisy(task.equation):
        return NoisyIntegration(settings, task, tokens)
    law = pairwise_law(task.equation, task.clock)
    alone = tokens.copies == 1 and task.clock == "physical"
    if law is not None and tokens.count <= MOST_TOKENS and not (alone and may_blow_up(law)):
        return PairwiseIntegration(settings, task, tokens, law)
    if task.clock == "gradient":
        raise ProblemError.at("time.clock", f"gradient is for at most {MOST_TOKENS} tokens under one kernel of scores")
    if tokens.copies > 1:
        raise ProblemError.at("solver.copies", f"without noise are for at most {MOST_TOKENS} tokens, kernels of scores")
    return AdaptiveIntegration(settings, task, tokens)
