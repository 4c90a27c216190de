"""What moves in a movie. The rest is drawn once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from mfpde.plotting.figure import head, header
from mfpde.plotting.scales import TimeScale
from mfpde.plotting.style import ALARM, LINE, REFERENCE, new_figure
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from mfpde.plotting.run_plot import Portrait

__all__ = ["Scene"]

_HEIGHT_INCHES, _DPI = 4.5, 120  # 540 lines: a common size of movies
Part = TypeVar("Part", bound="Artist")


class Scene(ABC):
    """A figure whose moving parts show one snapshot after the other."""

    clock: Text

    def __init__(self, portrait: Portrait, snapshots: list[int]) -> None:
        self.snapshots = snapshots
        self.kept = sorted(set(snapshots))
        self.place = {snapshot: place for place, snapshot in enumerate(self.kept)}
        self.times = portrait.times[self.kept]
        self.moving: list[Artist] = []
        # a movie may be at most as wide as its file format counts, and mp4 wants even numbers: 960 x 540
        self.figure = new_figure(_HEIGHT_INCHES)
        self.figure.set_dpi(_DPI)
        head(self.figure, header(portrait.run))
        gaps = np.diff(self.times)
        shortest = float(gaps.min()) if gaps.size else 1.0
        self.digits = int(np.clip(np.ceil(-np.log10(shortest) - 1e-9), 0, 6))
        self.lay_out(self.figure)

    @abstractmethod
    def lay_out(self, figure: Figure) -> None:
        """Draw everything; what moves goes through `moves`. There has to be a `clock`."""

    @abstractmethod
    def show(self, place: int) -> None:
        """Put what moves where snapshot number `kept[place]` has it."""

    def moves(self, artist: Part) -> Part:
        """Remember that this is drawn anew in every frame."""
        artist.set_animated(True)
        self.moving.append(artist)
        return artist

    def frames(self) -> Iterator[AnyArray]:
        """Pixels `(height, width, 4)` of every frame."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas: Any = FigureCanvasAgg(self.figure)
        canvas.draw()
        still = canvas.copy_from_bbox(self.figure.bbox)
        for snapshot in self.snapshots:
            place = self.place[snapshot]
            self.show(place)
            self.clock.set_text(f"t = {self.times[place]:.{self.digits}f}")
            canvas.restore_region(still)
            for artist in self.moving:
                self.figure.draw_artist(artist)
            yield np.array(canvas.buffer_rgba())

    def track(self, axes: Axes, times: Float, curves: list[Float]) -> None:
        """Curves over time with a mark that moves along the first."""
        for values in curves:
            axes.plot(times, values, color=REFERENCE, lw=LINE, clip_on=False)
        self._track_times, self._track = times, curves[0]
        (self.mark,) = axes.plot(times[:1], curves[0][:1], "o", color=ALARM, ms=6, clip_on=False)
        self.moves(self.mark)
        TimeScale(float(self.times[0]), float(self.times[-1])).lay_out(axes)

    def move_mark(self, place: int) -> None:
        """Put the mark where the curve is."""
        time = self.times[place]
        self.mark.set_data([time], [np.interp(time, self._track_times, self._track)])
