"""The size of chance where linear theory has it: tokens about the stable uniform state of the circle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mfpde.validation.examined import CHANCE_DEVIATIONS
from mfpde.validation.report import Check

if TYPE_CHECKING:
    from mfpde.validation.mean_field.findings import Findings

__all__ = ["checks"]

_SOURCE = "fluctuations about the uniform state, an Ornstein-Uhlenbeck process [fernandez1997]"
_UNIFORM = 1e-2  # modes of the limit: linear theory is right but for products of two of them
_RELAXED = 1e-2  # what is left of what the fluctuations began with
_LEAST_TOKENS = 900  # below, terms of order 1/n show


def checks(findings: Findings) -> list[Check]:
    """`n E|c_k|^2 = 1 / (1 - kappa W_k)` for the modes c_k of tokens at rest, less those of the solution; W_k is the
    multiplier of degree k."""
    equation, limit = findings.limit.problem.equation, findings.limit
    if not findings.modes or equation.drift is not None or not equation.autonomous or not equation.noise.diffuses:
        return []
    law = equation.law
    convolution = None if law is None else law.convolution(equation.geometry)
    if law is not None and convolution is None:
        return []
    degrees = np.arange(1, next(iter(findings.modes.values())).shape[2] + 1)
    rates = np.zeros(degrees.size)
    if convolution is not None:
        known = convolution.growth_rates()[1 : degrees.size + 1]
        rates[: known.size] = known
    diffusion = equation.noise.diffusion
    decays = diffusion * degrees**2 - rates
    present = np.asarray(limit.measures[-1].harmonics(int(degrees[-1])).coefficients[1:])
    left = math.exp(-2 * float(decays.min()) * float(limit.times[-1])) if decays.min() > 0 else math.inf
    if left > _RELAXED or np.abs(present).max() > _UNIFORM:
        return []
    found = []
    for index, degree in enumerate(degrees):
        samples = [
            count * np.abs(modes[:, -1, index] - present[index]) ** 2
            for count, modes in findings.modes.items()
            if count >= _LEAST_TOKENS
        ]
        if not samples:
            return []
        pooled = np.concatenate(samples)
        exact = diffusion * degree**2 / decays[index]
        chance = CHANCE_DEVIATIONS * exact / math.sqrt(pooled.size)  # |c|^2 is exponentially distributed
        claim = f"n E|c_{degree}|^2 of {pooled.size} runs at rest is that of linear theory"
        found.append(
            Check.equal(claim, _SOURCE, expected=exact, measured=float(pooled.mean()), tolerance=chance + left * exact)
        )
    return found
