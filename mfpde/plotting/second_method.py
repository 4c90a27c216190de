"""The figure of two methods held against each other: how far apart their solutions are over time, and what each
promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mfpde.plotting.style import ALARM, CATEGORIES, DASHES, REFERENCE, THIN_LINE
from mfpde.registry import register
from mfpde.typing import Float

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["draw_second_method"]

_FLOOR = 1e-17  # shown in place of 0, below what double precision tells apart from it
_ROOM_FACTOR = 5.0  # above and below, of a logarithmic axis


@register("view", "second-method")
def draw_second_method(
    times: Sequence[float], distances: Float, promises: Sequence[tuple[str, float]], title: str, figure: FigureBase
) -> None:
    """promises: whose, and how large; what is above their sum is a failed check, and drawn in the colour of alarm."""
    axes = figure.subplots()
    shown, allowed = np.maximum(distances, _FLOOR), sum(size for _, size in promises)
    for (name, size), dashes in zip(promises, (DASHES, (0, (1, 2))), strict=True):
        axes.axhline(size, color=REFERENCE, lw=THIN_LINE, ls=dashes, label=f"promise of {name}: {size:.2g}")
    axes.axhline(allowed, color=ALARM, lw=THIN_LINE, label=f"both promises: {allowed:.2g}")
    axes.plot(times, shown, "o-", color=CATEGORIES[0], ms=4, label="distance")
    beyond = ~(shown <= allowed)
    axes.plot(np.asarray(times)[beyond], shown[beyond], "o", color=ALARM, ms=6)
    known = shown[np.isfinite(shown)]
    low, high = min(known.min(initial=allowed), allowed), max(known.max(initial=allowed), allowed)
    axes.set(yscale="log", ylim=(low / _ROOM_FACTOR, high * _ROOM_FACTOR), xlabel="time t", ylabel="distance")
    axes.set_title(title)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
