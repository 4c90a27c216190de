"""Error against time on the line: finite volumes of all orders, a good NumPy implementation, py-pde where there is one.

Softmax attention with A = 1, V = -1 moves N(0.5, 1) to T = 2, where the closed form is known. Errors are integrals of
|error|; seconds are of the processor, whole runs, the best of several, all warm.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from baselines.numpy_finite_volume import Line, solve_line
from baselines.timing import best
from finite_volume_tasks import closed_form, mfpde_error, problem
from scipy.special import ndtr

import mfpde

__all__ = ["work_precision"]

UNTIL = 2.0
MEAN, COVARIANCE = closed_form(np.array([0.5]), np.array([[1.0]]), UNTIL)
#: frame, order, numbers of cells
SERIES = {
    "mfpde, moving frame, order 9": ("moving", 9, (18, 20, 24, 32, 48, 64, 96)),
    "mfpde, cells at rest, order 9": ("static", 9, (48, 64, 96, 128, 192, 256, 384)),
    "mfpde, cells at rest, order 5": ("static", 5, (48, 96, 192, 384, 768)),
    "mfpde, cells at rest, order 2": ("static", 2, (48, 96, 192, 384, 768)),
}
# Okabe and Ito's colours, told apart with any eyes; markers and dashes tell the lines apart without colours
STYLES = ("o-", "s--", "D--", "^--", "P:", "X:")
COLOURS = ("#0072b2", "#d55e00", "#e69f00", "#cc79a7", "#000000", "#009e73")
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


def ours(repeats: int, frame: str, order: int, counts: tuple[int, ...]) -> Iterator[tuple[float, float]]:
    """Time and error for each number of cells, at the loosest tolerance that at most doubles their least error."""
    for cells in counts:
        tasks = [
            problem(0.5, 1.0, UNTIL, cells=cells, frame=frame, order=order, tolerance=tolerance)
            for tolerance in TOLERANCES
        ]
        try:
            errors = [mfpde_error(task, MEAN, COVARIANCE) for task in tasks]
        except mfpde.MfpdeError:  # cells too few for the data
            continue
        if min(errors) < np.inf:
            chosen = next(index for index, error in enumerate(errors) if error <= 2 * min(errors))
            yield best(lambda t=tasks[chosen]: mfpde.solve(t), repeats), errors[chosen]


def numpys(repeats: int) -> Iterator[tuple[float, float]]:
    """Of the NumPy implementation."""
    for cells in (64, 128, 256, 512, 1024):
        line = Line(-9.0, 10.0, cells)
        start = np.diff(ndtr(line.faces - 0.5)) / line.width
        exact = np.diff(ndtr((line.faces - MEAN[0]) / np.sqrt(COVARIANCE[0, 0]))) / line.width

        def solve(line: Line = line, start: Any = start) -> Any:
            return solve_line(line, start, UNTIL)

        yield best(solve, repeats), float(np.abs(solve() - exact).sum() * line.width)


def work_precision(path: str, repeats: int, pypde: Sequence[tuple[float, float]]) -> None:
    """Print all points and draw them; those of py-pde, seconds and errors, are given."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "line_work_precision"
    from matplotlib import pyplot as plt

    lines = {name: list(ours(repeats, *plan)) for name, plan in SERIES.items()}
    lines["NumPy, order 2"] = list(numpys(repeats))
    if pypde:
        lines["py-pde compiled, order 2"] = list(pypde)
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for (name, points), style, colour in zip(lines.items(), STYLES, COLOURS, strict=False):
        seconds, errors = np.array(points).T
        for pair in zip(seconds, errors, strict=True):
            print(f"{name:34}{pair[0] * 1e3:10.2f} ms{pair[1]:12.1e}")
        axes.loglog(1e3 * seconds, errors, style, color=colour, ms=4.5, lw=1.3, label=name)
    axes.set(
        xlabel="processor time of a whole run [ms]",
        ylabel=r"error $\int |\rho - \rho_{\mathrm{exact}}| \, \mathrm{d}x$ at $T = 2$  (mass 1)",
    )
    axes.legend(frameon=False, fontsize=7.5)
    axes.grid(alpha=0.2)
    figure.savefig(path, metadata={"Date": None})
