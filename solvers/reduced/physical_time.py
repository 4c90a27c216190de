"""Physical time t of a meeting of two clusters at a finite beta, from the time s of the limit and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from mfpde.typing import Float

__all__ = ["PhysicalTime"]

#: of log dt/ds over one panel, and of the panel in log tan(phi/2): 20 Gauss nodes then leave rounding
_PANEL = 2.0
#: of log dt/ds below its largest value: what comes later is rounding of t
_LEAST_LOG = 60.0
#: of the quadrature of dt/ds over a panel, on [-1, 1]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


@dataclass(frozen=True)
class PhysicalTime:
    """`dt = e^{beta (1 - cos phi)} ds` under softmax, `e^{-beta cos phi} ds` under unnormalized attention, along
    `phi' = -c sin phi`. In `u = log tan(phi / 2)`, which falls at the constant rate c, `cos phi = -tanh u`.
    """

    beta: float
    normalised: bool

    def log_pace(self, angle: float) -> float:
        """`log dt/ds` at that angle."""
        return float(self._exponent(np.array(np.log(np.tan(angle / 2)))))

    def _exponent(self, u: Float) -> Float:
        grown: Float = 2 * self.beta / (1 + np.exp(-2 * u))
        return grown if self.normalised else grown - self.beta

    def log_duration(self, angle: float, rate: float, s: float) -> float:
        """log t of the time s from that angle on."""
        top = float(np.log(np.tan(angle / 2)))
        levels = np.tanh(top) - np.arange(0.0, _LEAST_LOG, _PANEL) / self.beta
        bends = np.arctanh(levels[np.abs(levels) < 1])
        cuts = np.concatenate([bends, top - np.arange(0.0, rate * s, _PANEL)])
        cuts = np.unique(np.concatenate([cuts[(cuts > top - rate * s) & (cuts < top)], [top - rate * s, top]]))
        halves, middles = np.diff(cuts)[:, None] / 2, (cuts[1:] + cuts[:-1])[:, None] / 2
        exponents, weights = self._exponent(middles + halves * _NODES), halves * _WEIGHTS / rate
        return float(logsumexp(exponents.ravel(), b=weights.ravel()))

    def passed(self, angle: float, rate: float, t: float, end: float) -> float:
        """s at the time t from that angle on, at most `end`."""
        from scipy.optimize import brentq

        if t <= 0:
            return 0.0
        least = float(np.log(t)) - self.log_pace(angle)  # the pace falls
        wanted, most = float(np.log(t)), float(np.log(end))
        if least >= most or self.log_duration(angle, rate, end) <= wanted:
            return end
        if least < np.log(np.finfo(float).tiny):
            return 0.0

        def missing(log_s: float) -> float:
            return self.log_duration(angle, rate, float(np.exp(log_s))) - wanted

        return float(np.exp(least if missing(least) >= 0 else brentq(missing, least, most, xtol=1e-15, rtol=1e-15)))
