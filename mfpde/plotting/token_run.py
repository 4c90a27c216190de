"""What pictures of tokens have in common, on every space."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from mfpde.observe.clusters import Clusters
from mfpde.plotting.cluster_tree import MOST_LEAVES, ClusterTree, labels_over_time
from mfpde.plotting.run_plot import Portrait
from mfpde.plotting.series import ObservedAxes
from mfpde.prepare import chosen_solver
from mfpde.run import Run
from mfpde.typing import Float

__all__ = ["CROWD_TOKENS", "TokenPortrait", "cells_for"]

#: tokens from which on they are shown as a density
CROWD_TOKENS = 2000
#: that a cell of a histogram is to have on average
_IN_CELL = 15


def cells_for(count: int, axes: int, most: int) -> int:
    """Cells of a histogram of so many tokens along each of its axes."""
    return int(np.clip((count / _IN_CELL) ** (1 / axes), 16, most))


class TokenPortrait(Portrait):
    """Of a run whose snapshots are weighted points."""

    forms: ClassVar[tuple[str, ...]] = ("particles", "characteristics")

    @classmethod
    def fits(cls, run: Run) -> bool:
        return super().fits(run) and chosen_solver(run.problem).shown_cells is None

    def tokens(self, snapshots: list[int]) -> Float:
        """Points `(snapshots, n, components)` as they are stored, those of independent copies one after the other; on
        spheres the directions of tokens with norms."""
        stored = np.asarray(self.run.stored["position"])[snapshots]
        points = stored.reshape(len(snapshots), -1, stored.shape[-1])
        if self.run.problem.geometry.flat or points.shape[2] == 1:
            return points
        return np.asarray(points / np.linalg.norm(points, axis=2, keepdims=True))

    @cached_property
    def weights(self) -> Float:
        """Masses of all these tokens."""
        copies = int(np.prod(np.shape(self.run.stored["position"])[1:-2]))
        return np.tile(self.run.weights / copies, copies)

    @cached_property
    def groups(self) -> list[ObservedAxes]:
        observed = any(observable.kind == "clusters" for observable in self.run.problem.observe)
        return [*(self._tree() if observed else []), *super().groups]

    def derived(self) -> list[ObservedAxes]:
        return super().derived() or self._tree()

    def _tree(self) -> list[ObservedAxes]:
        """Who merges with whom, of few tokens of one system that do merge: the solver's own mergers at their times, or
        clusters of snapshots."""
        one = self.run.layout.form == "particles" and len(np.shape(self.run.stored["position"])) == 3
        if not one or self.weights.size > MOST_LEAVES or self.times.size < 2:
            return []
        edges = self.scale.edges(self.shown_times)
        if self.run.trail and len(self.run.mergers):
            first, last = edges[[0, -1]]
            at = np.unique(self.run.mergers.time)
            labels = self.run.mergers.labels(np.append(first, at), self.weights.size)
            return [ClusterTree(np.concatenate([[first], np.clip(at, first, last), [last]]), labels)]
        found = [each for each in self.run.problem.observe if isinstance(each, Clusters)] or [Clusters()]
        points, geometry = self.tokens(self.shown), self.run.problem.geometry
        if geometry.angular and points.shape[2] == 2:
            points = np.arctan2(points[..., 1:], points[..., :1])
        labels = labels_over_time(points, geometry, found[0].radius)
        merged = bool((labels != labels[0]).any())
        return [ClusterTree(edges, labels, found[0].radius)] if merged else []
