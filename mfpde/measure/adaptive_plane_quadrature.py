"""Gauss rules for functions of two variables with edges: a rule in t of rules in u, both cut where there are edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mfpde.measure.adaptive_quadrature import POINTS, Items, OfItems, Panels, graded, split, sum_by
from mfpde.measure.edge_search import crossings, first_section
from mfpde.typing import Float, Truths

__all__ = ["OfTwo", "Rectangles", "graded_twice", "outer_extent"]

#: values at points (t, u), each of an item
OfTwo: TypeAlias = Callable[[Items, Float, Float], Float]

_ROUNDS, _BITS = 18, 3  # of the place of a change between samples, to the last bit
_MAX_CHANGES = 12  # of the sequence of edges, looked for between two samples
_MARGIN_SHARE = 1e-3  # of an interval: so far from its ends is it known which edges are there
_ROUNDING = 4 * float(np.finfo(float).eps)  # relative, of a place
_SAME_PLACE = 256 * float(np.finfo(float).eps)  # over the largest coordinate: edges as close as that lie together
_NONE = np.zeros(0)  # no cuts


@dataclass(frozen=True)
class Rectangles:
    """`[t_low, t_high] x [u_low, u_high]` for each item; `t_cuts`, `u_cuts` cut them all. Edges are looked for between
    `samples` points a side."""

    t_low: Float
    t_high: Float
    u_low: Float
    u_high: Float
    samples: int
    t_cuts: Float = field(default_factory=lambda: _NONE)
    u_cuts: Float = field(default_factory=lambda: _NONE)

    def swapped(self) -> Rectangles:
        return Rectangles(self.u_low, self.u_high, self.t_low, self.t_high, self.samples, self.u_cuts, self.t_cuts)


def graded_twice(
    function: OfTwo,
    kinks: Sequence[OfTwo],
    where: Rectangles,
    accuracy: float,
    points: int = POINTS,
    floor: float = 0.0,
) -> tuple[Items, Float, Float, Float]:
    """Nodes `(item, t, u, weight)`; the weights hold the function's values. It is smooth but where kinks vanish, and
    not known better than to `floor`."""
    lines = _Lines(function, kinks, where, 0.1 * accuracy, points, floor)
    across = 10 * floor * float((where.u_high - where.u_low).max())
    item, t, weight = graded(lines.integral, _outer_panels(lines, where), accuracy, points, across)
    row, u, share = lines.rule(item, t)
    total = sum_by(row, share, item.size)
    return item[row], t[row], u, share * (weight / np.where(total > 0, total, 1.0))[row]


def outer_extent(function: OfTwo, kinks: Sequence[OfTwo], where: Rectangles) -> tuple[float, float]:
    """From where to where in t there is anything of a function with edges, of the first item."""
    lines = _Lines(function, kinks, where, 1e-3, POINTS, 0.0)
    panels = _outer_panels(lines, where)
    there = lines.integral(panels.item, 0.5 * (panels.low + panels.high)) > 0
    return float(panels.low[there].min()), float(panels.high[there].max())


class _Lines:
    """Rules in u along lines of constant t."""

    def __init__(
        self,
        function: OfTwo,
        kinks: Sequence[OfTwo],
        where: Rectangles,
        accuracy: float,
        points: int,
        floor: float,
    ) -> None:
        self.function, self.kinks, self.where = function, kinks, where
        self.accuracy, self.points, self.floor = accuracy, points, floor

    def edges(self, item: Items, t: Float, shorter: float = 0.0) -> tuple[Items, Float, Items, Float]:
        """Along lines that are so much shorter at both ends."""

        def along(kink: OfTwo) -> OfItems:
            return lambda k, u: kink(item[k], t[k], u)

        low, high = self.where.u_low[item] + shorter, self.where.u_high[item] - shorter
        return crossings([along(kink) for kink in self.kinks], low, high, self.where.samples)

    def at_side(self, u: Float) -> tuple[Items, Float]:
        """Where edges cross the side at u, one for each item."""

        def along(kink: OfTwo) -> OfItems:
            return lambda k, t: kink(k, t, u[k])

        where = self.where
        return crossings([along(kink) for kink in self.kinks], where.t_low, where.t_high, where.samples)[:2]

    def rule(self, item: Items, t: Float) -> tuple[Items, Float, Float]:
        where = self.where
        owner, cuts, _, _ = self.edges(item, t)
        marks = np.arange(owner.size + item.size * where.u_cuts.size) < owner.size
        owner = np.concatenate([owner, np.repeat(np.arange(item.size), where.u_cuts.size)])
        cuts = np.concatenate([cuts, np.tile(where.u_cuts, item.size)])
        panels = split(where.u_low[item], where.u_high[item], owner, cuts, marks)
        floors = np.maximum(self.floor, self.noise(item, t))
        return graded(lambda k, u: self.function(item[k], t[k], u), panels, self.accuracy, self.points, floors)

    def noise(self, item: Items, t: Float) -> Float:
        """What rounding of t makes of values along each line: everything, where a steep slope runs along it."""
        where, samples = self.where, np.linspace(0.0, 1.0, self.where.samples + 1)
        u = where.u_low[item, None] + (where.u_high - where.u_low)[item, None] * samples
        line, beside = np.repeat(np.arange(t.size), samples.size), t + _ROUNDING * _largest(where.t_low, where.t_high)
        here, there = (self.function(item[line], places[line], u.ravel()) for places in (t, beside))
        return np.abs(there - here).reshape(u.shape).max(axis=1)

    def integral(self, item: Items, t: Float) -> Float:
        row, _, weight = self.rule(item, t)
        return sum_by(row, weight, item.size)

    def signature(self, item: Items, t: Float) -> Float:
        """A number for the sequence of edges along each line, those at its ends left out: edges that run along a side
        cross it again and again, by rounding."""
        owner, _, which, signs = self.edges(item, t, _SAME_PLACE * _largest(self.where.u_low, self.where.u_high))
        place = np.arange(owner.size) - np.searchsorted(owner, owner)
        order = sum_by(owner, (which + 1.0) * (len(self.kinks) + 2.0) ** place, item.size)
        return order + np.arange(1, len(self.kinks) + 1) @ (np.sqrt(2) * (signs > 0))


def _outer_panels(lines: _Lines, where: Rectangles) -> Panels:
    """Cut where the sequence of edges along u changes: at tips, corners, and edges that run along u."""
    everyone = np.arange(where.t_low.size)
    owner, cuts = np.repeat(everyone, where.t_cuts.size), np.tile(where.t_cuts, everyone.size)
    if lines.kinks:
        item, changes = _changes(lines, where)
        owner, cuts = np.concatenate([owner, item]), np.concatenate([cuts, changes])
    marks = np.arange(cuts.size) >= everyone.size * where.t_cuts.size
    return split(where.t_low, where.t_high, owner, cuts, marks)


def _changes(lines: _Lines, where: Rectangles) -> tuple[Items, Float]:
    """Where the signature changes: where edges cross the sides along t, and elsewhere between samples, several times in
    one interval perhaps."""
    crossed = [lines.at_side(u) for u in (where.u_low, where.u_high)]
    owner, through = (np.concatenate(parts) for parts in zip(*crossed, strict=True))
    inside = (through > where.t_low[owner]) & (through < where.t_high[owner])
    owner, through = owner[inside], through[inside]
    everyone = np.arange(where.t_low.size)
    samples = where.t_low[:, None] + (where.t_high - where.t_low)[:, None] * np.linspace(0, 1, where.samples + 1)
    marks = np.concatenate([owner, np.repeat(everyone, samples.shape[1])])
    t = np.concatenate([through, samples.ravel()])
    order = np.lexsort((t, marks))
    marks, t = marks[order], t[order]
    item = marks[:-1]
    margin = np.maximum(_MARGIN_SHARE * (t[1:] - t[:-1]), _SAME_PLACE * _largest(where.t_low, where.t_high))
    within = (marks[1:] == item) & (t[:-1] + margin < t[1:] - margin)
    item, low, high = item[within], (t[:-1] + margin)[within], (t[1:] - margin)[within]
    before, after = lines.signature(np.tile(item, 2), np.concatenate([low, high])).reshape(2, -1)
    item, low, high, before, after = (part[before != after] for part in (item, low, high, before, after))
    items, cuts = [owner], [through]
    for _ in range(_MAX_CHANGES):
        if not item.size:
            break
        end = high

        def changed(which: Items, t: Float, item: Items = item, before: Float = before) -> Truths:
            return lines.signature(item[which], t) != before[which]

        for _ in range(_ROUNDS):
            low, end = first_section(changed, low, end, _BITS)
        items, cuts = [*items, item], [*cuts, 0.5 * (low + end)]
        here = lines.signature(item, end)
        more = (here != after) & (end < high)
        item, low, high, before, after = item[more], end[more], high[more], here[more], after[more]
    return np.concatenate(items), np.concatenate(cuts)


def _largest(low: Float, high: Float) -> float:
    """Of the coordinates of intervals."""
    return float(np.maximum(np.abs(low), np.abs(high)).max())
