"""Points that are linked by chains, compiled: every pair is looked at once."""

from __future__ import annotations

from mfpde.compilation import kernel
from mfpde.typing import Float, Integers

__all__ = ["link_points"]


@kernel
def _move_first(order: Integers, start: int) -> None:
    """Exchange the least number from `start` on with the one there."""
    first = start
    for k in range(start, order.size):
        if order[k] < order[first]:
            first = k
    order[start], order[first] = order[first], order[start]


@kernel
def link_points(points: Float, radius: float, order: Integers, labels: Integers) -> None:
    """labels = number of the cluster of each point `(n, d)`, counted in the order of their first points; `order` is
    room for n numbers: points of known clusters, then those that are left."""
    count, dimension = points.shape
    for i in range(count):
        order[i] = i
    found, reached, clusters = 0, 0, 0
    while reached < count:
        if found == reached:  # nobody left near the last cluster: the first of the others begins a new one
            _move_first(order, reached)
            reached += 1
            clusters += 1
        point = order[found]
        labels[point] = clusters - 1
        for k in range(reached, count):
            other, square = order[k], 0.0
            for row in range(dimension):
                apart = points[other, row] - points[point, row]
                square += apart * apart
                if square > radius * radius:
                    break
            if square <= radius * radius:
                order[reached], order[k] = order[k], order[reached]
                reached += 1
        found += 1
    for k in range(found, count):
        labels[order[k]] = clusters - 1
