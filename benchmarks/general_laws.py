"""Time to a given accuracy on the circle with general matrices and noise, beside NumPy with dense kernels.

    python benchmarks/general_laws.py [--repeats 9] [--error 1e-8]

Problems: softmax and unnormalised attention, A = [[3, 1], [-1, 2]], V = [[1, 0.3], [-0.4, 0.8]], kappa = 4,
mu_0 = (1 + 0.5 cos theta + 0.2 sin 2 theta)/(2 pi), until t = 5. Every solver first gets the cheapest setting whose
measured max|error|/max density at the end is below the target: the fewest steps (within 5%), the largest tolerance of a
1-2-5 ladder. Then all are timed in turn, in one process on one thread, warm; the median is printed. The reference comes
from tests/reference/general_circle.py, which shares no code with any contestant.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from baselines import numpy_dense_kernels
from baselines.numpy_etdrk4 import Array, density, relative_error, transform
from reference.general_circle import Nodes, exponential, solve

import mfpde

A, V = np.array([[3.0, 1.0], [-1.0, 2.0]]), np.array([[1.0, 0.3], [-0.4, 0.8]])
KAPPA, UNTIL, POINTS = 4.0, 5.0, 128


def initial(theta: Array) -> Array:
    """Not normalised; each solver scales it."""
    return np.asarray(1 + 0.5 * np.cos(theta) + 0.2 * np.sin(2 * theta))


def reference(normalised: bool) -> Array:
    """The density at the end, on `POINTS` equispaced angles."""
    kernel = exponential(A)
    if not normalised:
        lift = float(np.exp(np.linalg.norm(A, 2)))
        kernel = lambda x, y, scaled=kernel: lift * scaled(x, y)  # noqa: E731 - the factor that is taken out
    return solve([(UNTIL, Nodes([(kernel, V, normalised)], KAPPA, POINTS))], [initial], POINTS)[0]


def of_mfpde(kind: str, target: float, wanted: Array) -> tuple[str, Callable[[], Array]]:
    """mfpde.solve; building the Problem is not timed."""

    def prepare(tolerance: float) -> Callable[[], Array]:
        problem = mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": kind, "A": A, "V": V},
                "noise": {"kappa": KAPPA},
                "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"},
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": UNTIL, "save": False},
            }
        )
        return lambda: np.asarray(mfpde.solve(problem).density[-1])

    for exponent in range(2, 12):
        for digit in (10, 5, 2):
            tolerance = digit * 10.0 ** -(exponent + 1)
            run = prepare(tolerance)
            found = run()
            if relative_error(found[:: found.size // POINTS], wanted) <= target:
                return f"tolerance {tolerance:.0e}", run
    raise RuntimeError(f"no tolerance of the ladder reaches {target}")


def of_numpy(points: int, normalised: bool, target: float, wanted: Array) -> tuple[str, Callable[[], Array]]:
    """Kernels made anew in every run, as in mfpde: they are a small part of it."""
    shown = wanted[:: max(1, POINTS // points)]
    steps = numpy_dense_kernels.tune(points, target, A, V, normalised, KAPPA, initial, UNTIL, shown)
    start = transform(initial(2 * np.pi * np.arange(points) / points))

    def run() -> Array:
        return density(numpy_dense_kernels.solve(points, A, V, normalised, KAPPA, start, UNTIL, steps), points)

    return f"{steps} steps", run


def race(kind: str, repeats: int, target: float) -> None:
    """Time all in turn, so that a busy spell of the machine hits everyone."""
    normalised = kind == "softmax"
    wanted = reference(normalised)
    rivals = {"mfpde": of_mfpde(kind, target, wanted)}
    for points in (64, 256):
        rivals[f"numpy, dense kernels, {points} points"] = of_numpy(points, normalised, target, wanted)
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, (_, run) in rivals.items():
            began = time.process_time()
            run()
            times[name].append(time.process_time() - began)
    unit = statistics.median(times["mfpde"])
    print(f"{kind:36s} {'setting':18s} {'median':>10s} {'error':>8s} {'ratio':>7s}")
    for name, (setting, run) in rivals.items():
        found, median = run(), statistics.median(times[name])
        both = min(found.size, POINTS)
        error = relative_error(found[:: found.size // both], wanted[:: POINTS // both])
        print(f"{name:36s} {setting:18s} {1e3 * median:7.2f} ms {error:8.1e} {median / unit:7.2f}")


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--error", type=float, default=1e-8)
    options = parser.parse_args()
    for kind in ("softmax", "unnormalized"):
        race(kind, options.repeats, options.error)


if __name__ == "__main__":
    main()
