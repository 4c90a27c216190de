"""What each solver makes of a problem, and which one `auto` takes: the table of docs/which_solver.md.

    python benchmarks/which_solver.py [--only WORD]

Every solver that fits runs with the settings that a user gets who names it alone, and `auto` beside them. The error is
the largest of mean and covariance over all output times, relative to the largest entry, and of the density at the last
one, relative to its peak, where the reference has it; for tokens of their positions.
References are those of benchmarks/tolerances.py. Seconds are of a processor, warm. The exit code is 1 if a run of
`auto` breaks its promise silently, or says that it has not kept it.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from tolerances import Case, flat, gaussians, tokens_of

import mfpde
from mfpde.prepare import prepare
from mfpde.solvers.auto import fitting

#: of tests/reference: edges, kinks, tails, masks, with and without noise
CHOSEN = [
    "softmax-interval",
    "growing-interval",
    "relu-laplace",
    "softmax-triangle",
    "sigmoid-student",
    "contracting-bumps",
    "masked-bumps",
    "masked-l2-interval",
    "growing-square",
    "masked-square",
    "softmax-disc",
    "softmax-tent",
    "contracting-spots",
    "noisy-bumps",
    "noisy-interval",
    "noisy-masked",
]


@dataclass(frozen=True)
class Row:
    """One run, or why there is none."""

    kind: str
    error: float
    seconds: float
    promised: float | None
    kept: bool | None

    @property
    def honest(self) -> bool:
        """Whether it has kept what it promised, and says so."""
        return self.kept is True and self.promised is not None and self.error <= self.promised


def cases() -> list[Case]:
    """Problems of all kinds on line and plane."""
    stored = {case.name: case for case in flat()}
    normal = list(gaussians())
    return [
        *(stored[name] for name in CHOSEN if name in stored),
        *normal[:3],
        *(tokens_of(dimension, sphere=False, normalised=True, beta=0.5) for dimension in (1, 2)),
    ]


def solved(case: Case, block: dict[str, object]) -> Row:
    """By one solver."""
    times = {"until": case.times[-1], "save_at": case.times}
    problem = mfpde.Problem.from_dict({**case.blocks, "time": times, **({"solver": block} if block else {})})
    taken = prepare(problem).solver.kind
    mfpde.solve(problem)
    begin = time.process_time()
    run = mfpde.solve(problem)
    seconds = time.process_time() - begin
    error = case.error(run) if run.outcome.complete else np.inf
    accuracy = run.outcome.accuracy
    return Row(taken, error, seconds, accuracy.promised, accuracy.kept)


def main() -> int:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="problems whose name has this word")
    chosen = parser.parse_args()
    fine = True
    for case in (each for each in cases() if chosen.only in each.name):
        given = mfpde.Problem.from_dict({**case.blocks, "time": {"until": case.times[-1]}})
        taken = solved(case, {})
        fine &= taken.honest
        rows = [taken] + [
            solved(case, {"kind": solver.kind})
            for solver in fitting(given.equation)
            if solver.kind not in (taken.kind, "particles")
        ]
        told = [f"{row.kind} | {row.error:.0e} | {row.seconds:.2f} s" + ("" if row.kept else " (told)") for row in rows]
        print(f"| {case.name} | " + " | ".join(told) + " |", flush=True)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
