"""Many tokens until so few clusters of them are left that sums over all pairs are better: faster, and with the digits
of drifts of any size, which the times of metastable clusters need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mfpde.contracts import Accuracy, Integration, Progress
from mfpde.geometry import Layout
from mfpde.measure import Measure
from mfpde.solvers.kernels.token_slope import PairwiseLaw
from mfpde.solvers.particles.adaptive import AdaptiveIntegration
from mfpde.solvers.particles.clusters import Gathered
from mfpde.solvers.particles.pairwise import MOST_TOKENS, PairwiseIntegration
from mfpde.solvers.particles.tokens import Tokens
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["GatheringIntegration"]


class GatheringIntegration(Integration):
    """An `AdaptiveIntegration` that goes on as a `PairwiseIntegration`."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens, law: PairwiseLaw) -> None:
        self._now: AdaptiveIntegration | PairwiseIntegration = AdaptiveIntegration(
            settings, task, tokens, gathered_at=MOST_TOKENS
        )
        #: without their first places, but where these have the norms that tokens keep
        self._given = settings, task, tokens.without_places() if task.equation.normalization is None else tokens, law

    @property
    def time(self) -> float:
        return self._now.time

    @property
    def layout(self) -> Layout:
        return self._now.layout

    def advance(self, target: float, budget: int) -> Progress:
        progress = self._now.advance(target, budget)
        if isinstance(self._now, AdaptiveIntegration) and self._now.gathered is not None:
            self._now = PairwiseIntegration(*self._given, self._now.gathered)
        return progress

    def measure(self) -> Measure:
        return self._now.measure()

    def copies(self) -> list[Measure]:
        return self._now.copies()

    def fields(self) -> dict[str, Float]:
        return self._now.fields()

    def facts(self) -> dict[str, float]:
        return self._now.facts()

    def residual(self) -> float:
        return self._now.residual()

    def accuracy(self) -> Accuracy:
        return self._now.accuracy()

    def statistics(self) -> dict[str, float]:
        return self._now.statistics()

    def trail(self, since: int) -> dict[str, Float]:
        return self._now.trail(since)

    def state(self) -> dict[str, AnyArray]:
        """With the present places for the first ones, of which only norms are needed."""
        state, task = self._now.state(), self._given[1]
        return {**state, "tokens": self._now.points()} if task.equation.normalization is None else state

    def restore(self, state: Mapping[str, AnyArray]) -> None:
        """Go on from there."""
        if "copies_state" in state:
            self._now = PairwiseIntegration(*self._given, Gathered.of_copy(state))
        self._now.restore(state)
