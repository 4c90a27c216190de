"""The energy distance."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from mfpde.distances.base import Distance
from mfpde.distances.discretisation import as_points
from mfpde.distances.law import Law, law_of
from mfpde.distances.transport import on_line
from mfpde.errors import ProblemError
from mfpde.measure import Measure
from mfpde.registry import register
from mfpde.typing import Float

__all__ = ["Energy"]

_MOST_POINTS = 200_000  # 4e10 distances, a minute on two cores
_MODES = 1 << 14  # of a density on the circle whose modes decay slowly
_NO_MODE = 1e-16  # of a density: smaller ones are rounding
_GAUSS = 20  # exact for the square of two polynomials of degree 16


@register("distance", "energy")
class Energy(Distance):
    """`(2 E|X - Y| - E|X - X'| - E|Y - Y'|)^{1/2}`, distances in the ambient space: the maximum mean discrepancy (MMD)
    of the kernel `-|x - y|` [szekely2013].

    On the line it is `(2 int (F - G)^2 dx)^{1/2}`, on the circle a sum over sorted points or Fourier modes, elsewhere
    one over all pairs of points. There densities are taken on a grid in the plane (its own, or 128 x 128 cells), at
    Gauss nodes on S^2, at their quadrature nodes elsewhere. Fails: more than 200,000 points in the plane and beyond.
    """

    kind: Literal["energy"] = "energy"

    def between(self, measure: Measure, reference: Measure) -> float:
        if on_line(measure.space):
            return math.sqrt(2 * _square_of_difference(law_of(measure), law_of(reference)))
        if measure.space.angular:
            return math.sqrt(max(_on_circle(measure, reference), 0.0))
        return math.sqrt(max(_over_pairs(measure, reference), 0.0))


def _square_of_difference(first: Law, second: Law) -> float:
    """`int (F - G)^2 dx`."""
    if first.pointlike and second.pointlike:
        from mfpde.transform.transport_kernels import difference_of_cumulatives

        count = first.points.size + second.points.size
        difference, lengths = np.empty(count), np.empty(count)
        difference_of_cumulatives(first.points, first.ends, second.points, second.ends, 0.0, difference, lengths)
        return float(lengths[:-1] @ difference[:-1] ** 2)
    from mfpde.geometry.gauss import gauss_legendre

    places = np.unique(np.concatenate([ends for law in (first, second) for ends in (law.pieces.low, law.pieces.high)]))
    t, weights = gauss_legendre(_GAUSS)
    x = (places[:-1, None] + 0.5 * np.diff(places)[:, None] * (1 + t)).ravel()
    squares = ((first.cumulative(x)[1] - second.cumulative(x)[1]) ** 2).reshape(-1, t.size)
    return float(np.diff(places) @ squares @ weights)


def _on_circle(measure: Measure, reference: Measure) -> float:
    """With `|x - y| = 4/pi - (8/pi) sum_k cos(k t) / (4 k^2 - 1)` at angles t apart; of points, `2 sin(t / 2)`."""
    masses, others = measure.point_masses(), reference.point_masses()
    if masses is not None and others is not None:
        angles = np.concatenate([masses[0][:, 0], others[0][:, 0]])
        return 0.0 - _chords(angles, np.concatenate([masses[1], -others[1]]))
    order = np.arange(1, _MODES)
    decay = 8 / np.pi / (4.0 * order**2 - 1)
    if masses is None and others is None:
        modes, other_modes = (each.harmonics(_MODES - 1).coefficients[1:] for each in (measure, reference))
        return float(decay @ np.abs(modes - other_modes) ** 2)
    points, tokens, smooth = (masses, measure, reference) if masses is not None else (others, reference, measure)
    density = smooth.harmonics(_MODES - 1).coefficients[1:]
    there = np.flatnonzero(np.abs(density) > _NO_MODE)
    degree = int(there[-1]) + 1 if there.size else 1
    modes = tokens.harmonics(degree).coefficients[1:]
    assert points is not None  # noqa: S101 - for the type checker
    own = 4 / np.pi - _chords(points[0][:, 0], points[1])
    return (
        own - 2 * float(decay[:degree] @ (modes * density[:degree].conj()).real) + float(decay @ np.abs(density) ** 2)
    )


def _chords(angles: Float, charges: Float) -> float:
    """`sum_ij q_i q_j |x_i - x_j|` on the circle: in the order of their angles, `2 sin((b - a) / 2)` is a sum of
    products."""
    order = np.argsort(angles)
    half, charge = 0.5 * angles[order], charges[order]
    cosines, sines = charge * np.cos(half), charge * np.sin(half)
    return 4 * float(sines @ (np.cumsum(cosines) - cosines) - cosines @ (np.cumsum(sines) - sines))


def _over_pairs(measure: Measure, reference: Measure) -> float:
    from mfpde.transform.pair_distances import sum_of_distances

    (points, weights), (others, other_weights) = as_points((measure, reference))
    if weights.size + other_weights.size > _MOST_POINTS:
        raise ProblemError.at(
            "measure",
            f"the energy distance of {weights.size:,} and {other_weights.size:,} points needs too many pairs: up to "
            f"{_MOST_POINTS:,} points, or take a sliced distance",
        )
    return 0.0 - sum_of_distances(np.concatenate([points, others]), np.concatenate([weights, -other_weights]))
