"""`mfpde.phase_diagram`: which states are stable and which has the lowest free energy, over beta and kappa."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.bifurcation.assembling import fitted
from mfpde.bifurcation.families import blocks_of
from mfpde.bifurcation.multipliers import exponential_multipliers
from mfpde.bifurcation.phase_row import Request, Row, compute_row, family_at
from mfpde.blas import blas_in_one_thread
from mfpde.errors import MfpdeError, ProblemError
from mfpde.registry import lookup
from mfpde.typing import AnyArray, Float

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PhaseDiagram", "phase_diagram", "tricritical"]

_ROWS_PER_WORKER = 8  # below which a worker does not pay: it takes a second to start
_TOLERANCE = 1e-12  # of beta at a tricritical point


@dataclass(frozen=True, eq=False)
class PhaseDiagram:
    """Arrays over (beta, kappa / kappa_1): `stable` states up to rotation, `order_parameter`, `free_energy` and `mode`
    (0: uniform) of the state of lowest free energy. Curves, as `(beta, kappa)` rows: `folds` and
    `branch_points` by mode, `first_order`, and the `tricritical` points at which folds begin."""

    beta: Float
    ratio: Float
    critical: Float
    stable: AnyArray
    order_parameter: Float
    free_energy: Float
    mode: AnyArray
    folds: dict[int, Float]
    first_order: Float
    branch_points: dict[int, Float]
    tricritical: Float

    @property
    def kappa(self) -> Float:
        """`(beta, kappa)`, in the problem's units."""
        return self.critical[:, None] * self.ratio

    def plot(self, path: str | Path | None = None) -> Figure:
        """Order parameter of the state of lowest free energy, number of stable states, and the curves."""
        figure: Figure = lookup("view", "phase-diagram")(self, path)
        return figure


def phase_diagram(
    geometry: Any,
    attention: Any,
    *,
    beta: tuple[float, float] = (0.0, 10.0),
    ratio: tuple[float, float] = (0.5, 2.0),
    count: tuple[int, int] = (200, 200),
    workers: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> PhaseDiagram:
    """Stable states in the plane of beta and `kappa / kappa_1(beta)`, on `count` equispaced values of each.

    Every branch that leaves the uniform state is followed for each beta, and what leaves these. `workers` processes
    share the rows (None: one for each processor).

    >>> import mfpde
    >>> found = mfpde.phase_diagram({"kind": "circle"}, {"kind": "unnormalized", "beta": 1}, beta=(2, 3), count=(3, 5))
    >>> found.stable[2].tolist(), found.tricritical.round(6).tolist()          # beta = 3
    ([1, 1, 1, 1, 1], [[2.446918, 1.020271]])
    """
    for name, (low, high) in {"beta": beta, "ratio": ratio}.items():
        if not low < high or (name == "ratio" and low <= 0):
            raise ProblemError.at(name, f"must be two numbers in ascending order, not ({low:g}, {high:g})")
    dimension, factor, normalised = blocks_of(geometry, attention)
    request = Request(dimension, factor, normalised, tuple(np.linspace(*ratio, count[1]).tolist()))
    betas = np.linspace(*beta, count[0])
    rows = []
    for row in _rows(request, betas.tolist(), workers):
        rows.append(row)
        if progress is not None:
            progress(f"{len(rows)} of {betas.size} values of beta")
    rows.sort(key=lambda row: row.beta)
    return _assembled(request, rows)


def _rows(request: Request, betas: list[float], workers: int | None) -> Iterator[Row]:
    wanted = workers or len(os.sched_getaffinity(0))
    number = min(wanted, max(1, len(betas) // _ROWS_PER_WORKER))
    if number == 1:
        with blas_in_one_thread():
            for beta in betas:
                yield compute_row(request, beta)
        return
    # neighbours take about as long: each worker gets every n-th row
    started = [_started(request, betas[place::number]) for place in range(number)]
    try:
        for process in started:
            assert process.stdout is not None  # noqa: S101  it is a pipe
            for line in process.stdout:
                yield Row(**json.loads(line))
            if process.wait() != 0:
                raise MfpdeError("a worker of the phase diagram failed; workers=1 shows why")
    finally:
        for process in started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def _started(request: Request, betas: list[float]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mfpde.bifurcation.phase_row"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None  # noqa: S101  it is a pipe
    json.dump([asdict(request), betas], process.stdin)
    process.stdin.close()
    return process


def _assembled(request: Request, rows: list[Row]) -> PhaseDiagram:
    points: dict[int, list[tuple[float, float]]] = {}
    folds: dict[int, list[tuple[float, float]]] = {}
    for row in rows:
        for mode, ratio in row.folds:
            folds.setdefault(mode, []).append((row.beta, ratio * row.critical))
        for degree, ratio in enumerate(row.critical_ratios, 1):
            points.setdefault(degree, []).append((row.beta, ratio * row.critical))
    return PhaseDiagram(
        np.array([row.beta for row in rows]),
        np.array(request.ratios),
        np.array([row.critical for row in rows]),
        np.array([row.stable for row in rows]),
        np.array([row.order for row in rows]),
        np.array([row.free_energy for row in rows]),
        np.array([row.mode for row in rows]),
        {mode: np.array(curve) for mode, curve in folds.items()},
        np.array([(row.beta, ratio * row.critical) for row in rows for ratio in row.first_order]).reshape(-1, 2),
        {degree: np.array(curve) for degree, curve in points.items()},
        _tricritical_points(request, rows),
    )


def _tricritical_points(request: Request, rows: list[Row]) -> Float:
    """Where the degree-1 branch, as it is computed, changes from super- to subcritical."""
    found = []
    signs = [_cubic_coefficient(request, row.beta) for row in rows]
    for i in range(len(rows) - 1):
        if signs[i] * signs[i + 1] < 0:
            beta = _change(request, rows[i].beta, rows[i + 1].beta)
            found.append((beta, family_at(request, beta)[2]))
    return np.array(found).reshape(-1, 2)


def _cubic_coefficient(request: Request, beta: float) -> float:
    """c_2 of the degree-1 branch, fitted to states of small amplitude."""
    family, _, first = family_at(Request(request.dimension, request.factor, request.normalised, (0.8, 1.2)), beta)
    return fitted(family, 1, family.place(first)).second


def _change(request: Request, low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(lambda beta: _cubic_coefficient(request, beta), low, high, xtol=_TOLERANCE))


def tricritical(dimension: int, low: float, high: float, normalised: bool = False) -> tuple[float, float]:
    """`(beta, kappa)` at which the degree-1 branch changes from super- to subcritical, from computed states."""
    request = Request(dimension, 1.0, normalised, (0.8, 1.2))
    beta = _change(request, low, high)
    return beta, float(1 / exponential_multipliers(beta, 1.0, dimension, normalised).values[1])
