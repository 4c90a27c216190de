"""One attention engine against the ways people write attention: the table of the engine's targets.

    python benchmarks/attention.py [--quick] [--only plane] [--large]

Every ratio is measured in one process, one thread unless said, warm, best of several; seconds of one thread are of the
processor, so that other programs do not count, those of two are of the clock on the wall. Errors are of the tilted
mean, relative to the support's radius, against long-double sums at 40 queries. The baselines are written as one would:

* naive: numba, all loops, one `exp` for each pair, sums of (1, y);
* factored: numba, exact, the exponentials of both axes factored out, so a pair costs multiplications only;
* NumPy: the matrix of scores, its row maximum out, `exp`, two products; PyTorch: `softmax`, double; KeOps: a lazy
  `sumsoftmaxweight`, double. The best of those installed counts (`pip install torch pykeops`, in an environment of
  their own); a call that takes over 20 s is made once.

A naive loop that would take minutes runs on a part of its queries; the time is scaled up, and the row says so.
`--large` adds n = 1e7 with the memory it took.
"""

import argparse
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # KeOps
os.environ.setdefault("NUMBA_NUM_THREADS", "2")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from numpy.typing import NDArray
from reference.exponential_sums import grid_points, tilted_mean

from mfpde import transform  # before numba: it says where compiled code is kept

import numba  # isort: skip
from baselines import direct_attention  # isort: skip
from baselines.timing import best  # isort: skip

Array = NDArray[np.float64]
MATRIX = np.array([[0.7, 0.4], [-0.3, 0.6]])
MATRIX *= 20 / np.linalg.norm(MATRIX, 2)
RANDOM = np.random.default_rng(11)
_SLOW = 20.0  # seconds
HEADER = f"{'case':34}{'mfpde':>11}{'baseline':>20}{'time':>12}{'ratio':>9}{'at least':>10}{'aim':>7}{'error':>10}"


def show(case: str, ours: float, baseline: str, theirs: float, least: float, aim: float, error: float) -> None:
    """One row of the table."""
    ratio = theirs / ours
    mark = "" if ratio >= least else "  MISSED"
    print(
        f"{case:34}{ours * 1e3:8.2f} ms{baseline:>20}{theirs * 1e3:9.1f} ms{ratio:8.1f}x{least:9.1f}x{aim:6.0f}x"
        f"{error:10.0e}{mark}",
        flush=True,
    )


def error_of(mean: Array, queries: Array, nodes: Array, masses: Array, radius: float = 1.0) -> float:
    """Largest error of the mean at 40 queries, relative to the radius."""
    chosen = RANDOM.integers(0, queries.shape[0], 40)
    expected = tilted_mean(queries[chosen], nodes, masses)[0]
    return float(np.abs(mean[chosen] - expected).max() / radius)


def grid_case(size: int, repeats: int) -> tuple[Array, Array, Callable[[], tuple[Array, Array]], float, float]:
    """A density on an N x N grid: axis, masses, the fast call, its seconds, its error."""
    axis = np.linspace(-1.0, 1.0, size)
    masses = np.exp(-3 * (axis[:, None] ** 2 + axis**2) + 0.5 * axis)
    run = lambda: transform.tilted_mean_on_grid((axis, axis), masses, MATRIX)  # noqa: E731
    seconds = best(run, repeats)
    points = grid_points(axis, axis)
    error = error_of(run()[0].reshape(2, -1).T, points @ MATRIX.T, points, masses.ravel())
    return axis, masses, run, seconds, error


def free_threads() -> float:
    """What two threads gain on this machine now, on work that has nothing in common: at best 2."""
    values = [np.linspace(0, 100, 20_000) for _ in range(2)]

    def rounds(array: Array) -> None:
        for _ in range(20):
            np.sin(array)

    def together() -> None:
        other = threading.Thread(target=rounds, args=(values[0],))
        other.start()
        rounds(values[1])
        other.join()

    return 2 * best(lambda: rounds(values[0]), 20, time.perf_counter) / best(together, 20, time.perf_counter)


def plane(repeats: int) -> None:
    """Grids of the plane."""
    axis, masses, _, ours, error = grid_case(128, repeats)
    share = 8  # of the queries' rows: 1/16 of the naive loop
    naive = best(lambda: direct_attention.naive_plane(axis, masses, MATRIX, axis[:share]), 2) * axis.size / share
    show("plane N=128", ours, f"naive ({share}/128)", naive, 80, 200, error)
    factored = best(lambda: direct_attention.factored_plane(axis, masses, MATRIX, axis[:32]), 2) * 4
    show("plane N=128", ours, "factored (32/128)", factored, 1, 1, error)
    axis, masses, run, ours, error = grid_case(256, repeats)
    factored = best(lambda: direct_attention.factored_plane(axis, masses, MATRIX, axis[:8]), 2) * 32
    show("plane N=256", ours, "factored (8/256)", factored, 10, 25, error)
    if numba.config.NUMBA_NUM_THREADS > 1:
        numba.set_num_threads(2)
        two = best(run, 3 * repeats, time.perf_counter)
        numba.set_num_threads(1)
        one = best(run, 3 * repeats, time.perf_counter)
        show("plane N=256, two threads", two, "one thread", one, 1.6, 1.9, error)
        print(f"    two threads of unrelated work gain {free_threads():.2f}x on this machine now")
    diagonal = best(lambda: transform.tilted_mean_on_grid((axis, axis), masses, np.diag([15.0, -20.0])), repeats)
    print(f"{'plane N=256, diagonal A':34}{diagonal * 1e3:8.2f} ms")


def line(repeats: int) -> None:
    """A grid of the line."""
    axis = np.linspace(-1.0, 1.0, 16384)
    masses, matrix = np.exp(-3 * axis**2), np.array([[20.0]])
    run = lambda: transform.tilted_mean_on_grid((axis,), masses, matrix)  # noqa: E731
    ours = best(run, repeats)
    naive = best(lambda: direct_attention.naive_line(axis, masses, 20.0, axis[:1024]), 2) * 16
    error = error_of(run()[0].T, 20 * axis[:, None], axis[:, None], masses)
    show("line N=16384", ours, "naive (1/16)", naive, 500, 1000, error)


def scattered(name: str, count: int) -> tuple[Array, Array, Array, Callable[[], tuple[Array, Array]]]:
    """Queries, nodes, masses and the fast call, |A| L^2 = 20 on R^d, beta = 4 on spheres."""
    masses = RANDOM.random(count)
    if name == "line":
        nodes = RANDOM.uniform(-1, 1, (count, 1))
        queries = 20 * nodes
    elif name == "plane":
        nodes = RANDOM.uniform(-1, 1, (count, 2))
        queries = nodes @ MATRIX.T
    elif name == "circle":
        angles = RANDOM.uniform(0, 2 * np.pi, count)
        nodes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return 4 * nodes, nodes, masses, lambda: transform.tilted_mean_on_circle(4.0, angles, angles, masses)
    else:
        nodes = RANDOM.standard_normal((count, 3))
        nodes /= np.sqrt((nodes**2).sum(axis=1, keepdims=True))
        return 4 * nodes, nodes, masses, lambda: transform.tilted_mean_on_sphere(4.0, nodes, nodes, masses)
    return queries, nodes, masses, lambda: transform.tilted_mean(queries, nodes, masses)


def best_direct(queries: Array, nodes: Array, masses: Array, mean: Array) -> tuple[str, float]:
    """The fastest of the direct ways and its seconds; all of them must agree with the mean."""
    times = {}
    for name, function in direct_attention.contestants().items():
        few = slice(0, 50)
        if np.abs(function(queries[few], nodes, masses) - mean[few]).max() > 1e-9:
            message = f"{name} computes something else"
            raise RuntimeError(message)
        run = lambda function=function: function(queries, nodes, masses)  # noqa: E731
        start = time.process_time()
        run()
        times[name] = time.process_time() - start
        if times[name] < _SLOW:
            times[name] = min(times[name], best(run, 1))
    name = min(times, key=lambda key: times[key])
    print("    " + ", ".join(f"{key} {value:.3f} s" for key, value in times.items()))
    return name, times[name]


def particles(repeats: int) -> None:
    """n = 1e4 everywhere, and d = 64."""
    for name, least, aim in (("line", 300, 700), ("plane", 30, 80), ("circle", 150, 300), ("sphere", 60, 150)):
        queries, nodes, masses, run = scattered(name, 10_000)
        ours, error = best(run, repeats), error_of(run()[0], queries, nodes, masses)
        baseline, theirs = best_direct(queries, nodes, masses, run()[0])
        show(f"particles n=1e4, {name}", ours, baseline, theirs, least, aim, error)
    nodes, masses = RANDOM.standard_normal((10_000, 64)) / 8, RANDOM.random(10_000)
    run = lambda: transform.tilted_mean(nodes, nodes, masses)  # noqa: E731
    ours, error = best(run, 2), error_of(run()[0], nodes, nodes, masses)
    baseline, theirs = best_direct(nodes, nodes, masses, run()[0])
    show("particles n=1e4, d=64", ours, baseline, theirs, 1, 2, error)


def large() -> None:
    """n = 1e5, 1e6, 1e7."""
    for name in ("line", "circle", "plane", "sphere"):
        scattered(name, 100_000)[-1]()  # compiles
        seconds = []
        for count in (100_000, 1_000_000, 10_000_000):
            run = scattered(name, count)[-1]
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = ", ".join(f"{value:.2f} s" for value in seconds)
        print(f"particles n=1e5, 1e6, 1e7, {name:10}{times:>28}   most memory so far {peak:.2f} GiB", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--only", choices=["plane", "line", "particles", "large"])
    parser.add_argument("--large", action="store_true", help="n up to 1e7 as well")
    options = parser.parse_args()
    repeats = 3 if options.quick else 15
    numba.set_num_threads(1)
    print(HEADER)
    for name, case in (("plane", plane), ("line", line), ("particles", particles)):
        if options.only in (None, name):
            case(repeats)
    if options.large or options.only == "large":
        large()


if __name__ == "__main__":
    main()
