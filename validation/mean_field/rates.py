"""How fast errors fall with the number of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.typing import Float

__all__ = ["MARGIN", "Rate", "fitted"]

_CONFIDENCE = 0.95  # of the interval
_FALSE_REFUSAL = 0.01  # probability that a report refuses a rate although errors have it
#: slopes that share it equally (Bonferroni): smooth observables and two distances, over all counts and the last two
_SLOPES_JUDGED = 6
MARGIN = 0.05  # by which the slope of few counts may miss that of many: bias of order 1/n, corrections of the rate


@dataclass(frozen=True, eq=False)
class Rate:
    """`error ~ n^exponent`, fitted to the mean errors of repeated runs, with a confidence interval of 95 %.

    `expected` is None where theory has no rate; `why` then says it. `logarithm` is the power of `log n` that the
    expected law has besides and that is taken out before the fit.

    >>> counts = np.array([100, 1000, 10000])
    >>> rate = fitted("error", counts, 3 / np.sqrt(counts), 0.01 / np.sqrt(counts), expected=-0.5, repeats=32)
    >>> round(rate.exponent, 12), rate.kept
    (-0.5, True)
    """

    quantity: str
    counts: Float
    errors: Float  # mean over the repeats, or root mean square
    deviations: Float  # standard error of each
    exponent: float
    uncertainty: float  # standard error of the exponent
    repeats: int
    expected: float | None
    logarithm: float = 0.0
    why: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether errors fall no slower than they must, over all counts and over the last two, where a bias is left
        when chance has gone; None where theory has no rate."""
        if self.expected is None:
            return None
        slope, uncertainty = self._last
        of_last = slope - _refused(2, self.repeats) * uncertainty
        return bool(max(self.exponent - self.allowed, of_last) <= self.expected + MARGIN)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the exponent, by Student's law."""
        half = _deviations(0.5 * (1 - _CONFIDENCE), self.counts.size, self.repeats) * self.uncertainty
        return self.exponent - half, self.exponent + half

    @property
    def measured(self) -> str:
        """The exponent and its interval in words."""
        low, high = self.interval
        return f"n^{self.exponent:.2f} (95 % between n^{low:.2f} and n^{high:.2f})"

    @property
    def allowed(self) -> float:
        """By which the exponent must miss what is expected to be refused, besides the margin."""
        return _refused(self.counts.size, self.repeats) * self.uncertainty

    @property
    def _last(self) -> tuple[float, float]:
        """Slope from the last count but one to the last, and its standard error."""
        logs = np.log(self.errors[-2:]) - self.logarithm * np.log(np.log(self.counts[-2:]))
        spread = float(np.linalg.norm(self.deviations[-2:] / self.errors[-2:]))
        length = math.log(self.counts[-1] / self.counts[-2])
        return float(logs[1] - logs[0]) / length, spread / length

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "exponent": self.exponent,
            "interval": list(self.interval),
            "expected": self.expected,
            "logarithm": self.logarithm,
            "kept": self.kept,
            "why": self.why,
            "counts": [int(count) for count in self.counts],
            "errors": self.errors.tolist(),
            "deviations": self.deviations.tolist(),
        }

    @property
    def law(self) -> str:
        """`n^-1/2`, in words, of what is expected."""
        if self.expected is None:
            return "no rate"
        power = {-0.5: "n^-1/2", -0.25: "n^-1/4"}.get(self.expected, f"n^{self.expected:.3g}")
        return f"(log n)^{self.logarithm:g} {power}" if self.logarithm else power


def fitted(
    quantity: str,
    counts: Float,
    errors: Float,
    deviations: Float,
    *,
    expected: float | None,
    repeats: int,
    logarithm: float = 0.0,
    why: str = "",
) -> Rate:
    """A straight line through the logarithms, each with the weight of its uncertainty."""
    counts = np.asarray(counts, dtype=float)
    logs = np.log(errors) - logarithm * np.log(np.log(counts))
    spread = np.maximum(deviations / errors, 1e-12)
    weights = spread**-2.0
    x = np.log(counts)
    centre = weights @ x / weights.sum()
    moment = float(weights @ (x - centre) ** 2)
    slope = float(weights @ ((x - centre) * logs)) / moment
    left = logs - weights @ logs / weights.sum() - slope * (x - centre)
    freedom = max(counts.size - 2, 1)
    scatter = max(1.0, float(weights @ left**2) / freedom)  # a bent line is less certain than its points
    uncertainty = math.sqrt(scatter / moment)
    return Rate(quantity, counts, errors, deviations, slope, uncertainty, repeats, expected, logarithm, why)


def _refused(counts: int, repeats: int) -> float:
    """Standard errors beyond which a slope is refused."""
    return _deviations(_FALSE_REFUSAL / _SLOPES_JUDGED, counts, repeats)


def _deviations(probability: float, counts: int, repeats: int) -> float:
    """Standard errors that are exceeded with that probability on one side, where they are estimated from so many
    repeats of each count (Student's law)."""
    from scipy.special import stdtrit

    return float(stdtrit(counts * (repeats - 1), 1 - probability))
