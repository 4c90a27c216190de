"""How many degrees of a law stationary states feel, where its coefficients hardly fall (kinks and singularities)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mfpde.bifurcation.quadrature import harmonic_counts, rule, size_for
from mfpde.bifurcation.states import Model, State

__all__ = ["felt_degrees"]

#: degrees that are looked at, one after the other; fewer cost no less
_DEGREES = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
_ITERATIONS = 40  # of `mu -> e^{kappa W * mu} / norm`, from a point mass: towards the narrowest state
_LAST_ITERATES = 4  # that count
#: of a log density, what the last eighth of the degrees may add
_EXPONENT_NEGLIGIBLE = 1e-15
_DEGREES_ABOVE_CRITICAL = 2.5  # times the highest degree that leaves the uniform state, which its branch starts with


def felt_degrees(make: Callable[[float], Model], values: Sequence[float], top: int) -> int:
    """The smallest of some degrees, at most `top`, beyond which the log density of the narrowest state at any of these
    parameters has nothing but rounding. States have the degrees that noise leaves them: a narrower one than all that
    come from a point mass would be seen by the last degrees of its own moments."""
    models = [make(value) for value in values]
    critical = max(
        int(np.flatnonzero(model.kappa * model.multipliers.relative >= 1).max(initial=0)) for model in models
    )
    for degree in _DEGREES:
        if degree >= top:
            break
        if degree > _DEGREES_ABOVE_CRITICAL * critical and all(_suffices(model, degree) for model in models):
            return degree
    return top


def _suffices(model: Model, degree: int) -> bool:
    cut = Model(model.multipliers.resized(degree), model.kappa)
    dimension = model.multipliers.dimension
    counts = np.sqrt(harmonic_counts(dimension, degree))
    nodes, b = rule(dimension, size_for(3 * degree)), counts.copy()
    added = []
    for _ in range(_ITERATIONS):
        b = nodes.table(degree).T @ State(cut, b, nodes).probability
        strengths = np.abs(cut.kappa * cut.multipliers.relative * b * counts)
        added.append(float(strengths[-degree // 8 :].max()))
    return max(added[-_LAST_ITERATES:]) < _EXPONENT_NEGLIGIBLE * max(1.0, cut.kappa)
