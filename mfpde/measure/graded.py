"""Gauss rules on panels that are halved until they agree with their halves.

Many integrals at once: each `item` has panels of its own, and functions are asked for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfpde.errors import ProblemError
from mfpde.measure.rules import MOST_NODES, gauss_legendre
from mfpde.typing import Float

__all__ = ["Items", "OfItems", "Panels", "graded", "split", "sum_by"]

Items: TypeAlias = NDArray[np.intp]
#: values at points t, each of an item
OfItems: TypeAlias = Callable[[Items, Float], Float]
#: item, low, high
Panels: TypeAlias = tuple[Items, Float, Float]

POINTS = 20
_DEEPEST = 60


def graded(function: OfItems, panels: Panels, accuracy: float, points: int = POINTS) -> tuple[Items, Float, Float]:
    """Nodes `(item, t, weight)` on panels, ascending within each item; the weights hold the function's values.

    A panel's rule is kept when it agrees with that of its halves to `accuracy`, relative to the integral over the panel
    that was halved first.
    """
    rule = gauss_legendre(points)
    item, low, high = panels
    values = _values(function, panels, rule[0])
    here = values @ rule[1] * (high - low)
    first, settled = np.arange(item.size), np.zeros(item.size)  # the panel halved first, what is settled of it
    done, count = [], 0
    for depth in range(_DEEPEST):
        middle = 0.5 * (low + high)
        halves = (item, low, middle), (item, middle, high)
        finer = [_values(function, half, rule[0]) for half in halves]
        parts = [value @ rule[1] * (0.5 * (high - low)) for value in finer]
        scale = (settled + sum_by(first, parts[0] + parts[1], settled.size))[first]
        tiny = high - low <= 4 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
        good = (np.abs(parts[0] + parts[1] - here) <= accuracy * scale) | tiny | (depth == _DEEPEST - 1)
        done.append(_nodes((item[good], low[good], high[good]), values[good], rule))
        settled += sum_by(first[good], here[good], settled.size)
        count += done[-1][0].size
        if good.all():
            break
        item, low, high = (np.concatenate([a[~good], b[~good]]) for a, b in zip(*halves, strict=True))
        first, here = np.tile(first[~good], 2), np.concatenate([part[~good] for part in parts])
        values = np.concatenate([value[~good] for value in finer])
        if count + values.size > MOST_NODES:
            raise ProblemError.at("measure", f"needs more than {MOST_NODES:,} quadrature nodes: it has too many edges")
    items, t, weights = (np.concatenate(part) for part in zip(*done, strict=True))
    order = np.lexsort((t, items))
    order = order[weights[order] > 0]
    return items[order], t[order], weights[order]


def _values(function: OfItems, panels: Panels, points: Float) -> Float:
    item, low, high = panels
    t = low[:, None] + 0.5 * (high - low)[:, None] * (1 + points)
    return function(np.repeat(item, points.size), t.ravel()).reshape(t.shape)


def _nodes(panels: Panels, values: Float, rule: tuple[Float, Float]) -> tuple[Items, Float, Float]:
    item, low, high = panels
    t = low[:, None] + 0.5 * (high - low)[:, None] * (1 + rule[0])
    return np.repeat(item, t.shape[1]), t.ravel(), (values * rule[1] * (high - low)[:, None]).ravel()


def split(low: Float, high: Float, item: Items, cuts: Float) -> Panels:
    """The intervals `[low, high]`, one for each item, cut where told: `cuts[k]` belongs to `item[k]`."""
    everyone = np.arange(low.size)
    inside = (cuts > low[item]) & (cuts < high[item])
    owner = np.concatenate([everyone, item[inside], everyone])
    ends = np.concatenate([low, cuts[inside], high])
    order = np.lexsort((ends, owner))
    owner, ends = owner[order], ends[order]
    panel = (owner[1:] == owner[:-1]) & (ends[1:] > ends[:-1])
    return owner[:-1][panel], ends[:-1][panel], ends[1:][panel]


def sum_by(item: Items, values: Float, count: int) -> Float:
    """Sums of the values of each of `count` items."""
    return np.bincount(item, values, count).astype(float, copy=False)
