"""Who merges with whom, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mfpde.measure import Particles
from mfpde.measure.linking import linked, linked_on_circle
from mfpde.plotting.scales import TimeScale
from mfpde.plotting.series import ObservedAxes
from mfpde.plotting.style import sequence
from mfpde.typing import Float, Integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mfpde.geometry import Geometry

__all__ = ["MOST_LEAVES", "ClusterTree", "labels_over_time"]

#: tokens that a tree can show
MOST_LEAVES = 256
_LINE = 0.8  # width, in points


@dataclass(frozen=True, eq=False)
class ClusterTree(ObservedAxes):
    """A line for each token, at the mean of its cluster's tokens in an order in which branches do not cross."""

    #: between the times of the labels, and at both ends
    edges: Float
    #: of the cluster of each token, `(time, n)`
    labels: Integers
    #: of the tokens of a cluster, where these are not those that the solver has merged
    radius: float | None = None
    name: str = "cluster-tree"

    def heights(self) -> Float:
        """Where the line of each token is, `(time, n)`: those that are together in the end are neighbours, and among
        them those that were together before."""
        order = np.lexsort(self.labels)  # the last time decides first
        rank = np.empty(order.size)
        rank[order] = np.arange(order.size)
        return np.array([(np.bincount(row, rank) / np.maximum(np.bincount(row), 1))[row] for row in self.labels])

    def draw(self, axes: Axes, scale: TimeScale) -> None:
        from matplotlib.collections import LineCollection

        heights = self.heights()
        edges = np.repeat(self.edges, 2)[1:-1]
        first = np.argsort(heights[0], kind="stable")
        lines = [np.column_stack([edges, np.repeat(heights[:, token], 2)]) for token in first]
        axes.add_collection(LineCollection(lines, colors=sequence(len(lines)), linewidths=_LINE))
        scale.lay_out(axes)
        axes.set_ylim(-1, heights.shape[1])
        axes.set_yticks([])
        within = "" if self.radius is None else f" (within {self.radius:g})"
        axes.set_title(f"who merges with whom{within}", loc="left")


def labels_over_time(points: Float, geometry: Geometry, radius: float) -> Integers:
    """Numbers of the clusters of native points `(time, n, components)`: of the first token of each, so that clusters
    keep theirs while they last."""
    rows = []
    for snapshot in points:
        if geometry.angular:
            labels = linked_on_circle(snapshot[:, 0], radius)
        else:
            labels = linked(Particles(snapshot, None, geometry).embedded_nodes()[0], radius)
        _, firsts, inverse = np.unique(labels, return_index=True, return_inverse=True)
        rows.append(firsts[inverse])
    return np.array(rows)
