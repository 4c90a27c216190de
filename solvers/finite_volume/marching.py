"""Steps in one compiled call: what Python gives to a march, and what comes back."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mfpde.solvers.finite_volume.diagnostics import LEAST_WIDTH, SMOOTHING_WIDTH, Faults
from mfpde.solvers.finite_volume.rates import Rates
from mfpde.solvers.finite_volume.solution import Solution
from mfpde.solvers.kernels.line_march import Taken
from mfpde.typing import Float

__all__ = ["LEFT_OF_POLE", "NARROW", "Ahead", "Marched"]

LEFT_OF_POLE = 1e-4  # share of the time of a pole that need not be followed
_MARGIN = 1.0 + 1e-12  # for rounding: whether clusters are too narrow is decided by those who say so
#: width of a peak in cells, averaged, up to which clusters may be narrower than they may
NARROW = _MARGIN * math.sqrt(LEAST_WIDTH**2 + SMOOTHING_WIDTH)


@dataclass(frozen=True)
class Ahead:
    """What lies before a march: where it ends; how many steps it may take, and try; what one that integrates noise
    exactly would cost in evaluations; up to which error at walls it may go on; the shares of mass near both ends
    from which on a box may have to grow; and the last row of `PoleLine`."""

    target: float
    steps: int
    attempts: int
    exact_work: float
    wall_error: float
    crowded: Float
    grown: tuple[float, float]


@dataclass(frozen=True)
class Marched:
    """Where a march has led, with the rates there where they are known, what steps it has taken, with what cells make
    wrong after each, how many it has tried, and whether mass may have come near to an end."""

    solution: Solution
    rates: Rates | None
    taken: list[tuple[Taken, Faults]]
    tried: int
    crowded: bool
