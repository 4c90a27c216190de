"""Exact transport between points of any space, as a linear program."""

from __future__ import annotations

import importlib
import math
import warnings

import numpy as np

from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.typing import Float

__all__ = ["assignment_cost", "costs_between"]

_MOST_PAIRS = 100_000_000  # a matrix of 0.8 GB
_MOST_ITERATIONS = 10_000_000  # of POT's network simplex, which needs a few for every point
_ROWS = 1 << 20  # pairs whose distances are computed at once


def assignment_cost(measure: Measure, reference: Measure, power: float) -> float:
    """`W_p` of two measures that are made of points: as many of equal weights by SciPy, any others by POT."""
    own, other = measure.point_masses(), reference.point_masses()
    if own is None or other is None:
        name = measure.space.name
        raise ProblemError.at(
            "measure",
            f"has a density, and exact transport on the {name} is between points (or, for p = 2, between normal laws): "
            f"take {'spherical-sliced' if not measure.space.flat else 'sliced-wasserstein-2'}, or "
            "mfpde.Particles(measure.sample(count), geometry=measure.geometry)",
        )
    if math.isinf(power):
        raise ProblemError.at("kind", "wasserstein-infinity is for line and circle: elsewhere take exact-transport")
    (points, weights), (other_points, other_weights) = own, other
    if weights.size * other_weights.size > _MOST_PAIRS:
        raise ProblemError.at(
            "measure", f"exact transport is for {_MOST_PAIRS:,} pairs of points at most: take a sliced distance"
        )
    costs = costs_between(measure, points, other_points)
    scale = float(costs.max()) or 1.0  # powers of small or large distances neither vanish nor overflow
    least = _least((costs / scale) ** power, weights / weights.sum(), other_weights / other_weights.sum())
    return scale * float(max(least, 0.0)) ** (1 / power)


def costs_between(measure: Measure, points: Float, other_points: Float) -> Float:
    """Distances on the measure's space between points, `(n, m)`."""
    out = np.empty((len(points), len(other_points)))
    rows = max(1, _ROWS // len(other_points))
    for start in range(0, len(points), rows):
        here = points[start : start + rows]
        pairs = np.repeat(here, len(other_points), axis=0), np.tile(other_points, (len(here), 1))
        out[start : start + rows] = measure.space.distance(*pairs).reshape(len(here), -1)
    return out


def _least(costs: Float, weights: Float, other_weights: Float) -> float:
    if len(costs) == 1 or costs.shape[1] == 1:
        return float(weights @ costs @ other_weights)
    if costs.shape[0] == costs.shape[1] and np.ptp(weights) == np.ptp(other_weights) == 0:
        from scipy.optimize import linear_sum_assignment

        return float(costs[linear_sum_assignment(costs)].mean())
    try:
        transport = importlib.import_module("ot")
    except ImportError:
        raise ProblemError.at("kind", "exact transport of weighted points needs POT: pip install POT") from None
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of iterations that were not enough
        try:
            return float(transport.emd2(weights, other_weights, costs, numItermax=_MOST_ITERATIONS))
        except UserWarning as warning:
            raise ProblemError.at("measure", f"exact transport did not come to an end: {warning}") from None
