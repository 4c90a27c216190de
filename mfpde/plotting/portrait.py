"""What every picture of a run has in common, whatever its snapshots hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mfpde.errors import MfpdeError
from mfpde.measure import Measure
from mfpde.plotting.scales import TimeScale
from mfpde.plotting.series import SeriesPanel, observed_panels
from mfpde.registry import members
from mfpde.run import BLOW_UP, Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.scene import Scene

__all__ = ["Portrait", "portrait_of", "side_by_side"]

#: snapshots that a time axis can show
_MOST_TIMES = 800


class Portrait(ABC):
    """A run as pictures: how its snapshots are drawn, still and moving. Registered in the family `portrait`."""

    #: inches that the upper part of the figure takes
    height: ClassVar[float] = 3.5

    def __init__(self, run: Run) -> None:
        if len(run.times) == 0:
            raise MfpdeError("this run holds no snapshot: there is nothing to draw")
        self.run = run
        self.times = np.asarray(run.times, dtype=float)
        self.scale = TimeScale.of(self.times, run.outcome.time if run.outcome.kind == BLOW_UP else None)

    @classmethod
    @abstractmethod
    def fits(cls, run: Run) -> bool:
        """Whether it can draw that run."""

    @abstractmethod
    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        """The snapshots, in the first row of a grid of two columns."""

    @abstractmethod
    def scene(self, snapshots: list[int]) -> Scene:
        """The same moving, one frame for each of these snapshots."""

    def derived(self) -> list[SeriesPanel]:
        """What is drawn below when nothing was observed."""
        return []

    @cached_property
    def panels(self) -> list[SeriesPanel]:
        """Series for the lower part: what was observed, or what follows from the snapshots."""
        return observed_panels(self.run) or self.derived()

    @cached_property
    def shown(self) -> list[int]:
        """Snapshots that fit on a time axis, none twice."""
        if self.times.size <= _MOST_TIMES:
            return list(range(self.times.size))
        return sorted(set(self.scale.nearest(self.times, _MOST_TIMES)))

    @property
    def shown_times(self) -> Float:
        return self.times[self.shown]

    def measure(self, index: int) -> Measure:
        """The law of tokens at one snapshot."""
        return self.run.measure(index)

    @cached_property
    def moments(self) -> tuple[Float, Float]:
        """Means `(shown, d)` and covariances `(shown, d, d)`."""
        measures = [self.measure(index) for index in self.shown]
        return np.array([one.mean for one in measures]), np.array([one.covariance for one in measures])


def portrait_of(run: Run) -> Portrait:
    """The pictures that fit the run."""
    for part in members("portrait").values():
        if part.fits(run):
            portrait: Portrait = part(run)
            return portrait
    over = ", ".join(run.layout.dimensions)
    held = f"{', '.join(run.stored)}{f' over {over}' if over else ''}"
    raise MfpdeError(f"there is no picture of such a run, which holds {held}")


def side_by_side(figure: Figure, grid: GridSpec) -> list[Axes]:
    """Two axes in the first row, in line with those below."""
    return [figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])]
