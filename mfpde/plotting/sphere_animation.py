"""A movie of weighted points on a sphere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.animation import Scene
from mfpde.plotting.annotations import evenly_many
from mfpde.plotting.sphere_run import halves
from mfpde.plotting.style import CATEGORIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mfpde.plotting.sphere_run import SphereRun

__all__ = ["SphereScene"]

_MAX_DOTS = 2000  # more hide each other


class SphereScene(Scene):
    """Points in both halves."""

    def __init__(self, shown: SphereRun, snapshots: list[int]) -> None:
        self.shown = shown
        positions = np.asarray(shown.run.stored["position"])[sorted(set(snapshots))]
        chosen = evenly_many(positions[0], shown.run.weights, _MAX_DOTS)
        self.weights, self.positions = shown.run.weights[chosen], positions[:, chosen]
        super().__init__(shown, snapshots)

    def lay_out(self, figure: Figure) -> None:
        axes = figure.subplots(1, 2)
        sizes = 4 + 16 * self.weights / self.weights.max()
        self.dots = []
        for number, (one, (x, y)) in enumerate(zip(axes, halves(self.positions[0]), strict=True)):
            self.shown.lay_out(one, number)
            self.dots.append(self.moves(one.scatter(x, y, s=sizes, color=CATEGORIES[0], lw=0)))
        self.clock = self.moves(axes[0].text(-1.2, 1.15, "", ha="left", va="top", size=13))

    def show(self, place: int) -> None:
        for dots, half in zip(self.dots, halves(self.positions[place]), strict=True):
            dots.set_offsets(np.column_stack(half))
