"""Finite volumes on the line and the plane: all figures of their speed in one run.

    python benchmarks/finite_volume.py [--quick] [--figure docs/static/line_work_precision.svg]

Rows: NumPy and py-pde at their own errors; what an evaluation of the rates costs, in exponentials of a compiled loop,
and beside the sums alone; the share of compiled calls; two threads; with `--figure` error against time on the line.
One process, warm; seconds are of the processor where one thread works, and of the clock on the wall for two. Errors are
integrals of |error| against the Gaussian's closed form, cell averages against cell averages and point values against
point values. `mfpde` takes the fewest cells that reach the error of the baseline; both of its frames are shown.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from baselines import pypde_line
from baselines.numpy_finite_volume import Line, solve_line, solve_plane
from baselines.timing import best
from finite_volume_costs import evaluation_rows, share_rows, thread_row
from finite_volume_figure import work_precision
from finite_volume_tasks import COVARIANCE, MEAN, Array, closed_form, gaussian, mfpde_error, problem
from scipy.special import ndtr

import mfpde


def cheapest(
    make: Callable[[int], mfpde.Problem], wanted: float, mean: Array, covariance: Array
) -> mfpde.Problem | None:
    """With the fewest cells that are good enough."""
    for cells in (20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024):
        task = make(cells)
        try:
            if mfpde_error(task, mean, covariance) <= wanted:
                return task
        except mfpde.MfpdeError:
            continue
        if mean.size == 2 and cells >= 192:
            break
    return None


def row(case: str, baseline: str, seconds: float, theirs: float, error: float, least: str) -> None:
    """Print one line of the table; the error is the baseline's."""
    print(
        f"{case:44}{seconds * 1e3:>10.1f} ms{baseline:>12}{theirs * 1e3:>12.1f} ms{theirs / seconds:>8.1f}x{least:>8}"
        f"{error:>10.1e}"
    )


def line(repeats: int) -> None:
    """N = 1024, A = 1, V = -1, N(0.5, 1), T = 2."""
    numbers = np.array([0.5]), np.array([[1.0]])
    mean, covariance = closed_form(*numbers, 2.0)
    cells = Line(-9.0, 10.0, 1024)
    start = np.diff(ndtr(cells.faces - 0.5)) / cells.width

    def theirs() -> Array:
        return solve_line(cells, start, 2.0)

    exact = np.diff(ndtr((cells.faces - mean[0]) / np.sqrt(covariance[0, 0]))) / cells.width
    error = float(np.abs(theirs() - exact).sum() * cells.width)
    seconds = best(theirs, repeats)
    for frame in ("moving", "static"):
        for wanted in (error, 1e-8):
            task = cheapest(
                lambda n, f=frame, e=wanted: problem(0.5, 1.0, 2.0, cells=n, frame=f, tolerance=min(0.1 * e, 1e-3)),
                wanted,
                mean,
                covariance,
            )
            if task is not None:
                mine = best(lambda t=task: mfpde.solve(t), repeats)
                count = task.solver.model_dump()["cells"]
                row(f"line, {frame}, {count} cells, to {wanted:.0e}", "NumPy", mine, seconds, error, "10x")


def line_against_pypde(repeats: int) -> None:
    """The same on py-pde's N = 1024, the velocity handed to it; both in turn, so that a busy spell hits both."""
    if not pypde_line.available():
        print("(py-pde left out: not installed; pip install py-pde brings the row)")
        return
    mean, covariance = closed_form(np.array([0.5]), np.array([[1.0]]), 2.0)
    x, theirs = pypde_line.prepare(-6.0, 7.0, 1024, 2.0, "RK45", 1e-4)
    start = gaussian(x[:, None], np.array([0.5]), np.array([[1.0]]))
    error = float(np.abs(theirs(start) - gaussian(x[:, None], mean, covariance)).sum() * (x[1] - x[0]))
    for wanted in (error, 1e-8):
        task = cheapest(
            lambda n, e=wanted: problem(0.5, 1.0, 2.0, cells=n, frame="moving", tolerance=min(0.1 * e, 1e-3)),
            wanted,
            mean,
            covariance,
        )
        if task is None:
            continue
        times = [(best(lambda t=task: mfpde.solve(t), 1), best(lambda: theirs(start), 1)) for _ in range(repeats)]
        mine, seconds = np.median(times, axis=0)
        count = task.solver.model_dump()["cells"]
        row(f"line, moving, {count} cells, to {wanted:.0e}", "py-pde", mine, seconds, error, "50x")


def plane(repeats: int) -> None:
    """128^2, A = I, V = -I, N((0.5, 0), [[1, .3], [.3, .5]]), T = 1."""
    mean, covariance = closed_form(MEAN, COVARIANCE, 1.0)
    cells = Line(-8.0, 8.0, 128)
    points = np.stack(np.meshgrid(cells.x, cells.x, indexing="ij"), axis=-1).reshape(-1, 2)
    start = gaussian(points, MEAN, COVARIANCE).reshape(128, 128)

    def theirs() -> Array:
        return solve_plane(cells, start, 1.0)

    exact = gaussian(points, mean, covariance).reshape(128, 128)
    error = float(np.abs(theirs() - exact).sum() * cells.width**2)
    seconds = best(theirs, repeats)
    for frame in ("moving", "static"):
        task = cheapest(
            lambda n, f=frame: problem(MEAN, COVARIANCE, 1.0, cells=n, frame=f, tolerance=3e-4), 3e-3, mean, covariance
        )
        if task is not None:
            mine = best(lambda t=task: mfpde.solve(t), repeats)
            count = task.solver.model_dump()["cells"]
            row(f"plane, {frame}, {count}^2 cells, to 3e-03", "NumPy", mine, seconds, error, "10x")


def main() -> None:
    """The whole table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repetition of each")
    parser.add_argument("--figure", help="where error against time on the line is drawn")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else 3
    print(f"{'case':44}{'mfpde':>13}{'baseline':>12}{'time':>15}{'ratio':>9}{'least':>8}{'error':>10}")
    line(repeats)
    line_against_pypde(2 * repeats + 1)
    plane(repeats)
    evaluation_rows(2 * repeats + 1)
    share_rows()
    thread_row(2 * repeats + 1)
    if arguments.figure:
        work_precision(arguments.figure, repeats)


if __name__ == "__main__":
    main()
