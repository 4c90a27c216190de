"""How far two measures are apart, and the maps that take one to the other."""

from __future__ import annotations

from typing import Any

from mfpde.arguments import instance
from mfpde.distances.base import Distance
from mfpde.distances.optimal_map import OptimalMap, optimal_map
from mfpde.distances.transport import need_same_space
from mfpde.measure import Measure
from mfpde.registry import lookup

__all__ = ["Distance", "OptimalMap", "distance", "optimal_map"]


def distance(first: Measure, second: Measure, kind: str = "wasserstein-2", **options: Any) -> float:
    """How far two measures on one space are apart, `W_2(mu, nu) = (inf int |x - y|^2 dpi)^{1/2}` unless another `kind`
    is named.

    Any two measures: particles, densities on grids, closed forms, snapshots `run.measure(k)`. Wasserstein distances are
    exact on the line and the circle (arc length), to rounding between points and to 1e-11 where densities are smooth
    between their edges. In the plane, in space and on spheres they are exact between normal laws (p = 2) and between
    points; `sliced-wasserstein-2` and `spherical-sliced` take any measures. `options` are the keys of a kind, as
    `mfpde list distance` shows them. Fails: different spaces, densities of points, what has no exact answer.

    >>> import mfpde
    >>> mfpde.distance(mfpde.Particles([0.0, 1.0]), mfpde.Particles([3.0, 2.0]))
    2.0
    >>> bell, sun = mfpde.VonMises(direction=0, concentration=2), mfpde.Uniform()
    >>> round(mfpde.distance(bell, sun, kind="wasserstein-1"), 12)
    0.901859032514
    >>> one, other = mfpde.Gaussian(mean=[0, 0], covariance=1), mfpde.Gaussian(mean=[3, 0], covariance=25)
    >>> round(mfpde.distance(one, other) ** 2, 10)          # |m - m'|^2 + tr (sqrt S - sqrt S')^2 where S, S' commute
    41.0
    """
    for name, measure in (("first", first), ("second", second)):
        instance(name, measure, Measure, "a measure such as mfpde.Particles([0.0, 1.0]) or run.measure(-1)")
    found: Distance = lookup("distance", kind)(**options)
    one, other = first.concrete, second.concrete
    need_same_space(one, other)
    found.need(one.space)
    return float(found.between(one, other))
