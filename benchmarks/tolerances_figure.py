"""Promise and error of every solver over the tolerance: a figure of `benchmarks/tolerances.py`."""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

__all__ = ["PROMISED", "Line", "draw"]

PROMISED = 10.0  # tolerances
#: errors below it are drawn there
ERROR_SHOWN_MIN = 1e-15
COLUMNS = 4


@dataclass(frozen=True)
class Line:
    """A tolerance, and the errors in promises of all runs that say that they have kept it; those of few steps have
    nothing to gain from larger ones."""

    tolerance: float
    shares: NDArray[np.float64]
    few: NDArray[np.bool_]


def draw(path: str, lines: dict[str, list[Line]]) -> None:
    """A panel for each solver: every run's error over its tolerance, those of few steps lighter, the median of the
    others, and the promise with a thirtieth."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tolerances"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(
        -(-len(lines) // COLUMNS),
        COLUMNS,
        figsize=(9, 2.4 * -(-len(lines) // COLUMNS)),
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for panel, (label, each) in zip(panels.flat, lines.items(), strict=False):
        asked = np.array([line.tolerance for line in each])
        panel.fill_between(asked, PROMISED * asked / 30, PROMISED * asked, color="#56b4e9", alpha=0.35, lw=0)
        panel.loglog(asked, PROMISED * asked, color="#0072b2", lw=1.2, label="promise, and 1/30 of it")
        for line in each:
            errors = np.maximum(line.shares * PROMISED * line.tolerance, ERROR_SHOWN_MIN)
            for chosen, color in ((line.few, "0.75"), (~line.few, "0.35")):
                panel.plot(np.full(chosen.sum(), line.tolerance), errors[chosen], "_", color=color, ms=7, mew=0.6)
        judged = [line for line in each if not line.few.all()]
        medians = [np.median(line.shares[~line.few]) * PROMISED * line.tolerance for line in judged]
        where = [line.tolerance for line in judged]
        panel.plot(where, np.maximum(medians, ERROR_SHOWN_MIN), "o-", color="#d55e00", ms=4, lw=1.2, label="median run")
        panel.set_title(label, fontsize=9)
        panel.grid(alpha=0.2)
        panel.tick_params(labelsize=8)
    for panel in panels.flat[len(lines) :]:
        panel.set_axis_off()
    panels.flat[0].legend(frameon=False, fontsize=7, loc="upper left")
    panels.flat[0].set_ylim(ERROR_SHOWN_MIN, 0.05)
    figure.supxlabel("tolerance", fontsize=9)
    figure.supylabel("largest error of a run", fontsize=9)
    figure.savefig(path, metadata={"Date": None})
