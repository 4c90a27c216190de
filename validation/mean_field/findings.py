"""What measurements of growing numbers of tokens come to: rates, the bias that is left, fluctuations, and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.registry import lookup
from mfpde.typing import Float
from mfpde.validation.examined import CHANCE_DEVIATIONS
from mfpde.validation.mean_field import fluctuations, theory
from mfpde.validation.mean_field.kept import Kept
from mfpde.validation.mean_field.limit import Limit
from mfpde.validation.mean_field.measuring import as_complex, snapshots_measured, solved_tokens
from mfpde.validation.mean_field.parting import LATER, Parting
from mfpde.validation.mean_field.plan import Plan
from mfpde.validation.mean_field.rates import MARGIN, Rate, fitted
from mfpde.validation.report import Check

if TYPE_CHECKING:
    from mfpde.validation.mean_field.theory import Expectation
    from mfpde.validation.waves import Complex

__all__ = ["Findings"]

_SOURCE = "the mean-field limit [sznitman1991]"
_SOURCE_OF_DISTANCES = "distances of independent draws [fournier2015]"
_BIAS_FACTOR = 20.0  # times 1/n: what a bias of order 1/n may be for waves of modulus 1
_SMOOTH_NAME = "smooth observables"
#: its square is at most 2 W_1, whose rate is judged: n^-1/2 for wide measures, n^-1/4 for clusters that are all but
#: points
_NOT_JUDGED = ("energy",)
_TOKENS_DRAWN = 2000  # beside the solution


@dataclass(frozen=True, eq=False)
class Findings:
    """All measurements of one study, `(repeat, ...)` by the number of tokens."""

    plan: Plan
    limit: Limit
    counts: tuple[int, ...]
    waves: Mapping[int, Complex]  # (repeat, time, wave)
    distances: Mapping[int, Mapping[str, Float]]  # (repeat, time)
    modes: Mapping[int, Complex]  # (repeat, time, degree), on the circle alone

    @classmethod
    def of(cls, plan: Plan, limit: Limit, kept: Kept) -> Findings:
        """Of the counts whose measurements are all there."""
        groups = {
            count: [kept.measurements.get((count, repeat)) for repeat in range(1, plan.repeats + 1)]
            for count in plan.counts
        }
        whole: dict[int, list[dict[str, Any]]] = {
            count: [each for each in group if each is not None] for count, group in groups.items() if None not in group
        }
        distances = {
            count: {kind: np.array([each["distances"][kind] for each in group]) for kind in group[0]["distances"]}
            for count, group in whole.items()
        }
        return cls(
            plan,
            limit,
            tuple(whole),
            {count: as_complex([each["waves"] for each in group]) for count, group in whole.items()},
            distances,
            {
                c: as_complex([each["harmonics"] for each in group])
                for c, group in whole.items()
                if "harmonics" in group[0]
            },
        )

    # -- smooth observables
    # ---------------------------------------------------------------------------------------------------------

    @cached_property
    def errors(self) -> Float:
        """Root mean square of the errors of the waves, `(count, time)`."""
        return np.array([np.sqrt((np.abs(self.waves[count]) ** 2).mean(axis=(0, 2))) for count in self.counts])

    @cached_property
    def parting(self) -> Parting:
        """Where tokens and the solution part."""
        spreads = [self.waves[count].std(axis=0) for count in self.counts]
        sizes = np.array([np.sqrt((spread**2).mean(axis=1)) for spread in spreads])
        return Parting(self.limit.times, np.array(self.counts, dtype=float), sizes, self.errors)

    @cached_property
    def rates(self) -> dict[str, Rate]:
        """By quantity."""
        together = self.parting.together
        if not together:
            return {}
        expected, counts = theory.smooth(self.limit), self.counts[self.parting.from_count :]
        smooth = {count: np.sqrt((np.abs(self.waves[count][:, together]) ** 2).mean(axis=(1, 2))) for count in counts}
        found = {_SMOOTH_NAME: self._rate(_SMOOTH_NAME, smooth, expected)}
        measured = snapshots_measured(self.limit.times.size)
        kept = [place for place, index in enumerate(measured) if index in together]
        for kind in self.distances[counts[0]] if kept else ():
            errors = {
                count: np.sqrt((self.distances[count][kind][:, kept] ** 2).mean(axis=1))
                for count in counts
                if kind in self.distances[count]
            }
            if len(errors) >= 2:
                found[kind] = self._rate(kind, errors, theory.of_distance(kind, self.limit))
        return found

    @staticmethod
    def _rate(quantity: str, errors: Mapping[int, Float], expected: Expectation) -> Rate:
        """Of the root mean square over the repeats."""
        squares = {count: each**2 for count, each in errors.items()}
        means = np.array([np.sqrt(each.mean()) for each in squares.values()])
        spread = np.array([each.std(ddof=1) / np.sqrt(each.size) for each in squares.values()])
        counts = np.array(list(errors), dtype=float)
        return fitted(
            quantity,
            counts,
            np.maximum(means, np.finfo(float).tiny),
            np.maximum(spread / (2 * means), np.finfo(float).tiny),
            expected=expected.exponent,
            repeats=len(next(iter(squares.values()))),
            logarithm=expected.logarithm,
            why=expected.why,
        )

    # -- verdicts
    # ---------------------------------------------------------------------------------------------------------

    @property
    def claim(self) -> str:
        """What was measured."""
        counts = ", ".join(f"{count:,}" for count in self.counts)
        measured = f"n = {counts}, {self.plan.repeats} repeats each; bars and bands are two standard errors"
        return f"independent tokens tend to the solution: {measured}"

    def checks(self) -> list[Check]:
        """The rates that theory has, the bias that is left, fluctuations, and how they part."""
        return [*self._rates_kept(), *self._bias(), *fluctuations.checks(self), *self._parting()]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is measured and not judged."""
        found = [
            f"{rate.quantity} distance: n^{rate.exponent:.2f} where n^-1/2 is expected of wide measures, and "
            "n^-1/4 of clusters that are all but points; not judged"
            for rate in self.rates.values()
            if rate.quantity in _NOT_JUDGED and rate.kept is False
        ]
        unknown = [rate for rate in self.rates.values() if rate.expected is None]
        for why in dict.fromkeys(rate.why for rate in unknown):
            measured = ", ".join(f"{rate.quantity} {rate.measured}" for rate in unknown if rate.why == why)
            found.append(f"{why}; measured and not judged: {measured}")
        if not any(self.distances.values()):
            found.append("distances are not measured: tokens have positions, and each position holds few of them")
        if self.plan.limit is None:
            found.append("no solver knows the limit: tokens are held against many more tokens, which share their bias")
        if self.parting.when is not None:
            place = self.parting.parted
            found.append(
                f"from t = {self.parting.when:.4g} on tokens and the solution part (systems of {self.counts[place]:,} "
                f"differ by more than {self.parting.bounds[place]:.2g}): chance grows where a state is unstable, "
                "critical or metastable; rates are of the times before"
            )
        return tuple(found)

    def _rates_kept(self) -> list[Check]:
        if not self.rates:
            claim = "tokens follow the solution for a while"
            first = float(self.errors[-1, 1])
            return [Check.at_most(claim, _SOURCE, bound=float(self.parting.bounds[-1]), measured=first)]
        found = []
        for rate in self.rates.values():
            if rate.expected is None or rate.kept is None or rate.quantity in _NOT_JUDGED:
                continue
            low, high = rate.interval
            claim = f"{rate.quantity}: errors fall like {rate.law} (95 % between n^{low:.2f} and n^{high:.2f})"
            tolerance = rate.allowed + MARGIN
            source = _SOURCE if rate.quantity == _SMOOTH_NAME else _SOURCE_OF_DISTANCES
            found.append(Check(claim, source, rate.expected, rate.exponent, tolerance, rate.kept, "<="))
        return found

    def _bias(self) -> list[Check]:
        """The mean over the repeats tends to the solution faster than each of them, like 1/n: what is left by the most
        tokens is chance."""
        if not self.parting.together or self.plan.limit is None or theory.smooth(self.limit).exponent is None:
            return []
        worst, place = 0.0, (0, 0)
        count = self.counts[-1]
        for index in self.parting.together:
            sample = self.waves[count][:, index]
            error = np.sqrt((np.abs(sample - sample.mean(axis=0)) ** 2).sum(axis=0) / (len(sample) - 1) / len(sample))
            allowed = CHANCE_DEVIATIONS * error + _BIAS_FACTOR / count
            ratios = np.abs(sample.mean(axis=0)) / allowed
            if ratios.max() > worst:
                worst, place = float(ratios.max()), (index, int(ratios.argmax()))
        time = float(self.limit.times[place[0]])
        claim = (
            f"the solution is the mean of {len(self.waves[count])} systems of {count:,} tokens, worst at "
            f"t = {time:.4g}: over what chance and 1/n allow"
        )
        return [Check.at_most(claim, _SOURCE, bound=1.0, measured=worst)]

    def _parting(self) -> list[Check]:
        """Where tokens and the solution part they do so later the more tokens there are; nothing is checked where the
        most tokens follow it to the end."""
        if self.parting.when is None or not self.parting.together or not math.isfinite(self.parting.later):
            return []
        claim = "more tokens follow the solution longer before they part: time of parting, over that of the fewest"
        return [Check.at_least(claim, _SOURCE, bound=LATER, measured=self.parting.later)]

    def draw(self, figure: Any) -> None:
        """Errors against n, over time, and tokens beside the solution."""
        times = self.limit.times
        errors = []
        for count in self.counts:
            squares = (np.abs(self.waves[count]) ** 2).mean(axis=2)
            means = np.sqrt(squares.mean(axis=0))
            errors.append((count, means, squares.std(axis=0, ddof=1) / np.sqrt(len(squares)) / (2 * means)))
        tokens = solved_tokens(self.plan.tokens, min(max(self.counts), _TOKENS_DRAWN), 1)
        chosen = (0, int(np.argmin(np.abs(times - times[-1] / 2))), times.size - 1)
        beside = [(float(times[k]), tokens.measure(k), self.limit.measures[k]) for k in chosen]
        lookup("view", "mean-field")(list(self.rates.values()), times, errors, beside, figure)
