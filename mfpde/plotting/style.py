"""The look that all figures share: colours that colour-blind readers tell apart, line widths, sizes, names on axes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from mfpde.registry import register

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "ALARM",
    "CATEGORIES",
    "DASHES",
    "DPI",
    "LINE",
    "MAP",
    "REFERENCE",
    "THIN_LINE",
    "WIDTH",
    "label",
    "look",
    "new_figure",
    "sequence",
    "stroked",
    "tag",
]

#: for things that differ in kind: Okabe and Ito, the yellow left out, which is too light for lines on white
CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: for things that have an order: perceptually uniform, monotone in lightness
MAP = "viridis"
REFERENCE = "0.45"
ALARM = "#D55E00"

THIN_LINE, LINE = 0.9, 1.6  # line widths in points
DASHES = (0, (4, 3))  # offset, lengths of dash and gap in line widths
#: inches; with DPI a figure is 1200 pixels wide
WIDTH, DPI = 8.0, 150

_RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "0.3",
    "axes.grid": False,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.prop_cycle": f"cycler('color', {list(CATEGORIES)})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "figure.dpi": DPI,
    "font.size": 9.0,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": LINE,
    "pdf.fonttype": 42,
    "svg.hashsalt": "mfpde",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}

_COORDINATES = {"theta": "angle θ [rad]", "time": "time t", "gradient": "gradient time t", "pairing": "pairing time s"}


@register("view", "look")
@contextmanager
def look() -> Iterator[None]:
    """matplotlib's defaults and our changes to them; afterwards what the user has set is back."""
    import matplotlib.style

    with matplotlib.style.context(["default", _RC]), warnings.catch_warnings():
        # a letter of a title that no font has is drawn as a box, which says enough
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


@register("view", "empty")
def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure in inches that no pyplot knows of; call it within `look`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    # notebooks show the figures that pyplot knows of; this one shows itself
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def sequence(count: int) -> list[tuple[float, ...]]:
    """`count` colours in an order, dark to light, all dark enough for lines on white."""
    from matplotlib import colormaps

    places = [0.82 * index / max(count - 1, 1) for index in range(count)]
    return [tuple(float(part) for part in colormaps[MAP](place)) for place in places]


def label(name: str) -> str:
    """What an axis is called that shows a coordinate."""
    return _COORDINATES.get(name, name)


def stroked() -> list[Any]:
    """For light lines over a map: a dark rim."""
    from matplotlib import patheffects

    return [patheffects.Stroke(linewidth=2.2, foreground="0.15"), patheffects.Normal()]


def tag(axes: Axes, letter: str) -> None:
    """The bold letter at the upper left corner outside the axes."""
    note = axes.annotate(letter, (0, 1), (-20, 5), "axes fraction", "offset points", annotation_clip=False)
    note.set(ha="right", va="bottom", weight="bold", size=10.5)
