"""The exponential Runge-Kutta scheme of order eight: Dormand and Prince's 8(5,3) as a generalized integrating factor.

For `u' = L u + N(u)` with diagonal L the part that stays constant over a step is integrated exactly and the rest,
`v' = e^{-tL} (N(u) - N(u_n))`, by the classical scheme [hairer1993, krogstad2005]:

    U_i = e^{c_i hL} (u + h sum_j a_ij S_j) + c_i h phi_1(c_i hL) N(u_n),     S_j = e^{-c_j hL} (N(U_j) - N(u_n)).

Order eight for every L, steady states of the equation are steady states of the scheme, and without L it is the
classical method. Some c_i are smaller than an earlier one, so e^{(c_i - c_j) hL} grows, by e^{0.083 |hL|} at most:
`LARGEST_DECAY` bounds |hL|.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.registry import register
from mfpde.typing import AnyArray, Float

__all__ = ["LARGEST_DECAY", "NODES", "ORDER", "STAGES", "Gif853"]

ORDER = 8
STAGES = 12
LARGEST_DECAY = 64.0

NODES = np.array(
    [
        0.0,
        0.05260015195876773,
        0.0789002279381516,
        0.1183503419072274,
        0.2816496580927726,
        0.3333333333333333,
        0.25,
        0.3076923076923077,
        0.6512820512820513,
        0.6,
        0.8571428571428571,
        1.0,
    ]
)
STAGE_WEIGHTS = np.array(
    [
        [
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.05260015195876773,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.0197250569845379,
            0.0591751709536137,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.02958758547680685,
            0.0,
            0.08876275643042054,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.2413651341592667,
            0.0,
            -0.8845494793282861,
            0.924834003261792,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.037037037037037035,
            0.0,
            0.0,
            0.17082860872947386,
            0.12546768756682242,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.037109375,
            0.0,
            0.0,
            0.17025221101954405,
            0.06021653898045596,
            -0.017578125,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.03709200011850479,
            0.0,
            0.0,
            0.17038392571223998,
            0.10726203044637328,
            -0.015319437748624402,
            0.008273789163814023,
            0.0,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.6241109587160757,
            0.0,
            0.0,
            -3.3608926294469414,
            -0.868219346841726,
            27.59209969944671,
            20.154067550477894,
            -43.48988418106996,
            0.0,
            0.0,
            0.0,
            0.0,
        ],
        [
            0.47766253643826434,
            0.0,
            0.0,
            -2.4881146199716677,
            -0.590290826836843,
            21.230051448181193,
            15.279233632882423,
            -33.28821096898486,
            -0.020331201708508627,
            0.0,
            0.0,
            0.0,
        ],
        [
            -0.9371424300859873,
            0.0,
            0.0,
            5.186372428844064,
            1.0914373489967295,
            -8.149787010746927,
            -18.52006565999696,
            22.739487099350505,
            2.4936055526796523,
            -3.0467644718982196,
            0.0,
            0.0,
        ],
        [
            2.273310147516538,
            0.0,
            0.0,
            -10.53449546673725,
            -2.0008720582248625,
            -17.9589318631188,
            27.94888452941996,
            -2.8589982771350235,
            -8.87285693353063,
            12.360567175794303,
            0.6433927460157636,
            0.0,
        ],
    ]
)
WEIGHTS = np.array(
    [
        0.054293734116568765,
        0.0,
        0.0,
        0.0,
        0.0,
        4.450312892752409,
        1.8915178993145003,
        -5.801203960010585,
        0.3111643669578199,
        -0.1521609496625161,
        0.20136540080403034,
        0.04471061572777259,
    ]
)
# differences to the embedded solutions of order five and three; the last entry belongs to N(u_{n+1})
ERROR_FIVE = np.array(
    [
        0.01312004499419488,
        0.0,
        0.0,
        0.0,
        0.0,
        -1.2251564463762044,
        -0.4957589496572502,
        1.6643771824549864,
        -0.35032884874997366,
        0.3341791187130175,
        0.08192320648511571,
        -0.022355307863886294,
        0.0,
    ]
)
ERROR_THREE = np.array(
    [
        -0.18980075407240762,
        0.0,
        0.0,
        0.0,
        0.0,
        4.450312892752409,
        1.8915178993145003,
        -5.801203960010585,
        -0.4226823213237919,
        -0.1521609496625161,
        0.20136540080403034,
        0.02265179219836082,
        0.0,
    ]
)


@register("stepper", "gif853")
class Gif853:
    """The scheme in NumPy, one step for any diagonal linear part: the specification of the compiled one.

    >>> exact = np.exp(-1.0)
    >>> u, _ = Gif853.step(np.array([1.0]), 1.0, np.array([-1.0]), lambda u: 0 * u)          # linear problems are exact
    >>> print(round(u[0] / exact, 14))
    1.0
    """

    order = ORDER

    @staticmethod
    def step(
        state: AnyArray, step: float, linear: AnyArray, nonlinear: Callable[[AnyArray], AnyArray]
    ) -> tuple[AnyArray, tuple[AnyArray, AnyArray]]:
        """The state one step later, and its differences to the embedded solutions of order five and three."""
        start = nonlinear(state)
        scaled = [np.zeros_like(start)]

        def along(node: float, weights: Float) -> AnyArray:
            carried = state + step * sum(a * s for a, s in zip(weights, scaled, strict=False))
            return np.exp(node * step * linear) * carried + _integrated(node * step, linear) * start

        for node, weights in zip(NODES[1:], STAGE_WEIGHTS[1:], strict=True):
            scaled.append(np.exp(-node * step * linear) * (nonlinear(along(node, weights)) - start))
        new = along(1.0, WEIGHTS)
        scaled.append(np.exp(-step * linear) * (nonlinear(new) - start))
        decay = step * np.exp(step * linear)
        errors = [
            decay * sum(e * s for e, s in zip(weights, scaled, strict=True)) for weights in (ERROR_FIVE, ERROR_THREE)
        ]
        return new, (errors[0], errors[1])


def _integrated(time: float, linear: AnyArray) -> AnyArray:
    """`int_0^t e^{sL} ds`."""
    return np.where(linear == 0, time, np.expm1(time * linear) / np.where(linear == 0, 1.0, linear))
