"""`mfpde.stationary_state`: one state, by the branch that it is on."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from mfpde.bifurcation.assembling import branch_of
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.families import equation_of, family_of
from mfpde.bifurcation.multipliers import multipliers_of
from mfpde.bifurcation.stationary import StationaryState, state_from_moments
from mfpde.blas import blas_in_one_thread
from mfpde.equation import Equation
from mfpde.errors import ProblemError, shown

__all__ = ["stationary_state"]

_BELOW, _ABOVE = 0.15, 1.02  # of the smaller, of the larger of kappa and kappa_l: where the branch is followed


def stationary_state(
    geometry: Any,
    attention: Any = None,
    interaction: Any = None,
    *,
    kappa: float,
    mode: int | Literal["uniform"] = 1,
    side: str | None = None,
    certify: bool = False,
) -> StationaryState:
    """The state at `kappa` on the branch of a mode. Blocks as in a problem file, or objects.

    `side`: upper and lower are the larger and the smaller amplitude of states with positive moment, oblate has a
    negative one; without it the only state, or upper.

    >>> import mfpde
    >>> state = mfpde.stationary_state({"kind": "circle"}, {"kind": "unnormalized", "beta": 0}, kappa=4)
    >>> print(state.moments[2].round(12), state.stable)          # 1 - 2 / kappa
    0.5 True
    """
    equation = equation_of({"geometry": geometry, "attention": attention, "interaction": interaction})
    if not 0 < kappa < math.inf:
        raise ProblemError.at("kappa", f"must be a positive finite number, not {shown(kappa)}")
    if certify:
        raise ProblemError.at("certify", "there are no proofs yet")
    with blas_in_one_thread():
        return _state(equation, float(kappa), mode, side)


def _state(equation: Equation, kappa: float, mode: int | str, side: str | None) -> StationaryState:
    multipliers = multipliers_of(equation.law, equation.geometry)
    if mode in ("uniform", 0):
        family = family_of(equation, "kappa", 0.5 * kappa, 2 * kappa)
        return StationaryState(state_from_moments(family.make(kappa), np.ones(1)))
    if not isinstance(mode, int) or mode < 1:
        raise ProblemError.at("mode", f"must be a positive whole number or 'uniform', not {shown(mode)}")
    critical = multipliers.critical()[mode] if mode <= multipliers.top else math.inf
    if math.isinf(critical):
        raise ProblemError.at("mode", f"mode {mode} never leaves the uniform state: its multiplier is not positive")
    low, high = _BELOW * min(kappa, critical), _ABOVE * max(kappa, critical)
    family = family_of(equation, "kappa", low, high)
    explorer = Explorer(family, {mode})
    traced = [branch for branch in explorer.primary() if branch.mode == mode]
    if not traced:
        raise ProblemError.at("mode", f"no branch of mode {mode} was found to leave the uniform state at {critical:g}")
    branch = branch_of(traced[0], 1, family, with_rates=False)
    states = branch.states_at(kappa)
    positive = [state for state in states if state.state.b[mode] > 0]
    if side is None and positive:
        side = "upper"
    return branch.at(kappa, side)
