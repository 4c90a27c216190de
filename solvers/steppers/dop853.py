"""The classical method of order eight of Dormand and Prince, with its interpolation of order seven [hairer1993].

`U_i = u + h sum_j a_ij f(t + c_j h, U_j)`, `u_{n+1} = u + h sum_i b_i f(t + c_i h, U_i)`; the coefficients are those of
`gif853`, which is this method where the equation has no linear part. Four evaluations more, one of them shared with the
next step, give the solution at any time inside the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.base import OrdinarySystem, Size, Step
from mfpde.solvers.steppers.explicit import ExplicitStepper, Tableau
from mfpde.solvers.steppers.gif853 import ERROR_FIVE, ERROR_THREE, NODES, STAGE_WEIGHTS, STAGES, WEIGHTS
from mfpde.typing import Float

__all__ = ["Dop853", "Dop853Step", "interpolate"]


def _nonzero(weights: Float) -> dict[int, float]:
    """Weights that are not zero, by the number of their slope."""
    return {number: float(weight) for number, weight in enumerate(weights) if weight}


_STAGES = tuple(_nonzero(weights) for weights in STAGE_WEIGHTS[1:])
_SOLUTION_WEIGHTS, _FIVE, _THREE = _nonzero(WEIGHTS), _nonzero(ERROR_FIVE), _nonzero(ERROR_THREE)
_MORE_NODES = (0.1, 0.2, 7 / 9)  # of the three further stages of dense output
# weights of the slopes of the first thirteen stages (the last one at u_{n+1}) and of those before it
_MORE_STAGES = (
    {0: 0.056167502283047954, 6: 0.25350021021662483, 7: -0.2462390374708025, 8: -0.12419142326381637,
     9: 0.15329179827876568, 10: 0.00820105229563469, 11: 0.007567897660545699, 12: -0.008298},
    {0: 0.03183464816350214, 5: 0.028300909672366776, 6: 0.053541988307438566, 7: -0.05492374857139099,
     10: -0.00010834732869724932, 11: 0.0003825710908356584, 12: -0.00034046500868740456, 13: 0.1413124436746325},
    {0: -0.42889630158379194, 5: -4.697621415361164, 6: 7.683421196062599, 7: 4.06898981839711, 8: 0.3567271874552811,
     12: -0.0013990241651590145, 13: 2.9475147891527724, 14: -9.15095847217987},
)  # fmt: skip
_SHAPES = (
    {0: -8.428938276109013, 5: 0.5667149535193777, 6: -3.0689499459498917, 7: 2.38466765651207, 8: 2.117034582445028,
     9: -0.871391583777973, 10: 2.2404374302607883, 11: 0.6315787787694688, 12: -0.08899033645133331,
     13: 18.148505520854727, 14: -9.194632392478356, 15: -4.436036387594894},
    {0: 10.427508642579134, 5: 242.28349177525817, 6: 165.20045171727028, 7: -374.5467547226902,
     8: -22.113666853125306, 9: 7.733432668472264, 10: -30.674084731089398, 11: -9.332130526430229,
     12: 15.697238121770845, 13: -31.139403219565178, 14: -9.35292435884448, 15: 35.81684148639408},
    {0: 19.985053242002433, 5: -387.0373087493518, 6: -189.17813819516758, 7: 527.8081592054236, 8: -11.57390253995963,
     9: 6.8812326946963, 10: -1.0006050966910838, 11: 0.7777137798053443, 12: -2.778205752353508,
     13: -60.19669523126412, 14: 84.32040550667716, 15: 11.99229113618279},
    {0: -25.69393346270375, 5: -154.18974869023643, 6: -231.5293791760455, 7: 357.6391179106141, 8: 93.40532418362432,
     9: -37.45832313645163, 10: 104.0996495089623, 11: 29.8402934266605, 12: -43.53345659001114, 13: 96.32455395918828,
     14: -39.17726167561544, 15: -149.72683625798564},
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Dop853Step(Step):
    """With the slopes that the step is made of, the thirteenth at its end."""

    slopes: tuple[Float, ...]
    last_stage: Float

    def stiffness(self, size: Size) -> float:
        """|h lambda| of the fastest motion about the solution; beyond the `reach` it is stability that limits steps."""
        apart = size(self.end - self.last_stage)
        return size(self.step * (self.slopes[12] - self.slopes[11])) / apart if apart > 0 else 0.0

    def shape(self, system: OrdinarySystem) -> Float:
        """What `interpolate` needs, `(8, *state.shape)`: start, end minus start, and six shapes in between."""
        slopes = list(self.slopes)
        for node, weights in zip(_MORE_NODES, _MORE_STAGES, strict=True):
            inside = self.start + self.step * _sum(weights, slopes)
            slopes.append(system.rhs(self.time + node * self.step, inside))
        change = self.end - self.start
        first = self.step * slopes[0] - change
        bent = 2 * change - self.step * (slopes[12] + slopes[0])
        return np.stack([self.start, change, first, bent, *(self.step * _sum(row, slopes) for row in _SHAPES)])


def interpolate(shape: Float, part: float) -> Float:
    """The solution at `part` of a step, 0 to 1, to order seven."""
    values = shape[-1].copy()
    for number in range(shape.shape[0] - 2, -1, -1):
        values *= part if number % 2 == 0 else 1 - part
        values += shape[number]
    return values


@register("stepper", "dop853")
class Dop853(ExplicitStepper):
    """Twelve stages of order eight, the default of finite volumes of order seven and nine.

    >>> from mfpde.solvers.steppers.base import OrdinarySystem
    >>> step = Dop853().step(OrdinarySystem.of(lambda t, u: -u), 0.0, np.array([1.0]), 0.1)
    >>> print(round(step.end[0] * np.exp(0.1), 14))
    1.0
    """

    order = 8
    error_order = 8
    citations = ("hairer1993",)
    step_share = 15.0  # the estimate, of orders five and three, is 2 to 40 times the error, most in short steps
    reach = 6.1
    cfl = 2.5
    tableau = Tableau(NODES, STAGE_WEIGHTS, WEIGHTS, np.array([ERROR_FIVE[:STAGES], ERROR_THREE[:STAGES]]))

    def step(
        self, system: OrdinarySystem, time: float, state: Float, step: float, first: Float | None = None
    ) -> Dop853Step:
        """One step from `state`; `first` is the slope there when it is known."""
        slopes = [system.rhs(time, state) if first is None else first]
        inside = state
        for node, weights in zip(NODES[1:], _STAGES, strict=True):
            inside = state + step * _sum(weights, slopes)
            slopes.append(system.rhs(time + float(node) * step, inside))
        end = state + step * _sum(_SOLUTION_WEIGHTS, slopes)
        slopes.append(system.rhs(time + step, end))
        differences = (step * _sum(_FIVE, slopes), step * _sum(_THREE, slopes))
        return Dop853Step(time, step, state, end, differences, tuple(slopes), inside)


def _sum(weights: dict[int, float], slopes: Sequence[Float]) -> Float:
    total = np.zeros_like(slopes[0])
    for number, weight in weights.items():
        total += weight * slopes[number]
    return total
