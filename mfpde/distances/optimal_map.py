"""Maps that take one measure to another at the least cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arguments import instance
from mfpde.distances.coupling import TURN, circle_shift
from mfpde.distances.law import Law, law_of
from mfpde.distances.transport import exact_everywhere, need_same_space, normal_map
from mfpde.errors import ProblemError, shown
from mfpde.geometry import Geometry
from mfpde.measure import Measure
from mfpde.typing import AnyArray, Float

__all__ = ["OptimalMap", "optimal_map"]

#: of the distance in the cost
_POWERS = {"wasserstein-1": 1.0, "wasserstein-2": 2.0}


class OptimalMap:
    """T with `T# mu = nu`; called with points, `(m, components)` or numbers `(m,)`, it gives where they go in the same
    shape.

    A point that carries mass and is split goes to the mean of its parts (the barycentric projection).

    >>> import mfpde
    >>> mfpde.optimal_map(mfpde.Particles([0.0, 5.0]), mfpde.Particles([1.0, 2.0, 3.0, 4.0]))([5.0, 0.0])
    array([3.5, 1.5])
    """

    def __init__(self, space: Geometry, places: Callable[[Float], Float]) -> None:
        self._space = space
        self._places = places

    def __call__(self, points: AnyArray) -> Float:
        native = self._space.points(points)
        shape = np.shape(points)
        moved = self._places(native)
        return moved.reshape(shape) if np.prod(shape) == moved.size else moved


def optimal_map(first: Measure, second: Measure, kind: str = "wasserstein-2") -> OptimalMap:
    """The map T from one measure to another that `wasserstein-1` or `wasserstein-2` is the cost of: `T = G^{-1} o F`
    on the line, the same after a shift on the circle, affine between normal laws. For `wasserstein-1` it is the
    monotone one of many. Fails: measures off the line and the circle that are not normal.

    >>> import mfpde
    >>> there = mfpde.optimal_map(mfpde.Uniform(box=[[0, 1]]), mfpde.Uniform(box=[[2, 6]]))
    >>> there([0.0, 0.25, 1.0])
    array([2., 3., 6.])
    """
    for name, measure in (("first", first), ("second", second)):
        instance(name, measure, Measure, "a measure such as mfpde.Particles([0.0, 1.0]) or run.measure(-1)")
    if kind not in _POWERS:
        raise ProblemError.at("kind", f"must be {' or '.join(_POWERS)}, not {shown(kind)}")
    one, other = first.concrete, second.concrete
    need_same_space(one, other)
    if exact_everywhere(one.space):
        return OptimalMap(one.space, _monotone(law_of(one), law_of(other), _POWERS[kind], turns=one.space.angular))
    normal, target = one.normal, other.normal
    if normal is None or target is None or kind != "wasserstein-2":
        raise ProblemError.at("measure", "optimal maps are those of line and circle, and for p = 2 of normal laws")
    matrix = normal_map(normal, target)
    return OptimalMap(one.space, lambda points: target.mean + (points - normal.mean) @ matrix.T)


def _monotone(first: Law, second: Law, power: float, *, turns: bool) -> Callable[[Float], Float]:
    """`R(F(x) - shift)`, the mean over the masses that a point carries; angles modulo a turn."""
    shift = circle_shift(first, second, power, precise=True)[0] if turns else 0.0

    def places(points: Float) -> Float:
        below, upto = first.cumulative(points[:, 0])
        low, high = below - shift, upto - shift
        turn = np.floor(low) if turns else np.zeros_like(low)
        quantile, before = second.quantile_and_mean(low - turn)
        mass, extra = upto - below, np.floor(high) - turn if turns else np.zeros_like(low)
        after = second.quantile_and_mean(high - turn - extra)[1]
        whole = second.quantile_and_mean(np.ones(1))[1][0]
        # the integral of the continued quantile function, R(u + 1) = R(u) + 2 pi, over the masses the point carries
        over = np.where(extra > 0, whole - before + after + TURN * extra * (high - turn - extra), after - before)
        split = mass > 1e-15
        moved = np.where(split, over / np.where(split, mass, 1.0), quantile) + TURN * turn
        return (np.mod(moved, TURN) if turns else moved)[:, None]

    return places
