"""Error against time on the line: finite volumes of all orders, a good NumPy implementation, py-pde where installed.

Softmax attention with A = 1, V = -1 moves N(0.5, 1) to T = 2, where the closed form is known. Errors are integrals of
|error|; seconds are of the processor, whole runs, best of three in one process.
"""

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from baselines import pypde_line
from baselines.numpy_finite_volume import Line, solve_line
from baselines.timing import best
from finite_volume_tasks import closed_form, gaussian, mfpde_error, problem
from scipy.special import ndtr

import mfpde

__all__ = ["work_precision"]

UNTIL = 2.0
MEAN, COVARIANCE = closed_form(np.array([0.5]), np.array([[1.0]]), UNTIL)
SERIES = {
    "moving frame, order 9": ("moving", 9, (20, 24, 32, 48, 64, 96)),
    "cells at rest, order 9": ("static", 9, (48, 64, 96, 128, 192, 256, 384)),
    "cells at rest, order 5": ("static", 5, (48, 96, 192, 384, 768)),
    "cells at rest, order 2": ("static", 2, (48, 96, 192, 384, 768)),
}


def ours(repeats: int, frame: str, order: int, counts: tuple[int, ...]) -> Iterator[tuple[float, float]]:
    """Time and error for each number of cells; time steps are held to a hundredth of the error."""
    for cells in counts:
        error, chosen = np.inf, None
        for tolerance in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
            task = problem(0.5, 1.0, UNTIL, cells=cells, frame=frame, order=order, tolerance=tolerance)
            try:
                better = mfpde_error(task, MEAN, COVARIANCE)
            except mfpde.MfpdeError:  # cells too few for the data
                break
            if better > 0.5 * error:
                break
            chosen, error = task, better
        if chosen is not None:
            yield best(lambda t=chosen: mfpde.solve(t), repeats), error


def numpys(repeats: int) -> Iterator[tuple[float, float]]:
    """Of the NumPy implementation."""
    for cells in (64, 128, 256, 512, 1024):
        line = Line(-9.0, 10.0, cells)
        start = np.diff(ndtr(line.faces - 0.5)) / line.width
        exact = np.diff(ndtr((line.faces - MEAN[0]) / np.sqrt(COVARIANCE[0, 0]))) / line.width

        def solve(line: Line = line, start: Any = start) -> Any:
            return solve_line(line, start, UNTIL)

        yield best(solve, repeats), float(np.abs(solve() - exact).sum() * line.width)


def pypdes(repeats: int) -> Iterator[tuple[float, float]]:
    """Of py-pde, the velocity handed to it."""
    for cells in (64, 128, 256, 512, 1024):
        x, solve = pypde_line.prepare(-6.0, 7.0, cells, UNTIL, "RK45", 1e-4)
        start = gaussian(x[:, None], np.array([0.5]), np.array([[1.0]]))
        exact = gaussian(x[:, None], MEAN, COVARIANCE)
        error = float(np.abs(solve(start) - exact).sum() * (x[1] - x[0]))
        yield best(lambda s=solve, u=start: s(u), repeats), error


def work_precision(path: str, repeats: int) -> None:
    """Print all points and draw them."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "line_work_precision"
    from matplotlib import pyplot as plt

    plans: dict[str, Callable[[], Iterator[tuple[float, float]]]] = {
        name: lambda plan=plan: ours(repeats, *plan) for name, plan in SERIES.items()
    }
    plans["NumPy, order 2"] = lambda: numpys(repeats)
    if pypde_line.available():
        plans["py-pde, order 1"] = lambda: pypdes(repeats)
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, plan in plans.items():
        seconds, errors = np.array(list(plan())).T
        for pair in zip(seconds, errors, strict=True):
            print(f"{name:28}{pair[0] * 1e3:10.2f} ms{pair[1]:12.1e}")
        axes.loglog(seconds, errors, "o-", ms=3.5, lw=1.2, label=name)
    axes.set(xlabel="seconds of the processor", ylabel="integral of |error|")
    axes.legend(frameon=False, fontsize=8)
    axes.grid(alpha=0.2)
    figure.savefig(path, metadata={"Date": None})
