"""How fast errors fall with the number of tokens."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.typing import Float

__all__ = ["MARGIN", "Rate", "fitted"]

_CONFIDENCE = 0.95  # of the interval
_REFUSED = 3 / 1.96  # half intervals: three standard deviations, as a report has some ten rates that chance can miss
MARGIN = 0.05  # by which the slope of few counts may miss that of many: bias of order 1/n, corrections of the rate


@dataclass(frozen=True, eq=False)
class Rate:
    """`error ~ n^exponent`, fitted to the mean errors of repeated runs, with a confidence interval of 95 %.

    `expected` is None where theory has no rate; `why` then says it. `logarithm` is the power of `log n` that the
    expected law has besides and that is taken out before the fit.

    >>> counts = np.array([100, 1000, 10000])
    >>> rate = fitted("error", counts, 3 / np.sqrt(counts), 0.01 / np.sqrt(counts), expected=-0.5)
    >>> round(rate.exponent, 12), rate.kept
    (-0.5, True)
    """

    quantity: str
    counts: Float
    errors: Float  # mean over the repeats, or root mean square
    deviations: Float  # standard error of each
    exponent: float
    interval: tuple[float, float]
    expected: float | None
    logarithm: float = 0.0
    why: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether errors fall no slower than they must, over all counts and over the last two, where a bias is left
        when chance has gone; None where theory has no rate."""
        if self.expected is None:
            return None
        slope, half = self._last
        return bool(max(self.exponent - self.uncertainty, slope - _REFUSED * half) <= self.expected + MARGIN)

    @property
    def uncertainty(self) -> float:
        """By which the exponent must miss what is expected to be refused, besides the margin."""
        return _REFUSED * 0.5 * (self.interval[1] - self.interval[0])

    @property
    def _last(self) -> tuple[float, float]:
        """Slope from the last count but one to the last, and half its interval."""
        logs = np.log(self.errors[-2:]) - self.logarithm * np.log(np.log(self.counts[-2:]))
        spread = float(np.linalg.norm(self.deviations[-2:] / self.errors[-2:]))
        length = math.log(self.counts[-1] / self.counts[-2])
        return float(logs[1] - logs[0]) / length, _deviations() * spread / length

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
    half = _deviations() * math.sqrt(scatter / moment)
    interval = slope - half, slope + half
    return Rate(quantity, counts, errors, deviations, slope, interval, expected, logarithm, why)


def _deviations() -> float:
    """Standard deviations of the confidence, both sides of a normal law."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * _CONFIDENCE))
