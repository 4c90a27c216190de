"""What a sweep costs beside its solves: many points of a few milliseconds, on two workers, results on disk.

    python benchmarks/sweep.py [POINTS] [--peers] [--many N]

The measure is processor time, of this process and its workers, which other work on the machine does not change: a plain
loop over the same points in one process, warm, against the sweep. The start of its workers, a second or so of each, is
stated apart. With two free processors the sweep takes half of its processor time. The loop is measured before and
after the sweep: on a busy machine the same point takes up to half as much processor time again. --peers measures joblib
and dask, where they are installed, by the same function; --many solves so many tiny points and tells the memory of the
parent.
"""

import argparse
import importlib.util
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mfpde
from mfpde.sweeping.plan import Plan
from mfpde.sweeping.point import solve_points
from mfpde.workers import Pool, Task

WORKERS = 2
PROMISED_FACTOR = 1.15  # of the plain loop's time, divided by the workers
PROMISED_START_SECONDS = 3.0  # until workers have loaded what they need
PROMISED_PARENT_MB = 300  # at 1e5 points
BLOCKS = {
    "geometry": {"kind": "circle"},
    "attention": {"kind": "unnormalized", "beta": 1},
    "initial": {"kind": "density", "expression": "1 + 0.1*cos(theta)"},
    "solver": {"kind": "spectral", "tolerance": 1e-8},
    "time": {"until": 15, "save_every": 1},  # about 5 ms a point
    "collect": [{"observe": "order-parameter", "reduce": "max"}, "free-energy"],
}


def problem(points: int, **blocks: object) -> mfpde.Problem:
    """So many values of kappa."""
    kappa = {"from": 1, "to": 4, "count": points}
    return mfpde.Problem.from_dict({**BLOCKS, "sweep": {"noise.kappa": kappa}, **blocks})


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(work: Callable[[], object]) -> tuple[float, float]:
    """Processor time and wall time."""
    began, wall = processor_seconds(), time.perf_counter()
    work()
    return processor_seconds() - began, time.perf_counter() - wall


def plain_loop(task: mfpde.Problem, points: int) -> None:
    """What a user would write."""
    plan = Plan(task)
    for number in range(points):
        mfpde.solve(plan.problem(number))


def start_workers(task: mfpde.Problem) -> None:
    """Both, with all that points need: one point each."""
    import pickle

    first = Task("mfpde.sweeping.point:solve_points", (pickle.dumps(task), 0, 1, None))
    with Pool(WORKERS) as pool:
        for _ in pool.answers([first] * WORKERS):
            pass


def one_point(task: mfpde.Problem, number: int) -> object:
    """For peers: one task, one point."""
    import pickle

    return solve_points(pickle.dumps(task), number, number + 1, None)


def with_joblib(task: mfpde.Problem, points: int) -> None:
    """Its process pool, batches as it chooses."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    Parallel(n_jobs=WORKERS)(delayed(one_point)(task, number) for number in range(points))
    get_reusable_executor().shutdown(wait=True)  # its processes count once they have ended


def with_dask(task: mfpde.Problem, points: int) -> None:
    """A cluster on this machine."""
    from distributed import Client, LocalCluster

    options = {"n_workers": WORKERS, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.gather(client.map(lambda number: one_point(task, number), range(points)))


def overhead(points: int, *, peers: bool) -> None:
    """The table."""
    task = problem(points)
    mfpde.solve(Plan(task).problem(0))
    start = measured(lambda: start_workers(task))
    told = "kept" if start[1] < PROMISED_START_SECONDS else "NOT KEPT"
    print(f"start of {WORKERS} workers: {start[0]:.2f} s of processor time, {start[1]:.2f} s by the clock ({told})")
    before = _loop_seconds(points)
    with tempfile.TemporaryDirectory() as folder:
        whole = measured(lambda: mfpde.sweep(task, Path(folder) / "sweep.h5", workers=WORKERS))
    after = _loop_seconds(points)
    loop = 0.5 * (before + after)
    each = f"{1e3 * before / points:.2f} ms a point before the sweep, {1e3 * after / points:.2f} ms after it"
    print(f"{points} points; plain loop {loop:.2f} s of processor time, {each}")
    _tell("mfpde sweep", whole, start[0], loop)
    found = {"joblib": with_joblib, "distributed": with_dask} if peers else {}
    for name, run in found.items():
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed")
        else:
            _tell(name, measured(lambda run=run: run(task, points)), start[0], loop)


def _loop_seconds(points: int) -> float:
    """Processor time of the plain loop, by a sample of the points."""
    sample = min(points, 500)
    return measured(lambda: plain_loop(problem(sample), sample))[0] * points / sample


def _tell(name: str, taken: tuple[float, float], start: float, loop: float) -> None:
    factor = (taken[0] - start) / loop
    told = "kept" if factor <= PROMISED_FACTOR else "NOT KEPT"
    times = f"{taken[0]:7.2f} s of processor time, {taken[1]:7.2f} s by the clock"
    print(f"{name:12} {times}: {factor:.3f} of the loop ({told})")


def many(points: int) -> None:
    """The memory of the parent."""
    quick = {"initial": {"kind": "uniform"}, "time": {"until": 1e-3}, "collect": ["order-parameter"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sweep.h5"
        taken = measured(lambda: mfpde.sweep(problem(points, **quick), path, workers=WORKERS))
        size = path.stat().st_size / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = "kept" if peak < PROMISED_PARENT_MB else "NOT KEPT"
    print(
        f"{points} tiny points: {taken[0]:.1f} s of processor time, {taken[1]:.1f} s by the clock, {size:.0f} MB file"
    )
    print(f"the parent had {peak:.0f} MB at most ({told})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("points", type=int, nargs="?", default=2000)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--many", type=int, metavar="N", default=0)
    given = parser.parse_args()
    overhead(given.points, peers=given.peers) if not given.many else many(given.many)
    sys.exit(0)
