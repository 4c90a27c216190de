"""Which way tokens are moved: by steps of which kind, by which sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mfpde.contracts import Integration
from mfpde.errors import ProblemError
from mfpde.ranks import present
from mfpde.solvers.kernels.token_slope import PairwiseLaw
from mfpde.solvers.particles import is_noisy
from mfpde.solvers.particles.adaptive import AdaptiveIntegration
from mfpde.solvers.particles.clusters import merge_distance
from mfpde.solvers.particles.gathering import GatheringIntegration
from mfpde.solvers.particles.layered import LayeredIntegration
from mfpde.solvers.particles.noisy import NoisyIntegration
from mfpde.solvers.particles.pairwise import MOST_TOKENS, PairwiseIntegration, may_blow_up, pairwise_law
from mfpde.solvers.particles.shown import OF_TOKENS
from mfpde.solvers.particles.span import law_in_span
from mfpde.solvers.particles.tokens import Tokens, first_tokens
from mfpde.typing import AnyArray

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["earlier_integration", "integration_of"]

#: components, and products of numbers in an evaluation, up to which compiled sums over pairs are faster than products
#: of matrices: these take a millisecond to begin
_MOST_COMPONENTS, _MOST_PRODUCTS = 64, 2_000_000


def integration_of(settings: ParticleSystem, task: InitialValueProblem) -> Integration:
    """At t = 0."""
    return _integration(settings, task, first_tokens(settings, task))


def earlier_integration(
    settings: ParticleSystem, task: InitialValueProblem, state: Mapping[str, AnyArray]
) -> Integration:
    """As it was left; nothing is drawn again."""
    ranks = present()
    state = ranks.handed_out(state, OF_TOKENS)
    positions = state["positions"] if state["positions"].size else None
    tokens = Tokens(state["tokens"], state["weights"], positions, task.equation.geometry, ranks)
    integration = _integration(settings, task, tokens)
    integration.restore(state)
    return integration


def _is_wide(law: PairwiseLaw, count: int) -> bool:
    """Whether products of whole matrices, which the fast sums are made of in many dimensions, are faster."""
    dimension = law.query.shape[1]
    if dimension <= _MOST_COMPONENTS or law_in_span(law, 0) is not None:
        return False
    return count * dimension * (count + dimension) > _MOST_PRODUCTS


def _integration(
    settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens
) -> PairwiseIntegration | AdaptiveIntegration | GatheringIntegration | NoisyIntegration | LayeredIntegration:
    if task.clock == "gradient" and (settings.layers is not None or is_noisy(task.equation)):
        raise ProblemError.at("time.clock", "gradient is the clock of a flow: without noise, and without layers")
    if settings.layers is not None:
        return LayeredIntegration(settings, task, tokens)
    if is_noisy(task.equation):
        return NoisyIntegration(settings, task, tokens)
    if tokens.ranks.size > 1:
        return AdaptiveIntegration(settings, task, tokens)
    law = pairwise_law(task.equation, task.clock)
    alone = tokens.copies == 1 and task.clock == "physical"
    several = task.clock == "gradient" and law is not None and law.kinds.size > 1
    elsewhere = several or (alone and law is not None and (may_blow_up(law) or _is_wide(law, tokens.count)))
    if law is not None and tokens.count <= MOST_TOKENS and not elsewhere:
        return PairwiseIntegration(settings, task, tokens, law)
    if task.clock == "gradient":
        raise ProblemError.at("time.clock", f"gradient is for at most {MOST_TOKENS} tokens under one kernel of scores")
    if tokens.copies > 1:
        raise ProblemError.at("solver.copies", f"without noise are for at most {MOST_TOKENS} tokens, kernels of scores")
    if law is None or may_blow_up(law) or merge_distance(settings, tokens, task.equation.normalization) == 0:
        return AdaptiveIntegration(settings, task, tokens)
    return GatheringIntegration(settings, task, tokens, law)
