"""Wasserstein distances on any space, by the exact method that there is."""

from __future__ import annotations

import math

import numpy as np

from mfpde.distances.assignment import assignment_cost
from mfpde.distances.coupling import circle_distance, line_distance
from mfpde.distances.law import law_of
from mfpde.errors import ProblemError
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.measure.normal import Normal
from mfpde.typing import Float

__all__ = ["bures", "exact_everywhere", "need_same_space", "on_line", "wasserstein"]


def need_same_space(measure: Measure, reference: Measure) -> None:
    """Fail for measures on different spaces."""
    one, other = measure.space, reference.space
    both_flat = one.flat and other.flat and one.ambient_dimension == other.ambient_dimension
    if one != other and not both_flat:
        raise ProblemError.at("measure", f"lives on the {_named(one)}, the other one on the {_named(other)}")


def _named(space: Geometry) -> str:
    return f"{space.name} in R^{space.ambient_dimension}" if space.counts_as("sphere", "space") else space.name


def on_line(space: Geometry) -> bool:
    """Whether it is the line."""
    return space.flat and space.ambient_dimension == 1


def exact_everywhere(space: Geometry) -> bool:
    """Whether any two measures have an exact distance there: on the line and the circle."""
    return on_line(space) or space.angular


def wasserstein(measure: Measure, reference: Measure, power: float) -> float:
    """`W_p`, infinite p as well: sorted on the line and the circle, in closed form between normal laws, otherwise
    between points."""
    normal, other = measure.normal, reference.normal
    if normal is not None and other is not None:
        if power == 2:
            return bures(normal.mean, normal.covariance, other.mean, other.covariance)
        if np.array_equal(normal.covariance, other.covariance):
            return float(np.linalg.norm(normal.mean - other.mean))
    if not exact_everywhere(measure.space):
        return assignment_cost(measure, reference, power)
    first, second = law_of(measure), law_of(reference)
    if measure.space.angular:
        return float(circle_distance(first, second, power))
    if math.isinf(power) and not (measure.compact and reference.compact):
        if measure.compact != reference.compact or (normal is not None and other is not None):
            return math.inf
        raise ProblemError.at(
            "measure", "has tails without end: the wasserstein-infinity distance needs bounded supports"
        )
    return float(line_distance(first, second, power))


def bures(mean: Float, covariance: Float, other_mean: Float, other_covariance: Float) -> float:
    """`(|m - m'|^2 + min_U |R - R' U|^2)^{1/2}`, U orthogonal, R and R' roots of the covariances: no digits are lost
    where they are close [bhatia2019]."""
    one, other = _root(covariance), _root(other_covariance)
    left, _, right = np.linalg.svd(other @ one)
    return math.hypot(float(np.linalg.norm(mean - other_mean)), float(np.linalg.norm(one - other @ (left @ right))))


def _root(covariance: Float) -> Float:
    """The symmetric root of a covariance."""
    values, vectors = np.linalg.eigh(covariance)
    root: Float = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def normal_map(normal: Normal, other: Normal) -> Float:
    """The matrix of the optimal map between two normal laws, `S^-1/2 (S^1/2 S' S^1/2)^1/2 S^-1/2`."""
    root = _root(normal.covariance)
    inverse = np.linalg.pinv(root)
    found: Float = inverse @ _root(root @ other.covariance @ root) @ inverse
    return found
