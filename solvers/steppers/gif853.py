"""The exponential Runge-Kutta scheme of order eight: Dormand and Prince's 8(5,3) as a generalized integrating factor.

For `u' = L u + N(u)` with diagonal L the part that stays constant over a step is integrated exactly and the rest,
`v' = e^{-tL} (N(u) - N(u_n))`, by the classical scheme [lawson1967, hairer1993, krogstad2005]:

    U_i = e^{c_i hL} (u + h sum_j a_ij S_j) + c_i h phi_1(c_i hL) N(u_n),     S_j = e^{-c_j hL} (N(U_j) - N(u_n)).

Order eight for every L, steady states of the equation are steady states of the scheme, and without L it is the
classical method. Some c_i are smaller than an earlier one, so e^{(c_i - c_j) hL} grows, by e^{0.083 |hL|} at most:
`LARGEST_DECAY` bounds |hL|.
"""

from __future__ import annotations

import numpy as np

from mfpde.registry import register
from mfpde.solvers.steppers.base import OrdinarySystem, Step, Stepper
from mfpde.typing import AnyArray, Float

__all__ = ["LARGEST_DECAY", "ORDER", "STAGES", "Gif853"]

ORDER, STAGES = 8, 12  # of the method of Dormand and Prince
LARGEST_DECAY = 64.0  # |hL| that rounding errors allow: stages grow by e^{0.083 |hL|}


def _row(weights: dict[int, float], length: int = STAGES) -> Float:
    """A row of a tableau from its entries that are not zero."""
    row = np.zeros(length)
    row[list(weights)] = list(weights.values())
    return row


NODES = np.array([
    0.0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726, 0.3333333333333333, 0.25,
    0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0,
])  # fmt: skip
STAGE_WEIGHTS = np.array([_row(row) for row in (
    {},
    {0: 0.05260015195876773},
    {0: 0.0197250569845379, 1: 0.0591751709536137},
    {0: 0.02958758547680685, 2: 0.08876275643042054},
    {0: 0.2413651341592667, 2: -0.8845494793282861, 3: 0.924834003261792},
    {0: 0.037037037037037035, 3: 0.17082860872947386, 4: 0.12546768756682242},
    {0: 0.037109375, 3: 0.17025221101954405, 4: 0.06021653898045596, 5: -0.017578125},
    {0: 0.03709200011850479, 3: 0.17038392571223998, 4: 0.10726203044637328, 5: -0.015319437748624402,
     6: 0.008273789163814023},
    {0: 0.6241109587160757, 3: -3.3608926294469414, 4: -0.868219346841726, 5: 27.59209969944671, 6: 20.154067550477894,
     7: -43.48988418106996},
    {0: 0.47766253643826434, 3: -2.4881146199716677, 4: -0.590290826836843, 5: 21.230051448181193,
     6: 15.279233632882423, 7: -33.28821096898486, 8: -0.020331201708508627},
    {0: -0.9371424300859873, 3: 5.186372428844064, 4: 1.0914373489967295, 5: -8.149787010746927, 6: -18.52006565999696,
     7: 22.739487099350505, 8: 2.4936055526796523, 9: -3.0467644718982196},
    {0: 2.273310147516538, 3: -10.53449546673725, 4: -2.0008720582248625, 5: -17.9589318631188, 6: 27.94888452941996,
     7: -2.8589982771350235, 8: -8.87285693353063, 9: 12.360567175794303, 10: 0.6433927460157636},
)])  # fmt: skip
WEIGHTS = _row({0: 0.054293734116568765, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585,
    8: 0.3111643669578199, 9: -0.1521609496625161, 10: 0.20136540080403034,
    11: 0.04471061572777259})  # fmt: skip
# differences to the embedded solutions of order five and three; the last entry belongs to N(u_{n+1})
ERROR_FIVE = _row({0: 0.01312004499419488, 5: -1.2251564463762044, 6: -0.4957589496572502, 7: 1.6643771824549864,
    8: -0.35032884874997366, 9: 0.3341791187130175, 10: 0.08192320648511571,
    11: -0.022355307863886294}, STAGES + 1)  # fmt: skip
ERROR_THREE = _row({0: -0.18980075407240762, 5: 4.450312892752409, 6: 1.8915178993145003, 7: -5.801203960010585,
    8: -0.4226823213237919, 9: -0.1521609496625161, 10: 0.20136540080403034,
    11: 0.02265179219836082}, STAGES + 1)  # fmt: skip


@register("stepper", "gif853")
class Gif853(Stepper):
    """Exponential Runge-Kutta scheme of order eight: the specification of the compiled one."""

    order = ORDER
    error_order = ORDER
    citations = ("krogstad2005", "hairer1993")
    reach = 6.1  # without a linear part
    flux_unfit = "it integrates a diagonal linear part exactly, and fluxes have none"

    def step(self, system: OrdinarySystem, time: float, state: AnyArray, step: float) -> Step:
        linear = np.zeros(state.shape) if system.linear is None else system.linear
        start = system.nonlinear(time, state)
        scaled = [np.zeros_like(start)]

        def along(node: float, weights: Float) -> AnyArray:
            carried = state + step * sum(a * s for a, s in zip(weights, scaled, strict=False))
            return np.exp(node * step * linear) * carried + _integrated(node * step, linear) * start

        def add(node: float, stage: AnyArray) -> None:
            change = system.nonlinear(time + node * step, stage) - start
            scaled.append(np.exp(-node * step * linear) * change)

        for node, weights in zip(NODES[1:], STAGE_WEIGHTS[1:], strict=True):
            add(float(node), along(float(node), weights))
        new = along(1.0, WEIGHTS)
        add(1.0, new)
        decay = step * np.exp(step * linear)
        five, three = (
            decay * sum(e * s for e, s in zip(weights, scaled, strict=True)) for weights in (ERROR_FIVE, ERROR_THREE)
        )
        return Step(time, step, state, new, (five, three))


def _integrated(time: float, linear: AnyArray) -> AnyArray:
    """`int_0^t e^{sL} ds`."""
    return np.where(linear == 0, time, np.expm1(time * linear) / np.where(linear == 0, 1.0, linear))
