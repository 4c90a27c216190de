"""Which dimension of a sweep goes where in a figure: along x, along y, into bands, into panels of their own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.sweeping.axes import SEED, SweptAxis
from mfpde.sweeping.collecting import OBSERVE_TIME
from mfpde.typing import Float

if TYPE_CHECKING:
    from mfpde.sweeping.result import Sweep

__all__ = ["Shown", "shown_of"]

_CURVES_MAX = 4  # of one panel: an axis that is longer makes a map
#: dimensions along which values are repeats of one thing
_REPEATS = ("copy",)


@dataclass(frozen=True)
class Shown:
    """A collected value with its dimensions in the order x, y, facets, and repeats last; `fixed` are the values of keys
    in this panel."""

    name: str
    long_name: str
    values: Float
    axes: tuple[SweptAxis, ...]
    repeats: bool = False
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def is_map(self) -> bool:
        """Whether two axes are long enough for a map, and both are numbers."""
        return len(self.axes) > 1 and not self.repeats and self.axes[1].numeric and len(self.axes[1]) > _CURVES_MAX

    @property
    def facet(self) -> SweptAxis | None:
        """The axis whose values have panels of their own."""
        return self.axes[2] if len(self.axes) > 2 else None

    def at(self, place: int) -> Shown:
        """The panel of one value of the facets."""
        assert self.facet is not None  # noqa: S101  asked for where there is one
        values = np.take(self.values, place, axis=2)
        return replace(
            self, values=values, axes=self.axes[:2] + self.axes[3:], fixed={**self.fixed, **self.facet.at(place)}
        )


def shown_of(sweep: Sweep, name: str) -> Shown | None:
    """A collected value; None where it is not a number for each point, time and repeat."""
    about = sweep.layout.fields[name]
    time = SweptAxis(("time",), (tuple(sweep.observe_times.tolist()),))
    values = np.asarray(sweep[name], dtype=float)
    single = [place for place, one in enumerate(about.dimensions) if sweep.layout.extents[one] == 1]
    values = values.squeeze(tuple(len(sweep.axes) + place for place in single))  # a vector of one component
    dimensions = [one for place, one in enumerate(about.dimensions) if place not in single]
    own = [time if one == OBSERVE_TIME else one for one in dimensions]
    if any(isinstance(one, str) and one not in _REPEATS for one in own):
        return None
    axes: list[Any] = [*sweep.axes, *own]
    repeats = [place for place, axis in enumerate(axes) if _repeats(axis)]
    order = sorted((place for place in range(len(axes)) if place not in repeats), key=lambda place: _rank(axes, place))
    if not order:
        return None
    values = np.moveaxis(values, [*order, *repeats], range(len(axes)))
    values = values.reshape(*values.shape[: len(order)], -1) if repeats else values
    return Shown(name, about.long_name, values, tuple(axes[place] for place in order), bool(repeats))


def _repeats(axis: Any) -> bool:
    """Copies, and seeds."""
    return axis in _REPEATS or (isinstance(axis, SweptAxis) and axis.name.split(".")[-1] == SEED)


def _rank(axes: list[Any], place: int) -> tuple[bool, bool, bool, int]:
    """Numbers before words, axes that are long enough for a map before those that are not, of these time first, then
    in their order."""
    axis = axes[place]
    short = len(axis) <= _CURVES_MAX
    return not axis.numeric, short, short and axis.name != "time", place
