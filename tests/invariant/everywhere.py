"""Problems of every solver, solved in this process: `everywhere.py FOLDER {first|again} [NAME ...]` prints a hash of
the bits of those that are named, or of all.

`first`: each is started, interrupted half-way and left in a file, then solved as a whole. `again`: each of these files
is resumed, and each is solved as a whole, after a kernel has been called by hand with arguments of other types.
"""

import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mfpde
from mfpde.watching import watch
from mfpde.watching.interruption import Interruption

ROWS = 2  # that an interrupted run gets
SPOT = {"kind": "gaussian", "mean": [0.5, 0], "covariance": [[1, 0.3], [0.3, 0.5]]}
POINTS = np.random.default_rng(11).standard_normal((40, 3))
SPHERE = (POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)).tolist()


def problem(geometry: str, attention: Any, initial: Any, solver: Any, kappa: float | None, until: float) -> Any:
    return {
        "geometry": {"kind": geometry},
        "attention": {"V": -1, **attention} if "A" in attention else attention,
        **({} if kappa is None else {"noise": {"kappa": kappa}}),
        "initial": initial,
        "solver": solver,
        "time": {"until": until, "save_every": until / 4},
    }


WAVE = {"kind": "density", "expression": "1 + 0.5*cos(theta) + 0.2*sin(2*theta)"}
SOFTMAX = {"kind": "softmax", "A": 1}
LINE = {"kind": "gaussian", "mean": 0.5, "covariance": 1}
CELLS = {"kind": "finite-volume", "cells": 48}
NODES = {"kind": "characteristics"}
PROBLEMS = {
    "spectral unnormalized": problem("circle", {"kind": "unnormalized", "beta": 1}, WAVE, {"kind": "spectral"}, 4, 1),
    "spectral softmax": problem("circle", SOFTMAX, WAVE, {"kind": "spectral"}, 4, 1),
    "line": problem("line", SOFTMAX, LINE, CELLS, None, 0.2),
    "static with noise": problem("line", SOFTMAX, LINE, {**CELLS, "frame": "static"}, 4, 0.2),
    "plane": problem("plane", {"kind": "softmax", "A": [[1, 0.5], [-0.2, 0.7]]}, SPOT, CELLS, 4, 0.02),
    "gaussian": problem("plane", SOFTMAX, SPOT, {"kind": "gaussian"}, None, 1),
    "characteristics line": problem("line", SOFTMAX, {"kind": "uniform", "box": [[-1, 1]]}, NODES, None, 0.2),
    "characteristics plane": problem("plane", SOFTMAX, {"kind": "uniform", "box": [[-1, 1], [0, 1]]}, NODES, None, 0.1),
    "characteristics circle": problem("circle", SOFTMAX, WAVE, NODES, None, 0.2),
    "characteristics sphere": problem("sphere", SOFTMAX, {"kind": "points", "values": SPHERE}, NODES, None, 0.2),
}


class Stopping(Interruption):
    """Asks to stop after a few rows."""

    rows = 0

    @property
    def asked(self) -> bool:
        self.rows += self.patient
        return self.rows >= ROWS

    @asked.setter
    def asked(self, value: bool) -> None:
        pass


def interrupted(task: mfpde.Problem, path: Path) -> None:
    watch.Interruption = Stopping
    try:
        assert mfpde.solve(task, path).outcome.kind == "interrupted"
    finally:
        watch.Interruption = Interruption


def bits(run: mfpde.Run) -> str:
    """Of every number that a run holds."""
    assert run.outcome.kind == "finished", run.outcome
    digest = hashlib.sha256(run.times.tobytes())
    constants = {name: constant.values for name, constant in run.layout.constants.items()}
    for fields in (run.stored, run.series, run.trail, constants):
        for name in sorted(fields):
            digest.update(name.encode() + np.ascontiguousarray(fields[name]).tobytes())
    return digest.hexdigest()


def call_by_hand() -> None:
    """Other signatures than those of the solvers: of arrays that are read-only."""
    from mfpde.solvers.kernels.fast_fourier import copy_rows

    source = np.ones((2, 4))
    source.flags.writeable = False
    copy_rows(source, 0, np.empty((2, 4)), 0, 4)


def main(folder: Path, which: str, *names: str) -> None:
    warnings.simplefilter("ignore")
    if which == "again":
        call_by_hand()
    found = {}
    for name in names or PROBLEMS:
        task, path = mfpde.Problem.from_dict(PROBLEMS[name]), folder / f"{name}.h5"
        if which == "first":
            interrupted(task, path)
        else:
            found[f"{name}, resumed"] = bits(mfpde.solve(task, path, resume=True))
        found[name] = bits(mfpde.solve(task))
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
