"""One simulation over ranks: time of a noisy step of n tokens, and bytes that a rank gives to sums in one.

    python benchmarks/ranks.py [--count 10000000] [--steps 5]

One process of one thread, one process of two threads, and two ranks of one thread each, on the circle and the plane
(softmax, beta = 4, kappa = 4), then two ranks with a tenth of the tokens: the bytes of a step are the same. Wanted: two
ranks at least 1.5 times as fast as one, and at least 95 % of the speed of two threads.

Of each way the wall time of a step, and the processor time of the process that took most of it: on a machine that is
busy with something else only the second says anything, and what ranks wait for each other is not in it (MPI waits
actively, so that processor time of waiting is in it where cores are free). Needs the extra `mpi`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

MPIEXEC = Path(sys.executable).parent / "mpiexec"
SPACES = ("circle", "plane")


def measure(space: str, count: int, steps: int) -> None:
    """In a process that was started for it: warm steps, and on rank 0 what they cost."""
    import mfpde
    from mfpde.prepare import prepare
    from mfpde.ranks.launched import launched

    initial = {
        "circle": {"kind": "von-mises", "direction": 0, "concentration": 1},
        "plane": {"kind": "gaussian", "mean": [0, 0], "covariance": 0.2},
    }[space]
    problem = mfpde.Problem.from_dict(
        {
            "geometry": {"kind": space},
            "attention": {"kind": "softmax", "A": 4.0, "V": -1 if space == "plane" else 1},
            "noise": {"kappa": 4.0},
            "initial": initial,
            "solver": {"kind": "particles", "count": count, "step": 1e-3},
            "time": {"until": 1},
        }
    )
    with launched() as ranks:
        integration = prepare(problem).start()
        integration.advance(2e-3, 10**12)
        sent, wall = getattr(ranks, "sent", 0), time.perf_counter()
        processor = time.process_time()
        integration.advance((2 + steps) * 1e-3, 10**12)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        found = {
            "wall": ranks.most(wall) / steps,
            "processor": ranks.most(processor) / steps,
            "bytes": (getattr(ranks, "sent", 0) - sent) / steps,
        }
        if ranks.leads:
            print(json.dumps(found))


def started(space: str, count: int, steps: int, *, ranks: int = 1, threads: int = 1) -> dict[str, float]:
    """The same in processes of their own."""
    line = [sys.executable, __file__, "--measure", space, "--count", str(count), "--steps", str(steps)]
    if ranks > 1:
        line = [str(MPIEXEC), "-n", str(ranks), *line]
    surroundings = os.environ | {"NUMBA_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(line, env=surroundings, capture_output=True, text=True, check=True)  # noqa: S603
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10**7)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--measure", choices=SPACES)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.count, given.steps)
        return
    load = os.getloadavg()[0]
    print(f"{given.count} tokens, {given.steps} steps, load {load:.1f} on {os.cpu_count()} cores")
    for space in SPACES:
        one = started(space, given.count, given.steps)
        threads = started(space, given.count, given.steps, threads=2)
        two = started(space, given.count, given.steps, ranks=2)
        tenth = started(space, given.count // 10, given.steps, ranks=2)
        print(f"{space}: seconds a step, wall (processor of one process)")
        for name, found in [("one thread", one), ("two threads", threads), ("two ranks", two)]:
            print(f"  {name:12} {found['wall']:8.3f} ({found['processor']:.3f})")
        print(
            f"  two ranks are {one['wall'] / two['wall']:.2f} times as fast as one thread (processor time: "
            f"{one['processor'] / two['processor']:.2f}),"
        )
        print(
            f"  {threads['wall'] / two['wall']:.0%} of the speed of two threads (processor time: "
            f"{threads['processor'] / (2 * two['processor']):.0%})"
        )
        print(f"  a rank gives {two['bytes']:.0f} bytes a step to sums; of a tenth of the tokens {tenth['bytes']:.0f}")


if __name__ == "__main__":
    main()
