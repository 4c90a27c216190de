"""Adaptive Gauss quadrature: panels are halved until their rule agrees with that of their halves.

Many integrals at once: each `item` has panels of its own, and functions are asked for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.errors import ProblemError
from mfpde.geometry.gauss import gauss_legendre
from mfpde.measure.rules import MOST_NODES
from mfpde.typing import Float, Truths

__all__ = ["Items", "OfItems", "Panels", "graded", "of_any_item", "split", "sum_by"]

Items: TypeAlias = NDArray[np.intp]
#: values at points t, each of an item
OfItems: TypeAlias = Callable[[Items, Float], Float]

POINTS = 20  # Gauss points of a panel
_MAX_DEPTH = 60  # halvings: beyond it panels are rounding
_MAX_WRONG_PANELS = 64  # more that disagree with their halves at once: the function is not known any better
_NARROWEST = 256 * float(np.finfo(float).eps)  # width over distance from 0: narrower panels are rounding
_VALUE_FLOOR = 1e-290  # keeps logarithms and quotients of values finite
_ROUNDING = 2 * float(np.finfo(float).eps)  # relative, of the exponent of a value, and of where it is found


@dataclass(frozen=True)
class Panels:
    """Parts `[first, last]` of `s` in [0, 1], where `t = low + (high - low) p(s)`.

    `p = s^2` where the low end is an edge, `1 - (1 - s)^2` where the high one is, `s^2 (3 - 2 s)` where both are, makes
    smooth what behaves like a square root there.
    """

    item: Items
    low: Float
    high: Float
    low_edge: Truths
    high_edge: Truths
    first: Float
    last: Float

    def __getitem__(self, these: Truths) -> Panels:
        return Panels(*(part[these] for part in vars(self).values()))

    def halves(self) -> tuple[Panels, Panels]:
        middle = 0.5 * (self.first + self.last)
        ends = self.item, self.low, self.high, self.low_edge, self.high_edge
        return Panels(*ends, self.first, middle), Panels(*ends, middle, self.last)

    @staticmethod
    def joined(parts: tuple[Panels, Panels]) -> Panels:
        return Panels(*(np.concatenate(pair) for pair in zip(*(vars(part).values() for part in parts), strict=True)))

    def rule(self, points: Float, weights: Float) -> tuple[Float, Float]:
        """t and weights, `(panels, points)`, from points in [-1, 1] and weights of sum 1."""
        length = (self.last - self.first)[:, None]
        s = self.first[:, None] + 0.5 * length * (1 + points)
        left, right = self.low_edge[:, None], self.high_edge[:, None]
        both = left & right
        p = np.where(both, s * s * (3 - 2 * s), np.where(left, s * s, np.where(right, s * (2 - s), s)))
        slope = np.where(both, 6 * s * (1 - s), np.where(left, 2 * s, np.where(right, 2 * (1 - s), 1.0)))
        width = (self.high - self.low)[:, None]
        return self.low[:, None] + width * p, width * slope * weights * length


def graded(
    function: OfItems, panels: Panels, accuracy: float, points: int = POINTS, floor: float | Float = 0.0
) -> tuple[Items, Float, Float]:
    """Nodes `(item, t, weight)` on panels, ascending within each item; the weights hold the function's values.

    A panel's rule is kept when it agrees with that of its halves to `accuracy`, relative to the integral over the panel
    that was halved first. Values are not known better than to `floor` (one, or one for each item), and where they are
    found not better than to rounding: that is what decides on panels across a steep slope.
    """
    rule = gauss_legendre(points)
    shift = _ROUNDING * float(np.maximum(np.abs(panels.low), np.abs(panels.high)).max(initial=0.0))
    here = _Sums(function, panels, rule)
    floors = np.broadcast_to(np.maximum(floor, _VALUE_FLOOR), np.shape(floor) or panels.item.max(initial=-1) + 1)
    origin, settled = np.arange(panels.item.size), np.zeros(panels.item.size)  # the panel halved first
    done, count = [], 0
    for depth in range(_MAX_DEPTH):
        halves = here.panels.halves()
        finer = tuple(_Sums(function, half, rule) for half in halves)
        total = finer[0].sums + finer[1].sums
        scale = (settled + sum_by(origin, total, settled.size))[origin]
        # an exponential has the rounding error of its exponent
        rounding = _ROUNDING * (1 + np.abs(np.log(np.maximum(here.peak, _VALUE_FLOOR)))) * here.sums
        rounding += shift * here.rise
        wrong = np.abs(total - here.sums) > accuracy * scale + rounding + floors[here.panels.item] * here.width
        # at a singularity one or two panels stay wrong; where many do, it is rounding
        many = sum_by(origin, wrong.astype(float), settled.size)[origin] > _MAX_WRONG_PANELS
        good = ~wrong | many | (depth == _MAX_DEPTH - 1)
        done.append(here.nodes(good))
        settled += sum_by(origin[good], here.sums[good], settled.size)
        count += done[-1][0].size
        if good.all():
            break
        origin = np.tile(origin[~good], 2)
        if count + origin.size * points > MOST_NODES:
            raise ProblemError.at("measure", f"needs more than {MOST_NODES:,} quadrature nodes: it has too many edges")
        here = _Sums.joined(finer, ~good)
    items, t, weights = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.lexsort((t, items))
    order = order[weights[order] > 0]
    return items[order], t[order], weights[order]


class _Sums:
    """Panels with their rules' points, weighted values and sums."""

    def __init__(
        self, function: OfItems | None, panels: Panels, rule: tuple[Float, Float], known: tuple[Float, ...] = ()
    ) -> None:
        self.panels, self.rule = panels, rule
        if function is not None:
            t, weights = panels.rule(*rule)
            values = function(np.repeat(panels.item, t.shape[1]), t.ravel()).reshape(t.shape)
            known = t, values * weights, values.max(axis=1), np.ptp(values, axis=1)
        self.t, self.weighted, self.peak, self.rise = known
        self.sums: Float = self.weighted.sum(axis=1)

    @classmethod
    def joined(cls, parts: tuple[_Sums, ...], these: Truths) -> _Sums:
        first, last = parts
        panels = Panels.joined((first.panels[these], last.panels[these]))
        known = tuple(
            np.concatenate([getattr(part, name)[these] for part in parts]) for name in ("t", "weighted", "peak", "rise")
        )
        return cls(None, panels, first.rule, known)

    @property
    def width(self) -> Float:
        return (self.panels.high - self.panels.low) * (self.panels.last - self.panels.first)

    def nodes(self, these: Truths) -> tuple[Items, Float, Float]:
        t = self.t[these]
        return np.repeat(self.panels.item[these], t.shape[1]), t.ravel(), self.weighted[these].ravel()


def split(low: Float, high: Float, item: Items, cuts: Float, edges: Truths | None = None) -> Panels:
    """The intervals `[low, high]`, one for each item, cut where told: `cuts[k]` belongs to `item[k]`, and is an edge of
    the function where `edges[k]`."""
    everyone, plain = np.arange(low.size), np.zeros(low.size, dtype=bool)
    inside = (cuts > low[item]) & (cuts < high[item])
    edge = np.zeros(cuts.size, dtype=bool) if edges is None else edges
    owner = np.concatenate([everyone, item[inside], everyone])
    ends, marks = np.concatenate([low, cuts[inside], high]), np.concatenate([plain, edge[inside], plain])
    order = np.lexsort((ends, owner))
    owner, ends, marks = owner[order], ends[order], marks[order]
    least = _NARROWEST * np.maximum(np.abs(ends[1:]), np.abs(ends[:-1]))
    panel = (owner[1:] == owner[:-1]) & (ends[1:] - ends[:-1] > least)
    count = int(panel.sum())
    owner, low, high = owner[:-1][panel], ends[:-1][panel], ends[1:][panel]
    return Panels(owner, low, high, marks[:-1][panel], marks[1:][panel], np.zeros(count), np.ones(count))


def sum_by(item: Items, values: Float, count: int) -> Float:
    """Sums of the values of each of `count` items."""
    return np.bincount(item, values, count).astype(float, copy=False)


def of_any_item(function: Callable[[Float], Float]) -> OfItems:
    """A function that is the same for all items."""
    return lambda _item, t: function(t)
