"""Finite volumes on the line and the plane: all figures of their speed in one run.

    python benchmarks/finite_volume.py [--quick] [--pypde PYTHON] [--figure docs/static/line_work_precision.svg]

Rows: NumPy and py-pde at their own errors; what an evaluation of the rates costs, in exponentials of a compiled loop,
and beside the sums alone; what snapshots cost; the share of compiled calls; two threads; with `--figure` error against
time on the line.
`--pypde` names a Python that has py-pde (this one where it has it), which then times itself. All is warm, what py-pde
compiles and sets up left out; seconds are of the processor where one thread works, and of the clock on the wall for
two. Errors are integrals of |error| against the Gaussian's closed form, cell averages against cell averages and point
values against point values. `mfpde` takes the fewest cells that reach the error of the baseline; both of its frames
are shown.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from baselines.numpy_finite_volume import Line, solve_line, solve_plane
from baselines.timing import best, best_after
from finite_volume_costs import evaluation_rows, share_rows, snapshot_rows, thread_row
from finite_volume_figure import work_precision
from finite_volume_tasks import COVARIANCE, MEAN, Array, closed_form, gaussian, mfpde_error, problem, started, steps
from scipy.special import ndtr

import mfpde

PYPDE_CELLS = 64, 128, 256, 512, 1024


def cheapest(
    make: Callable[[int], mfpde.Problem], wanted: float, mean: Array, covariance: Array
) -> mfpde.Problem | None:
    """With the fewest cells that are good enough."""
    for cells in (18, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024):
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
                least = {"moving": "40x", "static": "8x"}[frame] if wanted == error else ""
                row(f"line, {frame}, {count} cells, to {wanted:.0e}", "NumPy", mine, seconds, error, least)


def pypde_line(python: str, repeats: int, cells: tuple[int, ...]) -> dict[int, tuple[float, float]]:
    """Seconds and error of py-pde for each number of cells; it compiles for a quarter of a minute for each."""
    script = Path(__file__).resolve().parent / "baselines" / "pypde_line.py"
    command = [python, str(script), str(repeats), ",".join(map(str, cells))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - named by hand
    told = map(json.loads, done.stdout.splitlines())
    return {each["cells"]: (each["seconds"], each["error"]) for each in told}


def line_against_pypde(repeats: int, seconds: float, error: float) -> None:
    """The same on py-pde's N = 1024: whole runs, and the steps alone, which are what py-pde's seconds are of."""
    mean, covariance = closed_form(np.array([0.5]), np.array([[1.0]]), 2.0)
    for frame, least in (("moving", "50x"), ("static", "")):
        task = cheapest(
            lambda n, f=frame: problem(0.5, 1.0, 2.0, cells=n, frame=f, tolerance=0.1 * error), error, mean, covariance
        )
        if task is not None:
            mine = best(lambda t=task: mfpde.solve(t), repeats)
            count = task.solver.model_dump()["cells"]
            row(f"line, {frame}, {count} cells, to {error:.0e}, whole run", "py-pde", mine, seconds, error, "")
            mine = best_after(lambda t=task: started(t), lambda run: steps(run, 2.0), repeats)
            row(f"line, {frame}, {count} cells, to {error:.0e}, its steps", "py-pde", mine, seconds, error, least)


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
            row(f"plane, {frame}, {count}^2 cells, to 3e-03", "NumPy", mine, seconds, error, "")


def main() -> None:
    """The whole table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one repetition of each")
    parser.add_argument("--figure", help="where error against time on the line is drawn")
    here = sys.executable if importlib.util.find_spec("pde") else None
    parser.add_argument("--pypde", metavar="PYTHON", default=here, help="a Python that has py-pde")
    arguments = parser.parse_args()
    repeats = 1 if arguments.quick else 3
    theirs: dict[int, tuple[float, float]] = {}
    if arguments.pypde:
        print("(py-pde compiles ...)", flush=True)
        theirs = pypde_line(arguments.pypde, repeats, PYPDE_CELLS if arguments.figure else PYPDE_CELLS[-1:])
    print(f"{'case':44}{'mfpde':>13}{'baseline':>12}{'time':>15}{'ratio':>9}{'least':>8}{'error':>10}")
    line(repeats)
    if theirs:
        line_against_pypde(2 * repeats + 1, *theirs[PYPDE_CELLS[-1]])
    else:
        print("(py-pde left out: --pypde names a Python that has it; pip install py-pde brings it)")
    plane(repeats)
    evaluation_rows(2 * repeats + 1)
    snapshot_rows(repeats)
    share_rows()
    thread_row(2 * repeats + 1)
    if arguments.figure:
        work_precision(arguments.figure, repeats, list(theirs.values()))


if __name__ == "__main__":
    main()
