"""Started by mpiexec: problems solved by all ranks, by two of them, and by one process; prints the differences."""

import json
import sys

import numpy as np
from mpi4py import MPI

import mfpde
from mfpde.ranks import working
from mfpde.ranks.mpi import MpiRanks

TOKENS = 1601
NORMAL = {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]}
PLANE = {"geometry": {"kind": "plane"}, "initial": NORMAL, "observe": ["mean", "covariance"]}
A = [[1, 0], [0.2, 0.5]]
LAWS = {
    "circle": {
        "geometry": {"kind": "circle"},
        "attention": {"kind": "softmax", "beta": 4},
        "initial": {"kind": "density", "expression": "1 + 0.1*cos(theta)"},
        "observe": ["order-parameter", "clusters"],
    },
    "sphere": {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": "unnormalized", "beta": 1},
        "initial": {"kind": "von-mises", "direction": [0, 0, 1], "concentration": 2},
        "observe": ["mean"],
    },
    "line": {
        "geometry": {"kind": "line"},
        "attention": {"kind": "softmax", "A": 0.5, "V": -1},
        "initial": {"kind": "gaussian", "mean": 0.3, "covariance": 1},
        "observe": ["mean", "covariance"],
    },
    "plane": {**PLANE, "attention": {"kind": "l2", "Q": A, "K": A, "V": -1}},
    "linear": {**PLANE, "attention": {"kind": "linear", "A": A, "V": -1}},
    "sigmoid": {**PLANE, "attention": {"kind": "sigmoid", "A": A, "V": -1}},
    "relu": {**PLANE, "attention": {"kind": "relu", "A": A, "V": -1}},
    "sinkhorn": {**PLANE, "geometry": {"kind": "line"}, "attention": {"kind": "sinkhorn", "A": 0.5, "V": -1}},
    "masked": {
        **PLANE,
        "attention": {"kind": "masked", "attention": {"kind": "softmax", "A": A, "V": -1}, "positions": 3},
    },
    "interaction": {
        "geometry": {"kind": "sphere"},
        "interaction": {"coefficients": [0.5, 0.2]},
        "initial": {"kind": "uniform"},
        "observe": ["mean"],
    },
    "distance": {
        **PLANE,
        "interaction": {"expression": "exp(-r**2)", "external": "-x**2 - y**2/2"},
    },
    "kinks": {
        "geometry": {"kind": "sphere"},
        "attention": {"kind": "relu", "beta": 2},
        "initial": {"kind": "von-mises", "direction": [0.6, 0, 0.8], "concentration": 2},
        "observe": ["mean"],
    },
}
LAWS["sinkhorn"] |= {"initial": LAWS["line"]["initial"]}
NOISELESS = ("circle", "sphere", "line", "plane", "relu", "distance", "kinks")


def problem(name: str, *, noisy: bool) -> mfpde.Problem:
    """Three steps with noise, or as far in adaptive ones without."""
    settings = {"step": 0.05} if noisy else {"merge": 0}
    noise = {"noise": {"kappa": 4}} if noisy else {}
    solver = {"kind": "particles", "count": TOKENS, "seed": 3, **settings}
    time = {"until": 0.12, "save_every": 0.06}
    return mfpde.Problem.from_dict({**LAWS[name], **noise, "solver": solver, "time": time})


def difference(one: mfpde.Run, other: mfpde.Run) -> float:
    """The largest of a place or of what was observed."""
    pairs = [(one.positions, other.positions), *((one[name], other[name]) for name in one.problem.series())]
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)


def main() -> None:
    """Each case on three ranks against one process; the first also on two. Each rank solves some by itself."""
    world, runs = MPI.COMM_WORLD, {}
    names = sys.argv[1:] or LAWS
    cases = [(name, noisy, world) for name in names for noisy in ((True, False) if name in NOISELESS else (True,))]
    few = world.Split(int(world.rank < 2))
    if few.size == 2:
        cases.append(("circle", True, few))
    for name, noisy, among in cases:
        with working(MpiRanks(among)):
            run = mfpde.solve(problem(name, noisy=noisy))
        runs[f"{name} {'noisy' if noisy else 'noiseless'} {among.size}"] = run
    found = {}
    for index, (name, run) in enumerate(runs.items()):
        if world.rank == (0 if name.endswith(" 2") else index % world.size):
            found[name] = difference(run, mfpde.solve(run.problem))
    for each in world.gather(found) or []:
        found |= each
    if world.rank == 0:
        print(json.dumps(found))


main()
