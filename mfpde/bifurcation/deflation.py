"""States that continuation has not met: Newton's method from many starts, repelled by what it has found already."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mfpde.activity import doing
from mfpde.bifurcation.launching import tracer_of
from mfpde.bifurcation.quadrature import zonal
from mfpde.bifurcation.states import TOLERANCE, Family, State, System
from mfpde.bifurcation.symmetry import is_image
from mfpde.typing import Float

__all__ = ["deflated_states", "other_states"]

# of the range, where other states are looked for: branches from outside pass one of its ends
_PLACES = (1e-6, 0.25, 0.5, 0.75, 1 - 1e-6)
_STEPS = 40  # of Newton from one start; what converges does so within half of them
_CLUSTERS = 5  # of the starts: that many angles between them at most
_LONGEST_STEP = 1.5  # a Newton step longer than that, in moments, is shortened
_HALVINGS = 12  # of a step, before a start is given up
_SAME_MOMENTS = 1e-6  # difference of moments below which two states are one


def other_states(family: Family) -> Iterator[tuple[State, float]]:
    """`(state, u)` at a few values of the parameter, the uniform one left out."""
    for u in _PLACES:
        doing(f"other states: {family.parameter} = {family.value(u):.6g}")
        for state in deflated_states(family, u):
            yield state, u


def deflated_states(family: Family, u: float, seed: int = 0) -> list[State]:
    """All axisymmetric states that are found at u, no two of them rotations of each other."""
    tracer = tracer_of(family, 1, u)
    system = tracer.system
    known: list[Float] = [np.zeros(system.active.size)]
    found: list[State] = []
    for start in _starts(system, seed):
        while True:
            solved = _deflated_newton(system, start, u, known)
            if solved is None:
                break
            known.append(solved)
            known.append(solved * (-1.0) ** system.active)
            x = np.append(solved, u)
            if system.refined(x):
                polished = tracer.at_parameter(x, u)
                if polished is None:
                    continue
                x = polished
            state = system.state(x)
            if np.abs(x[:-1]).max() > 1e-6 and not any(
                is_image(state.b, other.b, _SAME_MOMENTS, family.dimension) for other in found
            ):
                found.append(state)
    return found


def _starts(system: System, seed: int) -> list[Float]:
    """Clusters at the poles, at equal angles, and at random, wide and narrow."""
    random = np.random.default_rng(seed)
    degree = system.active
    starts = []
    for width in (0.5, 0.2):
        damping = np.exp(-0.5 * (width * degree) ** 2)
        for count in range(1, _CLUSTERS + 1):
            for share in (0.5,) if count == 1 else (0.5, 0.8):
                angles = np.pi * np.arange(count) / max(count - 1, 1) if count > 1 else np.zeros(1)
                weights = np.where(np.arange(count) % 2 == 0, share, 1 - share)
                weights /= weights.sum()
                starts.append(damping * (weights @ zonal(system.family.dimension, angles, degree)) * system.scale)
        starts += [damping * random.uniform(-1, 1, degree.size) * system.scale for _ in range(2)]
    return starts


def _deflated_newton(system: System, start: Float, u: float, known: list[Float]) -> Float | None:
    """Newton's method for `R(b) / prod |b - b_i|^2`, by scaling its step (Farrell, Birkisson and Funke 2015)."""
    b, step = np.zeros(start.size), start
    for _ in range(_STEPS):
        # softmax attention is not defined for all moments; for those of the uniform state, 0, it is
        for _ in range(_HALVINGS):
            with np.errstate(all="ignore"):
                residual, jacobian = system.evaluate(np.append(b + step, u))
            if np.isfinite(residual).all() and np.isfinite(jacobian).all():
                break
            step = 0.5 * step
        else:
            return None
        b = b + step
        try:
            step = np.asarray(-np.linalg.solve(jacobian[:, :-1], residual), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        moved = float(np.abs(step / system.scale).max())
        if moved < 1e-10 and float(np.abs(residual / system.scale).max()) < 10 * TOLERANCE:
            near = min(float(np.abs((b - other) / system.scale).max()) for other in known)
            return None if near < _SAME_MOMENTS else b + step
        # the derivative of log prod (1 + 1/|b - b_i|^2) along the step
        rate = 0.0
        for other in known:
            apart = (b - other) / system.scale
            square = float(apart @ apart)
            rate += -2 * float(apart @ (step / system.scale)) / (square * (square + 1)) if square > 0 else 0.0
        factor = 1 / (1 - rate) if rate < 0.9 or rate > 1.1 else 10.0
        step *= float(np.clip(factor, -10.0, 10.0))
        moved = float(np.abs(step / system.scale).max())
        step *= min(1.0, _LONGEST_STEP / max(moved, 1e-300))
    return None
