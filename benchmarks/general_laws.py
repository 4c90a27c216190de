"""Time to a given accuracy on the circle with general matrices and noise, beside NumPy with dense kernels.

    python benchmarks/general_laws.py [--repeats 9] [--error 1e-8]

Problems: A = size [[3, 1], [-1, 2]], V = [[1, 0.3], [-0.4, 0.8]], mu_0 = (1 + 0.5 cos theta + 0.2 sin 2 theta)/(2 pi);
unnormalised attention at size 0.7, kappa = 20, until t = 2, for which 128 points do not do; at size 1, kappa = 8, until
t = 1; and softmax at size 3, kappa = 60, until t = 4. Every solver first gets the cheapest setting whose measured
max|error|/max density at the end is below the target: the fewest steps (within 5%), the largest tolerance of a 1-2-5
ladder. Then all are timed in turn, in one process on one thread, warm; the median is printed. The reference comes
from tests/reference/general_circle.py, which shares no code with any contestant.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from baselines import numpy_dense_kernels
from baselines.numpy_etdrk4 import Array, density, relative_error, transform
from reference.general_circle import Nodes, exponential, solve

import mfpde

SHAPE, V = np.array([[3.0, 1.0], [-1.0, 2.0]]), np.array([[1.0, 0.3], [-0.4, 0.8]])
POINTS = 256  # of the reference


@dataclass(frozen=True)
class Case:
    """One problem."""

    kind: str
    size: float
    kappa: float
    until: float
    #: of the grids that NumPy can do it on
    points: tuple[int, ...]

    @property
    def query(self) -> Array:
        """A."""
        return self.size * SHAPE

    @property
    def normalised(self) -> bool:
        """Whether the kernel is divided by its integral."""
        return self.kind == "softmax"


CASES = (
    Case("unnormalized", 0.7, 20, 2, (256,)),
    Case("unnormalized", 1, 8, 1, (128, 256)),
    Case("softmax", 3, 60, 4, (128, 256)),
)


def initial(theta: Array) -> Array:
    """Not normalised; each solver scales it."""
    return np.asarray(1 + 0.5 * np.cos(theta) + 0.2 * np.sin(2 * theta))


def reference(case: Case) -> Array:
    """The density at the end, on `POINTS` equispaced angles."""
    kernel = exponential(case.query)
    if not case.normalised:
        lift = float(np.exp(np.linalg.norm(case.query, 2)))
        kernel = lambda x, y, scaled=kernel: lift * scaled(x, y)  # noqa: E731 - the factor that is taken out
    return solve([(case.until, Nodes([(kernel, V, case.normalised)], case.kappa, POINTS))], [initial], POINTS)[0]


def of_mfpde(case: Case, target: float, wanted: Array) -> tuple[str, Callable[[], Array]]:
    """mfpde.solve; building the Problem is not timed."""

    def prepare(tolerance: float) -> Callable[[], Array]:
        problem = mfpde.Problem.from_dict(
            {
                "geometry": {"kind": "circle"},
                "attention": {"kind": case.kind, "A": case.query, "V": V},
                "noise": {"kappa": case.kappa},
                "initial": {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"},
                "solver": {"kind": "spectral", "tolerance": tolerance},
                "time": {"until": case.until, "save": False},
            }
        )
        return lambda: np.asarray(mfpde.solve(problem).density[-1])

    for exponent in range(2, 11):
        for digit in (10, 5, 2):
            tolerance = digit * 10.0 ** -(exponent + 1)
            run = prepare(tolerance)
            found = run()
            if relative_error(*common(found, wanted)) <= target:
                return f"tolerance {tolerance:.0e}", run
    raise RuntimeError(f"no tolerance of the ladder reaches {target}")


def of_numpy(points: int, case: Case, target: float, wanted: Array) -> tuple[str, Callable[[], Array]]:
    """Kernels made anew in every run, as in mfpde: they are a small part of it."""
    shown = wanted[:: max(1, POINTS // points)]
    steps = numpy_dense_kernels.tune(
        points, target, case.query, V, case.normalised, case.kappa, initial, case.until, shown
    )
    start = transform(initial(2 * np.pi * np.arange(points) / points))

    def run() -> Array:
        end = numpy_dense_kernels.solve(points, case.query, V, case.normalised, case.kappa, start, case.until, steps)
        return density(end, points)

    return f"{steps} steps", run


def common(found: Array, wanted: Array) -> tuple[Array, Array]:
    """Two densities at the angles that both have."""
    both = min(found.size, wanted.size)
    return found[:: found.size // both], wanted[:: wanted.size // both]


def race(case: Case, repeats: int, target: float) -> None:
    """Time all in turn, so that a busy spell of the machine hits everyone."""
    wanted = reference(case)
    rivals = {"mfpde": of_mfpde(case, target, wanted)}
    for points in case.points:
        rivals[f"numpy, dense kernels, {points} points"] = of_numpy(points, case, target, wanted)
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, (_, run) in rivals.items():
            began = time.process_time()
            run()
            times[name].append(time.process_time() - began)
    unit = statistics.median(times["mfpde"])
    name = f"{case.kind}, size {case.size:g}, kappa {case.kappa:g}"
    print(f"{name:36s} {'setting':18s} {'median':>10s} {'error':>8s} {'ratio':>7s}")
    for name, (setting, run) in rivals.items():
        found, median = run(), statistics.median(times[name])
        error = relative_error(*common(found, wanted))
        print(f"{name:36s} {setting:18s} {1e3 * median:7.2f} ms {error:8.1e} {median / unit:7.2f}")


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--error", type=float, default=1e-8)
    options = parser.parse_args()
    for case in CASES:
        race(case, options.repeats, options.error)


if __name__ == "__main__":
    main()
