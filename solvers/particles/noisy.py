"""Tokens with noise: `dx_i = G(x_i) dt + sqrt(2/kappa) dW_i` in steps of one evaluation each.

Noise `N` and drift `D` are split as `D(h/2) N(h) D(h/2)`, of weak order two on every space. Of what is between two
noises, `D(h/2) D(h/2)`, the middle x is what is shown, and its drift serves both halves: from y, where the noise has
left a token, along the drift g of the step before, `x = y + (h/2) g`; then along the drift at x from y once more,
`y -> y + h G(x)`. In R^d that is the scheme of Adams and Bashforth with additive noise,
`x_{n+1} = x_n + h (3/2 G_n - 1/2 G_{n-1}) + sqrt(2h/kappa) xi_n`, of strong order one. On spheres sums are geodesics and
tangents move along them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from mfpde.contracts import Progress, State
from mfpde.errors import ProblemError
from mfpde.measure import Particles
from mfpde.solvers.particles.shown import TokenIntegration, spread
from mfpde.solvers.particles.tokens import Tokens
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from mfpde.equation import InitialValueProblem
    from mfpde.solvers.particles import ParticleSystem

__all__ = ["NoisyIntegration"]

#: of the time in which drifts or, on bounded spaces, noise change anything
_STEP_SHARE = 0.05
#: of the size of tokens, by which they are moved to see how fast drifts change
_NUDGE = 1e-4
#: of a coordinate; tokens beyond it are lost
_FARTHEST = 1e60


class NoisyIntegration(TokenIntegration):
    """Steps of equal length from t = 0 on; times between them are reached by a part of a step that is not kept."""

    def __init__(self, settings: ParticleSystem, task: InitialValueProblem, tokens: Tokens) -> None:
        super().__init__(settings, task, tokens)
        self._noise = task.equation.noise
        self._steps = 0
        self._x = tokens.points.copy()
        self._g = self._drifts(0.0, self._x)
        if not np.isfinite(self._g).all():
            raise ProblemError.at("attention", "moves these tokens at a speed beyond all numbers")
        self._length = self._chosen_step()
        self._y = self._along(self._x, self._x, self._g, -0.5 * self._length)
        self._view: tuple[float, Float] = (0.0, self._x)
