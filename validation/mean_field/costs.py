"""How many tokens and how often: chosen by the processor time that systems of few tokens were seen to take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mfpde.validation.mean_field.plan import LEAST_COUNTS, Plan
from mfpde.workers import usable_processors

__all__ = ["Costs", "affordable"]

#: of n, that costs grow with at least and at most: steps of some overhead, and sums over all pairs
_POWERS = (0.0, 2.0)


class Costs:
    """Seconds of processor time that one system takes, by its number of tokens: the least that was measured, because
    the first system of every worker loads kernels as well.

    >>> costs = Costs()
    >>> costs.add(100, 0.5), costs.add(100, 0.2), costs.add(200, 0.8)
    (None, None, None)
    >>> costs.of(100), round(costs.of(400), 12)
    (0.2, 3.2)
    """

    def __init__(self) -> None:
        self._measured: dict[int, float] = {}

    def add(self, count: int, seconds: float) -> None:
        """Of one system."""
        self._measured[count] = min(seconds, self._measured.get(count, math.inf))

    @property
    def empty(self) -> bool:
        return not self._measured

    @property
    def last(self) -> tuple[int, float]:
        """The most tokens, and what they take."""
        most = max(self._measured)
        return most, self._measured[most]

    def of(self, count: int) -> float:
        """As measured; fewer tokens than that take no longer, and beyond costs grow with the power of n of the last
        two."""
        more = [seconds for each, seconds in self._measured.items() if each >= count]
        if more:
            return min(more)
        *before, last = sorted(self._measured)
        power = _POWERS[0]
        if before:
            growth = math.log(self._measured[last] / self._measured[before[-1]]) / math.log(last / before[-1])
            power = float(np.clip(growth, *_POWERS))
        return self._measured[last] * (count / last) ** power

    def probes(self, plan: Plan) -> Iterator[int]:
        """Numbers of tokens of which a system should be measured next: the usual ones, ascending, as long as there
        might be time for a few of each up to there, then fewer tokens where there is none for as many usual counts as
        make a slope."""
        for ladder in (plan.counts, (*plan.spare, *plan.counts)):
            for place, count in enumerate(ladder):
                if not self._may_fit(plan, ladder[: max(place + 1, LEAST_COUNTS)]):
                    break
                if count not in self._measured:
                    yield count
            if self._may_fit(plan, ladder[:LEAST_COUNTS]):
                return

    def _may_fit(self, plan: Plan, counts: tuple[int, ...]) -> bool:
        """Whether there might be time for the fewest repeats of each."""
        if self.empty:
            return True
        return sum(self._at_least(count) for count in counts) * min(plan.fewer) <= _seconds(plan)

    def _at_least(self, count: int) -> float:
        """What a system takes at least: no less than fewer tokens, and than sums over all pairs beside more tokens."""
        more = min((each for each in self._measured if each >= count), default=None)
        if more is None:
            return self.of(count)
        fewer = [seconds for each, seconds in self._measured.items() if each <= count]
        return max(self._measured[more] * (count / more) ** _POWERS[1], *fewer, 0.0)


def affordable(plan: Plan, costs: Costs) -> Plan:
    """The plan with as many counts, then as many repeats, as there is time for: usual counts if three of them fit,
    otherwise fewer tokens, and none where these do not fit either."""
    if plan.asked:
        reached = _within(plan, costs, plan.counts, plan.repeats)
        return replace(plan, counts=max(reached, plan.counts[:LEAST_COUNTS], key=len))
    ladders = plan.counts, (*plan.spare, *plan.counts)
    tried = [(plan.counts, plan.repeats), *((counts, repeats) for repeats in plan.fewer for counts in ladders)]
    for counts, repeats in tried:
        reached = _within(plan, costs, counts, repeats)
        if len(reached) >= LEAST_COUNTS:
            times = _seconds(plan) / sum(costs.of(count) for count in reached)
            return replace(plan, counts=reached, repeats=int(min(max(times, repeats), plan.repeats)))
    return replace(plan, counts=())


def _within(plan: Plan, costs: Costs, counts: tuple[int, ...], repeats: int) -> tuple[int, ...]:
    """The first of the counts, as many as there is time for."""
    totals = np.cumsum([costs.of(count) for count in counts]) * repeats
    totals += [costs.of(plan.tokens_for_limit * count) for count in counts]
    return counts[: int(np.searchsorted(totals, _seconds(plan), side="right"))]


def _seconds(plan: Plan) -> float:
    """On all processors."""
    return plan.seconds * usable_processors()
