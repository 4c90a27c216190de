"""The common part of the plots of all forms of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from mfpde.contracts import BLOW_UP
from mfpde.errors import MfpdeError
from mfpde.measure import GridDensity, Measure
from mfpde.observe import Series
from mfpde.observe.covariance import AXES
from mfpde.observe.mean import Mean
from mfpde.plotting.scales import TimeScale
from mfpde.plotting.series import ObservedAxes, axes_of, observed_axes
from mfpde.prepare import chosen_solver
from mfpde.registry import members
from mfpde.run import Run
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from mfpde.plotting.animation import Scene

__all__ = ["GridPortrait", "Portrait", "marginal", "portrait_of", "side_by_side"]

#: on a time axis; more fall on the same pixels
_MAX_TIMES = 800


class Portrait(ABC):
    """A run as pictures: how its snapshots are drawn, still and moving. Registered in the family `portrait`."""

    #: inches that the upper part of the figure takes
    height: ClassVar[float] = 3.5
    #: forms of the snapshots that it draws (`Layout.form`), of so many axes where that matters
    forms: ClassVar[tuple[str, ...]]
    axes: ClassVar[int | None] = None
    #: kinds of geometry that it is made for; none named are all
    spaces: ClassVar[tuple[str, ...]] = ()

    def __init__(self, run: Run) -> None:
        if len(run.times) == 0:
            raise MfpdeError("this run holds no snapshot: there is nothing to draw")
        self.run = run
        self.times = np.asarray(run.times, dtype=float)
        scale = TimeScale.of(self.times, run.outcome.time if run.outcome.kind == BLOW_UP else None)
        clock = run.problem.clock
        self.scale = scale if clock == "physical" else replace(scale, name=clock)

    @classmethod
    def fits(cls, run: Run) -> bool:
        """Whether it can draw that run."""
        layout, here = run.layout, not cls.spaces or run.problem.geometry.counts_as(*cls.spaces)
        return here and layout.form in cls.forms and cls.axes in (None, len(layout.axes))

    @abstractmethod
    def draw(self, figure: Figure, grid: GridSpec) -> list[Axes]:
        """The snapshots, in the first row of a grid of two columns."""

    @abstractmethod
    def scene(self, snapshots: list[int]) -> Scene:
        """The same moving, one frame for each of these snapshots."""

    @property
    def drawn(self) -> tuple[str, ...]:
        """Series that the upper part shows."""
        return ()

    @cached_property
    def groups(self) -> list[ObservedAxes]:
        """What the lower part shows: what was observed, or what follows from the snapshots."""
        observed = [group for group in observed_axes(self.run) if group.name not in self.drawn]
        return observed or self.derived()

    def derived(self) -> list[ObservedAxes]:
        """What is drawn below when nothing was observed: means and spreads, where the space is flat."""
        if not self.run.problem.geometry.flat:
            return []
        means, covariances = self.moments
        spreads = np.sqrt(np.maximum(np.linalg.eigvalsh(covariances)[:, ::-1], 0.0))
        several = spreads.shape[1] > 1
        label = "standard deviations" if several else "standard deviation"
        deviations = Series(label, label=label, curves=AXES)
        centre = Mean().series(self.run.problem.geometry)["mean"]
        found = [axes_of("mean", centre, self.shown_times, means)]
        found.append(axes_of(label.replace(" ", "-"), deviations, self.shown_times, spreads))
        return [group for group in found if group.curves]

    @cached_property
    def shown(self) -> list[int]:
        """Snapshots that fit on a time axis."""
        return self.spread(_MAX_TIMES)

    def spread(self, most: int) -> list[int]:
        """All snapshots, or at most so many that are spread over the time axis, none twice."""
        if self.times.size <= most:
            return list(range(self.times.size))
        return sorted(set(self.scale.nearest(self.times, most)))

    @property
    def shown_times(self) -> Float:
        return self.times[self.shown]

    @cached_property
    def measures(self) -> list[Measure]:
        """Laws of tokens at the shown snapshots."""
        for rows in self.run.stored.values():
            np.asarray(rows)  # a file is read once, not once for each snapshot
        return [self.run.measure(index) for index in self.shown]

    @cached_property
    def moments(self) -> tuple[Float, Float]:
        """Means `(shown, d)` and covariances `(shown, d, d)`."""
        return np.array([one.mean for one in self.measures]), np.array([one.covariance for one in self.measures])


def marginal(run: Run, rows: slice | list[int]) -> Float:
    """Densities of these snapshots, summed over positions where tokens have some."""
    density = np.asarray(run.density[rows], dtype=float)
    return density.sum(axis=1) if "panel" in run.layout.fields["density"].dimensions else density


class GridPortrait(Portrait):
    """Of a run whose snapshots are densities on grids."""

    forms: ClassVar[tuple[str, ...]] = ("grid", "panels")

    @property
    def drawn(self) -> tuple[str, ...]:
        return ("clusters-position",)

    @classmethod
    def fits(cls, run: Run) -> bool:
        shown = chosen_solver(run.problem).shown_cells is not None
        return super().fits(run) or (shown and run.problem.geometry.ambient_dimension == cls.axes)

    @cached_property
    def grids(self) -> list[GridDensity]:
        """Densities at the shown snapshots."""
        return [self.grid(index) for index in self.shown]

    def grid(self, index: int) -> GridDensity:
        """The density at any snapshot."""
        return self.run.on_cells(index) or cast("GridDensity", self.run.measure(index))


def portrait_of(run: Run) -> Portrait:
    """The pictures that fit the run."""
    for part in sorted(members("portrait").values(), key=lambda part: not part.spaces):
        if part.fits(run):
            portrait: Portrait = part(run)
            return portrait
    over = ", ".join(run.layout.dimensions)
    held = f"{', '.join(run.stored)}{f' over {over}' if over else ''}"
    raise MfpdeError(f"there is no picture of such a run, which holds {held}")


def side_by_side(figure: Figure, grid: GridSpec) -> list[Axes]:
    """Two axes in the first row, in line with those below."""
    return [figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])]
