"""What an evaluation of the drift costs finite volumes on the line, whole runs counted, and what of a run is compiled.

    python benchmarks/line_evaluations.py

Seconds are of the processor, start of the run included, best of several runs in one process. The unit is what one
exponential takes in a compiled loop of them, measured in the same run: figures in units hardly depend on the machine.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from baselines.timing import best

import mfpde
from mfpde.compilation import kernel
from mfpde.solvers.finite_volume import line_system
from mfpde.transform.exponential import exponential

SOFTMAX = {"kind": "softmax", "A": 1, "V": -1}
GAUSSIAN = {"kind": "gaussian", "mean": 0.5, "covariance": 1.0}
BUMPS = {
    "kind": "mixture",
    "components": [
        {"kind": "gaussian", "mean": -1.0, "covariance": 0.3, "weight": 0.4},
        {"kind": "gaussian", "mean": 1.5, "covariance": 0.5, "weight": 0.6},
    ],
}


@kernel
def _raise_all(x: Any, out: Any) -> None:
    for index in range(x.size):
        out[index] = exponential(x[index])


def unit() -> float:
    """Seconds of one exponential."""
    x, out = -10.0 * np.random.default_rng(0).random(4096), np.empty(4096)
    rounds = 200

    def loop() -> None:
        for _ in range(rounds):
            _raise_all(x, out)

    return best(loop, 5) / (rounds * x.size)


def problem(initial: Any, until: float, **solver: Any) -> mfpde.Problem:
    """Softmax attention on the line."""
    return mfpde.Problem.from_dict(
        {
            "geometry": {"kind": "line"},
            "attention": SOFTMAX,
            "initial": initial,
            "solver": {"kind": "finite-volume", **solver},
            "time": {"until": until, "save": False},
        }
    )


def evaluations(task: mfpde.Problem) -> int:
    """How often a run asks for the drift."""
    solution = task.solver.start(task.posed())  # type: ignore[union-attr]
    while solution.time < task.time.until:
        solution.advance(task.time.until, 10**9)
    return int(solution.statistics()["evaluations"])


def cost(case: str, task: mfpde.Problem, most: str, one: float) -> None:
    """Print one line."""
    each = best(lambda: mfpde.solve(task), 7) / evaluations(task)
    print(f"{case:40}{each * 1e6:9.1f} us{each / one / 1e3:9.1f} thousand exponentials ({most})")


def compiled_share(task: mfpde.Problem) -> None:
    """Print how much of a long run is spent in compiled calls, by timers around these."""
    spent = [0.0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.process_time()
            answer = function(*arguments)
            spent[0] += time.process_time() - start
            return answer

        return call

    mfpde.solve(task)
    owners = [(line_system.slope, name) for name in ("line_slope", "line_fluxes")]
    owners.append((line_system.steps, "line_step"))
    plain = [getattr(module, name) for module, name in owners]
    for (module, name), function in zip(owners, plain, strict=True):
        setattr(module, name, timed(function))
    try:
        start = time.process_time()
        mfpde.solve(task)
        whole = time.process_time() - start
    finally:
        for (module, name), function in zip(owners, plain, strict=True):
            setattr(module, name, function)
    print(f"a run of {whole:.1f} s: {spent[0] / whole:.0%} in compiled calls (at least 90%)")


def main() -> None:
    """The whole table."""
    one = unit()
    print(f"an exponential in a compiled loop takes {one * 1e9:.2f} ns")
    cost("line, N = 1024 at rest, to T = 2", problem(GAUSSIAN, 2.0, cells=1024, frame="static"), "at most 120", one)
    cost("line, two bumps on 32 moving cells", problem(BUMPS, 2.0, cells=32, tolerance=1e-5), "at most 80 us", one)
    compiled_share(problem(GAUSSIAN, 20.0, cells=2048, frame="static"))


if __name__ == "__main__":
    main()
