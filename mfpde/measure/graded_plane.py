"""Gauss rules for functions of two variables with edges: a rule in t of rules in u, both cut where there are edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from mfpde.measure.crossings import crossings
from mfpde.measure.graded import POINTS, Items, Panels, graded, split, sum_by
from mfpde.typing import Float

__all__ = ["Rectangles", "graded_twice"]

#: values at points (t, u), each of an item
OfTwo: TypeAlias = Callable[[Items, Float, Float], Float]

_BISECTIONS = 52
_NONE = np.zeros(0)


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


def graded_twice(
    function: OfTwo, kinks: Sequence[OfTwo], where: Rectangles, accuracy: float, points: int = POINTS
) -> tuple[Items, Float, Float, Float]:
    """Nodes `(item, t, u, weight)`; the weights hold the function's values. It is smooth but where kinks vanish."""

    def edges(item: Items, t: Float) -> tuple[Items, Float, Items, Float]:
        along = [lambda k, u, kink=kink: kink(item[k], t[k], u) for kink in kinks]
        return crossings(along, where.u_low[item], where.u_high[item], where.samples)

    def inner(item: Items, t: Float) -> tuple[Items, Float, Float]:
        owner, cuts, _, _ = edges(item, t)
        owner = np.concatenate([owner, np.repeat(np.arange(item.size), where.u_cuts.size)])
        cuts = np.concatenate([cuts, np.tile(where.u_cuts, item.size)])
        panels = split(where.u_low[item], where.u_high[item], owner, cuts)
        return graded(lambda k, u: function(item[k], t[k], u), panels, 0.1 * accuracy, points)

    def outer(item: Items, t: Float) -> Float:
        row, _, weight = inner(item, t)
        return sum_by(row, weight, item.size)

    def signature(item: Items, t: Float) -> Float:
        owner, _, which, signs = edges(item, t)
        place = np.arange(owner.size) - np.searchsorted(owner, owner)
        total = sum_by(owner, (which + 1.0) * (len(kinks) + 2.0) ** place, item.size)
        return total + np.arange(1, len(kinks) + 1) @ (np.sqrt(2) * (signs > 0)) if kinks else total

    item, t, weight = graded(outer, _outer_panels(signature if kinks else None, where), accuracy, points)
    row, u, share = inner(item, t)
    total = sum_by(row, share, item.size)
    return item[row], t[row], u, share * (weight / np.where(total > 0, total, 1.0))[row]


def _outer_panels(signature: Callable[[Items, Float], Float] | None, where: Rectangles) -> Panels:
    """Cut where the sequence of edges along u changes: at tips, corners, and edges that run along u."""
    everyone = np.arange(where.t_low.size)
    owner, cuts = np.repeat(everyone, where.t_cuts.size), np.tile(where.t_cuts, everyone.size)
    if signature is not None:
        t = where.t_low[:, None] + (where.t_high - where.t_low)[:, None] * np.linspace(0, 1, where.samples + 1)
        signs = signature(np.repeat(everyone, t.shape[1]), t.ravel()).reshape(t.shape)
        item, left = np.nonzero(signs[:, 1:] != signs[:, :-1])
        low, high, before = t[item, left], t[item, left + 1], signs[item, left]
        for _ in range(_BISECTIONS if item.size else 0):
            middle = 0.5 * (low + high)
            same = signature(item, middle) == before
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        owner, cuts = np.concatenate([owner, item]), np.concatenate([cuts, 0.5 * (low + high)])
    return split(where.t_low, where.t_high, owner, cuts)
