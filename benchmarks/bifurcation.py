"""Time to whole diagrams.

    python benchmarks/bifurcation.py [--rows 200] [--skip-phase]

The diagram of unnormalized attention at beta = 5, kappa in [0.1, 1], uniform state and modes 1, 2, 3, with folds,
first-order point and all rates, warm: under 3 s. The phase diagram of 200 x 200 points, beta in [0, 10],
kappa/kappa_1 in [0.5, 2], on all processors: under a minute; at 50 random points the number of stable states is that
of a search by deflation alone. Where pycont-lite is installed, it follows the branch of mode 1 from kappa = 1 through
the fold to the uniform state: the same residual in 26 moments, its own derivatives, stability and detection as it has
them by default. It is to take thirty times as long as mfpde with stability and special points.
Exit code 1 where something is slower or different.
"""

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence

import mfpde
from mfpde.bifurcation.deflation import deflated_states
from mfpde.bifurcation.exploring import Explorer
from mfpde.bifurcation.families import family_of
from mfpde.bifurcation.phase_row import Request, family_at
from mfpde.bifurcation.quadrature import rule
from mfpde.bifurcation.stability import instability

DIAGRAM_SECONDS, PHASE_SECONDS, PEER_RATIO = 3.0, 60.0, 30.0
POINTS = 50
PROBLEM = mfpde.Problem.from_dict(
    {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "unnormalized", "beta": 5},
        "bifurcation": {"parameter": "kappa", "range": [0.1, 1.0], "branches": ["uniform", 1, 2, 3]},
    }
)


def timed(function, repeats):
    """Median wall time and the CPU time of this process, after one call to warm up."""
    function()
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def diagram() -> bool:
    """The diagram at beta = 5."""
    wall, cpu = timed(lambda: mfpde.bifurcate(PROBLEM), 5)
    found = mfpde.bifurcate(PROBLEM)
    points = sum(len(branch) for branch in found.branches)
    worst = max(branch.residual.max() for branch in found.branches)
    print(f"diagram: {wall:.2f} s ({cpu:.2f} s of CPU), {points} states, residuals below {worst:.1e}")
    return cpu < DIAGRAM_SECONDS


def phase(rows: int) -> bool:
    """The phase diagram, and its counts at random points."""
    wall = time.perf_counter()
    found = mfpde.phase_diagram({"kind": "circle"}, {"kind": "unnormalized", "beta": 1}, count=(rows, 200))
    wall = time.perf_counter() - wall
    random, wrong = np.random.default_rng(1), 0
    for i, j in zip(random.integers(rows, size=POINTS), random.integers(200, size=POINTS), strict=True):
        ratio = float(found.ratio[j])
        family, _, first = family_at(Request(2, 1.0, False, (0.99 * ratio, 1.01 * ratio)), float(found.beta[i]))
        states = deflated_states(family, family.place(ratio * first), seed=1)
        wrong += sum(instability(state) == 0 for state in states) + (ratio < 1) != found.stable[i, j]
    print(f"phase diagram of {rows} x 200: {wall:.1f} s; counts that differ at {POINTS} points: {wrong}")
    return wall < PHASE_SECONDS and wrong == 0


def peer() -> bool:
    """pycont-lite on the branch of mode 1."""
    try:
        import pycont
    except ImportError:
        print("pycont-lite is not installed")
        return True
    low, high = 0.1, 1.0
    family = family_of(PROBLEM.equation, "kappa", low, high)

    def mine():
        return list(Explorer(family, {1}).primary())

    ours = timed(mine, 15)[1]
    (side,) = mine()[0].sides
    start = side.path.points[-1].x
    relative = family.model(0.0).multipliers.relative[1:]
    scale = family.model(0.0).multipliers.scale
    nodes = rule(2, side.tracer.system.size)
    table = np.ascontiguousarray(nodes.table(relative.size)[:, 1:])

    def residual(b, u):
        exponent = table @ (family.value(u) * scale * relative * b)
        share = np.exp(exponent - exponent.max())
        return b - share @ table / share.sum()

    settings = {"tolerance": 1e-10, "initial_directions": "decrease_p", "param_min": 0.0, "param_max": 1.0}
    begun = time.process_time()
    while True:
        try:
            found = pycont.arclengthContinuation(residual, start[:-1], 1.0, 1e-6, 0.03, 0.01, 700, settings, "off")
            break
        except ArpackNoConvergence:  # at the uniform state, where eigenvalues coincide, from some random vectors
            begun = time.process_time()
    # it goes on through the uniform state to the branch's image under a rotation by pi: twice the branch
    theirs = 0.5 * (time.process_time() - begun)
    points = sum(len(branch.p_path) for branch in found.branches) // 2
    print(f"mode 1: {1e3 * ours:.0f} ms, {len(side.path.points)} points, folds, first-order point, stability")
    print(f"    pycont-lite {1e3 * theirs:.0f} ms, {points} points: {theirs / ours:.0f} times")
    return theirs > PEER_RATIO * ours


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--skip-phase", action="store_true")
    options = parser.parse_args()
    passed = [diagram(), options.skip_phase or phase(options.rows), peer()]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
